from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, DownstreamTasksSkipped, TaskDeferred
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.models import CODE, DATA, ModelMark
from airflow_provider_ernest.documents.runs import RunConditions
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators import find_model
from airflow_provider_ernest.operators.find_model import RETRAIN
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import ModelSettings, Reuse, SampledInput
from airflow_provider_ernest.store.catalogue import Catalogue
from airflow_provider_ernest.task_group import ErnestTaskGroup
from tests.unit.operators.conftest import RecordedTaskInstance
from tests.unit.operators.stated import group_arguments, spark_job

TRAINING = {"ernest.design", "ernest.sample_run", "ernest.fit_model", "ernest.bottleneck_report"}
CLUSTER = {"ernest.create_cluster", "ernest.terminate_cluster"}


class Site:
    """An application, its input and a model store."""

    def __init__(self, folder: Any) -> None:
        self.folder = folder
        self.application = folder / "job.py"
        self.application.write_text("print('first')\n")
        self.input = folder / "input"
        self.input.mkdir()
        self.write_input(files=4)
        self.store = model_store()
        self.root = self.store.root

    def write_input(self, *, files: int, columns: int = 3, rows: int = 100) -> None:
        for index in range(files):
            lines = [",".join("1" for _ in range(columns))] * rows
            (self.input / f"part-{index}.csv").write_text("\n".join(lines) + "\n")

    def task(self, **changes: Any) -> Any:
        here = {
            "job": spark_job(self.application),
            "input": SampledInput(path=str(self.input)),
        }
        with DAG("nightly", schedule=None) as dag:
            ErnestTaskGroup(**group_arguments(**{**here, **changes}))
        return dag.task_dict["ernest.find_model"]

    def find(self, context: Any, **changes: Any) -> set[str]:
        """Run the task; returns the ids of the tasks that it skips."""
        task = self.task(**changes)
        try:
            task.execute(context)
        except DownstreamTasksSkipped as skipped:
            return {*skipped.tasks}
        return set()

    def train(self, ti: Any, observations: Any, **changes: Any) -> Any:
        """Keep a model of what the task has found the job to be."""
        model = train(
            observations,
            job="enrich",
            method="relative",
            artifact_sha256=ti.pushed["artifact_sha256"],
            conditions=RunConditions.from_dict(ti.pushed["conditions"]["local"]),
        )
        model = replace(model, **changes)
        self.store.save(model)
        return model


@pytest.fixture
def site(tmp_path, context):
    return Site(tmp_path)


@pytest.fixture
def trained(site, context, ti, observations):
    site.find(context)
    return site.train(ti, observations)


def test_without_a_model_the_training_goes_on_with_what_was_found(site, context, ti):
    assert site.find(context) == set()

    assert ti.pushed["models"] == {}
    assert ti.pushed["reasons"] == {"local": "There is no model yet."}
    assert len(ti.pushed["artifact_sha256"]) == 64
    conditions = RunConditions.from_dict(ti.pushed["conditions"]["local"])
    assert (conditions.input.partitions, conditions.input.total_bytes, conditions.input.format) == (
        4,
        2400,
        "csv",
    )
    assert conditions.spark.startswith("4."), "that of the worker's PySpark"


def test_a_model_of_the_same_job_spares_the_training(site, trained, context, ti):
    assert site.find(context) == TRAINING | CLUSTER

    assert ti.pushed["models"] == {"local": trained.to_dict()}
    assert ti.pushed["return_value"]["local"]["is_reused"] is True
    assert ti.pushed["return_value"]["local"]["model_id"] == trained.id
    assert "is reused" in ti.pushed["reasons"]["local"]


def test_more_data_of_the_same_shape_is_another_scale(site, trained, context, ti):
    site.write_input(files=6)

    assert site.find(context) != set()
    assert ti.pushed["growth"] == {"local": 1.5}


def test_data_of_another_shape_is_trained_anew_and_the_model_marked_once(site, trained, context):
    site.write_input(files=4, columns=5)

    assert site.find(context) == set()
    (mark,) = site.store.newest(ModelMark, "enrich", "local")
    assert (mark.model_id, mark.cause) == (trained.id, DATA)
    assert "partition of the input holds 1.00 kB and held 600 bytes" in mark.reason
    assert (mark.origin.dag_id, mark.origin.task_id) == ("nightly", "ernest.step")
    site.find(context)
    assert len(site.store.newest(ModelMark, "enrich", "local")) == 1, "it is known already"


