"""What documents tell of the user's system: no secrets and no data, and of the rest each field is known."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.operators.bottleneck_report import BottleneckReportOperator
from airflow_provider_ernest.operators.find_model import FindModelOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.settings import Reuse, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.store.catalogue import FOLDERS
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.operators.conftest import context, observations, submissions, ti  # noqa: F401
from tests.unit.operators.decisions import choose_operator
from tests.unit.operators.submissions import SECRET, events, handle, lake, production

PLANTED = "planted"
"""Each secret begins so, and nothing else does."""

LAKE = f"unheard-of://me:{PLANTED}-of-url@lake.example/flights?token={PLANTED}-token&part=2"
CODE = f"unheard-of://me:{PLANTED}-of-code@code.example/job.py?X-Amz-Signature={PLANTED}-signature"

CONF = {
    "spark.hadoop.fs.s3a.secret.key": f"{PLANTED}-key",
    "spark.executorEnv.DB_PASSWORD": f"{PLANTED}-password",
    "spark.app.jdbc": f"jdbc:postgresql://db.example/x?user=me&password={PLANTED}-jdbc",
}
ARGUMENTS = ["{{ sample.input }}", "--api-token", f"{PLANTED}-argument", "--where", f"id = '{PLANTED}-data'"]
OPTIONS = {"env_vars": {"DB_TOKEN": f"{PLANTED}-variable"}, "principal": "me", "keytab": "/etc/me.keytab"}


NAMES = """
    Model.job Model.instance_type DecisionRecord.job DecisionRecord.instance_type DecisionRecord.objective
    ProductionRun.job ProductionRun.instance_type
    ModelMark.job ModelMark.instance_type Observation.instance_type Origin.dag_id Origin.run_id Origin.task_id
    TrainingCluster.instance_type Configuration.instance_type Alternative.instance_type FittedTerm.name
    TermBelief.name Design.terms Decision.goal ProfileRecord.job ProfileRecord.instance_type
    BottleneckReport.job BottleneckReport.instance_type RunProfile.name
"""
"""What the user called things."""

ADDRESSES = """
    Model.artifact Model.input_path ProductionRun.event_log Observation.event_log Observation.hosts
    TrainingCluster.name TrainedMachine.host TrainedMachine.instance_id RunConditions.settings
    RunProfile.event_log Straggler.host StageProfile.name ExecutorLoss.executors RunProfile.settings
"""
"""Where things lie, and names of settings, with numbers or digests. Credentials are taken out."""

SENTENCES = """
    Model.warnings DecisionRecord.reuse Decision.warnings Decision.basis HistoryBasis.next_input
    Decision.fallback_reason ModelMark.reason TrainedMachine.culled_because Alternative.extrapolates
    Alternative.memory_shortage RunProfile.headline RunProfile.warnings BottleneckReport.headline
    BottleneckReport.warnings ReplayOpinion.problem Advice.text Advice.figure Straggler.evidence
    Decision.worth Design.reason SizeExploration.reason ExecutorLoss.because RunProfile.not_counted
"""
"""Sentences of ours, which may name what the others hold."""

OURS = """
    Model.id Model.at Model.method Model.artifact_sha256 Model.base_model_id Model.learned_from
    DecisionRecord.id DecisionRecord.at DecisionRecord.model_id DecisionRecord.model_ids
    DecisionRecord.artifact_sha256 ProductionRun.id ProductionRun.at ProductionRun.model_id
    ProductionRun.decision_id ProductionRun.artifact_sha256 ProductionRun.application_id
    ModelMark.id ModelMark.at
    ModelMark.model_id ModelMark.cause ModelMark.artifact_sha256 FittedTerm.meaning
    Observation.application_id Design.criterion Design.cost_unit Design.weighting TrainingCluster.kind
    TrainingCluster.market
    RunConditions.spark Decision.model_id InputFingerprint.format Billing.market ProfileRecord.id
    ProfileRecord.at ProfileRecord.purpose ProfileRecord.artifact_sha256 RunProfile.application_id
    RunProfile.allocation RunProfile.spark RunProfile.category RunProfile.bottleneck RunProfile.ideal_seconds
    ResourceLimit.resource StageProfile.blocked_seconds StageProfile.seconds_without
    StageProfile.ideal_seconds StageProfile.bottleneck Straggler.cause StragglerCause.cause Capacity.source
    ExecutorLoss.cause
    WhatIf.change Advice.subject Advice.documentation
    BottleneckReport.id BottleneckReport.at BottleneckReport.profile_ids
    BottleneckReport.application_id BottleneckReport.category BottleneckReport.bottleneck
    BottleneckReport.model_id ReplayOpinion.from_application_id
