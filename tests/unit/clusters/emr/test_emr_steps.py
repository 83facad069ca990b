"""Sample runs as steps: submitted, followed, cancelled, and their event logs fetched."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from moto.core import DEFAULT_ACCOUNT_ID
from moto.emr.models import emr_backends

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.emr import steps
from airflow_provider_ernest.clusters.emr.steps import StepRun, fetch_event_log, look_up, step_arguments
from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.exceptions import (
    ClusterLostError,
    InvalidParameterError,
    SampleRunError,
)
from airflow_provider_ernest.spark.input import Sample
from airflow_provider_ernest.spark.runs import RunLimits, RunRequest, observe

from .conftest import BUCKET, REGION, job_flow, specification, started, throttled

APPLICATION = f"s3://{BUCKET}/job.py"
SUBMITTED = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def handle(emr) -> ClusterHandle:
    return look_up(specification(started(emr)), emr=emr)


def request_of(**changes: Any) -> RunRequest:
    fields = {
        "name": "ernest-sample-0",
        "owner": "5f2a",
        "application": APPLICATION,
        "application_args": (),
        "executors": 2,
        "executor_cores": 4,
        "directory": Path("run"),
        "limits": RunLimits(wait_seconds=600),
    }
    return RunRequest(**{**fields, **changes})


@pytest.fixture
def run(handle, clients, tmp_path):
    def make(
        *,
        poll_seconds: float = 0.0,
        expires_at: str | None = handle.expires_at,
        **changes: Any,
    ) -> StepRun:
        return StepRun(
            replace(handle, expires_at=expires_at),
            request_of(directory=tmp_path, **changes),
            clients=clients,
            log=logging.getLogger("test"),
            poll_seconds=poll_seconds,
        )

    return make


def step(state: str, **status: Any) -> dict[str, Any]:
    """An answer of DescribeStep."""
    return {"Step": {"Id": "s-1", "Status": {"State": state, **status}}}


def completed(waited_seconds: float = 0.0) -> dict[str, Any]:
    begun = SUBMITTED + timedelta(seconds=waited_seconds)
    return step("COMPLETED", Timeline={"CreationDateTime": SUBMITTED, "StartDateTime": begun})


def event_log(*hosts: str) -> bytes:
    """What Spark on YARN writes of a run of 40 s."""
    added = {"Event": "SparkListenerExecutorAdded", "Timestamp": 1_767_225_620_000}
    executors = [
        {**added, "Executor ID": host, "Executor Info": {"Host": host, "Total Cores": 4, "Log Urls": {}}}
        for host in hosts
    ]
    events = [
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.master": "yarn"}},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "job",
            "App ID": "application_1_0001",
            "Timestamp": 1_767_225_610_000,
        },
        *executors,
        {"Event": "SparkListenerApplicationEnd", "Timestamp": 1_767_225_660_000},
    ]
    return "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events).encode()


@pytest.fixture
def writes(s3, emr):
    """The step's last answer, given when its driver has put an event log where it was told."""

    def answer(*, waited_seconds: float = 0.0) -> Any:
        def put(**_: Any) -> dict[str, Any]:
            key = told(emr)["spark.eventLog.dir"].removeprefix(f"s3://{BUCKET}/")
            body = event_log("10.0.0.1", "10.0.0.2")
            s3.put_object(Bucket=BUCKET, Key=f"{key}/application_1_0001", Body=body)
            return completed(waited_seconds)

        return put

    return answer


def arguments(emr: Any) -> list[str]:
    (call,) = emr.called("add_job_flow_steps")
    (added,) = call["Steps"]
    assert added["ActionOnFailure"] == "CONTINUE"
    assert added["HadoopJarStep"]["Jar"] == "command-runner.jar"
    return added["HadoopJarStep"]["Args"]


def deadline(args: list[str]) -> int:
    """Of a step, in seconds since the epoch."""
    return int(args[args.index("spark-submit") - 1])


