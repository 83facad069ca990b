"""All that is known of a model but its predictions, which are asked for anew with each move of a slider."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from airflow_provider_ernest.documents import (
    Billing,
    DecisionRecord,
    Design,
    Experiment,
    Model,
    ModelMark,
    Observation,
    ProductionRun,
    RunConditions,
    training_dollars,
)
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.learning.freshness import evidence_against, lineage_of, state_of
from airflow_provider_ernest.settings import CONFIDENCE, OBJECTIVES
from airflow_provider_ernest.store.catalogue import (
    DECISION,
    MARK,
    MODEL,
    PRODUCTION_RUN,
    CatalogueEntry,
    entry_of,
)
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import (
    OtherType,
    Readable,
    known_price,
    load_decision,
    load_mark,
    load_production,
    newest_of,
    other_types,
    price_of_cluster,
    read_each,
    visible_entries,
    visible_records,
)
from airflow_provider_ernest.views.prediction import BILLED_NUMBERS, MOST_RUNS, in_bounds, machines_in_bounds
from airflow_provider_ernest.views.run import fallback_of
from airflow_provider_ernest.views.sample_runs import ApplicationLink, application_link, cost_of, sample_run

# ---------------------------------------------------------------------------
# The design behind a model: what was planned, what of it was run, and what that cost.


def design_facts(
    design: Design | None, observations: Sequence[Observation], *, price_per_hour: float | None
) -> dict[str, Any] | None:
    """The design with what came of each experiment, not yet JSON-ready; None where there is none."""
    if design is None:
        return None
    return {
        "terms": design.terms,
        "criterion": design.criterion,
        "efficiency": design.efficiency,
        "cost": design.cost,
        "budget": design.budget,
        "cost_unit": design.cost_unit,
        "candidates": design.candidates,
        "weighting": design.weighting,
        "candidate_ranges": design.candidate_ranges,
        "experiments": _experiments(design.experiments, observations, price_per_hour),
    }


def _experiments(
    experiments: Sequence[Experiment], observations: Sequence[Observation], price_per_hour: float | None
) -> list[dict[str, Any]]:
    unclaimed: dict[int, list[Observation]] = {}
    for run in observations:
        unclaimed.setdefault(run.index, []).append(run)
    return [_experiment(each, _claim(each, unclaimed), price_per_hour) for each in experiments]


def _claim(experiment: Experiment, unclaimed: dict[int, list[Observation]]) -> Observation | None:
    """The run of an experiment: of those with its index the most like it.

    Runs of an earlier design may have the same index, and a run may have had fewer machines or read
    slightly more than it was to.
    """
    runs = unclaimed.get(experiment.index)
    if not runs:
        return None
    nearest = min(
        runs,
        key=lambda run: (
            abs(run.scale / experiment.scale - 1.0) + abs(run.machines / experiment.machines - 1.0)
        ),
    )
    runs.remove(nearest)
    return nearest


def _experiment(
    experiment: Experiment, run: Observation | None, price_per_hour: float | None
) -> dict[str, Any]:
    return {
        "index": experiment.index,
        "machines": experiment.machines,
        "scale": experiment.scale,
        "partitions": experiment.partitions,
        "weight": experiment.weight,
        "expected_cost": experiment.cost,
        "observed": run is not None,
        "seconds": run.seconds if run else None,
        "paid": cost_of(run, price_per_hour) if run else None,
    }


# ---------------------------------------------------------------------------
# The decisions that a model took part in, and what its page asks at first because of them.


log = logging.getLogger(__name__)

MOST_DECISIONS = 50


def decisions_of(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: Readable
) -> list[DecisionRecord]:
    """The newest decisions for the model's type, and those in which it was considered, newest first.

    Args:
        store: where they lie.
        model: the model.
        of_job: what the reader may see of its job.
        readable: whether a DAG may be read.
    """
    chosen = [each for each in of_job if each.instance_type == model.instance_type]
    others = [each for each in of_job if each.instance_type != model.instance_type]
    versions = {model.model_id, *(each.id for each in chosen if each.kind == MODEL)}
    records = _read(store, chosen, readable)
    try:
        others_chosen = _read(store, others, readable)
    except StoreError:
        # The page of this model must not fail for decisions on other types.
        log.warning("Decisions of %r on other types cannot be read", model.job, exc_info=True)
    else:
        records += [record for record in others_chosen if versions.intersection(record.model_ids)]
    return sorted(records, key=lambda record: record.decision_id, reverse=True)[:MOST_DECISIONS]


def _read(store: ModelStore, entries: Sequence[CatalogueEntry], readable: Readable) -> list[DecisionRecord]:
    # They are asked for by their ids: those that the reader may not see are not even read.
    wanted = newest_of(entries, DECISION, MOST_DECISIONS)
    return visible_records(read_each(load_decision, store, wanted), readable)


def told_decision(record: DecisionRecord) -> dict[str, Any]:
    """A decision as the page of a model lists it."""
    decision = record.decision
    return {
        "decision_id": record.decision_id,
        "decided_at": record.decided_at,
        "goal": decision.goal,
        "confidence": decision.confidence if decision.confidence is not None else record.confidence,
        "probability": decision.probability,
        "instance_type": decision.config.instance_type,
        "machines": decision.config.machines,
        "composition": decision.composition,
        "predicted_seconds": decision.predicted_seconds,
        "predicted_cost": decision.predicted_cost,
        "fallback": fallback_of(decision),
        "fallback_reason": decision.fallback_reason,
        "model_id": record.model_id,
        "origin": record.origin,
    }


def defaults_of(
    model: Model, newest: DecisionRecord | None, *, price: float | None, training_dollars: float | None
) -> dict[str, Any]:
    """What to ask the model at first: what its DAG asked last, else what can be made of the runs.

    A task may have asked what a page cannot; what cannot be asked here is left out, or brought into bounds.

    Args:
        model: the model.
        newest: the last decision that it took part in.
        price: dollars for a machine and hour.
        training_dollars: what the sample runs cost.
    """
    most_observed = max((run.machines for run in model.observations), default=1)
    least, most = machines_in_bounds(
        newest.min_machines if newest else 1, newest.max_machines if newest else 2 * most_observed
    )
    iterations = newest.iterations if newest else model.trained_iterations
    return {
        "scale": (in_bounds(newest.scale) if newest else None) or 1.0,
        "iterations": iterations if iterations is not None and iterations >= 1 else None,
        **_goal(newest),
        "price_per_hour": in_bounds(price),
        "min_machines": least,
        "max_machines": most,
        **_billed(newest.decision.billing if newest else None, training_dollars),
    }


def _goal(newest: DecisionRecord | None) -> dict[str, Any]:
    if newest is None:
        nothing = dict.fromkeys(("deadline_seconds", "budget_dollars", "objective"))
        return {**nothing, "confidence": CONFIDENCE}
    deadline, budget = in_bounds(newest.deadline_seconds), in_bounds(newest.budget_dollars)
    objective = newest.objective if newest.objective in OBJECTIVES else None
    confidence = newest.confidence
    return {
        "deadline_seconds": deadline,
        # Both at once need an objective, which may be a function that only the DAG knows.
        "budget_dollars": budget if deadline is None or objective else None,
        "objective": objective,
        "confidence": confidence if confidence is not None and 0 < confidence < 1 else CONFIDENCE,
    }


def _billed(billing: Billing | None, training_dollars: float | None) -> dict[str, Any]:
    """What is billed besides the machines' hours; runs that share the training only where they were told."""
    known = billing or Billing(price_per_hour=1.0)
    shared = in_bounds(known.training_dollars)
    return {
        **{name: in_bounds(getattr(known, name)) or 0.0 for name in BILLED_NUMBERS},
        "increment_seconds": in_bounds(known.increment_seconds) or 1.0,
        "training_dollars": shared or _rounded(training_dollars),
        "expected_runs": min(known.expected_runs, MOST_RUNS) if shared else None,
    }


