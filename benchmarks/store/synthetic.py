"""Stores that hold very much, built in little time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from airflow_provider_ernest.documents.base import Origin, Record, new_id, new_stamp
from airflow_provider_ernest.documents.decisions import Configuration, Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import FittedTerm, Model, Validation
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.store.catalogue import place_of
from airflow_provider_ernest.store.files import in_threads

INSTANCE_TYPE = "m5.large"
DAYS = 200
"""Over which the documents of a job were made."""
WRITERS = 8


def fill(root: Any, *, jobs: int, of_each: int, now: datetime) -> None:
    """Write so many documents of each kind and job, over `DAYS`, without waiting for the disk."""

    def write(number: int) -> None:
        for record in _records(job_name(number), of_each, now):
            path = place_of(record).path(root)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(msgspec.json.format(msgspec.json.encode(record.to_dict()), indent=2))

    in_threads(write, range(jobs), most=WRITERS)


def job_name(number: int) -> str:
    """Of the job of that number."""
    return f"job_{number:05d}"


def a_model(job: str, when: datetime) -> Model:
    """A model of seven observations."""
    runs = tuple(
        Observation(index=index, executors=1 + index, scale=0.1, seconds=60.0 - index) for index in range(7)
    )
    return Model(
        id=new_id(when),
        job=job,
        instance_type=INSTANCE_TYPE,
        at=when.isoformat(),
        terms=(FittedTerm(name="scale/executors", meaning="parallel work", coefficient=600.0),),
        validation=Validation(
            folds=(), residual_sum_of_squares=1.0, median_error_percent=3.0, max_error_percent=9.0
        ),
        observations=runs,
        artifact=f"s3a://jars/{job}.jar",
        artifact_sha256="ab" * 32,
        origin=Origin(dag_id=f"dag_of_{job}", run_id="scheduled__1", task_id="sizing.fit_model"),
    )


def a_production_run(job: str, when: datetime) -> ProductionRun:
    """A run of 55 s of 50 predicted."""
    return ProductionRun(
        **new_stamp(when),
        job=job,
        instance_type=INSTANCE_TYPE,
        executors=8,
        scale=1.0,
        seconds=55.0,
        predicted_seconds=50.0,
        likely_seconds=(47.0, 53.0),
        nearly_certain_seconds=(44.0, 56.0),
        model_id="20260101T000000.000000Z-00000000",
        decision_id="20260101T000000.000000Z-00000001",
        artifact_sha256="ab" * 32,
        origin=Origin(dag_id=f"dag_of_{job}", run_id="scheduled__1", task_id="record"),
    )


def _a_decision(job: str, when: datetime) -> DecisionRecord:
    return DecisionRecord(
        **new_stamp(when),
        job=job,
        instance_type=INSTANCE_TYPE,
        decision=Decision(
            config=Configuration(executors=8, instance_type=INSTANCE_TYPE),
            goal="best value within 60 s",
            predicted_seconds=50.0,
        ),
        scale=1.0,
        min_executors=1,
        max_executors=16,
        model_id="20260101T000000.000000Z-00000000",
        deadline_seconds=60.0,
    )


def _records(job: str, number: int, now: datetime) -> Iterator[Record]:
    for index in range(number):
        when = (now - timedelta(days=DAYS) * (number - index) / number).astimezone(UTC)
        yield a_model(job, when)
        yield _a_decision(job, when)
        yield a_production_run(job, when)