def test_another_application_marks_the_model_and_calls_whoever_asked(site, trained, context):
    told = []
    site.application.write_text("print('second')\n")

    assert site.find(context, on_stale=[told.append]) == set()
    (mark,) = site.store.newest(ModelMark, "enrich", "local")
    assert mark.cause == CODE
    assert [each["ernest_mark"] for each in told] == [mark]


def test_the_job_of_another_dag_that_is_called_alike_makes_no_model_stale(site, trained, context, ti):
    theirs = replace(
        trained, **new_stamp(), origin=Origin(dag_id="hourly", run_id="r", task_id="ernest.fit_model")
    )
    site.store.save(theirs)
    site.application.write_text("print('second')\n")

    assert site.find(context) == set()

    assert site.store.newest(ModelMark, "enrich", "local") == []
    reason = ti.pushed["reasons"]["local"]
    assert "DAG hourly trained it: if its job is another, give each a name of its own" in reason


def test_a_model_is_found_again_behind_however_much_another_has_learned(
    site, trained, context, ti, observations
):
    first = site.application.read_text()
    site.application.write_text("print('second')\n")
    site.find(context)
    base = site.train(ti, observations)
    for number in range(25):
        later = datetime.now(UTC) + timedelta(seconds=number)
        learned = replace(base, **new_stamp(later), base_model_id=base.id)
        site.store.save(learned)

    site.application.write_text(first)
    assert site.find(context) == TRAINING | CLUSTER
    assert ti.pushed["return_value"]["local"]["model_id"] == trained.id


@pytest.mark.parametrize(
    "changes",
    [
        {"input": {"sampling": "first_rows"}},
        {"job": {"iterations": 100, "sample_iterations": 5}},
        {"job": {"conf": {"spark.sql.shuffle.partitions": "7"}}},
        {"job": {"args": ["--fast"]}},
        {"job": {"submit_options": {"java_class": "Other"}}},
        {"model": ModelSettings(method="classic")},
        {"cluster": LocalClusterSpec(machines=4, memory_megabytes_per_machine=2048)},
    ],
    ids=["sampling", "iterations", "conf", "arguments", "class", "method", "memory"],
)
def test_other_settings_samples_and_machines_are_another_job(site, trained, context, ti, changes):
    given = {
        **changes,
        "job": spark_job(site.application, **changes.get("job", {})),
        "input": SampledInput(path=str(site.input), **changes.get("input", {})),
    }
    assert site.find(context, cluster=LocalClusterSpec(machines=8)) != set(), "more of the same kind"

    assert site.find(context, **given) == set()
    assert "is reused" not in ti.pushed["reasons"]["local"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"application_args": ["{{ sample.input | bucketed }}"]},
            r"application_args\[0\]='\{\{ sample.input \| bucketed \}\}' cannot be rendered: "
            r"TemplateAssertionError: No filter named 'bucketed'",
        ),
        (
            {"application_args": ["--in={{ sample.input }}", "{{ ds_of_yesterday }}"]},
            r"application_args\[1\].*'ds_of_yesterday' is undefined",
        ),
        ({"application_args": ["{{ sample.input }}", "{{ sample.rows }}"]}, r"no attribute 'rows'"),
        ({"application_args": ["{{ sample.input }}", "--output={{ nowhere }}"]}, r"'nowhere' is undefined"),
        ({"conf": {"spark.mine": "{{ 1 +  }}"}}, r"conf\['spark.mine'\].*TemplateSyntaxError"),
        (
            {"submit_options": {"files": "/nowhere/{{ 'a' }}.cfg"}},
            r"no '/nowhere/a.cfg', which submit_options names in files",
        ),
        (
            {"submit_options": {"jars": "s3://code/a.jar,/nowhere/lib.jar"}},
            r"no '/nowhere/lib\.jar', which submit_options",
        ),
        (
            {"submit_options": {"archives": "/nowhere/env.zip#env"}},
            r"no '/nowhere/env.zip', which submit_options names in archives",
        ),
        (
            {"submit_options": {"packages": "org.a:b"}},
            r"packages='org.a:b' is not a Maven package.*group:artifact:version",
        ),
    ],
)
def test_what_each_sample_run_would_fail_of_is_found_out_before_anything_costs_money(
    site, context, changes, said
):
    job = spark_job(site.application, **{"application_args": ["{{ sample.input }}"], **changes})

    with pytest.raises(AirflowFailException, match=said):
        site.find(context, job=job)