def _rounded(dollars: float | None) -> float | None:
    """As people would put it: it is an estimate."""
    known = in_bounds(dollars)
    return float(f"{known:.4g}") if known is not None else None


# ---------------------------------------------------------------------------
# The life of a model: what it goes on from, what was noted against it, how its predictions held.


MOST_MARKS = 50
MOST_SETTINGS = 200
"""So many names of settings are told; their number is told in any case."""


def life_of(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: Readable
) -> dict[str, Any]:
    """What has become of a model since it was trained.

    Args:
        store: where its marks lie.
        model: the model.
        of_job: what the reader may see of its job.
        readable: whether a DAG may be read.
    """
    entry = entry_of(model)
    lineage = lineage_of(entry, of_job)
    of_type = [each for each in of_job if each.instance_type == model.instance_type]
    return {
        "base_model_id": model.base_model_id or model.model_id,
        "lineage": _lineage(entry, of_type, lineage),
        "marks": [_mark(mark) for mark in _marks(store, of_type, lineage, readable)],
        "evidence": _evidence(entry, of_job),
        "conditions": conditions_in_numbers(model.conditions),
    }


def conditions_in_numbers(conditions: RunConditions | None) -> dict[str, Any] | None:
    """What a model was trained under; None where nothing of it is known. Of settings, only the names."""
    if conditions is None:
        return None
    shape, settings = conditions.input, conditions.settings
    return {
        "spark": conditions.spark,
        "settings": None if settings is None else len(settings),
        "setting_names": sorted(settings or ())[:MOST_SETTINGS],
        "cores_per_machine": conditions.cores_per_machine,
        "partitions": shape.partitions if shape else None,
        "total_bytes": shape.total_bytes if shape else None,
        "bytes_per_partition": shape.bytes_per_partition if shape else None,
        "columns": shape.columns if shape else None,
        "format": shape.format if shape else None,
    }


