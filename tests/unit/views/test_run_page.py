"""What the page of a DAG run tells, in good times and in bad, and the tab of each of its task instances."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.documents.models import TrainedMachine
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run_documents import StoredOfRun
from tests.examples import training_cluster
from tests.unit.views.dag_runs import (
    JOB,
    MODEL_ID,
    NOON,
    PRICE,
    RUNS,
    TYPE,
    branch_of,
    decision,
    downstream,
    example_run,
    group_of,
    model,
    never_run,
    observation,
    page_of,
    production_run,
    pushing,
    record,
    row,
    rows,
    steps_of,
    task_of,
    values,
)

MODEL = {"job": JOB, "instance_type": TYPE, "model_id": MODEL_ID}


def kept(**fields: Any) -> StoredOfRun:
    """A model and the decision by it."""
    return StoredOfRun(models=lambda: (model(**fields),), decisions=lambda: (record(),))


def with_cluster(run: RunRecord | None = None, **changes: Any) -> RunRecord:
    """The run with another handle of its cluster."""
    known = run or example_run()
    handle = known.values["ernest.create_cluster", -1, "return_value"]
    return pushing(known, "create_cluster", {**handle, **changes})


class TestARunThatWentWell:
    @pytest.mark.parametrize(("minutes", "error", "held"), [(10, 5.0, True), (30, -65.0, False)])
    def test_production_beside_its_prediction(self, minutes: int, error: float, held: bool):
        changed = {"production": {"ended_at": NOON + timedelta(minutes=31 + minutes)}}
        production = group_of(example_run(changed=changed))["production"]
        assert (production["task_id"], production["seconds"]) == ("production", 60.0 * minutes)
        assert production["error_percent"] == pytest.approx(error)
        assert (production["held_likely"], production["held_nearly_certain"]) == (held, held)

    def test_where_production_was_recorded_the_record_counts(self):
        pushed = pushing(example_run(), "production", production_run().to_dict(), key="production_run")
        # By its XCom, or where that is gone by the store.
        of_xcom = group_of(pushed)["production"]
        stored = StoredOfRun(production_runs=lambda: (production_run(),))
        assert of_xcom == group_of(example_run(), stored)["production"]
        assert (of_xcom["seconds"], of_xcom["cost"]) == (590.0, 0.3)
        assert of_xcom["error_percent"] == pytest.approx(10.0)
        assert of_xcom["held_likely"] is False

    def test_the_address_of_the_run_bears_any_name(self):
        run = replace(example_run(), dag_id="a/b", run_id="r?&#")
        assert page_of(run)["run_url"] == "dags/a%2Fb/runs/r%3F%26%23"


class TestARunThatWentWrong:
    def test_a_design_that_failed(self):
        behind = ("create_cluster", "sample_run", "fit_model", "choose_config", "production")
        changed = {"design": {"state": "failed"}, **never_run(*behind, "terminate_cluster")}
        told = group_of(example_run(changed=changed, without=("design", *behind)))
        (branch,) = told["branches"]
        assert branch["design"] is branch["model"] is told["decision"] is None
        assert set(told["training"].values()) == {None}
        assert (told["production"]["state"], told["production"]["seconds"]) == ("upstream_failed", None)

    def test_a_model_that_was_too_inaccurate_can_be_looked_at(self):
        run = example_run(
            changed={"fit_model": {"state": "failed"}, **never_run("choose_config", "production")},
            without=("choose_config",),
        )
        left = dict(run.values)
        del left["ernest.fit_model", -1, "return_value"]
        told = branch_of(replace(run, values=left))
        assert told["model"] == {**MODEL, "median_error_percent": None, "max_error_percent": None}

    def test_production_that_failed_says_nothing_of_its_prediction(self):
        production = group_of(example_run(changed={"production": {"state": "failed"}}))["production"]
        assert production["seconds"] == 600.0
        assert production["error_percent"] is production["held_likely"] is None

    def test_a_run_without_our_tasks_says_what_to_do(self):
        told = page_of(example_run(tasks=(row("hello", "BashOperator", 0, 1),)))
        assert told["groups"] == []
        assert "ErnestTaskGroup" in told["hints"][0]

    def test_a_run_without_production_says_what_to_do(self):
        told = page_of(example_run(downstream={**downstream(), "ernest.choose_config": frozenset()}))
        assert told["groups"][0]["production"] is None
        assert "directly behind it" in told["hints"][0]

    @pytest.mark.parametrize("state", [None, "scheduled", "queued"])
    def test_a_task_that_was_cleared_keeps_its_times_and_has_not_run(self, state: str | None):
        changed = {"create_cluster": {"state": state}, "production": {"state": state}}
        run = example_run(changed=changed)
        for task in changed:
            step = steps_of(run)[task]
            assert step["started_at"] is step["seconds"] is step["cost"] is None
        assert group_of(run)["training"]["seconds"] is None


class TestResultsThatAreGone:
    def test_are_named(self):
        told = page_of(example_run(values={}))
        assert told["groups"][0]["decision"] is None
        (hint,) = told["hints"]
        for task in ("ernest.design", "ernest.sample_run", "ernest.fit_model", "ernest.choose_config"):
            assert hint.count(task) == 1
        assert "cannot be read here" in steps_of(example_run(values={}))["fit_model"]["says"]

    def test_are_taken_from_the_store(self):
        told = group_of(example_run(values={}), kept())
        (branch,) = told["branches"]
        assert branch["model"]["model_id"] == MODEL_ID
        assert len(branch["observations"]) == len(RUNS)
        assert told["decision"]["machines"] == 8

    def test_are_not_taken_from_an_attempt_before_the_last(self):
        again = example_run(values={}, changed={"fit_model": {"state": "running"}})
        assert branch_of(again, kept())["model"]["median_error_percent"] is None

    def test_are_not_taken_from_another_group(self):
        elsewhere = model(origin=replace(model().origin, task_id="other.fit_model"))
        stored = StoredOfRun(models=lambda: (elsewhere,))
        assert branch_of(example_run(values={}), stored)["model"] is None

    def test_a_stored_cluster_costs_what_its_handle_would_tell(self):
        machines = [TrainedMachine(host=f"10.0.0.{number}", price_per_hour=0.2) for number in range(4)]
        machines.append(TrainedMachine(host="10.0.0.5", culled_because="slow", price_per_hour=0.2))
        machines.append(TrainedMachine(host="10.0.0.9", is_master=True, price_per_hour=0.2))
        cluster = replace(training_cluster(price_per_hour=0.2), machines=tuple(machines))
        stored = kept(cluster=cluster)
        told = group_of(example_run(values={}), stored)
        of_handle = group_of(example_run())["training"]
        assert told["training"]["cost"] == pytest.approx(of_handle["cost"])
        assert told["training"]["machines"] == of_handle["machines"] == 6
        made = told["branches"][0]["cluster"]
        assert (made["machines"], made["culled"]) == (4, 1)

    def test_a_stored_master_has_its_own_price(self):
        machines = (
            TrainedMachine(host="a"),
            TrainedMachine(host="b", is_master=True, price_per_hour=0.1),
        )
        cluster = replace(training_cluster(price_per_hour=0.2), machines=machines)
        stored = kept(cluster=cluster)
        assert group_of(example_run(values={}), stored)["training"]["cost"] == pytest.approx(0.3 / 2)

    def test_a_stored_price_that_cannot_be_is_none(self):
        stored = kept(cluster=training_cluster(price_per_hour=-0.2))
        assert branch_of(example_run(values={}), stored)["cluster"]["price_per_hour"] is None


class TestResultsThatNobodyCanTrust:
    @pytest.mark.parametrize(
        "value",
        [
            {},
            7,
            [[[[]]]],
            {"schema": 99},
            {"index": 0, "machines": 10**400, "scale": 1, "seconds": 1},
            {"index": 0, "machines": 1, "scale": float("nan"), "seconds": 1},
            {"index": 0, "machines": -1, "scale": 1, "seconds": "<script>"},
        ],
    )
    @pytest.mark.parametrize("task", ["design", "create_cluster", "sample_run", "fit_model", "choose_config"])
    def test_are_left_out_and_named(self, task: str, value: Any):
        run = example_run()
        for key in ("design",) if task == "design" else ("return_value", "record", "stored_at"):
            run = pushing(run, task, value, key=key, map_index=0 if task == "sample_run" else -1)
        told = page_of(run)
        assert any(f"ernest.{task} cannot be read" in hint for hint in told["hints"])
        # What the others returned is there all the same.
        assert len(told["groups"][0]["branches"][0]["observations"]) >= len(RUNS) - 1

    def test_a_decision_of_absurd_numbers(self):
        absurd = {**decision().to_dict(), "predicted_cost": -1.0, "price_per_hour": -5.0}
        run = pushing(example_run(), "choose_config", absurd)
        told = group_of(run)
        assert told["decision"]["predicted_cost"] == -1.0
        # The cluster's price counts.
        assert told["production"]["cost"] == pytest.approx(8 * 0.2 / 6)
        assert "-$1.00" in steps_of(run)["choose_config"]["says"]

    def test_a_price_that_cannot_be(self):
        run = with_cluster(machines=[{"price_per_hour": -3}])
        assert branch_of(run)["cluster"] is None
        assert "price_per_hour=-3" in page_of(run)["hints"][0]

    def test_what_a_custom_backend_keeps_elsewhere(self):
        told = page_of(pushing(example_run(), "fit_model", "s3://bucket/xcom/model.json"))
        assert "[core] xcom_backend" in told["hints"][0]

    @pytest.mark.parametrize("place", ["", "/", "a.json", "x//.json", 7, None, "../../etc/passwd"])
    def test_a_place_of_a_model_that_is_none(self, place: Any):
        run = example_run(without=("fit_model", "choose_config"))
        assert branch_of(pushing(run, "fit_model", place, key="stored_at"))["model"] is None


class TestAMappedProduction:
    """Two instances: one recorded on six machines, one not recorded."""

    @pytest.fixture
    def run(self) -> RunRecord:
        *others, production = example_run().tasks
        second = {"started_at": NOON + timedelta(minutes=50), "ended_at": NOON + timedelta(minutes=70)}
        tasks = (*others, replace(production, map_index=0), replace(production, map_index=1, **second))
        told = production_run(machines=6).to_dict()
        return pushing(example_run(tasks=tasks), "production", told, key="production_run", map_index=0)

    def test_each_instance_has_its_own_time_and_cost(self, run: RunRecord):
        steps = [steps_of(run)["production", index] for index in (0, 1)]
        assert [step["says"][:14] for step in steps] == ["It took 9 min ", "It took 20 min"]
        assert [step["cost"] for step in steps] == [0.3, pytest.approx(8 * 0.2 / 3)]
        assert group_of(run)["production"]["machines"] == 6, "the figure is of the first"

    def test_of_the_store_too(self, run: RunRecord):
        both = tuple(production_run(index, seconds=seconds) for index, seconds in ((1, 1200.0), (0, 660.0)))
        told = steps_of(replace(run, values={}), StoredOfRun(production_runs=lambda: both))
        assert [told["production", index]["says"][:14] for index in (0, 1)] == [
            "It took 11 min",
            "It took 20 min",
        ]


class TestSeveralGroups:
    def test_each_has_its_own_steps_and_its_own_production(self):
        names = (("small", "report"), ("large", "archive"))
        run = example_run(
            tasks=tuple(task for name, after in names for task in rows(name, after)),
            values={key: value for name, _ in names for key, value in values(name).items()},
            downstream={key: after for name, task in names for key, after in downstream(name, task).items()},
        )
        told = {each["group_id"]: each for each in page_of(run)["groups"]}
        productions = {name: each["production"]["task_id"] for name, each in told.items()}
        assert productions == dict(names)
        for name, each in told.items():
            ours = [step["task_id"] for step in each["steps"] if step["kind"] != "production"]
            assert all(task.startswith(f"{name}.") for task in ours)

    def test_tasks_in_no_group_are_a_group(self):
        told = group_of(example_run(tasks=rows(""), values=values(""), downstream=downstream("")))
        assert (told["group_id"], told["decision"]["machines"]) == ("", 8)


class TestWhichTaskIsProduction:
    @pytest.mark.parametrize(
        ("behind", "far", "found"),
        [
            ([("submit", "KubernetesPodOperator")], [], "submit"),
            ([("a_message", "EmailOperator"), ("submit", "ErnestSparkSubmitOperator")], [], "submit"),
            ([], [("far_away", "SparkSubmitOperator")], None),
        ],
        ids=["any operator", "one that submits", "none further away"],
    )
    def test_directly_behind_the_decision(self, behind: list[Any], far: list[Any], found: str | None):
        tasks = (*rows()[:-1], *(row(task, operator, 31, 41) for task, operator in behind + far))
        after = {**downstream(), "ernest.choose_config": frozenset(task for task, _ in behind)}
        production = group_of(example_run(tasks=tasks, downstream=after))["production"]
        assert (production and production["task_id"]) == found

    def test_one_behind_the_resize(self):
        after = {
            **downstream(),
            "ernest.choose_config": frozenset({"ernest.resize_cluster"}),
            "ernest.resize_cluster": frozenset({"production"}),
        }
        tasks = (*rows(), row("ernest.resize_cluster", "EC2ClusterOperator", 30, 31))
        run = example_run(tasks=tasks, downstream=after)
        assert group_of(run)["production"]["task_id"] == "production"
        kinds = {task: steps_of(run)[task]["kind"] for task in ("resize_cluster", "create_cluster")}
        assert kinds == {"resize_cluster": "resize", "create_cluster": "cluster"}

    def test_by_its_operator_where_the_dag_is_gone(self):
        assert group_of(example_run(downstream={}))["production"]["task_id"] == "production"


class TestSteps:
    def test_what_came_of_a_cluster_some_of_which_was_culled(self):
        says = steps_of(example_run())["create_cluster"]["says"]
        assert says == "4 machines of m5.xlarge; 1 machine ended as too slow or too many."

    @pytest.mark.parametrize(
        ("state", "words"),
        [
            ("failed", "its log says why"),
            ("upstream_failed", "a task before it failed"),
            ("skipped", "skipped"),
            ("running", "is running"),
            ("up_for_retry", "will be tried again"),
            (None, "has not begun"),
            ("a state of the future", "has not begun"),
        ],
    )
    def test_what_has_not_succeeded(self, state: str | None, words: str):
        step = steps_of(example_run(changed={"fit_model": {"state": state}}))["fit_model"]
        assert words in step["says"]
        if state == "upstream_failed":
            # Airflow gives times to what never ran.
            assert step["started_at"] is step["ended_at"] is step["seconds"] is None

    def test_how_often_it_was_tried_and_how_long_it_waited(self):
        waited = replace(observation(0), waited_seconds=90.0).to_dict()
        run = pushing(
            example_run(changed={"sample_run": {"try_number": 3}}), "sample_run", waited, map_index=0
        )
        says = steps_of(run)["sample_run", 0]["says"]
        assert "after 90 s of waiting for machines" in says
        assert says.endswith("It took 3 attempts.")

    def test_a_cluster_of_somebody_else_is_not_ended(self):
        assert "not Ernest's" in steps_of(with_cluster(kind="existing"))["terminate_cluster"]["says"]

    def test_a_name_that_airflow_shows_is_shown(self):
        told = steps_of(example_run(changed={"choose_config": {"name": "ernest.choose_config"}}))
        assert told["sample_run", 1]["name"] == "2 machines, 4.00 %"
        # Without the group's id, which all of them bear.
        assert told["choose_config"]["name"] == "choose_config"

    def test_a_step_that_runs_takes_time_until_now(self):
        run = example_run(changed={"terminate_cluster": {"state": "running", "ended_at": None}})
        assert steps_of(run)["terminate_cluster"]["seconds"] == 90 * 60.0

    def test_what_the_machines_of_a_step_cost(self):
        told = steps_of(example_run())
        # Six machines while the cluster formed; two machines for 38 s; eight for ten minutes.
        assert told["create_cluster"]["cost"] == pytest.approx(6 * 0.2 / 12)
        assert told["sample_run", 1]["cost"] == pytest.approx(2 * 0.2 * 38 / 3600)
        assert told["production"]["cost"] == pytest.approx(8 * 0.2 / 6)
        assert told["fit_model"]["cost"] is None

    @pytest.mark.parametrize("of", ["Local", "Existing"])
    def test_a_clusters_operator_of_any_kind_is_a_cluster(self, of: str):
        run = example_run(changed={"create_cluster": {"operator": f"{of}ClusterOperator"}})
        assert steps_of(run)["create_cluster"]["kind"] == "cluster"

    def test_a_task_of_another_provider_is_no_step(self):
        assert "note" not in steps_of(example_run(tasks=(*rows(), row("ernest.note", "BashOperator", 0, 1))))

    @pytest.mark.parametrize(
        ("predicted", "sentence"),
        [(900.0, "It took 9 min 50 s; predicted: 15 min."), (None, "It took 9 min 50 s.")],
    )
    def test_production_on_other_machines_is_held_to_its_own_prediction(
        self, predicted: float | None, sentence: str
    ):
        recorded = production_run(machines=6, predicted_seconds=predicted).to_dict()
        run = pushing(example_run(), "production", recorded, key="production_run")
        assert steps_of(run)["production"]["says"] == sentence


class TestTask:
    def test_a_sample_run_that_failed_was_planned_all_the_same(self):
        run = example_run(changed={"sample_run": {"state": "failed"}}, without=("sample_run",))
        told = task_of(run, "ernest.sample_run", 1)
        assert told["observation"] is None
        assert told["experiment"]["machines"] == 2
        assert "log says why" in told["says"]

    def test_before_there_is_a_model(self):
        later = ("fit_model", "choose_config")
        run = example_run(changed={task: {"state": None} for task in later}, without=later)
        told = task_of(run, "ernest.sample_run", 1)
        assert told["model"] is None
        assert "no model of this run yet" in told["hints"][-1]

    def test_all_instances_of_a_mapped_task(self):
        told = task_of(example_run(), "ernest.sample_run")
        assert told["says"] == "It has 4 mapped instances."
        assert told["hints"] == ["Open one of them."]

    def test_production_says_where_its_log_is(self):
        recorded = production_run(application_id="app-1", event_log="/logs/app-1")
        stored = StoredOfRun(production_runs=lambda: (recorded,))
        told = task_of(example_run(), "production", stored=stored)
        assert "as application app-1 is /logs/app-1" in told["hints"][-1]

    def test_a_task_that_is_not_ours(self):
        told = task_of(example_run(tasks=(*rows(), row("hello", "BashOperator", 0, 1))), "hello")
        assert told["kind"] is None
        assert "none of Ernest's" in told["hints"][0]

    @pytest.mark.parametrize(
        ("task", "index"), [("nothing", -1), ("ernest.sample_run", 99), ("production", 3)]
    )
    def test_one_that_is_not_there(self, task: str, index: int):
        assert task_of(example_run(), task, index) is None

    @pytest.mark.parametrize("planned", [{}, "x", [1, 2, 3, 4], [None] * 4, [{"index": 10**400}] * 4])
    def test_a_design_of_anything(self, planned: Any):
        run = pushing(example_run(), "design", planned)
        assert task_of(run, "ernest.sample_run", 1)["experiment"] is None


MACHINE_MINUTE = PRICE / 60
"""Dollars of the example's cluster."""
ENDED = {"state": None, "started_at": None, "ended_at": None}
FAILED = {"fit_model": {"state": "failed"}, **never_run("choose_config", "production")}
UNTRAINED = ("fit_model", "choose_config")


