"""Whole DAG runs in a real Airflow with real Spark clusters."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, training_dollars
from airflow_provider_ernest.documents.profiles import PYTHON_WORKER, BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.demo.airflow_server import AirflowServer, free_ports
from benchmarks.demo.api import AirflowApi, TaskInstance
from tests.integration.conftest import (
    AIRFLOW_FOR_TESTS,
    WHOLE_DAG_RUNS,
    few_flights,
    follow,
    processes_mentioning,
    wait_until,
)
from tests.unit.history.past_logs import log_of

pytestmark = WHOLE_DAG_RUNS

ROOT = Path(__file__).parents[2]
FILES = 24
DAILY = "daily"
DEADLINE_SECONDS = 900
"""The example's own is out of reach of two cores that run other tests besides."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowServer]:
    home = tmp_path_factory.mktemp("ernest-dags")
    dags = home / "dags"
    shutil.copytree(ROOT / "dags" / "jobs", dags / "jobs")
    shutil.copy(ROOT / "dags" / "example_ernest_local.py", dags)
    for file in (ROOT / "tests" / "integration" / "dags").glob("*.py"):
        shutil.copy(file, dags)
    few_flights(home / "data")
    input_folder = home / "input"
    input_folder.mkdir()
    for number in range(FILES):
        (input_folder / f"part-{number:05d}.txt").write_text("a line of some length\n" * 100)
    ports = dict(zip(("FAILS", "HANGS"), free_ports(2), strict=True))
    environment = {
        **AIRFLOW_FOR_TESTS,
        **{f"AIRFLOW_CONN_ERNEST_{name}": f"spark://127.0.0.1:{port}" for name, port in ports.items()},
        "ERNEST_EXAMPLE_DATA": str(home / "data"),
        "ERNEST_TEST_APPLICATION": str(ROOT / "tests" / "integration" / "jobs" / "count_lines.py"),
        "ERNEST_TEST_INPUT": str(input_folder),
        "ERNEST_TEST_HISTORY": str(past_runs(home / "history", input_folder)),
    }
    with AirflowServer(home / "airflow", dags, environment=environment) as running:
        yield running
    assert not processes_mentioning(str(home)), "nothing is left running"


def past_runs(folder: Path, input_folder: Path) -> Path:
    """Event logs of two nights on each of one to three machines, and of another job."""
    total_bytes = sum(file.stat().st_size for file in input_folder.iterdir())
    for night, executors in enumerate((1, 2, 3, 1, 2, 3)):
        log_of(
            folder / f"app-{night}",
            f"from_history 2026-11-0{night + 1}",
            application=f"app-{night}",
            executors=executors,
            input_bytes=total_bytes // FILES,
            tasks=FILES,
            end=141_000 + 120_000 // executors + 500 * night,
        )
    log_of(folder / "app-6", "another job", application="app-6")
    return folder


@pytest.fixture
def api(server: AirflowServer) -> Iterator[AirflowApi]:
    with server.api() as client:
        yield client


def start(api: AirflowApi, dag_id: str, *, conf: dict[str, float] | None = None) -> str:
    api.wait_for_dag(dag_id)
    api.unpause(dag_id)
    return api.trigger(dag_id, conf=conf)


def undisturbed(api: AirflowApi, dag_id: str, run_id: str) -> str:
    """The run at its end, or another where a sample run was held up by so much that the fit refuses it."""

    def is_refused(task: TaskInstance) -> bool:
        is_fit = task.task_id.endswith("fit_model") and task.state == "failed"
        return is_fit and "The runs contradict each other" in "\n".join(api.task_log(dag_id, run_id, task))

    if not any(map(is_refused, follow(api, dag_id, run_id))):
        return run_id
    another = start(api, dag_id)
    follow(api, dag_id, another)
    return another


@pytest.fixture(scope="module")
def run_ids(server: AirflowServer) -> dict[str, str]:
    """A run of each DAG of the tests, all at once: much of what they do is waiting."""
    with server.api() as client:
        dag_ids = ("runs_hang", "some_runs_fail", "two_types", "from_history")
        client.wait_for_dag(DAILY)
        client.unpause(DAILY)
        return {dag_id: start(client, dag_id) for dag_id in dag_ids}


def clusters_of(server: AirflowServer, dag_id: str) -> str:
    """The folder of a DAG's clusters, which all of their processes mention."""
    return str(server.home / "ernest" / "clusters" / dag_id)


def test_a_run_marked_failed_leaves_nothing_running(
    api: AirflowApi, server: AirflowServer, run_ids: dict[str, str]
):
    dag_id = "runs_hang"
    staged = str(server.home / "ernest" / "staging" / dag_id)
    wait_until(lambda: processes_mentioning(staged), seconds=240, what="the first sample run")

    api.mark_failed(dag_id, run_ids[dag_id])

    wait_until(lambda: not processes_mentioning(staged), seconds=60, what="the end of the run")
    wait_until(
        lambda: not processes_mentioning(clusters_of(server, dag_id)),
        seconds=120,
        what="the end of the cluster",
    )


