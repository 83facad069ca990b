"""All that is known of a model but its predictions, which are asked for anew with each move of a slider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.life.freshness import state_of
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import MODEL, CatalogueEntry, entry_of
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.model.training_cost import training_dollars
from airflow_provider_ernest.plugin.design_page import design_facts
from airflow_provider_ernest.plugin.kept_decisions import decisions_of, defaults_of, told_decision
from airflow_provider_ernest.plugin.model_life import life_of
from airflow_provider_ernest.plugin.other_types import (
    OtherType,
    known_price,
    other_types,
    price_of_cluster,
)
from airflow_provider_ernest.plugin.production_page import production_page
from airflow_provider_ernest.plugin.sample_runs import ApplicationLink, application_link, sample_run
from airflow_provider_ernest.plugin.visible import Readable, visible_entries


def model_page(
    store: ModelStore,
    model: Model,
    entries: Sequence[CatalogueEntry],
    *,
    readable: Readable,
    history_server: str | None,
) -> dict[str, Any]:
    """What the page of a model shows.

    Args:
        store: where the model lies.
        model: one that the reader may see; that is for the caller to make sure.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read. Versions, runs, decisions and types of other DAGs are as if
            they were not there.
        history_server: the address of Spark's history server, None where there is none.

    Returns:
        For `JsonAnswer`.

    Raises:
        StoreError: the store cannot be read.
    """
    of_job = visible_entries((entry for entry in entries if entry.job == model.job), readable)
    of_type = [entry for entry in of_job if _is_of(entry, model)]
    decisions = decisions_of(store, model, of_job, readable)
    others = other_types(store, model, of_job, readable)
    versions = _versions(model, of_job)
    price = known_price(model, decisions[::-1])
    # What the sample runs were paid at, which production may no longer be.
    paid = price_of_cluster(model) or price
    link = application_link(history_server)
    production = production_page(store, of_type, readable=readable, link=link)
    return {
        "model": _facts(model),
        "state": state_of(entry_of(model), others=of_job),
        "is_newest": versions[0]["model_id"] == model.model_id,
        "observations": _observations(model, paid, link, readable),
        "design": design_facts(model.design, model.observations, price_per_hour=paid),
        "cluster": model.cluster,
        "versions": versions,
        "life": life_of(store, model, of_job, readable),
        "production_runs": production["runs"],
        "production_total": production["total"],
        "decisions": [told_decision(record) for record in decisions],
        "other_types": [
            {
                "instance_type": other.entry.instance_type,
                "model_id": other.entry.id,
                "created_at": other.entry.at,
                "price_per_hour": other.price_per_hour,
            }
            for other in others
        ],
        "defaults": defaults_of(
            model,
            decisions[0] if decisions else None,
            price=price,
            training_dollars=_training_dollars(model, others),
        ),
    }


def _is_of(entry: CatalogueEntry, model: Model) -> bool:
    return entry.job == model.job and entry.instance_type == model.instance_type


def _facts(model: Model) -> dict[str, Any]:
    validation = model.validation
    return {
        "job": model.job,
        "instance_type": model.instance_type,
        "model_id": model.model_id,
        "created_at": model.created_at,
        "method": model.method,
        "artifact": model.artifact,
        "artifact_sha256": model.artifact_sha256,
        "input_path": model.input_path,
        "trained_iterations": model.trained_iterations,
        "noise": model.noise,
        "driver_share": model.driver_share,
        "startup_seconds": model.startup_seconds,
        "learned_from": len(model.learned_from),
        "warnings": model.warnings,
        "origin": model.origin,
        "terms": model.terms,
        "median_error_percent": validation.median_error_percent,
        "max_error_percent": validation.max_error_percent,
        "residual_sum_of_squares": validation.residual_sum_of_squares,
    }


def _observations(
    model: Model, price: float | None, link: ApplicationLink, readable: Readable
) -> list[dict[str, Any]]:
    """The runs, each with what the others predict of it.

    A model may have learned from production runs of other DAGs. Their numbers are the model's; which runs
    they were is for those who may read the DAG.
    """
    may_read = cache(readable)
    # By all that is told of a run, for runs of several designs may share an index.
    folds = {(fold.index, fold.machines, fold.scale, fold.seconds): fold for fold in model.validation.folds}
    told = []
    samples = len(model.observations) - len(model.learned_from)
    for place, run in enumerate(model.observations):
        fold = folds.get((run.index, run.machines, run.scale, run.seconds))
        told.append(
            {
                **sample_run(_without_source(run, may_read), price_per_hour=price, link=link),
                # The production runs that a model has learned from come after its sample runs.
                "is_production": place >= samples,
                "predicted_seconds": fold.predicted_seconds if fold else None,
                "error_percent": fold.error_percent if fold else None,
            }
        )
    return told


def _without_source(run: Observation, readable: Readable) -> Observation:
    if run.origin is None or readable(run.origin.dag_id):
        return run
    return replace(run, origin=None, application_id=None, event_log=None, hosts=())


def _versions(model: Model, of_job: Sequence[CatalogueEntry]) -> list[dict[str, Any]]:
    """The models of the job on the type, newest first, this one among them."""
    versions = {entry.id: entry for entry in of_job if entry.kind == MODEL and _is_of(entry, model)}
    versions.setdefault(model.model_id, entry_of(model))
    return [
        {
            "model_id": entry.id,
            "created_at": entry.at,
            "median_error_percent": entry.median_error_percent,
            "max_error_percent": entry.max_error_percent,
            "artifact_sha256": entry.artifact_sha256,
            "observations": entry.observations,
            "learned_from": entry.learned_from,
            "base_model_id": entry.base_model_id,
        }
        for entry in sorted(versions.values(), key=lambda entry: entry.id, reverse=True)
    ]


def _training_dollars(model: Model, others: Sequence[OtherType]) -> float | None:
    """What the sample runs on all types cost, as far as it is known; None where nothing is."""
    models = [model, *(other.model for other in others if other.model is not None)]
    known = [cost for cost in map(training_dollars, models) if cost]
    return sum(known) if known else None
