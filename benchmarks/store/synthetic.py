"""Stores that hold very much, built in little time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from airflow_provider_ernest.documents import (
    Configuration,
    Decision,
    DecisionRecord,
    FittedTerm,
    Model,
    Observation,
    Origin,
    ProductionRun,
    Validation,
    new_id,
)
from airflow_provider_ernest.store.catalogue import (
    COMPLETE,
    FOLDER,
    MOST_LOOSE,
    SEGMENT,
    SEGMENT_SUFFIX,
    Line,
    entry_of,
    line_text,
)
from airflow_provider_ernest.store.stored_documents import DECISIONS, MODELS, PRODUCTION, Shelf, with_digest

JOBS = 200
INSTANCE_TYPE = "m5.large"
SMALL_SEGMENTS = 32
"""As merging leaves them: about half of what is merged into one."""
RUNS_TO_A_MODEL = 10
MINUTES_BETWEEN_RUNS = 3
MOST_LINKS = 60_000
"""File systems allow about as many names of one file."""


def fill(root: Path, number: int, *, now: datetime) -> None:
    """Write that many documents, without waiting for the disk, and the catalogue that their writers leave.

    Of 21 documents ten are decisions, ten production runs and one is a model.
    """
    lines: list[str] = []
    for shelf, document in _documents(number, now):
        path = shelf.path(root, document.job, document.instance_type, getattr(document, shelf.id_field))
        try:
            path.write_bytes(_json(document))
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_json(document))
        entry = entry_of(document)
        lines.append(line_text(Line(entry.key, now.isoformat(timespec="microseconds"), entry)))
    _write_segments(root / FOLDER, lines)


def fill_one_folder(root: Path, number: int, *, now: datetime) -> str:
    """As many models of one job, all of the same content; returns the job's name."""
    job, model = "every_few_minutes", a_model("every_few_minutes", now)
    folder = MODELS.path(root, job, INSTANCE_TYPE, model.model_id).parent
    folder.mkdir(parents=True)
    for index in range(number):
        path = folder / f"{new_id(now - timedelta(minutes=MINUTES_BETWEEN_RUNS * (number - index)))}.json"
        if index % MOST_LINKS == 0:
            first = path
            path.write_bytes(_json(model))
        else:
            os.link(first, path)
    return job


def a_model(job: str, when: datetime) -> Model:
    """A model of seven observations."""
    runs = tuple(
        Observation(index=index, machines=1 + index, scale=0.1, seconds=60.0 - index) for index in range(7)
    )
    return Model(
        model_id=new_id(when),
        job=job,
        instance_type=INSTANCE_TYPE,
        created_at=when.isoformat(),
        terms=(FittedTerm(name="scale/machines", meaning="parallel work", coefficient=600.0),),
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
        production_id=new_id(when),
        recorded_at=when.isoformat(),
        job=job,
        instance_type=INSTANCE_TYPE,
        machines=8,
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
        decision_id=new_id(when),
        decided_at=when.isoformat(),
        job=job,
        instance_type=INSTANCE_TYPE,
        decision=Decision(
            config=Configuration(machines=8, instance_type=INSTANCE_TYPE),
            goal="cheapest within 60 s",
            predicted_seconds=50.0,
        ),
        scale=1.0,
        min_machines=1,
        max_machines=16,
        model_id="20260101T000000.000000Z-00000000",
        deadline_seconds=60.0,
    )


def _documents(number: int, now: datetime) -> Iterator[tuple[Shelf[Any], Any]]:
    for index in range(number):
        cycle, position = divmod(index, 2 * RUNS_TO_A_MODEL + 1)
        job = f"job_{cycle % JOBS:05d}"
        when = now - timedelta(minutes=MINUTES_BETWEEN_RUNS * (number - index))
        if position == 0:
            yield MODELS, a_model(job, when)
        elif position % 2:
            yield DECISIONS, _a_decision(job, when)
        else:
            yield PRODUCTION, a_production_run(job, when)


def _write_segments(folder: Path, lines: list[str]) -> None:
    """One segment of all that was merged twice, and some of what was merged once."""
    folder.mkdir(parents=True, exist_ok=True)
    in_small = min(len(lines) // 2, SMALL_SEGMENTS * MOST_LOOSE)
    parts = [lines[: len(lines) - in_small]]
    parts += [lines[start : start + MOST_LOOSE] for start in range(len(parts[0]), len(lines), MOST_LOOSE)]
    for part in parts:
        name = f"{SEGMENT}{new_id(datetime.now(UTC))}{SEGMENT_SUFFIX}"
        (folder / name).write_text("".join(f"{line}\n" for line in part), encoding="utf-8")
    (folder / COMPLETE).write_text("All that the folder beside it holds is listed here.\n")


def _json(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(with_digest(document)), indent=2)