def test_failed_runs_are_retried_named_and_the_fallback_is_taken(
    api: AirflowApi, server: AirflowServer, run_ids: dict[str, str]
):
    dag_id = "some_runs_fail"
    run_id = undisturbed(api, dag_id, run_ids[dag_id])
    tasks = follow(api, dag_id, run_id)

    def log_of(task_id: str) -> str:
        (task,) = (each for each in tasks if each.task_id == task_id)
        return "\n".join(api.task_log(dag_id, run_id, task))

    run_of = {task.name: task for task in tasks if task.task_id == "ernest.sample_run"}
    lost, retried = run_of.pop("3 machines, 54.17 %"), run_of["1 machine, 20.83 %"]
    assert (lost.state, lost.try_number) == ("failed", 2)
    assert (retried.state, retried.try_number) == ("success", 2)
    assert {task.state for task in run_of.values()} == {"success"}
    missing = f"Sample runs [{lost.map_index}] failed or were skipped"
    assert missing in log_of("ernest.fit_model")
    assert len(api.xcom(dag_id, run_id, "ernest.fit_model")["observations"]) == len(run_of)

    decision = Decision.from_dict(api.xcom(dag_id, run_id, "ernest.choose_config"))
    assert decision.config.executors == 2
    assert "0.5 s" in decision.fallback_reason
    assert "FALLBACK to 2 machines" in log_of("ernest.choose_config")
    assert {task.state for task in tasks if task.task_id == "production"} == {"success"}
    assert api.run_state(dag_id, run_id) == "success"
    assert not processes_mentioning(clusters_of(server, dag_id)), "the teardown ended the cluster"


def test_the_better_of_two_types_is_chosen_and_runs_production(
    api: AirflowApi, server: AirflowServer, run_ids: dict[str, str]
):
    dag_id = "two_types"
    run_id = undisturbed(api, dag_id, run_ids[dag_id])
    tasks = follow(api, dag_id, run_id)

    types = ("one-core", "two-core")
    assert {task.task_id for task in tasks if task.state != "success"} == {
        f"ernest.{name}.sample_run_3" for name in types
    }, "all others are needed"
    decision = Decision.from_dict(api.xcom(dag_id, run_id, "ernest.choose_config"))
    assert {each.instance_type for each in decision.alternatives} == {"one-core", "two-core"}
    assert decision.config.instance_type == "two-core"
    assert decision.probability >= decision.confidence == 0.8
    store = ModelStore(server.home / "ernest" / "store")
    # The model that decided may have learned from production since: that is another one, beside it.
    models = {name: store.newest(Model, dag_id, name)[0] for name in types}
    for name, model in models.items():
        made = [(run.origin.task_id, run.origin.map_index) for run in model.observations]
        first, second = f"ernest.{name}.sample_run", f"ernest.{name}.sample_run_2"
        assert made == [(first, 0), (first, 1), (first, 2), (second, 0)]
        assert [run.index for run in model.design.experiments] == [0, 1, 2, 3], "it is of all rounds"
        assert model.design.reason == "Stop: 4 sample runs were made, and max_runs is 4."
    assert all(model.base_model_id is None for model in models.values())
    assert {model.cluster.executor_cores for model in models.values()} == {1, 2}
    assert decision.model_id == models["two-core"].id
    (decided,) = store.newest(DecisionRecord, dag_id, "two-core")
    assert set(decided.model_ids) == {model.id for model in models.values()}

    production = ProductionRun.from_dict(api.xcom(dag_id, run_id, "production", key="production_run"))
    assert (production.executors, production.instance_type) == (decision.config.executors, "two-core")
    assert not processes_mentioning(clusters_of(server, dag_id)), "all clusters have ended"


@pytest.mark.usefixtures("run_ids")
def test_of_three_days_that_are_caught_up_one_trains(api: AirflowApi, server: AirflowServer):
    found = api.get(f"dags/{DAILY}/dagRuns")["dag_runs"]
    tasks_of = {run["dag_run_id"]: follow(api, DAILY, run["dag_run_id"]) for run in found}
    assert len(tasks_of) == 3
    for tasks in tasks_of.values():
        assert {task.state for task in tasks} <= {"success", "skipped"}

    store = ModelStore(server.home / "ernest" / "store")
    (model,) = store.newest(Model, DAILY, "local")
    assert model.origin is not None
    tasks_of.pop(model.origin.run_id)
    decisions = store.newest(DecisionRecord, DAILY, "local")
    assert {decision.origin.run_id for decision in decisions} == {*tasks_of, model.origin.run_id}
    assert {decision.model_id for decision in decisions} == {model.id}
    for run_id, tasks in tasks_of.items():
        by_id = {task.task_id: task for task in tasks}
        assert by_id["ernest.create_cluster"].state == by_id["ernest.sample_run"].state == "skipped"
        log = "\n".join(api.task_log(DAILY, run_id, by_id["ernest.find_model"]))
        assert f"Run {model.origin.run_id} of DAG {DAILY} trains" in log


