"""What the page of a DAG run tells, in good times and in bad."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_ernest.documents import ProductionRun, TrainedMachine, TrainingCluster
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run import run_page
from airflow_provider_ernest.views.run_documents import StoredOfRun
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.run_examples import (
    DAG_ID,
    JOB,
    MODEL_ID,
    NOON,
    NOW,
    RUN_ID,
    RUNS,
    TYPE,
    decision,
    example_run,
    model,
    never_run,
    origin,
    record,
    row,
)

NOTHING_STORED = StoredOfRun()
MODEL = {"job": JOB, "instance_type": TYPE, "model_id": MODEL_ID}


def page(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    return json_ready(run_page(run, stored=stored, now=NOW))


def group(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    (only,) = page(run, stored)["groups"]
    return only


def branch(told: dict[str, Any]) -> dict[str, Any]:
    (only,) = told["branches"]
    return only


def production_run(**changes: Any) -> ProductionRun:
    recorded = ProductionRun(
        id="20261120T124100.000000Z-0badcafe",
        at="2026-11-20T12:41:00+00:00",
        job=JOB,
        instance_type=TYPE,
        machines=8,
        scale=1.0,
        seconds=590.0,
        predicted_seconds=649.0,
        likely_seconds=(600.0, 700.0),
        nearly_certain_seconds=(580.0, 720.0),
        cost=0.3,
        model_id=MODEL_ID,
        origin=replace(origin("x"), task_id="production"),
    )
    return replace(recorded, **changes)


class TestARunThatWentWell:
    def test_what_came_of_it(self):
        told = group(example_run())
        trained = branch(told)
        assert trained["design"]["experiments"] == len(RUNS)
        assert trained["cluster"]["machines"] == 4
        assert trained["cluster"]["culled"] == 1
        assert (trained["name"], trained["instance_type"]) == ("", TYPE)
        assert trained["is_decided_by"] is True
        assert [run["index"] for run in trained["observations"]] == [0, 1, 2, 3]
        assert trained["model"] == {**MODEL, "median_error_percent": 3.0, "max_error_percent": 3.1}
        assert told["decision"]["machines"] == 8
        assert page(example_run())["hints"] == []

    def test_the_steps_are_in_their_order(self):
        kinds = [step["kind"] for step in group(example_run())["steps"]]
        assert list(dict.fromkeys(kinds)) == [
            "preflight",
            "design",
            "cluster",
            "sample_run",
            "fit",
            "choose",
            "production",
            "terminate",
        ]

    def test_production_beside_its_prediction(self):
        production = group(example_run())["production"]
        assert production["task_id"] == "production"
        assert production["seconds"] == 600.0
        assert production["error_percent"] == pytest.approx(5.0)
        assert production["held_likely"] is True
        assert production["held_nearly_certain"] is True

    def test_production_outside_of_what_was_nearly_certain(self):
        slow = {"ended_at": NOON + timedelta(minutes=61)}
        production = group(example_run(changed={"production": slow}))["production"]
        assert production["error_percent"] == pytest.approx(-65.0)
        assert production["held_nearly_certain"] is False

    def test_where_production_was_recorded_the_record_counts(self):
        run = example_run()
        pushed = {**run.values, ("production", -1, "production_run"): production_run().to_dict()}
        # By its XCom, or where that is gone by the store.
        of_xcom = group(replace(run, values=pushed))["production"]
        production = group(run, StoredOfRun(production_runs=lambda: (production_run(),)))["production"]
        assert of_xcom == production
        assert (production["seconds"], production["cost"]) == (590.0, 0.3)
        assert production["error_percent"] == pytest.approx(10.0)
        assert production["held_likely"] is False

    def test_the_address_of_the_run_bears_any_name(self):
        run = replace(example_run(), dag_id="a/b", run_id="r?&#")
        assert page(run)["run_url"] == "dags/a%2Fb/runs/r%3F%26%23"


class TestARunThatWentWrong:
    def test_a_design_that_failed(self):
        behind = (
            "create_cluster",
            "sample_run",
            "fit_model",
            "choose_config",
            "production",
            "terminate_cluster",
        )
        run = example_run(
            changed={"design": {"state": "failed"}, **never_run(*behind)}, without=("design", *behind)
        )
        told = group(run)
        assert branch(told)["design"] is branch(told)["model"] is told["decision"] is None
        assert told["training"] == {
            "seconds": None,
            "cost": None,
            "machines": None,
            "share_of_production_percent": None,
        }
        assert told["production"]["state"] == "upstream_failed"
        assert told["production"]["seconds"] is None

    def test_a_training_that_failed_with_a_fallback(self):
        fallback = decision(
            predicted_seconds=None,
            likely_seconds=None,
            nearly_certain_seconds=None,
            predicted_cost=None,
            fallback_reason="There is no model.",
        )
        run = example_run(changed=never_run("fit_model"), without=("fit_model",))
        run = replace(
            run,
            values={
                **{key: value for key, value in run.values.items() if key[2] != "record"},
                ("ernest.choose_config", -1, "return_value"): fallback.to_dict(),
            },
        )
        told = group(run)
        assert branch(told)["model"] is None
        assert told["decision"]["fallback_reason"] == "There is no model."
        assert told["decision"]["fallback"] == "stated"
        assert told["production"]["error_percent"] is None
        assert told["production"]["cost"] == pytest.approx(8 * 0.2 / 6)

    def test_a_model_that_was_too_inaccurate_can_be_looked_at(self):
        run = example_run(
            changed={"fit_model": {"state": "failed"}, **never_run("choose_config", "production")},
            without=("choose_config",),
        )
        left = {
            key: value for key, value in run.values.items() if key != ("ernest.fit_model", -1, "return_value")
        }
        told = branch(group(replace(run, values=left)))
        assert told["model"] == {**MODEL, "median_error_percent": None, "max_error_percent": None}

    def test_production_that_failed_says_nothing_of_its_prediction(self):
        production = group(example_run(changed={"production": {"state": "failed"}}))["production"]
        assert production["seconds"] == 600.0
        assert production["error_percent"] is production["held_likely"] is None

    def test_a_run_without_our_tasks_says_what_to_do(self):
        told = page(example_run(tasks=(row("hello", "BashOperator", 0, 1),)))
        assert told["groups"] == []
        assert "ErnestTaskGroup" in told["hints"][0]

    def test_a_run_without_production_says_what_to_do(self):
        run = example_run()
        run = replace(run, downstream={**run.downstream, "ernest.choose_config": frozenset()})
        told = page(run)
        assert told["groups"][0]["production"] is None
        assert "directly behind it" in told["hints"][0]


class TestResultsThatAreGone:
    def test_are_named(self):
        told = page(example_run(values={}))
        assert told["groups"][0]["decision"] is None
        (hint,) = told["hints"]
        for task in ("ernest.design", "ernest.sample_run", "ernest.fit_model", "ernest.choose_config"):
            assert hint.count(task) == 1

    def test_are_taken_from_the_store(self):
        stored = StoredOfRun(models=lambda: (replace(model(), design=None),), decisions=lambda: (record(),))
        told = group(example_run(values={}), stored)
        assert branch(told)["model"]["model_id"] == MODEL_ID
        assert told["decision"]["machines"] == 8
        assert len(branch(told)["observations"]) == len(RUNS)

    def test_are_not_taken_from_an_attempt_before_the_last(self):
        stored = StoredOfRun(models=lambda: (model(),), decisions=lambda: (record(),))
        again = example_run(values={}, changed={"fit_model": {"state": "running"}})
        told = branch(group(again, stored))
        assert told["model"]["median_error_percent"] is None

    def test_are_not_taken_from_another_group(self):
        elsewhere = replace(model(), origin=replace(origin("x"), task_id="other.fit_model"))
        told = group(example_run(values={}), StoredOfRun(models=lambda: (elsewhere,)))
        assert branch(told)["model"] is None


def test_the_identity_of_the_run():
    told = page(example_run())
    assert (told["dag_id"], told["run_id"], told["state"]) == (DAG_ID, RUN_ID, "success")


class TestAMappedProduction:
    """Two instances: one recorded on six machines, one not recorded."""

    @pytest.fixture
    def run(self) -> RunRecord:
        run = example_run()
        (production,) = (task for task in run.tasks if task.task_id == "production")
        others = tuple(task for task in run.tasks if task is not production)
        second = {"started_at": NOON + timedelta(minutes=50), "ended_at": NOON + timedelta(minutes=70)}
        return replace(
            run,
            tasks=(*others, replace(production, map_index=0), replace(production, map_index=1, **second)),
            values={
                **run.values,
                ("production", 0, "production_run"): production_run(machines=6).to_dict(),
            },
        )

    def test_each_instance_has_its_own_time_and_cost(self, run: RunRecord):
        steps = [step for step in group(run)["steps"] if step["kind"] == "production"]
        assert [step["says"][:14] for step in steps] == ["It took 9 min ", "It took 20 min"]
        assert [step["cost"] for step in steps] == [0.3, pytest.approx(8 * 0.2 / 3)]

    def test_of_the_store_too(self, run: RunRecord):
        kept = tuple(
            production_run(seconds=seconds, origin=replace(origin("x", index), task_id="production"))
            for index, seconds in ((1, 1200.0), (0, 660.0))
        )
        told = group(replace(run, values={}), StoredOfRun(production_runs=lambda: kept))
        steps = [step for step in told["steps"] if step["kind"] == "production"]
        assert [step["says"][:14] for step in steps] == ["It took 11 min", "It took 20 min"]

    def test_the_figure_is_of_the_first(self, run: RunRecord):
        assert group(run)["production"]["machines"] == 6


class TestAStoredCluster:
    def test_costs_what_the_clusters_handle_tells(self):
        of_handle = group(example_run())
        machines = tuple(TrainedMachine(host=f"10.0.0.{number}", price_per_hour=0.2) for number in range(4))
        culled = TrainedMachine(host="10.0.0.5", culled_because="slow", price_per_hour=0.2)
        master = TrainedMachine(host="10.0.0.9", is_master=True, price_per_hour=0.2)
        cluster = TrainingCluster(
            kind="ec2",
            name="ernest-nightly",
            instance_type=TYPE,
            cores_per_machine=4,
            price_per_hour=0.2,
            machines=(*machines, culled, master),
        )
        kept = StoredOfRun(models=lambda: (replace(model(), cluster=cluster),), decisions=lambda: (record(),))
        told = group(example_run(values={}), kept)
        assert told["training"]["cost"] == pytest.approx(of_handle["training"]["cost"])
        assert told["training"]["machines"] == of_handle["training"]["machines"] == 6
        made = branch(told)["cluster"]
        assert (made["machines"], made["culled"]) == (4, 1)

    def test_of_a_master_at_another_price(self):
        cluster = TrainingCluster(
            kind="ec2",
            name="c",
            instance_type=TYPE,
            cores_per_machine=4,
            price_per_hour=0.2,
            machines=(
                TrainedMachine(host="a"),
                TrainedMachine(host="b", is_master=True, price_per_hour=0.1),
            ),
        )
        kept = StoredOfRun(models=lambda: (replace(model(), cluster=cluster),), decisions=lambda: (record(),))
        assert group(example_run(values={}), kept)["training"]["cost"] == pytest.approx(0.3 / 2)

    def test_of_a_price_that_cannot_be(self):
        cluster = TrainingCluster(
            kind="ec2",
            name="c",
            instance_type=TYPE,
            cores_per_machine=4,
            price_per_hour=-0.2,
            machines=(TrainedMachine(host="a"),),
        )
        kept = StoredOfRun(models=lambda: (replace(model(), cluster=cluster),))
        assert branch(group(example_run(values={}), kept))["cluster"]["price_per_hour"] is None


@pytest.mark.parametrize("state", [None, "scheduled", "queued"])
def test_a_task_that_was_cleared_keeps_the_times_of_its_last_attempt_and_has_not_run(state: str | None):
    told = group(example_run(changed={"create_cluster": {"state": state}, "production": {"state": state}}))
    steps = {step["kind"]: step for step in told["steps"]}
    for kind in ("cluster", "production"):
        assert steps[kind]["started_at"] is steps[kind]["seconds"] is steps[kind]["cost"] is None
    assert told["training"]["seconds"] is None
