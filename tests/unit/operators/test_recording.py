"""Records, profiles and messages beside the work: what hinders them is a warning, and nothing waits long."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from airflow.sdk import BaseNotifier

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.documents.profiles import PRODUCTION, SAMPLE, ProfileRecord
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.recording import (
    keep_marks,
    keep_profile,
    median_bandwidth,
    network_capacity,
)
from airflow_provider_ernest.spark.machines import Bandwidth
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators.submissions import handle

LOG = logging.getLogger("task")
EVENT_LOG = Path(__file__).parents[1] / "eventlog" / "event_logs" / "spark-4.0.1.zstd"
RUN = examples.observation(scale=0.25, instance_type="local", event_log=str(EVENT_LOG))


def keep(run=RUN, **changes):
    arguments = {"job": "enrich", "artifact_sha256": "ab" * 32, "iterations": 3, "capacity": None, **changes}
    keep_profile(run, read_event_log(EVENT_LOG), log=LOG, **arguments)


@pytest.mark.parametrize(
    ("run", "purpose"),
    [(RUN, SAMPLE), (examples.production_run(instance_type="local", scale=0.25), PRODUCTION)],
)
def test_a_real_runs_profile_is_kept_with_what_it_read(context, run, purpose):
    keep(run)

    (record,) = model_store().newest(ProfileRecord, "enrich", "local")
    assert (record.purpose, record.artifact_sha256) == (purpose, "ab" * 32)
    assert (record.profile.scale, record.profile.iterations) == (0.25, 3)
    assert record.profile.event_log == run.event_log
    assert record.profile.stages
    assert record.profile.headline
    assert abs(record.profile.replay_error_percent) < 20


def test_a_run_with_too_many_tasks_is_left_alone(context, monkeypatch, caplog):
    monkeypatch.setattr(recording, "MOST_TASKS", 3)
    keep()

    assert "more than 3 tasks" in caplog.text
    assert not model_store().root.exists()


def test_a_profile_that_cannot_be_kept_is_a_warning_without_the_password_of_an_address(
    context, monkeypatch, caplog
):
    def refused(self, record):
        raise PermissionError(f"Access to {run.event_log} is refused")

    run = replace(RUN, event_log="nowhere://me:hunter2@host/app-7")
    monkeypatch.setattr(ModelStore, "save", refused)
    keep(run)
    ended = threading.Event()
    monkeypatch.setattr(recording, "PROFILE_SECONDS", 0.01)
    monkeypatch.setattr(ModelStore, "save", lambda self, record: ended.wait())
    keep(run)

    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert caplog.text.count("Why the run took this long is not known") == 2
    assert caplog.text.count("nowhere://host/app-7") == 2
    assert "ernest analyze" in caplog.text, "where nobody waited for it"
    assert "hunter2" not in caplog.text

    # Else the abandoned work tells its result while the next test looks at its log.
    ended.set()
    for thread in threading.enumerate():
        if thread.name == "ernest-in-time":
            thread.join()


def probed(*gigabytes_per_second: float | None) -> ClusterHandle:
    cluster = ClusterHandle.from_dict(handle(executors=len(gigabytes_per_second), cores_per_machine=4))
    return replace(
        cluster,
        machines=tuple(
            replace(
                machine,
                bandwidth=Bandwidth(
                    memory_gigabytes_per_second=10.0, network_gigabytes_per_second=network, score=1.0
                ),
            )
            for machine, network in zip(cluster.machines, gigabytes_per_second, strict=True)
        ),
    )


def test_what_the_probe_measured_is_the_capacity_of_a_machine():
    capacity = network_capacity(4, median_bandwidth(probed(1.0, 1.2, 1.4).machines))
    assert (capacity.cores, capacity.network_gigabytes_per_second, capacity.source) == (4, 1.2, "measured")


@pytest.mark.parametrize("cluster", [probed(None, None), ClusterHandle.from_dict(handle())])
def test_without_a_probe_of_the_network_nothing_is_made_up(cluster):
    assert network_capacity(4, median_bandwidth(cluster.machines)) is None


def mark(number: int = 1) -> ModelMark:
    return examples.mark(
        id=f"mark-{number}",
        job="enrich",
        instance_type=f"m{number}.large",
        model_id=f"model-{number}",
        reason=f"Reason {number}.",
    )


def tell(callbacks, context, *marks: ModelMark) -> None:
    keep_marks(marks or (mark(),), callbacks=callbacks, context=context, log=LOG)


class Noted(BaseNotifier):
    """Keeps what it would send."""

    template_fields = ("text",)
    sent: list[str]

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sent = []

    def notify(self, context) -> None:
        self.sent.append(self.text)


def test_a_callable_gets_the_context_with_the_mark(context):
    told = []
    tell(told.append, context)

    (seen,) = told
    assert seen["ernest_mark"] == mark()
    assert seen["ti"] is context["ti"]
    assert "ernest_mark" not in context, "it is no business of the task's own context"


def test_a_notifier_renders_its_templates_anew_for_each_mark(context):
    notifier = Noted("{{ ernest_mark.job }} on {{ ernest_mark.instance_type }}: {{ ernest_mark.reason }}")

    tell(notifier, context, mark(1), mark(2))

    assert notifier.sent == ["enrich on m1.large: Reason 1.", "enrich on m2.large: Reason 2."]
    assert "{{" in notifier.text, "the next run needs the template, too"
    assert "text" not in context


def test_each_of_several_is_called_for_each_mark_once(context):
    first, second = [], []
    tell([first.append, second.append], context, mark(1), mark(2), mark(1))

    for told in (first, second):
        assert [each["ernest_mark"].id for each in told] == ["mark-1", "mark-2"]


def failing(context) -> None:
    raise RuntimeError("no route to host")


@pytest.mark.parametrize(
    ("callback", "words"),
    [
        (failing, r"failing was not told that model model-1 is stale: RuntimeError: no route to host"),
        (Noted("{{ ernest_mark.no_such.thing }}"), r"Noted was not told .* UndefinedError"),
        (BaseNotifier(), r"BaseNotifier was not told .* NotImplementedError"),
        ("a text", r"str was not told .* not callable"),
    ],
    ids=["callable", "template", "no notify", "no callable"],
)
def test_one_that_fails_is_a_warning_and_the_next_is_called(callback, words, context, caplog):
    told = []
    tell([callback, told.append], context)

    assert len(told) == 1
    warnings = [record for record in caplog.records if record.name == "task"]
    assert [record.levelname for record in warnings] == ["WARNING", "WARNING"]
    assert warnings[0].getMessage().startswith("STALE: the model model-1")
    assert re.search(words, warnings[1].getMessage())