def test_past_runs_that_tell_enough_size_production_without_a_cluster(
    api: AirflowApi, server: AirflowServer, run_ids: dict[str, str]
):
    dag_id = "from_history"
    run_id = run_ids[dag_id]
    states = {task.task_id: task.state for task in follow(api, dag_id, run_id)}

    skipped = {task_id.rpartition(".")[2] for task_id, state in states.items() if state == "skipped"}
    assert {"create_cluster", "sample_run", "terminate_cluster", "bottleneck_report"} <= skipped
    assert states["ernest.choose_config"] == states["production"] == "success"
    assert api.run_state(dag_id, run_id) == "success"
    assert not (Path(clusters_of(server, dag_id))).exists(), "no cluster was started"

    model = ModelStore(server.home / "ernest" / "store").newest(Model, dag_id, "local", limit=1)[0]
    assert {run.application_id for run in model.observations} == {f"app-{night}" for night in range(6)}
    assert all(run.from_history for run in model.observations)
    assert training_dollars(model) == 0.0
    decision = Decision.from_dict(api.xcom(dag_id, run_id, "ernest.choose_config"))
    assert (decision.model_id, decision.config.executors) == (model.id, 1)
    assert decision.predicted_seconds == pytest.approx(160.0, rel=0.15)


def test_the_example_dag_sizes_its_production_run(api: AirflowApi, server: AirflowServer):
    dag_id = "example_ernest_local"
    run_id = start(api, dag_id, conf={"deadline_seconds": DEADLINE_SECONDS})
    assert {task.state for task in follow(api, dag_id, run_id)} == {"success"}

    def xcom(task: str, key: str = "return_value"):
        return api.xcom(dag_id, run_id, f"ernest.{task}", key=key)

    design = Design.from_dict(xcom("design", "design"))
    model = Model.from_dict(xcom("fit_model"))
    decision = Decision.from_dict(xcom("choose_config"))
    assert len(model.observations) == len(design.experiments)
    assert design.criterion == "bayesian I", "production's machines are what is asked about"
    assert model.method == "averaging"
    assert decision.likely_seconds[0] < decision.predicted_seconds < decision.likely_seconds[1]
    store = ModelStore(server.home / "ernest" / "store")
    # It may have learned from production since: that is another one, beside it.
    assert store.newest(Model, "enrich_flights", "local")[0] == model
    assert model.origin == Origin(dag_id=dag_id, run_id=run_id, task_id="ernest.fit_model")
    assert model.design == design
    assert len(model.cluster.machines) == 6
    assert [run.origin.map_index for run in model.observations] == list(range(len(design.experiments)))
    (decided,) = store.newest(DecisionRecord, "enrich_flights", "local")
    assert (decided.decision, decided.model_id, decided.deadline_seconds) == (
        decision,
        model.id,
        DEADLINE_SECONDS,
    )

    report = BottleneckReport.from_dict(xcom("bottleneck_report"))
    assert store.newest(BottleneckReport, "enrich_flights", "local") == [report]
    production = ProductionRun.from_dict(api.xcom(dag_id, run_id, "enrich_all_flights", key="production_run"))
    profiles = store.newest(ProfileRecord, "enrich_flights", "local")
    assert {each.profile.application_id for each in profiles} == {
        *(each.application_id for each in model.observations),
        production.application_id,
    }, "each run was profiled"
    assert len(report.profile_ids) == len(model.observations)
    assert report.model_id == model.id
    assert report.bottleneck == PYTHON_WORKER, "it waits for a service there, of which Spark knows nothing"
    assert report.replay is not None
    assert [size.executors for size in report.replay.sizes] == [1, 2, 3, 4, 5, 6]

    assert production.executors == decision.config.executors, "production ran on the chosen machines"
    assert production.predicted_seconds == decision.predicted_seconds
    # On two cores shared with other tests: the demo shows how close it comes, this that the units are right.
    assert production.run_seconds / 10 < decision.run_seconds < production.run_seconds * 10
    (shown,) = page_of_runs(api, job="enrich_flights", instance_type="local")
    assert (shown["production_id"], shown["seconds"]) == (production.id, pytest.approx(production.seconds))
    assert shown["kept"] is (production.seconds <= DEADLINE_SECONDS)
    assert not processes_mentioning(clusters_of(server, dag_id)), "the teardown ended the cluster"


def page_of_runs(api: AirflowApi, **model: str) -> list[dict[str, Any]]:
    """The production runs that a model's page in this Airflow shows."""
    answer = api._send("GET", "/ernest/api/model", params=model).json()
    runs: list[dict[str, Any]] = answer["production_runs"]
    return runs
