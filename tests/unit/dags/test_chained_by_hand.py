"""The operators of ``example_ernest_operators`` in a row, with a spark-submit that starts no Spark."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.dags.example_run import ExampleRun, TaskInstance
from tests.unit.operators.conftest import submissions  # noqa: F401
from tests.unit.operators.submissions import events, handle


@pytest.fixture
def run(tmp_path, monkeypatch) -> ExampleRun:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("ERNEST_EXAMPLE_DATA", str(tmp_path))
    (tmp_path / "flights").mkdir()
    for number in range(100):
        (tmp_path / "flights" / f"part-{number}.csv").write_text("1,2,3\n")
    return ExampleRun("example_ernest_operators")


def test_from_the_design_to_the_record_of_production(run, submissions, tmp_path, monkeypatch):  # noqa: F811
    experiments = run.run("design")
    cluster = handle(kind="local", instance_type="local", cores_per_machine=1)
    run.xcoms["create_cluster", "return_value"] = cluster
    observations = []
    for index, experiment in enumerate(experiments):
        executors, scale = experiment["executors"], experiment["scale"]
        submissions.writes_no_log()
        took = 27.0 + 200.0 * scale / executors
        submissions.writes_log(f"app-{index}", events(f"app-{index}", executors=executors, end_seconds=took))
        monkeypatch.setattr(TaskInstance, "map_index", index)
        task = run.dag.get_task("sample_run").unmap({"experiment": experiment})
        task.render_template_fields(run.context(task))
        observations.append(task.execute(run.context(task)))
        assert submissions.last["argv"][-3] == f"{tmp_path}/samples/{index}"
    monkeypatch.setattr(TaskInstance, "map_index", -1)

    # What mapped tasks have returned is asked of a scheduler, and there is none.
    run.dag.get_task("fit_model").observations = observations
    model = Model.from_dict(run.run("fit_model"))
    assert model.design == Design.from_dict(run.xcoms["design", "design"])
    assert model.cluster.name == cluster["name"]

    decision = run.run("choose_config")
    assert decision["model_id"] == model.id
    assert decision["predicted_seconds"] < run.params["deadline_seconds"]

    submissions.writes_no_log()
    submissions.writes_log("app-p", events("app-p", executors=decision["config"]["executors"]))
    run.run("production")
    conf = submissions.conf()
    assert conf["spark.ui.enabled"] == "false", "of the job's own"
    assert conf["spark.cores.max"] == str(decision["config"]["executors"])
    (produced,) = ModelStore(store_root()).newest(ProductionRun, "enrich_flights", "local")
    assert produced == ProductionRun.from_dict(run.xcoms["production", "production_run"])
    assert produced.model_id == model.id