def told(emr: Any) -> dict[str, str]:
    """The Spark properties of the step."""
    args = arguments(emr)
    pairs = [args[at + 1] for at, arg in enumerate(args) if arg == "--conf"]
    return dict(pair.split("=", 1) for pair in pairs)


def cancelled(emr: Any) -> list[str]:
    return [one for call in emr.called("cancel_steps") for one in call["StepIds"]]


def test_a_step_is_observed_from_the_event_log_that_it_wrote(emr, run, handle, tmp_path, writes):
    emr.answers["describe_step"] = [
        step("PENDING"),
        throttled("DescribeStep"),
        step("RUNNING"),
        writes(waited_seconds=7),
    ]
    running = run(application_args=["--input", "s3://data/in put"])

    running.run()

    assert running.waited_seconds == 7
    observation, _ = observe(
        Experiment(index=0, executors=2, scale=0.1, partitions=8),
        Sample(input="s3://data/in put", scale=0.1, executors=2, partitions=8),
        tmp_path,
        instance_type=handle.instance_type,
        executors_per_machine=1,
        submitted_at=1_767_225_600.0,
        waited_seconds=running.waited_seconds,
    )
    assert observation.seconds == pytest.approx(40)
    assert observation.startup_seconds == pytest.approx(13)
    assert observation.hosts == ("10.0.0.1", "10.0.0.2")
    assert observation.application_id == "application_1_0001"
    assert Path(observation.event_log).parent == tmp_path
    assert running.end() == [], "nothing is left to cancel"
    assert arguments(emr)[-3:] == [APPLICATION, "--input", "s3://data/in put"]


def test_what_is_submitted(emr, s3, run, handle, writes):
    emr.answers["describe_step"] = [writes()]
    options = {
        "java_class": "org.example.Job",
        "jars": "s3://code/a.jar,s3://code/b.jar",
        "packages": "org.example:lib:1.0",
        "py_files": None,
    }
    before = time.time()
    limits = RunLimits(wait_seconds=100, run_seconds=50)
    run(application="s3://code/job.jar", options=options, limits=limits).run()

    args = arguments(emr)
    assert before + 149 <= deadline(args) <= time.time() + 150
    for switch, value in (
        ("--master", "yarn"),
        ("--deploy-mode", "client"),
        ("--class", "org.example.Job"),
        ("--jars", "s3://code/a.jar,s3://code/b.jar"),
        ("--packages", "org.example:lib:1.0"),
    ):
        assert args[args.index(switch) + 1] == value
    assert "--py-files" not in args
    assert told(emr)["spark.cores.max"] == "8"
    assert told(emr)["spark.eventLog.rolling.enabled"] == "false"
    folder = told(emr)["spark.eventLog.dir"]
    assert folder.startswith(f"s3://{BUCKET}/spark/{handle.name}/")
    key = folder.removeprefix(f"s3://{BUCKET}/")
    assert s3.head_object(Bucket=BUCKET, Key=f"{key}/"), "Spark refuses folders that do not exist"


