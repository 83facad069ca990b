"""Applications that change, and models of them, for the tests of what watches them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.store.store import ModelStore
from tests import examples

JOB = "nightly"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def deploy(jar: Path, content: bytes) -> None:
    """Replace an application as a careful deployment does: at one moment."""
    new = jar.with_name("new")
    new.write_bytes(content)
    new.replace(jar)


def trained(
    store: ModelStore, content: bytes | None, *, number: int = 0, instance_type: str = "m5.large"
) -> Model:
    """Put a model into the store that was trained with that content of the application."""
    model = replace(
        examples.model(number, job=JOB),
        instance_type=instance_type,
        artifact_sha256=sha256(content) if content is not None else None,
    )
    store.save(model)
    return model