"""
"""Ids, times, hashes, versions and words from lists of ours or of Spark's."""

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "store.md"


def text_fields() -> set[str]:
    """Every field of a stored document, and of what is in one, that holds text."""
    seen: set[type] = set()
    waiting, found = [*FOLDERS], set()
    while waiting:
        form = waiting.pop()
        if form in seen:
            continue
        seen.add(form)
        kinds = typing.get_type_hints(form)
        for name in (each.name for each in dataclasses.fields(form)):
            kind = kinds[name]
            inside = list(parts_of(kind))
            waiting += [part for part in inside if dataclasses.is_dataclass(part)]
            if str in inside:
                found.add(f"{form.__name__}.{name}")
    return found


def parts_of(kind: Any) -> Iterator[Any]:
    """A type's parts, such as str of tuple[str, ...]."""
    yield kind
    for part in typing.get_args(kind):
        yield from parts_of(part)


def test_of_each_field_it_is_known_what_it_tells():
    """A new one belongs into one of these lists, and on the page."""
    known = [field for listed in (NAMES, ADDRESSES, SENTENCES, OURS) for field in listed.split()]
    assert sorted(known) == sorted(text_fields())


def test_the_page_names_all_that_tells_of_the_users_system():
    page = PAGE.read_text(encoding="utf-8")
    fields = {field.partition(".")[2] for field in (ADDRESSES + SENTENCES + NAMES).split()}
    assert {field for field in fields if f"`{field}`" not in page} == set()


NOT_CACHED = {
    "RDD ID": 0,
    "Number of Partitions": 6,
    "Storage Level": {"Use Memory": False, "Use Disk": False},
}


def explained(application_id: str, *, executors: int) -> list[dict[str, Any]]:
    """The log of a run of which a profile can be made, with secrets wherever a program may have put them."""
    environment, start, *added, end = events(application_id, executors=executors)
    environment["Spark Properties"].update(CONF)
    start["App Name"] = f"load '{PLANTED}-name'"
    asked = {
        "spark.job.description": f"{PLANTED}-description",
        "callSite.short": f"{PLANTED}-site",
        "user": f"{PLANTED}-user",
    }
    stage = {
        "Stage ID": 0,
        "Stage Attempt ID": 0,
        "Stage Name": f"login '{PLANTED}-literal' with password={PLANTED}-word at /{PLANTED}-folder/job.py:3",
        "Number of Tasks": 6,
        "Parent IDs": [],
        "RDD Info": [{"Name": f"{PLANTED}-rdd", "Callsite": f"{PLANTED}-rdd", **NOT_CACHED}],
        "Submission Time": 10_000,
        "Details": f"{PLANTED}-details",
        "Accumulables": [{"ID": 1, "Name": f"{PLANTED}-counter", "Value": f"{PLANTED}-value"}],
    }
    job = {"Job ID": 0, "Stage IDs": [0], "Stage Infos": [stage]}
    return [
        environment,
        start,
        *added,
        {"Event": "SparkListenerJobStart", "Submission Time": 10_000, "Properties": asked, **job},
        {"Event": "SparkListenerStageSubmitted", "Stage Info": stage, "Properties": asked},
        *(task(number, executor=number % executors) for number in range(6)),
        task(6, executor=0, failure=f"ValueError: {PLANTED}-row"),
        {"Event": "SparkListenerStageCompleted", "Stage Info": {**stage, "Completion Time": 100_000}},
        {
            "Event": "SparkListenerJobEnd",
            "Job ID": 0,
            "Completion Time": 100_000,
            "Job Result": {"Result": "JobSucceeded"},
        },
        end,
    ]


