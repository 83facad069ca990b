"""A decision of one job on one type of machine, and what is kept of it."""

from __future__ import annotations

from dataclasses import fields

from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.values import as_template
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators.stated import rendered, spark_job

GOAL_FIELDS = {one.name for one in fields(SizingGoal)}


def choose_operator(model, *, job=None, conf=None, iterations=None, **changes) -> ChooseConfigOperator:
    """As Airflow hands it over for execution: what changes of the goal was a template, and is rendered."""
    stated = {"price_per_hour": 0.35, "max_executors": 8, "deadline_seconds": 60}
    goal = {name: changes.pop(name) for name in GOAL_FIELDS & {*changes}}
    if job or conf:
        changes["job"] = spark_job(name=job or "enrich", conf=conf or {})
    operator = ChooseConfigOperator(task_id="choose", model=model, goal=SizingGoal(**stated), **changes)
    plain = {
        name: as_template(Billing, value, name) if isinstance(value, Billing) else value
        for name, value in goal.items()
    }
    return rendered(operator, goal=plain, job={} if iterations is None else {"iterations": iterations})


def cluster(executors: int, *, kind: str = "local", price_per_hour: float | None = None) -> dict:
    """Of machines of one core."""
    each = {"cores": 1, "memory_megabytes": 900, "price_per_hour": price_per_hour}
    return examples.cluster(executors, each=each, kind=kind, cores_per_machine=1).to_dict()


def recorded(job: str = "enrich", instance_type: str = "local") -> list[DecisionRecord]:
    return ModelStore(store_root()).newest(DecisionRecord, job, instance_type)
