"""Several types of machines in a real Airflow with real Spark clusters, and types that cannot be trained."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_ernest.documents import Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.demo.airflow_server import AirflowServer
from benchmarks.demo.api import AirflowApi, TaskInstance
from benchmarks.demo.progress import follow_run
from tests.integration.conftest import AIRFLOW_FOR_TESTS, processes_mentioning

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

ROOT = Path(__file__).parents[2]
FILES = 24


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowServer]:
    home = tmp_path_factory.mktemp("ernest-types")
    dags, input_folder = home / "dags", home / "input"
    dags.mkdir()
    shutil.copy(ROOT / "tests" / "integration" / "dags" / "several_types.py", dags / "several_types.py")
    input_folder.mkdir()
    for number in range(FILES):
        (input_folder / f"part-{number:05d}.txt").write_text("a line of some length\n" * 100)
    environment = {
        **AIRFLOW_FOR_TESTS,
        "ERNEST_TEST_APPLICATION": str(ROOT / "tests" / "integration" / "jobs" / "count_lines.py"),
        "ERNEST_TEST_INPUT": str(input_folder),
    }
    with AirflowServer(home / "airflow", dags, environment=environment) as running:
        yield running
    assert not processes_mentioning(str(home)), "nothing is left running"


@pytest.fixture
def api(server: AirflowServer) -> Iterator[AirflowApi]:
    with server.api() as client:
        yield client


def run(api: AirflowApi, dag_id: str) -> tuple[str, dict[str, list[TaskInstance]]]:
    api.wait_for_dag(dag_id)
    api.unpause(dag_id)
    run_id = api.trigger(dag_id)
    tasks: dict[str, list[TaskInstance]] = {}
    for task in follow_run(api, dag_id, run_id, timeout_seconds=900):
        tasks.setdefault(task.task_id, []).append(task)
    return run_id, tasks


def test_the_better_of_two_types_is_chosen_and_runs_production(api: AirflowApi, server: AirflowServer):
    run_id, tasks = run(api, "two_types")

    assert {task.state for instances in tasks.values() for task in instances} == {"success"}
    decision = Decision.from_dict(api.xcom("two_types", run_id, "ernest.choose_config"))
    assert {each.instance_type for each in decision.alternatives} == {"one-core", "two-core"}
    assert decision.config.instance_type == "two-core"
    assert decision.probability >= decision.confidence == 0.8
    store = ModelStore(server.home / "ernest" / "store")
    # The model that decided may have learned from production since: that is another one, beside it.
    models = {name: store.history("two_types", name)[0] for name in ("one-core", "two-core")}
    assert all(model.base_model_id is None for model in models.values())
    assert {model.cluster.cores_per_machine for model in models.values()} == {1, 2}
    assert decision.model_id == models["two-core"].id
    (decided,) = store.newest(DecisionRecord, "two_types", "two-core")
    assert set(decided.model_ids) == {model.id for model in models.values()}

    production = ProductionRun.from_dict(api.xcom("two_types", run_id, "production", key="production_run"))
    assert (production.machines, production.instance_type) == (decision.config.machines, "two-core")
    assert not processes_mentioning(str(server.home / "ernest" / "clusters")), "all clusters have ended"


def test_a_type_that_never_starts_and_a_model_too_bad_lead_to_the_stated_fallback(
    api: AirflowApi, server: AirflowServer
):
    run_id, tasks = run(api, "nothing_usable")

    (never_there,) = tasks["ernest.never-there.create_cluster"]
    (inadequate,) = tasks["ernest.two-core.fit_model"]
    assert (never_there.state, inadequate.state) == ("failed", "failed")
    (choose,) = tasks["ernest.choose_config"]
    assert choose.state == "success"
    decision = Decision.from_dict(api.xcom("nothing_usable", run_id, "ernest.choose_config"))
    assert (decision.config.machines, decision.config.instance_type) == (1, "two-core")
    assert "two-core" in decision.fallback_reason
    assert "leave-one-out" in decision.fallback_reason
    assert "never-there" in decision.fallback_reason
    assert api.xcom("nothing_usable", run_id, "ernest.choose_config", key="fallback_reason")
    log = "\n".join(api.task_log("nothing_usable", run_id, choose))
    assert "FALLBACK" in log
    (production,) = tasks["production"]
    assert production.state == "success", "and production runs on the stated configuration"
    run_record = ProductionRun.from_dict(
        api.xcom("nothing_usable", run_id, "production", key="production_run")
    )
    assert run_record.machines == 1
    assert not processes_mentioning(str(server.home / "ernest" / "clusters")), "all clusters have ended"
