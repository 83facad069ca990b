"""Types of machines at the same dollars per hour, as Ernest compares them (section 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.considered import all_considered
from airflow_provider_ernest.plugin.prediction_request import PredictionRequest
from airflow_provider_ernest.plugin.visible import Readable

FEWEST_TYPES = 2


def compared_at_same_cost(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> dict[str, Any]:
    """What each type takes for some rates of dollars per hour that all can come to.

    The arguments and errors are those of `prediction_page.prediction`; without a price nothing is compared.

    Returns:
        For `JsonAnswer`.
    """
    from airflow_provider_ernest.model.same_cost import same_cost

    considered = all_considered(store, model, request, entries=entries, readable=readable)
    offers, alternatives = considered.offers, considered.alternatives
    enough = len(offers) >= FEWEST_TYPES
    return {
        "rates": same_cost(offers, scale=request.scale, alternatives=alternatives) if enough else (),
        "skipped_types": [{"instance_type": name, "reason": reason} for name, reason in considered.skipped],
    }
