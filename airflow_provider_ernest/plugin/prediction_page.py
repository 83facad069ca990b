"""What a model predicts and would choose, by the same code as ``ernest choose`` and ``ernest report``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.model.catalogue import CatalogueEntry
from airflow_provider_ernest.model.pareto import on_pareto_front
from airflow_provider_ernest.model.results import Alternative, Decision, Model
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.computable import cannot_predict, computing
from airflow_provider_ernest.plugin.other_types import OtherType, other_types
from airflow_provider_ernest.plugin.prediction_request import PredictionRequest
from airflow_provider_ernest.plugin.visible import Readable

__all__ = ["PredictionRequest", "prediction"]

if TYPE_CHECKING:
    from airflow_provider_ernest.model.choice import Goal
    from airflow_provider_ernest.report.contents import Contents, Prediction

RUNNERS_UP = 3


def prediction(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> dict[str, Any]:
    """The curve of seconds, what each configuration costs, and the choice.

    Without a price there is a curve, but neither costs nor choice. Other types of machines are compared
    by their newest models, at the prices last known of them; the choice is among this model's.

    Args:
        store: where the model lies.
        model: one that the reader may see; that is for the caller to make sure.
        request: what it is asked.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read; types of others are not compared.

    Returns:
        For `JsonAnswer`.

    Raises:
        InvalidParameterError: the request cannot be.
        FitError: the model cannot predict: it has no runs, or terms that this version does not know.
        StoreError: the store cannot be read.
    """
    counts, goal = request.counts(), request.goal()
    contents = _gathered(model, request, counts, goal)
    others: list[Alternative] = []
    skipped: list[dict[str, str]] = []
    if contents.billing is not None:
        for other in other_types(store, model, entries, readable):
            reason, alternatives = _compared(other, model, request, counts, goal)
            others += alternatives
            skipped += [{"instance_type": other.entry.instance_type, "reason": reason}] if reason else []
    return {
        "scale": contents.scale,
        "iterations": contents.iterations,
        "startup_seconds": model.startup_seconds,
        "price_per_hour": request.price_per_hour,
        "goal": goal.describe() if goal else None,
        "curve": contents.predictions,
        "alternatives": _alternatives([*contents.alternatives, *others]),
        "decision": _told(contents.decision, request.left_out()),
        "out_of_reach": _out_of_reach(contents, goal, request.left_out()),
        "runners_up": _runners_up(contents),
        "skipped_types": skipped,
    }


def _gathered(model: Model, request: PredictionRequest, counts: list[int], goal: Goal | None) -> Contents:
    from airflow_provider_ernest.report.contents import Billing, gather

    price = request.price_per_hour
    with computing(model):
        contents = gather(
            model,
            machines=counts,
            scale=request.scale,
            iterations=request.iterations,
            billing=Billing(price_per_hour=price) if price is not None else None,
            # Without a price nothing can be chosen, but all the rest can be shown.
            goal=goal if price is not None else None,
        )
    if not all(map(_is_finite, contents.predictions)):
        raise cannot_predict(model, "its times are beyond all measure")
    return contents


def _is_finite(point: Prediction) -> bool:
    return all(map(math.isfinite, (point.seconds, *point.nearly_certain_seconds, *point.parts.values())))


def _compared(
    other: OtherType, model: Model, request: PredictionRequest, counts: list[int], goal: Goal | None
) -> tuple[str, tuple[Alternative, ...]]:
    """Why another type is not compared (empty where it is), and what it would take and cost."""
    from airflow_provider_ernest.report.contents import Billing, gather

    if other.model is None:
        return "Its newest model cannot be read.", ()
    if other.price_per_hour is None:
        return "What its machines cost is not known. Choose by its model once, with a price.", ()
    if model.artifact_sha256 and other.model.artifact_sha256 not in (None, model.artifact_sha256):
        return "Its newest model is of another JAR or .py file. Train it again with this one.", ()
    try:
        with computing(other.model):
            contents = gather(
                other.model,
                machines=counts,
                scale=request.scale,
                iterations=request.iterations,
                billing=Billing(price_per_hour=other.price_per_hour),
                goal=goal,
            )
    except ErnestError as error:
        return str(error), ()
    return "", contents.alternatives


def _alternatives(alternatives: Sequence[Alternative]) -> list[dict[str, Any]]:
    front = on_pareto_front([(each.seconds, each.cost) for each in alternatives])
    return [
        {
            "instance_type": each.instance_type,
            "machines": each.machines,
            "seconds": each.seconds,
            "cost": each.cost,
            "likely_seconds": each.likely_seconds,
            "nearly_certain_seconds": each.nearly_certain_seconds,
            "feasible": each.feasible,
            "extrapolates": each.extrapolates,
            "is_pareto": is_pareto,
        }
        for each, is_pareto in zip(alternatives, front, strict=True)
    ]


def _told(decision: Decision | None, left_out: str) -> dict[str, Any] | None:
    if decision is None:
        return None
    told = {key: value for key, value in decision.to_dict().items() if key != "alternatives"}
    return {**told, "warnings": [*([left_out] if left_out else []), *decision.warnings]}


def _out_of_reach(contents: Contents, goal: Goal | None, left_out: str) -> str:
    if goal is not None and contents.billing is None:
        return "What a machine costs is not known. Give the dollars for one machine and hour."
    return f"{contents.out_of_reach} {left_out}".rstrip() if contents.out_of_reach else ""


def _runners_up(contents: Contents) -> list[dict[str, Any]]:
    """What would have been chosen next."""
    if contents.goal is None or contents.decision is None:
        return []
    feasible = [each for each in contents.alternatives if each.feasible]
    others = sorted(feasible, key=contents.goal.preference)[1 : 1 + RUNNERS_UP]
    names = ("instance_type", "machines", "seconds", "cost")
    return [{name: getattr(each, name) for name in names} for each in others]
