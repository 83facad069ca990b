"""Models and what is kept beside them, as the tests of the pages want them."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from airflow_provider_ernest.documents import (
    Configuration,
    Decision,
    DecisionRecord,
    Model,
    Observation,
    Origin,
    ProductionRun,
    TrainingCluster,
)
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.catalogue import CatalogueEntry

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
RUNS = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]


def everything(_: str | None) -> bool:
    return True


def origin(dag_id: str, task_id: str = "fit") -> Origin:
    return Origin(dag_id=dag_id, run_id="manual__1", task_id=task_id)


def identity(days: float, name: str = "") -> str:
    """An id of so many days ago."""
    return f"{NOW - timedelta(days=days):%Y%m%dT%H%M%S}-{name}"


def entry(kind: str = "model", *, days: float = 1.0, job: str = "join", name: str = "", **fields: Any) -> Any:
    at = (NOW - timedelta(days=days)).isoformat()
    known = {"instance_type": "m5.large", "dag_id": "sizing", "terms": ("1", "scale/machines"), **fields}
    return CatalogueEntry(kind=kind, id=identity(days, name), job=job, at=at, **known)


def observed(runs: int = len(RUNS), **fields: Any) -> list[Observation]:
    """Runs of a job of fixed work, work that spreads and a tree of aggregations, with 3 % of noise."""
    noise = Random(11)
    return [
        Observation(
            index=index,
            machines=machines,
            scale=scale,
            seconds=(12 + 900 * scale / machines + 2 * math.log(machines)) * math.exp(noise.gauss(0, 0.03)),
            **{"startup_seconds": 5.0, "application_id": f"app-{index}", **fields},
        )
        for index, (machines, scale) in ((index, RUNS[index % len(RUNS)]) for index in range(runs))
    ]


def model(
    *,
    days: float = 1.0,
    dag_id: str | None = "sizing",
    price: float | None = 0.4,
    name: str = "",
    **fields: Any,
) -> Model:
    """A trained one of so many days ago, of a cluster of that price."""
    runs = observed()
    instance_type = fields.pop("instance_type", "m5.large")
    cluster = TrainingCluster(
        kind="ec2", name="c", instance_type=instance_type, cores_per_machine=2, price_per_hour=price
    )
    trained = train(
        runs,
        job=fields.pop("job", "join"),
        instance_type=instance_type,
        method=fields.pop("method", "relative"),
        origin=origin(dag_id) if dag_id else None,
        cluster=cluster,
    )
    at = NOW - timedelta(days=days)
    return replace(trained, id=identity(days, name), at=at.isoformat(), **fields)


def decided(
    by: Model, *, days: float, dag_id: str = "sizing", price: float | None = 0.5, **fields: Any
) -> Any:
    """A decision for 4 machines."""
    decision = Decision(
        config=Configuration(machines=4, instance_type=by.instance_type),
        goal="cheapest within 300 s",
        price_per_hour=price,
        predicted_seconds=280.0,
        predicted_cost=0.2,
    )
    known = {"scale": 1.5, "deadline_seconds": 300.0, "min_machines": 2, "max_machines": 20, **fields}
    return DecisionRecord(
        id=identity(days, dag_id),
        at=(NOW - timedelta(days=days)).isoformat(),
        job=by.job,
        instance_type=by.instance_type,
        decision=decision,
        model_id=by.id,
        origin=origin(dag_id, "choose"),
        **known,
    )


def produced(by: Model, *, days: float, dag_id: str = "sizing", seconds: float = 290.0, **fields: Any) -> Any:
    """A production run that was to take 280 s, nearly certainly 200 to 380 s."""
    return ProductionRun(
        id=identity(days, dag_id),
        at=(NOW - timedelta(days=days)).isoformat(),
        job=by.job,
        instance_type=by.instance_type,
        machines=4,
        scale=1.5,
        seconds=seconds,
        predicted_seconds=280.0,
        likely_seconds=(240.0, 320.0),
        nearly_certain_seconds=(200.0, 380.0),
        model_id=by.id,
        application_id="app-production",
        origin=origin(dag_id, "production"),
        **fields,
    )
