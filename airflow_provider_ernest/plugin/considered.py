"""All that may be chosen for a job: what the models of its types of machines say of each configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.model.pareto import on_pareto_front
from airflow_provider_ernest.model.results import Alternative, Model
from airflow_provider_ernest.model.storage.catalogue import CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.computable import cannot_predict, computing
from airflow_provider_ernest.plugin.other_types import OtherType, other_types
from airflow_provider_ernest.plugin.prediction_request import PredictionRequest, in_bounds
from airflow_provider_ernest.plugin.visible import Readable

if TYPE_CHECKING:
    from airflow_provider_ernest.model.offers import Offer
    from airflow_provider_ernest.report.contents import Prediction

ANY_PRICE = 1.0
"""Where none is known, what follows from it is not shown."""

BEYOND = "its times or costs are beyond all measure"


@dataclass(frozen=True, kw_only=True)
class Considered:
    """What may be chosen.

    Attributes:
        curve: of the model that was asked, by number of machines.
        offers: its type, and the others that it is compared with; empty where its price is not known.
        alternatives: of all of them.
        skipped: types that are not compared, each with the reason.
    """

    curve: tuple[Prediction, ...]
    offers: tuple[Offer, ...]
    alternatives: tuple[Alternative, ...]
    skipped: tuple[tuple[str, str], ...]


def all_considered(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> Considered:
    """What the model predicts, and what there is to choose from at the prices that are known.

    Args:
        store: where the models lie.
        model: one that the reader may see; that is for the caller to make sure.
        request: what it is asked.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read; types of others are neither offered nor named.

    Raises:
        InvalidParameterError: the request cannot be.
        FitError: the model cannot predict.
    """
    curve, own, alternatives = _of_model(model, request)
    if request.price_per_hour is None:
        return Considered(curve=curve, offers=(), alternatives=(), skipped=())
    offers, told, skipped = [own], [*alternatives], []
    for other in other_types(store, model, entries, readable):
        reason = _incomparable(other, model)
        if not reason:
            try:
                offer, more = _of_other(other, request)
            except ErnestError as error:
                reason = str(error)
            else:
                offers.append(offer)
                told += more
        if reason:
            skipped.append((other.entry.instance_type, reason))
    front = on_pareto_front([(each.seconds, each.cost) for each in told])
    return Considered(
        curve=curve,
        offers=tuple(offers),
        alternatives=tuple(
            replace(each, is_pareto=is_pareto) for each, is_pareto in zip(told, front, strict=True)
        ),
        skipped=tuple(skipped),
    )


def _of_model(
    model: Model, request: PredictionRequest
) -> tuple[tuple[Prediction, ...], Offer, tuple[Alternative, ...]]:
    from airflow_provider_ernest.report.contents import predictions_of

    # Without a price nothing can be chosen, but all the rest can be shown.
    with computing(model):
        offer, alternatives = _offered(model, request.price_per_hour, request)
        curve = predictions_of(model, alternatives, scale=request.scale, iterations=request.iterations)
    if not all(math.isfinite(part) for point in curve for part in point.parts.values()):
        raise cannot_predict(model, BEYOND)
    return curve, offer, alternatives


def _of_other(other: OtherType, request: PredictionRequest) -> tuple[Offer, tuple[Alternative, ...]]:
    assert other.model is not None
    with computing(other.model):
        return _offered(other.model, other.price_per_hour, request)


def _offered(
    model: Model, price: float | None, request: PredictionRequest
) -> tuple[Offer, tuple[Alternative, ...]]:
    from airflow_provider_ernest.model.choice import consider
    from airflow_provider_ernest.model.offers import Offer

    billing = request.billed.at(ANY_PRICE if price is None else price)
    offer = Offer(model=model, machines=request.counts(), billing=billing)
    goal = request.goal() if price is not None else None
    alternatives = consider(offer, goal=goal, scale=request.scale, iterations=request.iterations)
    if not all(map(_is_finite, alternatives)):
        raise cannot_predict(model, BEYOND)
    return offer, alternatives


def _incomparable(other: OtherType, model: Model) -> str:
    """Why another type cannot be offered beside the model's; empty where it can."""
    if other.model is None:
        return "Its newest model cannot be read."
    if other.price_per_hour is None:
        return "What its machines cost is not known. Choose by its model once, with a price."
    if in_bounds(other.price_per_hour) is None:
        return "The price known of its machines is beyond all measure. Choose by its model with another."
    if model.artifact_sha256 and other.model.artifact_sha256 not in (None, model.artifact_sha256):
        return "Its newest model is of another JAR or .py file. Train it again with this one."
    return ""


def _is_finite(each: Alternative) -> bool:
    return all(map(math.isfinite, (each.seconds, each.cost, *(each.nearly_certain_seconds or ()))))
