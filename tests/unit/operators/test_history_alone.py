"""A job that is sized by its past runs alone: by none, by one, by those of one size, and of several."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.record_run import RecordRunOperator
from airflow_provider_ernest.settings import (
    DesignBounds,
    EventLogs,
    ExpectedInput,
    Exploration,
    ModelSettings,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.task_group import ErnestTaskGroup
from tests.unit.eventlog.event_log_texts import (
    ended,
    environment,
    executor,
    job,
    job_end,
    stage,
    started,
    task,
    write,
)

TASKS, TASK_SECONDS, CORES = 480, 10, 2
MOST = 40


def log(folder: Path, executors: int, *, number: int = 0, slower: float = 1.0, **properties: str) -> None:
    """Of a run of the job on a shared cluster: a stage of tasks that all take as long."""
    now = int(datetime.now(UTC).timestamp() * 1000)
    begun = now - 3_600_000 * (1000 - number)
    slots, length = executors * CORES, int(1000 * TASK_SECONDS * slower)
    first = begun + 10_000

    def at(place: int) -> int:
        return first + place // slots * length

    end = at(TASKS - 1) + length
    application = f"application_1700000000000_{number:04d}"
    events = [
        started(**{"App Name": "enrich", "App ID": application, "Timestamp": begun}),
        environment(**{"spark.master": "yarn", "spark.executor.cores": str(CORES), **properties}),
        *(
            executor(each, at=begun + 5_000, host=f"node-{each % 3}", cores=CORES)
            for each in range(executors)
        ),
        job(0, 0, at=first),
        stage(0, **{"Number of Tasks": TASKS, "Submission Time": first}),
        *(
            task(
                place,
                executor=str(place % slots // CORES),
                at=at(place),
                until=at(place) + length,
                metrics={"Input Metrics": {"Bytes Read": 64_000_000}, "Executor Run Time": length},
            )
            for place in range(TASKS)
        ),
        stage(0, completed=end, **{"Number of Tasks": TASKS, "Submission Time": first}),
        job_end(0, at=end),
        ended(end + 1_000),
    ]
    write(folder / application, *events)


class Sizing:
    """The DAG of a user who has event logs and nothing else, task by task as Airflow runs it."""

    name, input, explore = "enrich", None, None

    def __init__(self, root: Path, context: dict[str, Any]) -> None:
        self.root, self.context = root, context
        self.logs = root / "spark-events"
        self.logs.mkdir()
        self.pushed: dict[str, dict[str, Any]] = {}

    def dag(self, *, deadline_seconds: float = 700.0, conf: Any = None, **goal: Any) -> DAG:
        with DAG("nightly", schedule=None) as dag:
            self.group = ErnestTaskGroup(
                job=SparkJob(name=self.name, conf=conf or {}),
                history=EventLogs(str(self.logs)),
                goal=SizingGoal(deadline_seconds=deadline_seconds, **{"max_executors": MOST, **goal}),
                input=self.input,
                explore=self.explore,
            )
        return dag

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> Any:
        return self.pushed[task_ids].get(key)

    def run(self, **stated: Any) -> dict[str, Any]:
        """What the decision pushes."""
        dag = self.dag(**stated)
        for name in ("read_history", "fit_model", "choose_config"):
            operator = dag.task_dict[f"ernest.{name}"]
            pushed = self.pushed.setdefault(operator.task_id, {})
            ti = SimpleNamespace(
                **{each: getattr(self.context["ti"], each) for each in ("dag_id", "run_id", "map_index")},
                try_number=1,
                task_id=operator.task_id,
                xcom_pull=self.xcom_pull,
                xcom_push=lambda key, value, pushed=pushed: pushed.update({key: value}),
                get_task_states=lambda **_: {},
            )
            context: Any = {**self.context, "ti": ti, "run_id": ti.run_id}
            operator.render_template_fields(context)
            pushed["return_value"] = operator.execute(context)
        return self.pushed["ernest.choose_config"]

    @property
    def decision(self) -> Decision:
        return Decision.from_dict(self.pushed["ernest.choose_config"]["return_value"])

    @property
    def model(self) -> Model:
        return model_store().newest(Model, "enrich", "production")[-1]


@pytest.fixture
def sizing(tmp_path, context):
    return Sizing(tmp_path, context)


def seconds(executors: int) -> float:
    """What the job takes on so many, from its submission."""
    return 11 + TASK_SECONDS * -(-TASKS // (executors * CORES))


def test_without_any_run_production_keeps_its_size_and_is_told_what_comes_next(sizing):
    pushed = sizing.run(conf={"spark.executor.memory": "4g"})

    assert pushed["return_value"] is None
    assert pushed["spark_conf"] == pushed["yarn_conf"] == {"spark.executor.memory": "4g"}
    assert "executors" not in pushed, "an operator that needs a number is not to run without"
    assert pushed["basis"].startswith("No run of the job is known yet")
    assert "After its first run" in pushed["basis"]
    assert "fallback_executors" in pushed["unavailable"]["emr_serverless"]


def test_who_mistypes_the_name_is_told_which_jobs_there_are(sizing, capsys):
    log(sizing.logs, 4)
    sizing.name = "enrihc"
    sizing.run()

    assert "No log is of a job 'enrihc': they are of enrich." in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "stated",
    [{"fallback_executors": 12}, {"conf": {"spark.executor.instances": "12"}}],
    ids=["a fallback", "the job's own size"],
)
def test_without_any_run_a_size_that_is_known_is_taken(sizing, stated):
    pushed = sizing.run(**stated)

    assert pushed["executors"] == 12
    assert pushed["spark_conf"]["spark.executor.instances"] == "12"
    assert "no run of the job is known yet" in pushed["fallback_reason"]


def test_one_run_is_replayed_on_other_sizes(sizing):
    log(sizing.logs, 4)
    pushed = sizing.run()

    assert pushed["basis"].startswith("Known by 1 past run on 4 executors: other sizes by replay alone.")
    decision = sizing.decision
    by_size = {each.executors: each for each in decision.alternatives}
    for executors in (2, 4, 8, 16):
        low, high = by_size[executors].likely_seconds
        assert low < seconds(executors) < high
        assert by_size[executors].seconds == pytest.approx(seconds(executors), rel=0.1)
    widths = [high / low for low, high in (by_size[each].likely_seconds for each in (4, 8, 16))]
    assert widths == sorted(widths), "the further from the run, the less is known"
    # The fewest that are sure enough: nobody has told a price.
    surely = [each for each in decision.alternatives if each.probability >= 0.8]
    best = min(surely, key=lambda each: each.executors * each.seconds / each.probability)
    assert pushed["executors"] == best.executors
    assert decision.predicted_cost is None
    assert "predicted_cost" not in pushed
    assert sizing.model.validation.median_error_percent is None


def test_runs_of_one_size_narrow_what_is_known_of_it(sizing):
    log(sizing.logs, 4)
    sizing.run()
    one = {each.executors: each.likely_seconds for each in sizing.decision.alternatives}
    for number in range(1, 9):
        log(sizing.logs, 4, number=number)
    pushed = sizing.run()
    nine = {each.executors: each.likely_seconds for each in sizing.decision.alternatives}

    assert pushed["basis"].startswith("Known by 9 past runs on 4 executors: other sizes by replay alone.")
    assert nine[4][1] / nine[4][0] < one[4][1] / one[4][0]
    assert nine[16][0] < seconds(16) < nine[16][1]


def test_runs_of_several_sizes_make_a_model(sizing):
    for number, executors in enumerate((4, 8, 4, 16, 8, 2, 4)):
        log(sizing.logs, executors, number=number)
    pushed = sizing.run()

    assert pushed["basis"].startswith("Known by 7 past runs on 2, 4, 8, 16 executors, and by replay of")
    assert sizing.model.validation.median_error_percent < 10
    assert sizing.decision.error_percent == sizing.model.validation.median_error_percent
    assert seconds(pushed["executors"]) <= 700
    assert pushed["yarn_conf"]["spark.executor.cores"] == str(CORES)


def test_more_input_than_usual_takes_longer(sizing):
    for number, executors in enumerate((4, 8, 4, 16, 8, 2, 4)):
        log(sizing.logs, executors, number=number)
    sizing.run()
    usual = {each.executors: each.seconds for each in sizing.decision.alternatives}
    sizing.input = ExpectedInput(size_bytes=1.8 * TASKS * 64_000_000)
    more = sizing.run()

    assert "as named: 1.80 times the usual" in more["basis"]
    longer = {each.executors: each.seconds / usual[each.executors] for each in sizing.decision.alternatives}
    assert longer[8] == pytest.approx(1.8, rel=0.1)
    assert more["record"]["scale"] == pytest.approx(1.8)
    assert more["record"]["input_amount"] == pytest.approx(1.8 * TASKS * 64_000_000)


def test_a_price_tells_the_dollars(sizing):
    log(sizing.logs, 4)
    pushed = sizing.run(price_per_hour=0.36)

    assert pushed["predicted_cost"] == pytest.approx(
        0.36 * pushed["executors"] * sizing.decision.predicted_seconds / 3600, rel=0.01
    )


def test_runs_that_scatter_do_not_keep_production_from_running(sizing):
    for number, executors in enumerate((4, 8, 4, 8, 16, 16)):
        log(sizing.logs, executors, number=number, slower=1.0 + 1.5 * (number % 2))
    pushed = sizing.run(deadline_seconds=3000)

    assert sizing.model.validation.median_error_percent > 25
    assert pushed["executors"]


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"history": None}, "nothing to learn from"),
        ({"history": EventLogs()}, "no folder of event logs"),
        ({"bounds": DesignBounds(max_executors=4)}, "for sample runs, and there is no cluster"),
        ({"model": ModelSettings(method="classic")}, "runs that were designed"),
        ({"goal": SizingGoal(budget_dollars=3, max_executors=4)}, "for a budget in dollars"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_when_the_file_is_parsed(stated, words):
    arguments: dict[str, Any] = {
        "job": SparkJob(name="enrich"),
        "history": EventLogs("s3a://logs/spark-events"),
        "goal": SizingGoal(deadline_seconds=3600, max_executors=40),
    }
    with DAG("nightly", schedule=None), pytest.raises(InvalidParameterError, match=words):
        ErnestTaskGroup(**{**arguments, **stated})


EXPLORED = {"price_per_hour": 2.0, "deadline_seconds": 4000.0}


def recorded(sizing, *, seconds: float) -> None:
    """Production ran as decided, and took so long."""
    record = sizing.pushed["ernest.choose_config"]["record"]
    RecordRunOperator(task_id="record", decision=record, seconds=seconds).execute(sizing.context)


def test_production_explores_within_its_limits_and_tells_what_it_learned(sizing, capsys):
    for number in range(8):
        log(sizing.logs, 16, number=number)
    sizing.explore = Exploration(dollars_per_month=100, runs_per_month=30)
    pushed = sizing.run(**EXPLORED)

    exploration = pushed["exploration"]
    assert exploration["instead_of"] == 16
    assert pushed["executors"] == exploration["executors"] < 16, "fewer cost less, and the deadline is far"
    assert "This run explores" in exploration["reason"]
    assert exploration["reason"] in sizing.decision.warnings

    unrecorded = sizing.run(**EXPLORED)
    assert unrecorded["executors"] == 16
    assert "is not recorded" in unrecorded["exploration"]["reason"]


def test_after_an_exploration_that_was_late_the_decided_size_is_kept(sizing, capsys):
    for number in range(8):
        log(sizing.logs, 16, number=number)
    sizing.explore = Exploration(dollars_per_month=100, runs_per_month=30)
    sizing.run(**EXPLORED)
    recorded(sizing, seconds=4100.0)
    pushed = sizing.run(**EXPLORED)

    assert pushed["executors"] == 16
    assert "missed its deadline" in pushed["exploration"]["reason"]
    assert "The run that explored" in "".join(capsys.readouterr())


def test_a_recorded_run_makes_no_other_model_than_the_history_does(sizing):
    for number in range(8):
        log(sizing.logs, 16, number=number)
    sizing.run()
    recorded(sizing, seconds=300.0)

    assert len(model_store().newest(Model, "enrich", "production")) == 1