def _lineage(
    shown: CatalogueEntry, of_type: Sequence[CatalogueEntry], lineage: frozenset[str]
) -> list[dict[str, Any]]:
    """The versions that go on from each other, oldest first, the one that is shown among them."""
    versions = {each.id: each for each in of_type if each.kind == MODEL and each.id in lineage}
    versions.setdefault(shown.id, shown)
    return [
        {
            "model_id": each.id,
            "created_at": each.at,
            "learned_from": each.learned_from,
            "observations": each.observations,
            "median_error_percent": each.median_error_percent,
        }
        for each in sorted(versions.values(), key=lambda each: each.id)
    ]


def _marks(
    store: ModelStore, of_type: Sequence[CatalogueEntry], lineage: frozenset[str], readable: Readable
) -> list[ModelMark]:
    """The newest marks of the lineage, newest first."""
    wanted = newest_of((each for each in of_type if each.model_id in lineage), MARK, MOST_MARKS)
    return visible_records(read_each(load_mark, store, wanted), readable)


def _mark(mark: ModelMark) -> dict[str, Any]:
    return {
        "mark_id": mark.mark_id,
        "marked_at": mark.marked_at,
        "model_id": mark.model_id,
        "cause": mark.cause,
        "reason": mark.reason,
        "artifact_sha256": mark.artifact_sha256,
        "origin": mark.origin,
    }


def _evidence(entry: CatalogueEntry, of_job: Sequence[CatalogueEntry]) -> dict[str, Any]:
    evidence = evidence_against(entry, others=of_job)
    names = (
        "value",
        "threshold",
        "runs",
        "unlikely",
        "unusual",
        "is_drift",
        "is_suspicious",
        "sentence",
    )
    return {name: getattr(evidence, name) for name in names}


# ---------------------------------------------------------------------------
# The production runs of a job on a type of machine, page by page.


MOST_PRODUCTION_RUNS = 200
"""So many are shown at once: each is a file of the store."""


def production_page(
    store: ModelStore,
    of_type: Sequence[CatalogueEntry],
    *,
    readable: Readable,
    link: ApplicationLink,
    offset: int = 0,
    limit: int = MOST_PRODUCTION_RUNS,
) -> dict[str, Any]:
    """Some of the production runs, newest first, and how many there are.

    Args:
        store: where they lie.
        of_type: what the reader may see of the job on the type.
        readable: whether a DAG may be read.
        link: see `sample_runs.application_link`.
        offset: newer ones to leave out.
        limit: at most so many.
    """
    # They are asked for by their ids: those that the reader may not see are not even read.
    entries = [each for each in of_type if each.kind == PRODUCTION_RUN]
    wanted = sorted(entries, key=lambda each: each.id, reverse=True)[offset : offset + limit]
    runs = visible_records(read_each(load_production, store, wanted), readable)
    return {"total": len(entries), "offset": offset, "runs": [_told(run, link) for run in runs]}


def _told(run: ProductionRun, link: ApplicationLink) -> dict[str, Any]:
    told = msgspec.to_builtins(run)
    # What it ran under is compared where drift is looked into; nobody reads its digests.
    told.pop("conditions")
    return {
        **told,
        "error_percent": run.error_percent,
        "is_unlikely": run.is_unlikely,
        "is_unusual": run.is_unusual,
        "history_url": link(run.application_id),
    }


# ---------------------------------------------------------------------------


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
