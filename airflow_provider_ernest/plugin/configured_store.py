"""The model store that the pages show: [ernest] store of Airflow's configuration."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from fastapi import Depends

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.store_location import configured, store_root


@lru_cache(maxsize=4)
def _store_at(root: str) -> ModelStore:
    return ModelStore(store_root(root))


def model_store() -> ModelStore | StoreError:
    """The configured store, or why there is none.

    Always the same object, since it remembers what it has read.
    """
    try:
        return _store_at(configured("store"))
    # The libraries behind object stores raise errors of their own, if they are there at all.
    except Exception as error:
        problem = StoreError(f"The model store cannot be opened: {type(error).__name__}: {error}")
        problem.__cause__ = error
        return problem


def readable_store(store: Annotated[ModelStore | StoreError, Depends(model_store)]) -> ModelStore:
    """The configured store.

    Raises:
        StoreError: there is none.
    """
    if isinstance(store, StoreError):
        raise store
    return store


StoreDep = Annotated[ModelStore, Depends(readable_store)]
