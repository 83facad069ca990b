"""The states of models that have been told before: most stay as they are between two looks at the list."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from airflow_provider_ernest.model.life.freshness import State, state_of
from airflow_provider_ernest.model.storage.catalogue import CatalogueEntry

MOST_REMEMBERED = 20_000

_told: dict[CatalogueEntry, tuple[tuple[CatalogueEntry, ...], State]] = {}


def remembered_state(model: CatalogueEntry, of_job: Sequence[CatalogueEntry]) -> State:
    """The state of a model; of the same entries as last time without weighing a thousand runs again.

    Args:
        model: its entry in the catalogue.
        of_job: what the reader may see of its job.
    """
    told = _told.get(model)
    # The catalogue keeps an entry for as long as it is listed, so that the same one is the same object. What
    # is remembered keeps its entries, too: no other object can take the place of one of them.
    if told is not None and len(told[0]) == len(of_job) and all(map(is_, told[0], of_job)):
        return told[1]
    state = state_of(model, others=of_job)
    if len(_told) >= MOST_REMEMBERED:
        _told.clear()
    _told[model] = (tuple(of_job), state)
    return state
