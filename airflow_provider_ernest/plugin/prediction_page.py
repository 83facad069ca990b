"""What a model predicts and would choose, by the same code as ``ernest choose`` and ``ernest report``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from airflow_provider_ernest.exceptions import InfeasibleGoalError
from airflow_provider_ernest.model.goals import Goal
from airflow_provider_ernest.model.results import Alternative, Decision, Model
from airflow_provider_ernest.model.storage.catalogue import CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.considered import Considered, all_considered
from airflow_provider_ernest.plugin.prediction_request import PredictionRequest
from airflow_provider_ernest.plugin.second_opinion import second_opinion
from airflow_provider_ernest.plugin.visible import Readable

__all__ = ["PredictionRequest", "prediction"]

RUNNERS_UP = 3

NO_PRICE = "What a machine costs is not known. Give the dollars for one machine and hour."


def prediction(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> dict[str, Any]:
    """The curve of seconds, what each configuration costs, and the choice.

    Without a price there is a curve, but neither costs nor choice. Other types of machines are offered by
    their newest models, at the prices last known of them; the choice is among all.

    Args:
        store: where the model lies.
        model: one that the reader may see; that is for the caller to make sure.
        request: what it is asked.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read; types of others are neither offered nor named.

    Returns:
        For `JsonAnswer`.

    Raises:
        InvalidParameterError: the request cannot be.
        FitError: the model cannot predict: it has no runs, or terms that this version does not know.
        StoreError: the store cannot be read.
    """
    goal = request.goal()
    considered = all_considered(store, model, request, entries=entries, readable=readable)
    decision, out_of_reach, most_probable = _chosen(considered, goal)
    left_out = request.left_out()
    return {
        "instance_type": model.instance_type,
        "scale": request.scale,
        "iterations": request.iterations,
        "startup_seconds": model.startup_seconds,
        "price_per_hour": request.price_per_hour,
        "goal": goal.describe() if goal else None,
        "confidence": request.confidence,
        "boot_seconds": request.billed.boot_seconds,
        "latest_seconds": goal.latest_seconds(request.billed.boot_seconds) if goal else None,
        "curve": considered.curve,
        "alternatives": [_alternative(each) for each in considered.alternatives],
        "decision": _told(decision, left_out),
        "out_of_reach": f"{out_of_reach} {left_out}".rstrip() if out_of_reach else "",
        "most_probable": _alternative(most_probable) if most_probable else None,
        "runners_up": _runners_up(considered, goal, decision),
        "second_opinion": second_opinion(model, decision, scale=request.scale, iterations=request.iterations),
        "offered_types": [
            {
                "instance_type": offer.type_name,
                "model_id": offer.model.model_id,
                "price_per_hour": offer.billing.price_per_hour,
            }
            for offer in considered.offers
        ],
        "skipped_types": [{"instance_type": name, "reason": reason} for name, reason in considered.skipped],
    }


def _chosen(considered: Considered, goal: Goal | None) -> tuple[Decision | None, str, Alternative | None]:
    """The decision; or why there is none although there is a goal, and what keeps to it most probably."""
    from airflow_provider_ernest.model.choice import choose_among

    if goal is None:
        return None, "", None
    if not considered.offers:
        return None, NO_PRICE, None
    try:
        return choose_among(considered.alternatives, considered.offers, goal=goal), "", None
    except InfeasibleGoalError as error:
        return None, str(error), error.most_probable


def _alternative(each: Alternative) -> dict[str, Any]:
    names = (
        "instance_type",
        "machines",
        "seconds",
        "cost",
        "likely_seconds",
        "nearly_certain_seconds",
        "feasible",
        "probability",
        "extrapolates",
        "memory_shortage",
        "is_pareto",
    )
    return {name: getattr(each, name) for name in names}


def _told(decision: Decision | None, left_out: str) -> dict[str, Any] | None:
    if decision is None:
        return None
    told = {key: value for key, value in decision.to_dict().items() if key != "alternatives"}
    return {**told, "warnings": [*([left_out] if left_out else []), *decision.warnings]}


def _runners_up(considered: Considered, goal: Goal | None, decision: Decision | None) -> list[dict[str, Any]]:
    """What would have been chosen next."""
    if goal is None or decision is None:
        return []
    feasible: Iterable[Alternative] = (each for each in considered.alternatives if each.feasible)
    return [_alternative(each) for each in sorted(feasible, key=goal.preference)[1 : 1 + RUNNERS_UP]]
