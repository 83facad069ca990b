"""What models live through: conditions and marks."""

from __future__ import annotations

from datetime import datetime

from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.runs import InputFingerprint, RunConditions
from tests.browser.synthetic_jobs import PARTITIONS

NEW_COLUMNS = "The model of 70 days ago is not reused. A record of the input has 14 columns and had 12."
CONDITIONS = RunConditions(
    spark="4.2.0",
    settings={
        "spark.sql.shuffle.partitions": "5f" * 32,
        "spark.executor.memory": "a0" * 32,
        "--depth": "7c" * 32,
    },
    input=InputFingerprint(partitions=PARTITIONS, total_bytes=320_000_000_000, columns=14, format="parquet"),
    cores_per_machine=4,
)


def marked(
    model: Model, *, cause: str, reason: str, when: datetime, origin: Origin | None = None
) -> ModelMark:
    """A mark of a model; by the task that fitted it where no other is named."""
    return ModelMark(
        **new_stamp(when),
        job=model.job,
        instance_type=model.instance_type,
        model_id=model.id,
        cause=cause,
        reason=reason,
        origin=origin or model.origin,
    )
