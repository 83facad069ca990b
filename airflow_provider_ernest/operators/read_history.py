"""The job's past runs, read before sample runs are designed: observations that cost nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.task_context import (
    OfJob,
    failure_pushed,
    folder,
    no_vain_retries,
    pushed_conditions,
)
from airflow_provider_ernest.settings import EventLogs, ExpectedInput, SampledInput, SparkJob
from airflow_provider_ernest.settings.values import (
    as_template,
    is_template,
    optional_text,
    optional_whole_number,
    settings_of,
)
from airflow_provider_ernest.spark.artifact import changed_at

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.models import HistoryBasis
    from airflow_provider_ernest.documents.profiles import RunProfile
    from airflow_provider_ernest.documents.runs import PastRun, RunConditions
    from airflow_provider_ernest.history.next_run import NextInput
    from airflow_provider_ernest.history.observations import History, TodaysRun
    from airflow_provider_ernest.history.sizes import Today

PRODUCTION = "production"
"""The name of what a job runs on where neither its logs nor the user tell it."""

MOST_NAMES = 5  # of other jobs are told where there is no run of this one

MOST_SECONDS = 1800.0
"""Limit for reading logs; what was read by then counts."""


class ReadHistoryOperator(OfJob, BaseOperator):
    """Read the past runs of the job from Spark's event logs and from records of its production.

    `history.observations` says which of them count, and at what scale; the task's log has a table of them,
    and why the others do not count. If none counts, that is a warning. A log that cannot be read is left out;
    a place that cannot be read fails the task before anything is paid for. A cache on the worker saves
    reading a log twice.

    Returns for each type of machine ``{"observations", "notes", "left_out"}``: `Observation` documents,
    sentences for the user, and the numbers of runs that do not count by reason. Without `types` it is the one
    that the job runs on today, if any run ended well, and there are also ``basis``, a `HistoryBasis` document
    with a replay, ``machine``, what the others are told of an executor, ``sizes``, the properties that say
    how large executors and driver are, ``growth``, what the next run reads relative to today's input (also
    pushed by type), ``input_amount``, what is named of it, and ``runs_per_month``.

    Args:
        history: where the past runs are recorded.
        next_input: what the next run reads, where its past runs are all there is; None to forecast it.
        types: a mapping for each type of machine: ``instance_type``; ``is_name``, true if that is only the
            user's name, which no log has; ``executor_cores`` and ``executor_memory_megabytes``, also as
            templates, None if unknown. None where the past runs are all there is to learn from.
        conditions: of this run by type: ``find.output["conditions"]``, also as JSON text.
        artifact_sha256: ``find.output["artifact_sha256"]``.

    Raises:
        MissingResourceError: there is no such place, or no library that reads it.
        InvalidParameterError: a value is impossible.
    """

    template_fields: Sequence[str] = (
        "history",
        "job",
        "input",
        "next_input",
        "types",
        "conditions",
        "artifact_sha256",
    )
    ui_color = "#e8e4cf"

    def __init__(
        self,
        *,
        history: EventLogs | Mapping[str, Any] | str,
        job: SparkJob | Mapping[str, Any],
        input: SampledInput | Mapping[str, Any] | str | None = None,  # noqa: A002 - the word that fits
        next_input: ExpectedInput | Mapping[str, Any] | str | None = None,
        types: Sequence[Mapping[str, Any]] | None = None,
        conditions: Any = None,
        artifact_sha256: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.history: Any = as_template(EventLogs, history, "history")
        self._keep_job(job, *([] if input is None else [input]))
        self.next_input: Any = next_input and as_template(ExpectedInput, next_input, "next_input")
        self.types = types
        self.conditions = conditions
        self.artifact_sha256 = artifact_sha256
        self._others: set[str] = set()

    def execute(self, context: Context) -> dict[str, Any]:
        """Read, choose, and say what counts."""
        with no_vain_retries(), failure_pushed(context):
            logs = settings_of(EventLogs, self.history, "history")
            runs = self._runs_of_job(logs)
            if self.types is None:
                found = self._as_it_runs(logs, runs)
                growth = {name: of_type["growth"] for name, of_type in found.items()}
                context["ti"].xcom_push(key="growth", value=growth)
                return found
            by_type = {str(each["instance_type"]): self._of_type(each, logs, runs) for each in self.types}
        for name, history in by_type.items():
            if not history.observations:
                self.log.warning("%s: no past run of the job counts; sample runs are made as usual.", name)
            self._tell(history)
        return {name: _document(history) for name, history in by_type.items()}

    def _tell(self, history: History) -> None:
        from airflow_provider_ernest.views.tables import past_runs_table

        for line in past_runs_table(history.runs, history.observations, history.reasons):
            self.log.info("%s", line)
        for note in history.notes:
            self.log.info("%s", note)

    def _as_it_runs(self, logs: EventLogs, runs: Sequence[PastRun]) -> dict[str, Any]:
        """What the job's runs tell where nothing else is known of it."""
        from airflow_provider_ernest.history.observations import is_good
        from airflow_provider_ernest.history.sizes import history_of, today_of
        from airflow_provider_ernest.history.survey import runs_per_month

        oldest_first = sorted(runs, key=lambda run: run.started_at)
        good = [run for run in oldest_first if is_good(run)]
        if not good:
            failed = f", and none of {len(runs)} runs ended well" if runs else ""
            self.log.warning(
                "No run of %r is known from %s%s: production keeps the size that it has. After its first run "
                "other sizes are known by its replay.",
                str(logs.job or self._rendered_job().name),
                logs.place,
                failed,
            )
            return {}
        today = today_of(good)
        name = logs.instance_type or today.instance_type or PRODUCTION
        holds_since = _holds_since(model_store(), self._rendered_job().name, name)
        history = history_of(oldest_first, today, most_runs=logs.most_runs, holds_since=holds_since)
        of_type = [replace(run, instance_type=name) for run in history.observations]
        history = replace(history, observations=tuple(of_type))
        self._tell(history)
        machine = {
            "kind": "existing",
            "instance_type": name,
            "executor_cores": today.executor_cores,
            "executors_per_machine": today.executors_per_machine,
        }
        basis = self._basis(logs, oldest_first, today, name)
        named, following = self._next_input(today, good, name)
        if following.log_spread is not None:
            basis = replace(basis, input_noise=today.input_slope * following.log_spread)
        if following.told:
            self.log.info("%s", following.told)
        return {
            name: {
                **_document(history),
                "basis": replace(basis, next_input=following.told).to_dict(),
                "machine": machine,
                "sizes": dict(today.runs[-1].sizes),
                "growth": following.scale,
                "runs_per_month": runs_per_month(good),
                "input_amount": named,
            }
        }

    def _next_input(self, today: Today, runs: Sequence[PastRun], name: str) -> tuple[float | None, NextInput]:
        """What is named of the next run's input, as the past runs are counted, and what it will read."""
        from airflow_provider_ernest.documents.decisions import DecisionRecord
        from airflow_provider_ernest.history.next_run import named_amount, next_input
        from airflow_provider_ernest.spark.input import amount_of

        moment = datetime.now(UTC)
        if not self.next_input:
            return None, next_input(today, runs, moment=moment)
        named = amount_of(settings_of(ExpectedInput, self.next_input, "next_input"))
        job = self._rendered_job().name
        decisions = model_store().newest(DecisionRecord, job, name, limit=len(runs))
        told = next_input(today, runs, moment=moment, named=named, decisions=decisions)
        return named_amount(named, runs), told

    def _keep_profile(self, profile: RunProfile, instance_type: str) -> None:
        """Why the job takes as long as it does, once for each run: the pages show it."""
        from airflow_provider_ernest.documents.base import new_stamp
        from airflow_provider_ernest.documents.profiles import PRODUCTION as OF_PRODUCTION
        from airflow_provider_ernest.documents.profiles import ProfileRecord
        from airflow_provider_ernest.operators.recording import keep

        job = self._rendered_job().name
        known = model_store().newest(ProfileRecord, job, instance_type, limit=10)
        if all(record.profile.application_id != profile.application_id for record in known):
            record = ProfileRecord(
                **new_stamp(), job=job, instance_type=instance_type, purpose=OF_PRODUCTION, profile=profile
            )
            keep(record, what="Why the job takes as long as it does", log=self.log)

    def _basis(
        self, logs: EventLogs, runs: Sequence[PastRun], today: Today, instance_type: str
    ) -> HistoryBasis:
        """What a replay of the job's typical runs tells; nothing of logs that cannot be replayed."""
        from airflow_provider_ernest.history.reading import in_processes
        from airflow_provider_ernest.history.scan import profiles
        from airflow_provider_ernest.history.sizes import basis_of, runs_to_profile

        wanted = runs_to_profile(runs)
        read = profiles(wanted, reader=in_processes(logs.processes), cache=folder("history"))
        by_log = {run.event_log: profile for run, profile in read if profile is not None}
        found = list(by_log.values())
        if typical := by_log.get(wanted[0].event_log):
            self._keep_profile(replace(typical, scale=today.scale(wanted[0])), instance_type)
        try:
            return basis_of(runs, found, today)
        except (ErnestError, ArithmeticError, ValueError) as error:
            # A log is whatever an application wrote.
            self.log.warning("No run can be replayed: %s", error)
            return basis_of(runs, [], today)

    def _runs_of_job(self, logs: EventLogs) -> list[PastRun]:
        """The job's runs, including those whose names end in another number or random suffix."""
        from airflow_provider_ernest.history.jobs import JobNames, by_job, without_version

        job = str(logs.job or self._rendered_job().name)
        # As stated, and without what differs from run to run.
        names = {job, JobNames().job_of(job)}
        stated = names if logs.job_pattern else ()
        # Runs of another program are left out later, with the reason.
        jobs = by_job(self._runs(logs, job, names), stated=stated, by_program=False)
        plain = {without_version(name) for name in names}
        names |= {job for job, those in jobs.joined.items() if not names.isdisjoint(those) or job in plain}
        if not any(jobs.runs.get(name) for name in names):
            self._tell_other_jobs(job)
        return [run for name in names for run in jobs.runs.get(name, ())]

    def _tell_other_jobs(self, job: str) -> None:
        """Name the jobs that the logs are of: the name may be mistyped."""
        others = sorted(self._others)
        if others:
            near = get_close_matches(job, others, n=MOST_NAMES, cutoff=0.0)
            more = f" and {len(others) - len(near)} more" if len(others) > len(near) else ""
            self.log.warning("No log is of a job %r: they are of %s%s.", job, ", ".join(near), more)

    def _runs(self, logs: EventLogs, job: str, names: Collection[str]) -> Iterator[PastRun]:
        from airflow_provider_ernest.history.jobs import JobNames, may_be_of
        from airflow_provider_ernest.history.reading import in_processes
        from airflow_provider_ernest.history.scan import Scan

        if logs.place is None:
            return
        of_pattern = {} if logs.job_pattern is None else {logs.job_pattern: job}
        scanned = Scan(
            [logs.place],
            names=JobNames(mapping=of_pattern),
            since=logs.since,
            reader=in_processes(logs.processes),
            cache=folder("history"),
        )
        until = time.monotonic() + MOST_SECONDS
        try:
            for run in scanned:
                if may_be_of(run.job, names):
                    yield replace(run, instance_type=run.instance_type or logs.instance_type)
                else:
                    self._others.add(run.job)
                if time.monotonic() > until:
                    self.log.warning(
                        "Not all event logs were read within %.0f s: those that were count.", MOST_SECONDS
                    )
                    break
        finally:
            scanned.close()
        self.log.info("%d event logs were found in %s.", scanned.logs, logs.place)
        for reason, many in scanned.unread.most_common():
            self.log.info("%d of them could not be read: %s", many, reason)

    def _of_type(self, each: Mapping[str, Any], logs: EventLogs, runs: Sequence[PastRun]) -> History:
        from airflow_provider_ernest.documents.decisions import ProductionRun
        from airflow_provider_ernest.history.observations import History, observations_of, with_recorded

        name, job = each["instance_type"], self._rendered_job()
        if job.sample_iterations != job.iterations:
            note = "No past run counts: they made other iterations than the model is trained with."
            return History(notes=(note,))
        store = model_store()
        conditions = pushed_conditions(self.conditions, name)
        holds_since = _holds_since(store, job.name, name)
        history = observations_of(runs, self._today(each, conditions, holds_since), most_runs=logs.most_runs)
        history = with_recorded(
            history,
            store.newest(ProductionRun, job.name, name, limit=2 * logs.most_runs),
            artifact_sha256=optional_text(self.artifact_sha256),
            conditions=conditions,
            most_runs=logs.most_runs,
            oldest=logs.since,
            holds_since=holds_since,
        )
        # As the job's models name what it runs on, whatever their logs call it.
        named = {"instance_type": name, "iterations": self._rendered_job().sample_iterations}
        if "executors_per_machine" in each:
            named["executors_per_machine"] = each["executors_per_machine"]
        return replace(history, observations=tuple(replace(run, **named) for run in history.observations))

    def _today(
        self, each: Mapping[str, Any], conditions: RunConditions | None, holds_since: datetime | None
    ) -> TodaysRun:
        from airflow_provider_ernest.documents.runs import RunConditions
        from airflow_provider_ernest.history.observations import TodaysRun

        conditions = conditions or RunConditions()
        application = self._rendered_job().application
        cores, memory = (
            optional_whole_number(name, each.get(name))
            for name in ("executor_cores", "executor_memory_megabytes")
        )
        return TodaysRun(
            input_bytes=conditions.input.total_bytes if conditions.input else None,
            instance_type=None if each.get("is_name") else each["instance_type"],
            executor_cores=cores,
            executor_memory_megabytes=memory,
            spark=conditions.spark,
            # Never rendered, for secrets: what is a template is not known.
            settings={name: str(value) for name, value in self.conf.items() if not is_template(value)},
            main=self.submit_options.get("java_class") or application,
            code_changed_at=changed_at(application) if application else None,
            holds_since=holds_since,
        )


def _document(history: History) -> dict[str, Any]:
    return {
        "observations": [each.to_dict() for each in history.observations],
        "notes": list(history.notes),
        "left_out": history.reasons,
    }


def _holds_since(store: Any, job: str, instance_type: str) -> datetime | None:
    """When a model was last marked for another cause than age: earlier runs are not comparable."""
    from airflow_provider_ernest.documents.base import time_of
    from airflow_provider_ernest.documents.models import AGE
    from airflow_provider_ernest.store.catalogue import MARK

    marks = [
        time_of(entry.at)
        for entry in store.catalogue.entries(job)
        if entry.kind == MARK and entry.instance_type == instance_type and entry.cause != AGE
    ]
    return max((mark for mark in marks if mark is not None), default=None)
