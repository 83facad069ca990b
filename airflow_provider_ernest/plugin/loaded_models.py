"""Models that were read once are not read again: a stored model never changes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.store import ModelStore

MOST_KEPT = 64

_kept: OrderedDict[tuple[str, str, str, str], Model] = OrderedDict()
_lock = Lock()


def load_model(store: ModelStore, job: str, instance_type: str, model_id: str) -> Model:
    """A model of the store, the same object each time while it is among the last `MOST_KEPT`.

    Raises:
        StoreError: it is not there or cannot be read.
    """
    with _lock:
        kept = _kept.get((str(store.root), job, instance_type, model_id))
    return kept or same_model(store, store.load(job, instance_type, model_id))


def same_model(store: ModelStore, model: Model) -> Model:
    """The object that was kept of a model of the store; the model itself is kept where none was.

    What is fitted for a model is found by the object at once, by an equal one only after comparing the
    two observation by observation.
    """
    key = (str(store.root), model.job, model.instance_type, model.model_id)
    with _lock:
        if _kept.get(key) != model:
            _kept[key] = model
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
        return _kept[key]