def test_no_step_outlives_the_time_to_live(emr, run, writes):
    soon = (datetime.now(UTC) + timedelta(seconds=90)).isoformat()
    emr.answers["describe_step"] = [writes()]
    run(expires_at=soon).run()
    assert deadline(arguments(emr)) == int(datetime.fromisoformat(soon).timestamp())


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Path:
    """The master machine's spark-submit, which keeps what it is given; its first argument may be `sleep`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    submit = folder / "spark-submit"
    submit.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n[ "$1" != sleep ] || exec sleep 600\n')
    submit.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def step_command(until: float, *application_args: str) -> list[str]:
    conf = {"spark.x": "`touch injected`; exit"}
    request = request_of(name="it's $(touch injected)", application_args=application_args)
    return step_arguments(request, conf=conf, deadline=until)


@pytest.mark.usefixtures("machine")
def test_a_step_that_begins_in_time_is_submitted_word_for_word(tmp_path):
    command = step_command(time.time() + 600, "two words", "$1", "*", "")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)

    assert done.stdout.split("\n")[:-1] == command[command.index("spark-submit") + 1 :]
    assert not (tmp_path / "injected").exists()


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("late", [0, 1, 86_400])
def test_a_step_that_begins_too_late_submits_nothing(late):
    done = subprocess.run(step_command(time.time() - late), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (124, "", "")


@pytest.mark.usefixtures("machine")
def test_a_step_ends_at_its_deadline_whenever_it_began():
    command = step_command(time.time() + 4)
    command.insert(command.index("spark-submit") + 1, "sleep")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[0]) == (124, "sleep")


def test_a_run_is_given_up_at_its_deadline_though_emr_does_not_answer(emr, run, monkeypatch):
    clock = SimpleNamespace(time=time.time, monotonic=time.monotonic)
    monkeypatch.setattr(steps, "time", clock)

    def a_day_later(**_: Any) -> Exception:
        clock.time = lambda: time.time() + 86_400
        return throttled("DescribeStep")

    emr.answers["describe_step"] = [step("RUNNING"), throttled("DescribeStep"), a_day_later]
    with pytest.raises(
        SampleRunError, match=r"had time until .* was RUNNING when last heard of.*time_to_live"
    ):
        run().run()
    assert len(cancelled(emr)) == 1


def leave_behind(emr: Any, running: StepRun) -> str:
    """Add a step whose task gets no chance to cancel it; returns EMR's id."""
    emr.answers["describe_step"] = [step("FAILED")]
    with pytest.raises(SampleRunError):
        running.run()
    (added,) = cancelled(emr)
    emr.calls.clear()
    return added


def test_a_retry_cancels_what_its_killed_predecessor_left_behind(emr, run, writes):
    orphan = leave_behind(emr, run())
    emr.answers["describe_step"] = [writes()]

    run().run()

    assert cancelled(emr) == [orphan]
    called = [name for name, _ in emr.calls]
    assert called.index("cancel_steps") < called.index("add_job_flow_steps")


@pytest.mark.parametrize(
    ("name", "owner", "state"),
    [
        ("ernest-sample-1", "5f2a", "RUNNING"),
        ("ernest-sample-0", "77b0", "RUNNING"),
        ("ernest-sample-0", "5f2a", "COMPLETED"),
    ],
)
def test_a_retry_leaves_the_steps_of_others_and_what_has_ended_alone(
    emr, run, handle, writes, name, owner, state
):
    leave_behind(emr, run(owner=owner, name=name))
    for one in emr_backends[DEFAULT_ACCOUNT_ID][REGION].clusters[handle.name].steps:
        one.state = state
    emr.answers["describe_step"] = [writes()]

    run().run()

    assert cancelled(emr) == []


@pytest.mark.parametrize(
    ("changes", "application", "named"),
    [
        ({}, "/opt/job.py", r"application='/opt/job.py' is a local path.*Upload it"),
        ({"options": {"num_executors": 3}}, APPLICATION, r"'num_executors' is not known.*java_class"),
        (
            {"options": {"jars": "s3://a/b.jar,/c.jar"}},
            APPLICATION,
            r"submit_options\['jars'\]='/c.jar' is a",
        ),
    ],
)
def test_what_emr_cannot_read_or_do_is_refused_before_anything_is_submitted(
    emr, run, changes, application, named
):
    with pytest.raises(InvalidParameterError, match=named):
        run(application=application, **changes).run()
    assert emr.called("add_job_flow_steps") == []


def test_a_failed_step_tells_why_and_where_its_log_is(emr, run):
    details = {
        "Reason": "Unknown Error.",
        "Message": "exit code 1",
        "LogFile": "s3://logs/steps/s-1/stderr.gz",
    }
    emr.answers["describe_step"] = [step("RUNNING"), step("FAILED", FailureDetails=details)]
    with pytest.raises(
        SampleRunError, match=r"failed: Unknown Error: exit code 1; its log is s3://logs/steps/s-1/stderr.gz"
    ):
        run().run()


