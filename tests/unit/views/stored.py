"""What a store holds of the job `join` on m5.large, of so many days ago: ids are in the order of the days."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Configuration, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from tests import examples
from tests.examples import NOW, ago


def everything(_: str | None) -> bool:
    return True


def not_secret(dag_id: str | None) -> bool:
    return dag_id != "secret"


def origin(dag_id: str, task_id: str = "fit") -> Origin:
    return Origin(dag_id=dag_id, run_id="manual__1", task_id=task_id)


def identity(days: float, name: str = "") -> str:
    return f"{NOW - timedelta(days=days):%Y%m%dT%H%M%S}-{name}"


def beside(by: Model, *, days: float, dag_id: str | None, task_id: str = "fit") -> dict[str, Any]:
    """The fields of what that DAG kept beside a model, or of what nobody's did."""
    made_by = origin(dag_id, task_id) if dag_id else None
    known = {"job": by.job, "instance_type": by.instance_type, "origin": made_by}
    return {"id": identity(days, dag_id or "nobody"), "at": ago(days), **known}


def entry(kind: str = "model", *, days: float = 1.0, job: str = "join", name: str = "", **fields: Any) -> Any:
    known = {"instance_type": "m5.large", "dag_id": "sizing", "terms": ("1", "scale/executors")}
    known |= {"median_error_percent": 5.0, **fields} if kind == "model" else fields
    return CatalogueEntry(kind=kind, id=identity(days, name), job=job, at=ago(days), **known)


def model(
    *,
    days: float = 1.0,
    dag_id: str | None = "sizing",
    price: float | None = 0.4,
    name: str = "",
    job: str = "join",
    instance_type: str = "m5.large",
    method: str = "relative",
    **fields: Any,
) -> Model:
    """A trained one, of a cluster of that price."""
    trained = train(
        examples.noisy_observations(),
        job=job,
        instance_type=instance_type,
        method=method,
        origin=origin(dag_id) if dag_id else None,
        cluster=examples.training_cluster(0, instance_type=instance_type, price_per_hour=price),
    )
    return replace(trained, id=identity(days, name), at=ago(days), **fields)


def shared(model: Model) -> Model:
    """The same, had its runs been on a shared cluster, which places executors as it likes."""
    return replace(
        model, observations=tuple(replace(run, executors_per_machine=None) for run in model.observations)
    )


def decided(
    by: Model,
    *,
    days: float,
    dag_id: str = "sizing",
    price: float | None = 0.5,
    decision: dict[str, Any] | None = None,
    **fields: Any,
) -> DecisionRecord:
    """A decision for 4 machines, with fields of its own and of its record."""
    chosen = {"price_per_hour": price, "predicted_seconds": 280.0, "predicted_cost": 0.2, **(decision or {})}
    known = {"scale": 1.5, "deadline_seconds": 300.0, "min_executors": 2, "max_executors": 20, **fields}
    config = Configuration(executors=4, instance_type=by.instance_type)
    return examples.decision_record(
        **beside(by, days=days, dag_id=dag_id, task_id="choose"),
        decision=examples.decision(config=config, **chosen),
        model_id=by.id,
        **known,
    )


def produced(
    by: Model, *, days: float, dag_id: str = "sizing", seconds: float = 290.0, **fields: Any
) -> ProductionRun:
    """A production run that was to take 280 s, nearly certainly 200 to 380 s."""
    known = {
        "executors": 4,
        "scale": 1.5,
        "predicted_seconds": 280.0,
        "likely_seconds": (240.0, 320.0),
        "nearly_certain_seconds": (200.0, 380.0),
        "application_id": "app-production",
        "artifact_sha256": None,
        "decision_id": None,
    }
    told = beside(by, days=days, dag_id=dag_id, task_id="production")
    return examples.production_run(**told, seconds=seconds, model_id=by.id, **{**known, **fields})


def marked(of: Model, *, days: float, dag_id: str = "sizing", **fields: Any) -> ModelMark:
    told = beside(of, days=days, dag_id=dag_id, task_id="find_model")
    return examples.mark(**told, model_id=of.id, **fields)