@pytest.mark.parametrize(
    "changes",
    [
        {"conf": {"spark.hadoop.fs.s3a.secret.key": "planted{{ broken"}},
        {"application_args": ["{{ sample.input }}", "--api-token", "planted{{ broken"]},
        {"application_args": ["{{ sample.input }}", "--password=planted{{ missing }}"]},
    ],
)
def test_a_secret_beside_a_broken_template_is_not_shown(site, context, ti, changes):
    job = spark_job(site.application, **{"application_args": ["{{ sample.input }}"], **changes})

    with pytest.raises(AirflowFailException, match=r"='\(not shown\)' cannot be rendered") as refused:
        site.find(context, job=job)

    assert "planted" not in f"{refused.value}{ti.pushed}"


def test_what_tasks_have_yet_to_tell_is_left_to_the_sample_runs(site, context):
    told_later = "{{ ti.xcom_pull(task_ids='prepare')['folder'] }}"
    job = spark_job(
        site.application,
        application_args=["{{ sample.input }}", "{{ sample.iterations or 3 }}", told_later],
        submit_options={"packages": "org.apache.spark:spark-avro_2.13:4.0.1,a:b:jar:tests:1"},
    )

    assert site.find(context, job=job) == set()


@pytest.mark.parametrize("asked", [True, "true", "True"])
def test_a_run_may_ask_for_a_training(site, trained, context, ti, asked):
    dag_run = SimpleNamespace(conf={"ernest_retrain": asked})

    assert site.find({**context, "dag_run": dag_run}) == set()
    assert ti.pushed["reasons"]["local"] == "This run was asked to train."
    assert site.store.newest(ModelMark, "enrich", "local") == []


def test_reuse_can_be_turned_off(site, trained, context, ti):
    assert site.find(context, reuse=None) == set()
    assert "models are not reused" in ti.pushed["reasons"]["local"]
    assert "local" in ti.pushed["conditions"], "the next run may want to compare"


def test_a_store_that_cannot_be_read_costs_a_training_and_no_failure(site, trained, context, ti, monkeypatch):
    def away(self, job=None):
        raise StoreError("S3 does not answer")

    monkeypatch.setattr(Catalogue, "entries", away)

    assert site.find(context) == set()
    assert "S3 does not answer" in ti.pushed["reasons"]["local"]


def test_a_store_that_cannot_be_is_found_out_before_anything_costs_money(site, context, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "unheard-of://bucket/store")
    with pytest.raises(StoreError, match=r"unheard-of://bucket/store.*cannot be opened"):
        site.find(context)


def test_a_missing_application_is_found_out_before_anything_costs_money(site, context):
    site.application.unlink()

    with pytest.raises(AirflowFailException, match=r"Cannot read the application"):
        site.find(context)


def test_an_input_that_cannot_be_listed_is_not_compared(site, context, ti, observations):
    away = {
        "input": SampledInput(path=str(site.folder / "elsewhere"), partitions=4, sampling="argument"),
        "job": spark_job(site.application, application_args=["{{ sample.scale }}"]),
    }
    site.find(context, **away)
    site.train(ti, observations)

    assert site.find(context, **away) != set()
    assert "not compared: the size of the input" in ti.pushed["reasons"]["local"]


def test_a_cluster_that_production_runs_on_is_started_all_the_same(site, trained, context):
    task = site.task()
    dag = task.dag
    with dag:
        from airflow.providers.standard.operators.empty import EmptyOperator

        EmptyOperator(task_id="production") >> dag.task_dict["ernest.terminate_cluster"]

    with pytest.raises(DownstreamTasksSkipped) as skipped:
        task.execute(context)
    assert {*skipped.value.tasks} == TRAINING


def test_observations_of_one_type_do_not_spare_the_training_of_another(site, trained, context, ti):
    clusters = [LocalClusterSpec(machines=4), LocalClusterSpec(machines=4, instance_type="large")]
    skipped = site.find(context, cluster=clusters)

    assert {task.rpartition(".")[0] for task in skipped} == {"ernest.local"}
    assert "ernest.local.sample_run" in skipped
    assert ti.pushed["reasons"]["large"] == "There is no model yet."