@pytest.mark.parametrize("cancelling", [{}, throttled("CancelSteps")])
@pytest.mark.parametrize(
    ("state", "limits", "named"),
    [
        ("RUNNING", RunLimits(wait_seconds=600, run_seconds=0), r"longer than run_timeout_seconds=0"),
        ("PENDING", RunLimits(wait_seconds=0), r"did not begin within 0 s.*one step at a time"),
    ],
)
def test_a_step_that_passes_a_limit_is_cancelled_and_the_reason_told(
    emr, run, state, limits, named, cancelling
):
    emr.answers["cancel_steps"] = [cancelling]
    emr.answers["describe_step"] = [step(state)] * 99
    with pytest.raises(SampleRunError, match=named):
        run(limits=limits).run()
    assert len(cancelled(emr)) == 1


@pytest.mark.parametrize("call", ["describe_step", "add_job_flow_steps"])
def test_a_killed_task_cancels_its_step(emr, run, call):
    running = run()

    def killed(**request: Any) -> dict[str, Any]:
        running.end()
        return getattr(emr._client, call)(**request)

    emr.answers[call] = [killed]
    with pytest.raises(SampleRunError, match="its task was killed"):
        running.run()
    assert len(cancelled(emr)) == 1
    assert emr.called("cancel_steps")[0]["StepCancellationOption"] == "SEND_INTERRUPT"


def test_a_kill_wakes_the_waiting_task(emr, run):
    """EMR is asked every ten seconds only; a killed task lives for five."""
    running = run(poll_seconds=600)
    asked = threading.Event()

    def answer(**_: Any) -> dict[str, Any]:
        asked.set()
        return step("RUNNING")

    emr.answers["describe_step"] = [answer]
    killer = threading.Thread(target=lambda: asked.wait(60) and running.end())
    killer.start()
    with pytest.raises(SampleRunError, match="its task was killed"):
        running.run()
    killer.join()


def test_a_job_flow_that_ends_under_a_step_is_lost(emr, run):
    reason = {"Code": "INSTANCE_FAILURE", "Message": "a spot instance was taken back"}
    emr.answers["describe_step"] = [step("RUNNING"), step("CANCELLED")]
    emr.answers["describe_cluster"] = [
        lambda **asked: emr._client.describe_cluster(**asked),
        job_flow("TERMINATED_WITH_ERRORS", reason=reason),
    ]
    with pytest.raises(ClusterLostError, match=r"TERMINATED_WITH_ERRORS: INSTANCE_FAILURE: a spot instance"):
        run().run()


GONE = "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("has_ended", "changes", "named"),
    [
        (True, {}, r"j-\w+ takes no steps, it is TERMINATED"),
        (False, {"expires_at": GONE}, r"time to live that was stated of job flow .* is over"),
        (False, {"executors": 4}, r"needs 4 machines; job flow j-\w+ has 3"),
    ],
)
def test_a_job_flow_that_cannot_take_the_run_gets_no_step(emr, run, handle, has_ended, changes, named):
    if has_ended:
        emr.terminate_job_flows(JobFlowIds=[handle.name])
    with pytest.raises(ClusterLostError, match=named):
        run(**changes).run()
    assert emr.called("add_job_flow_steps") == []


def test_a_step_that_writes_no_event_log_is_no_spark_application(emr, run):
    emr.answers["describe_step"] = [completed()]
    with pytest.raises(SampleRunError, match=r"wrote no event log into s3://ernest-logs/spark/j-"):
        run().run()


def test_only_a_whole_event_log_is_fetched(s3, tmp_path):
    uri = f"s3://{BUCKET}/spark/run"
    for name, body in (("", b""), ("app-1.inprogress", b"begun"), ("app-1", b"whole")):
        s3.put_object(Bucket=BUCKET, Key=f"spark/run/{name}", Body=body)
    s3.put_object(Bucket=BUCKET, Key="spark/run2/app-2", Body=b"of another run")

    assert fetch_event_log(s3, uri, tmp_path).read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["app-1"]
