"""Settings objects as template fields: rendered whole, and read and checked by one function."""

from __future__ import annotations

import json

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.values import as_template, settings_of
from tests.airflow_versions import DagSerialization
from tests.unit.operators.stated import spark_job

TEMPLATES = SizingGoal(
    deadline_seconds="{{ params.deadline }}",
    allowed_executors="{{ params.executors }}",
    price_per_hour={"local": "{{ params.price }}"},
    billing=Billing(boot_seconds="{{ params.boot }}"),
    on_failure="{{ params.reaction }}",
    allow_mixed="{{ params.mixed }}",
)

PARAMS = {
    "deadline": 60,
    "executors": [2, 4],
    "price": "0.35",
    "boot": 10,
    "reaction": "most_probable",
    "mixed": False,
}


def choose(**fields) -> ChooseConfigOperator:
    return ChooseConfigOperator(**{"task_id": "choose", "model": None, "goal": TEMPLATES, **fields})


def test_a_goal_is_rendered_as_deep_as_it_goes_and_decided_by(context, ti, model):
    with DAG("nightly", schedule=None):
        operator = choose(model=model)
    operator.render_template_fields({**context, "params": PARAMS})
    goal = settings_of(SizingGoal, operator.goal, "goal")

    assert (goal.deadline_seconds, goal.executors, goal.price_of("local")) == (60.0, (2, 4), 0.35)
    assert (goal.billing.boot_seconds, goal.reaction, goal.allow_mixed) == (10.0, "most_probable", False)
    operator.execute(context)
    assert ti.pushed["record"]["allowed_executors"] == [2, 4]
    assert ti.pushed["record"]["decision"]["billing"]["boot_seconds"] == 10.0


def test_airflow_keeps_a_goal_as_it_is_stated():
    with DAG("nightly", schedule=None) as dag:
        choose()
    kept = json.dumps(DagSerialization.to_dict(dag))
    for template in ("{{ params.deadline }}", "{{ params.boot }}", "{{ params.price }}"):
        assert template in kept
    assert "SizingGoal(" not in kept


@pytest.mark.parametrize("as_text", [False, True])
def test_a_goal_may_be_told_by_another_task(context, ti, model, as_text):
    told = as_template(SizingGoal, SizingGoal(deadline_seconds=60, max_executors=8, price_per_hour=1), "goal")
    operator = choose(model=model, goal="{{ ti.xcom_pull(task_ids='goal') | tojson }}")
    operator.goal = json.dumps(told) if as_text else told
    operator.execute(context)
    assert ti.pushed["executors"] == 3


@pytest.mark.parametrize(
    ("goal", "named"),
    [
        ({"deadline_seconds": 60, "max_machine": 8}, "goal='max_machine' is unknown"),
        ({"deadline_seconds": "soon", "max_executors": 8}, "deadline_seconds='soon' is not a finite number"),
        (
            {"deadline_seconds": "{{ x }}", "max_executors": 8, "billing": {"boot_seconds": -1}},
            "billing.boot_seconds=-1",
        ),
        (Billing(), "goal=.* is not of type SizingGoal"),
        (None, "goal=None is not of type SizingGoal"),
    ],
)
def test_what_cannot_be_is_refused_when_the_dag_is_parsed(goal, named):
    with pytest.raises(InvalidParameterError, match=named):
        choose(goal=goal)


def test_a_template_that_renders_to_another_one_is_refused(context, model):
    operator = choose(model=model, goal=SizingGoal(deadline_seconds="{{ params.x }}", max_executors=8))
    with pytest.raises(AirflowFailException, match=r"deadline_seconds=.* is still a template"):
        operator.execute(context)


def test_an_input_that_is_none_is_refused_in_the_dag_file():
    with pytest.raises(InvalidParameterError, match="input"):
        SampleRunOperator(task_id="of_input", job=spark_job(), input=None, experiment={}, cluster={})