def test_a_store_that_never_answers_holds_up_no_run(site, trained, context, ti, monkeypatch):
    answer = threading.Event()
    monkeypatch.setattr(Catalogue, "entries", lambda self, job=None: answer.wait(60) or [])
    monkeypatch.setattr(find_model, "MOST_SECONDS", 0.05)

    try:
        assert site.find(context) == set()
    finally:
        answer.set()
    assert "no answer for 0.05 s" in ti.pushed["reasons"]["local"]


class AnotherRun(RecordedTaskInstance):
    """A run of the same DAG at the same time, which Airflow tells about the trainings of others."""

    def __init__(self, run_id: str, trainings: dict[str, dict[str, str | None]]) -> None:
        super().__init__()
        self.run_id = run_id
        self.trainings = trainings

    def get_task_states(
        self, *, dag_id: str, task_ids: list[str], run_ids: list[str]
    ) -> dict[str, dict[str, str | None]]:
        assert dag_id == self.dag_id
        assert {*task_ids} == TRAINING
        return {run_id: self.trainings[run_id] for run_id in run_ids if run_id in self.trainings}


@pytest.fixture
def trainings() -> dict[str, dict[str, str | None]]:
    """The states of the trainings of runs that have begun one, as Airflow knows them."""
    return {}


@pytest.fixture
def another(context, trainings):
    return lambda run_id: {**context, "ti": AnotherRun(run_id, trainings)}


@pytest.fixture
def first(site, another, trainings):
    """The context of a run that has begun a training."""
    first = another("first")
    assert site.find(first) == set()
    trainings["first"] = {
        "ernest.design": "success",
        "ernest.sample_run_0": "running",
        "ernest.fit_model": None,
    }
    return first


def test_of_runs_at_the_same_time_one_trains_and_the_others_take_its_model(
    site, first, another, trainings, observations, capsys
):
    others = [another("second"), another("third")]
    for other in others:
        with pytest.raises(TaskDeferred) as deferred:
            site.find(other)
        told = capsys.readouterr().out
        assert "Run first of DAG nightly trains 'enrich': waiting" in told
        assert "at most 2 h more" in told
        assert deferred.value.method_name == "look_again"
        assert deferred.value.timeout < timedelta(hours=1)
        assert not other["ti"].pushed

    model = site.train(first["ti"], observations)
    trainings["first"] = dict.fromkeys(trainings["first"], "success")
    for other in others:
        with pytest.raises(DownstreamTasksSkipped) as skipped:
            site.task().look_again(other, event={"moment": None})
        assert {*skipped.value.tasks} == TRAINING | CLUSTER
        assert other["ti"].pushed["return_value"]["local"]["model_id"] == model.id


@pytest.mark.parametrize("ending", ["failed", "upstream_failed", "skipped"])
def test_where_a_training_ends_without_a_model_the_next_one_trains(site, first, another, trainings, ending):
    trainings["first"] = {"ernest.design": "success", "ernest.fit_model": ending}

    assert site.find(another("second")) == set()
    trainings["second"] = {"ernest.design": "running"}
    with pytest.raises(TaskDeferred):
        site.find(another("third"))
    with pytest.raises(TaskDeferred):
        site.find(first)


def test_a_training_that_airflow_does_not_know_is_waited_for_until_it_is_too_old(
    site, first, another, trainings
):
    """It is one of another Airflow, or its run was deleted."""
    trainings.clear()
    with pytest.raises(TaskDeferred):
        site.find(another("second"))

    assert site.find(another("second"), reuse=Reuse(wait_for_training_seconds=1e-6)) == set()


def test_another_try_goes_on_with_its_own_training(site, first):
    first["ti"].try_number = 2

    assert site.find(first) == set()


@pytest.mark.parametrize(
    ("asked", "changes"),
    [
        ({RETRAIN: True}, {}),
        ({}, {"reuse": None}),
        ({}, {"reuse": Reuse(wait_for_training_seconds=0)}),
    ],
)
def test_a_run_that_wants_a_training_of_its_own_waits_for_nobody(site, first, another, asked, changes):
    other = {**another("second"), "dag_run": SimpleNamespace(conf=asked)}

    assert site.find(other, **changes) == set()


def test_another_application_does_not_wait(site, first, another):
    site.application.write_text("print('second')\n")

    assert site.find(another("second")) == set()


def test_where_the_store_cannot_tell_who_is_first_each_run_trains_and_says_so(
    site, another, monkeypatch, capsys
):
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    for run_id in ("first", "second"):
        assert site.find(another(run_id)) == set()
        told = capsys.readouterr().out
        assert "Other runs of the job may train at the same time: The storage of" in told
