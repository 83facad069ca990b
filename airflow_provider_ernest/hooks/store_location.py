"""Where models are kept, and what is configured beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk.io import ObjectStoragePath

    from airflow_provider_ernest.store.store import ModelStore


def configured(kind: str) -> str:
    """The place for a kind of things, by ``[ernest]`` of Airflow's configuration or by default."""
    from airflow.providers.common.compat.sdk import conf

    home = Path(os.path.expandvars(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser()
    return str(conf.get("ernest", kind, fallback="") or home / "ernest" / kind)


def store_root(root: str | None = None) -> Path | ObjectStoragePath:
    """The root of the model store: the argument where given, else as configured; local or any URL.

    Raises:
        StoreError: no storage is known by this address.
    """
    from airflow_provider_ernest.store.files import store_errors

    root = root or configured("store")
    with store_errors(f"The model store {root!r} cannot be opened"):
        if "://" not in root:
            return Path(root).expanduser().absolute()
        from airflow.sdk.io import ObjectStoragePath, has_fs
        from fsspec import available_protocols

        path = ObjectStoragePath(root)
        # Airflow 3.1 makes a path of any scheme, and fails where it is first read: after the training.
        if not has_fs(path.protocol) and path.protocol not in available_protocols():
            raise ValueError(f"Unsupported filesystem: {path.protocol!r}")
        return path


def model_store() -> ModelStore:
    """The model store that is configured; raises as `store_root`."""
    from airflow_provider_ernest.store.store import ModelStore

    return ModelStore(store_root())
