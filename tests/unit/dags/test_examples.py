"""The example DAGs, as Airflow parses and keeps them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.history.scan import Scan
from tests.airflow_versions import DagSerialization
from tests.unit.dags.example_run import EXAMPLES, example
from tests.unit.history.past_logs import log_of

NAMES = sorted(path.stem for path in EXAMPLES.glob("example_ernest_*.py"))
SIZING = [name for name in NAMES if "survey" not in name]
DOCUMENTATION = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", NAMES)
def test_it_parses_and_can_be_kept_in_the_database(name):
    dag = example(name)

    dag.validate()
    dag.check_cycle()
    kept = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert set(kept.task_dict) == set(dag.task_dict)


@pytest.mark.parametrize("name", NAMES)
def test_it_tells_what_it_is_and_marks_what_the_documentation_shows(name):
    source = (EXAMPLES / f"{name}.py").read_text()

    assert example(name).doc_md == ast.get_docstring(ast.parse(source), clean=False)
    assert source.count("# [START ernest]") == source.count("# [END ernest]") == 1


@pytest.mark.parametrize("name", SIZING)
def test_production_waits_for_the_decision_and_what_is_started_is_ended(name):
    dag = example(name)

    decisions = [task for task in dag.tasks if task.task_id.endswith("choose_config")]
    behind = {each for task in decisions for each in task.get_flat_relative_ids(upstream=False)}
    production = [task for task in dag.leaves if not task.is_teardown]
    assert production or any(task.is_teardown for task in dag.leaves)
    assert {task.task_id for task in production} <= behind
    for setup in (task for task in dag.tasks if task.is_setup):
        assert any(task.is_teardown for task in setup.get_flat_relatives(upstream=False)), setup.task_id


@pytest.mark.parametrize("name", SIZING)
def test_sample_runs_on_several_types_write_to_different_places(name):
    """They run at the same time, and Spark's runs into one folder end each other."""
    dag = example(name)
    runs = [task for task in dag.tasks if task.task_id.endswith("sample_run")]

    places = set()
    for run in runs:
        ti = SimpleNamespace(map_index=0, task_id=run.task_id)
        rendered = dag.get_template_env().from_string(" ".join(run.partial_kwargs["job"]["application_args"]))
        places.add(rendered.render(ti=ti, sample=SimpleNamespace(input="input")))
    assert len(places) == len(runs)
    assert runs or "history" in name, "of past runs alone none is made"


def test_workers_read_each_log_once_for_the_survey(tmp_path, monkeypatch):
    for number in range(5):
        log_of(tmp_path / "logs" / f"app-{number}", application=f"app-{number}")
    monkeypatch.setenv("SPARK_EVENT_LOGS", str(tmp_path / "logs"))
    monkeypatch.setenv("ERNEST_SURVEY_CACHE", str(tmp_path / "cache"))
    dag = example("example_ernest_survey_workers")
    read = dag.task_dict["read"]
    shares = read.op_kwargs_expand_input.value["share"]

    runs = [read.python_callable(share) for share in shares]
    assert sum(runs) == 5
    assert max(runs) == 1
    survey = Scan([dag.task_dict["survey"].env["LOGS"]], cache=dag.task_dict["survey"].env["CACHE"])
    assert len(list(survey)) == 5
    assert survey.read == 0


def test_what_the_documentation_includes_is_there():
    included = {
        one
        for page in DOCUMENTATION.rglob("*.md")
        for one in re.findall(r"dags/(example_\w+)\.py", page.read_text())
    }
    assert included <= set(NAMES)