class TestCostOfTheTraining:
    def test_all_machines_until_the_decision_and_culled_ones_until_the_cluster_was_ready(self):
        found = group_of(example_run())["training"]
        assert (found["seconds"], found["machines"]) == (30 * 60.0, 6)
        # Four workers and the master for 30 minutes, the culled one for five.
        assert found["cost"] == pytest.approx(MACHINE_MINUTE * (5 * 30 + 1 * 5))

    @pytest.mark.parametrize(
        ("prices", "master", "is_decided", "hourly"),
        [
            ((0.6, 0.2), {"price_per_hour": 0.2}, True, 1.0),
            ((None, None), None, True, 2 * PRICE),
            ((None, None), None, False, None),
            ((0.2, None), None, False, None),
            ((0,), None, True, 0),
        ],
        ids=["each its own price", "the decision's price", "no price", "one without", "free"],
    )
    def test_by_the_prices_of_the_machines(
        self, prices: Any, master: Any, is_decided: bool, hourly: float | None
    ):
        run = example_run(without=() if is_decided else ("choose_config",))
        machines = [{} if price is None else {"price_per_hour": price} for price in prices]
        found = group_of(with_cluster(run, machines=machines, master=master, culled=[]))["training"]
        assert found["cost"] == (None if hourly is None else pytest.approx(hourly / 2))
        assert found["seconds"] == 30 * 60.0

    @pytest.mark.parametrize(
        ("changed", "without", "minutes"),
        [
            (
                dict.fromkeys(("fit_model", "choose_config", "production", "terminate_cluster"), ENDED),
                UNTRAINED,
                120,
            ),
            # Airflow notes a time for a decision that was never made: 12:20. The teardown ended at 12:32.
            (FAILED, UNTRAINED, 32),
            ({**FAILED, "terminate_cluster": {"state": "running", "ended_at": None}}, UNTRAINED, 120),
            ({"terminate_cluster": {"ended_at": NOON + timedelta(hours=5)}}, (), 30),
            ({"sample_run": {"try_number": 3}}, (), 30),
        ],
        ids=["still running", "without a decision", "still ending", "a late end", "tried again"],
    )
    def test_machines_are_paid_until_they_are_not_needed(self, changed: Any, without: Any, minutes: float):
        found = group_of(example_run(changed=changed, without=without))["training"]
        assert found["seconds"] == minutes * 60.0
        assert found["cost"] == pytest.approx(MACHINE_MINUTE * (5 * minutes + 5))

    def test_a_cluster_whose_start_failed_is_of_unknown_cost(self):
        behind = ("sample_run", "fit_model", "choose_config")
        changed = {"create_cluster": {"state": "failed"}, **never_run(*behind)}
        found = group_of(example_run(changed=changed, without=("create_cluster", *behind)))["training"]
        assert found["cost"] is found["machines"] is None
        assert found["seconds"] is not None