def task(number: int, *, executor: int, failure: str | None = None) -> dict[str, Any]:
    """One that ends; the first takes so long that it is a straggler."""
    seconds = 80 if number == 0 else 10
    reason = {"Reason": "Success"}
    if failure:
        reason = {
            "Reason": "ExceptionFailure",
            "Class Name": failure,
            "Description": failure,
            "Full Stack Trace": failure,
        }
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": 0,
        "Stage Attempt ID": 0,
        "Task Type": "ResultTask",
        "Task End Reason": reason,
        "Task Info": {
            "Task ID": number,
            "Index": number % 6,
            "Attempt": number // 6,
            "Launch Time": 11_000,
            "Finish Time": 11_000 + 1000 * seconds,
            "Executor ID": str(executor),
            "Host": f"10.0.0.{executor}",
            "Failed": failure is not None,
            "Accumulables": [],
        },
        "Task Metrics": {"Executor Run Time": 1000 * seconds, "Executor CPU Time": 10**9 * seconds},
    }


class Chain:
    """The operators of a DAG, one after the other, and all that they hand on."""

    def __init__(self, task_context: dict[str, Any], folder: Path, spark_submit: Any) -> None:
        self._context, self._submissions = task_context, spark_submit
        self.leaks: set[str] = set()
        self.data = folder / "input"
        self.data.mkdir()
        for number in range(4):
            (self.data / f"part-{number}.csv").write_text(f"name,age\n{PLANTED}-row,7\n")
        self.job = folder / "job.py"
        self.job.write_text(f"TOKEN = '{PLANTED}-code'\n")
        self.spark_job = SparkJob(
            name="enrich",
            application=str(self.job),
            application_args=ARGUMENTS,
            conf=CONF,
            submit_options=OPTIONS,
        )
        self.input = SampledInput(path=str(self.data), header=True)

    def run(self, operator: Any) -> Any:
        returned = operator.execute(self._context)
        pushed = self._context["ti"].pushed
        for key, value in {**pushed, "return_value": returned}.items():
            if PLANTED in json.dumps(value):
                self.leaks.add(key)
        told = isinstance(operator, EmitsLineage) and operator.get_openlineage_facets_on_complete(None)
        if PLANTED in str(told):
            self.leaks.add(f"lineage of {operator.task_id}")
        return returned

    def find(self) -> dict[str, Any]:
        types = [{"instance_type": "local", "spark": "4.2.0", "training_tasks": [], "cluster_tasks": []}]
        self.run(
            FindModelOperator(
                task_id="find_model",
                job=self.spark_job,
                input=self.input,
                types=types,
                goal=SizingGoal(objective="cheapest", max_executors=8),
                reuse=Reuse(),
            )
        )
        return dict(self._context["ti"].pushed)

    def sample(self, found: dict[str, Any]) -> dict[str, Any]:
        self._submissions.writes_log("app-1", explained("app-1", executors=2))
        with DAG("nightly", schedule=None):
            operator = SampleRunOperator(
                task_id="sample_run",
                experiment=Experiment(index=9, executors=2, scale=0.5, partitions=2).to_dict(),
                job=self.spark_job,
                input=self.input,
                cluster=lake(),
                artifact_sha256=found["artifact_sha256"],
            )
        return self.run(operator)

    def fit(self, runs: list[dict[str, Any]], found: dict[str, Any]) -> dict[str, Any]:
        operator = FitModelOperator(
            task_id="fit",
            observations=runs,
            job=SparkJob(name="enrich", application=CODE),
            input=SampledInput(path=LAKE),
            goal=SizingGoal(objective="cheapest", max_executors=8, on_inadequate="warn"),
            artifact_sha256=found["artifact_sha256"],
        )
        return self.run(operator)

    def report(self, runs: list[dict[str, Any]], model: dict[str, Any]) -> dict[str, Any] | None:
        goal = SizingGoal(objective="cheapest", max_executors=16)
        operator = BottleneckReportOperator(
            task_id="report", observations=runs, job=self.spark_job, goal=goal, model=model
        )
        return self.run(operator)

    def choose(self, model: dict[str, Any]) -> None:
        """Of machines that all forms of the decision can be said of."""
        cluster = handle(kind="ec2", instance_type="m5.xlarge", cores_per_machine=4)
        cluster["machines"] = [{**one, "cores": 4, "memory_megabytes": 9000} for one in cluster["machines"]]
        chosen = {**model, "instance_type": "m5.xlarge"}
        with DAG("nightly", schedule=None):
            operator = choose_operator(chosen, conf=CONF, job="enrich", cluster=cluster)
            SparkSubmitOperator(task_id="stock", conf=operator.output["spark_conf"], executor_cores=2)
        self.run(operator)
        assert self._context["ti"].pushed["unavailable"] == {}, "all forms are there"

    def produce(self, decision: dict[str, Any]) -> None:
        self._submissions.writes_log("app-2", explained("app-2", executors=4))
        conf = {**CONF, **self._context["ti"].pushed["spark_conf"]}
        self.run(
            production(
                cluster=handle(executors=10),
                decision=decision,
                conf=conf,
                application=str(self.job),
                application_args=ARGUMENTS,
                env_vars=OPTIONS["env_vars"],
            )
        )
        assert CONF.items() <= self._submissions.conf().items(), "the job has them all the same"


