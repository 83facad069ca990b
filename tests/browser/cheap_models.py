"""Many models at the price of one: copies of a trained one under other names, written in one go."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import msgspec

from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.store.catalogue import place_of
from airflow_provider_ernest.store.store import ModelStore

DAGS = 50


def add_cheap_models(
    store: ModelStore, like: Model, number: int, *, now: datetime, versions: int = 2
) -> None:
    """Write that many models, so many of each job, as files."""
    for model in _copies(like, number, now, versions):
        path = place_of(model).path(store.root)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(model.to_dict()))


def _copies(like: Model, number: int, now: datetime, versions: int) -> list[Model]:
    random = Random(13)
    models = []
    for index in range(number):
        job = index // versions
        when = now - timedelta(minutes=7 * (number - index))
        median = round(random.lognormvariate(1.3, 0.6), 2)
        validation = replace(
            like.validation, median_error_percent=median, max_error_percent=round(3 * median, 2)
        )
        models.append(
            replace(
                like,
                **new_stamp(when),
                job=f"job_{job:05d}",
                validation=validation,
                artifact=f"s3a://jars/job_{job:05d}.jar",
                artifact_sha256=f"{job:064x}",
                origin=Origin(
                    dag_id=f"dag_{job % DAGS:02d}", run_id="scheduled__1", task_id="sizing.fit_model"
                ),
            )
        )
    return models
