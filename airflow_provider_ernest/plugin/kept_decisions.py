"""The decisions that a model took part in, and what its page asks at first because of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from airflow_provider_ernest.choices import CONFIDENCE, OBJECTIVES
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.billing import Billing
from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import DECISION, MODEL, CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.fallbacks import fallback_of
from airflow_provider_ernest.plugin.loaded_documents import load_decision, read_each
from airflow_provider_ernest.plugin.prediction_request import (
    BILLED_NUMBERS,
    MOST_RUNS,
    in_bounds,
    machines_in_bounds,
)
from airflow_provider_ernest.plugin.visible import Readable, newest_of, visible_records

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