@pytest.fixture
def chain(context, tmp_path, submissions, monkeypatch) -> Chain:  # noqa: F811
    connection = {
        "conn_type": "spark",
        "host": "spark://127.0.0.1:7077",
        "login": "me",
        "password": f"{PLANTED}-connection",
        "extra": {"token": f"{PLANTED}-extra"},
    }
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))
    monkeypatch.setenv("SOME_SECRET", f"{PLANTED}-environment")
    return Chain(context, tmp_path, submissions)


def stored_text() -> str:
    """Every byte of the store, and every name in it."""
    root = Path(store_root())
    paths = sorted(root.rglob("*"))
    content = b"\n".join(path.read_bytes() for path in paths if path.is_file())
    return "\n".join(map(str, paths)) + content.decode("utf-8")


def test_no_secret_and_no_data_reach_the_store(chain, ti, observations):  # noqa: F811
    found = chain.find()
    runs = [{**run.to_dict(), "instance_type": "local"} for run in observations]
    sample = chain.sample(found)
    model = chain.fit([*runs, {**sample, "instance_type": "local"}], found)
    assert chain.report([sample], model)
    chain.choose(model)
    decision = ti.pushed["record"]
    assert "stock" in str(decision["decision"]["warnings"]), "which names what it keeps, and no values"
    chain.produce(decision)
    chain.job.write_text("# changed")
    chain.find()

    store = ModelStore(store_root())
    kinds = {type(document).__name__ for document in store.all_documents()}
    assert kinds == {form.__name__ for form in FOLDERS}, "all kinds of documents were written"
    for secret in (PLANTED, SECRET):
        assert secret not in stored_text()
    stored = store.newest(Model, "enrich", "local", limit=1)[0]
    assert stored.input_path == "unheard-of://lake.example/flights?part=2"
    assert stored.artifact == "unheard-of://code.example/job.py"

    assert chain.leaks == set()