class TestShareOfProduction:
    """The training's dollars in percent of what one production run costs."""

    @pytest.mark.parametrize(
        ("of_the_decision", "production", "dollars"),
        [
            ({}, {}, 8 * 10 * MACHINE_MINUTE),
            # A quarter of an hour is billed of its ten minutes and the two to boot, for a master, too.
            (
                {
                    "billing": Billing(
                        price_per_hour=PRICE,
                        increment_seconds=900.0,
                        boot_seconds=120.0,
                        master_price_per_hour=0.3,
                        training_dollars=7.0,
                    )
                },
                {},
                (8 * PRICE + 0.3) / 4,
            ),
            (
                {"billing": Billing(price_per_hour=PRICE, increment_seconds=5e-324)},
                {},
                8 * 10 * MACHINE_MINUTE,
            ),
            ({}, {"state": "failed"}, 0.28),
            ({}, {"state": "running", "ended_at": None}, 0.28),
        ],
        ids=["its cost", "all that is billed", "a bill beyond measure", "failed: predicted", "predicted"],
    )
    def test_is_of_what_production_cost_or_is_predicted_to(
        self, of_the_decision: Any, production: Any, dollars: float
    ):
        run = example_run(changed={"production": production})
        told = group_of(pushing(run, "choose_config", decision(**of_the_decision).to_dict()))["training"]
        share = 100 * MACHINE_MINUTE * (5 * 30 + 5) / dollars
        assert told["share_of_production_percent"] == pytest.approx(share)

    def test_is_unknown_without_a_decision(self):
        told = group_of(example_run(without=("choose_config",)))["training"]
        assert told["share_of_production_percent"] is None


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("failed", "It failed: job.py failed: ValueError: unknown zone ..."),
        (
            "up_for_retry",
            "An attempt failed: job.py failed: ValueError: unknown zone ... It will be tried again.",
        ),
        ("success", "4 machines, 10 % of the input: 41 s and a start-up of 5 s."),
    ],
)
def test_a_sample_run_that_failed_says_why(state, told):
    run = example_run(changed={"sample_run": {"state": state}})
    run = pushing(
        run, "sample_run", "job.py failed: ValueError: unknown zone ...", key="failure", map_index=3
    )
    assert steps_of(run)["sample_run", 3]["says"].startswith(told)
    assert task_of(run, "ernest.sample_run", 3)["says"].startswith(told)
    if state == "failed":
        assert steps_of(run)["sample_run", 2]["says"] == "It failed; its log says why."


def test_a_reason_that_is_no_text_is_none():
    run = example_run(changed={"fit_model": {"state": "failed"}})
    assert steps_of(pushing(run, "fit_model", {"a": 1}, key="failure"))["fit_model"]["says"] == (
        "It failed; its log says why."
    )
