"""An event log as a past run of a job: what it took, on what, and whether it counts (`eventlog.judging`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from airflow_provider_ernest.decision.forms.machines import megabytes
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.eventlog.judging import DATABRICKS_CLUSTER, JOB_CLUSTER, Sizes, why_not_counted
from airflow_provider_ernest.eventlog.run_facts import run_metrics
from airflow_provider_ernest.eventlog.tables import DRIVER
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.history.jobs import recurring
from airflow_provider_ernest.learning.conditions import settings_that_count
from airflow_provider_ernest.privacy import without_credentials

if TYPE_CHECKING:
    from airflow_provider_ernest.eventlog.tables import EventLog
    from airflow_provider_ernest.prediction.numbers import IntArray

_INSTANCE_TYPES = (
    "spark.databricks.clusterUsageTags.clusterNodeType",
    "spark.databricks.workerNodeTypeId",
    "spark.kubernetes.executor.node.selector.node.kubernetes.io/instance-type",
    "spark.kubernetes.node.selector.node.kubernetes.io/instance-type",
    "spark.kubernetes.executor.node.selector.beta.kubernetes.io/instance-type",
    "spark.kubernetes.node.selector.beta.kubernetes.io/instance-type",
    "spark.glue.workerType",
    "spark.glue.WORKER_TYPE",
)
_INSTANCE_TYPE = re.compile(r"[\w.-]{2,60}")

_STATED_NAMES = (
    "spark.databricks.clusterUsageTags.runName",
    "spark.databricks.job.runName",
    "spark.glue.JOB_NAME",
    "spark.glue.jobName",
    "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name",
    "spark.openlineage.parentJobName",
)
"""Properties by which a platform or a scheduler tells which job it runs."""

_DATABRICKS_TAGS = "spark.databricks.clusterUsageTags.clusterAllTags"


def past_run(log: EventLog, *, event_log: str) -> PastRun:
    """What an event log tells of its run.

    Returns:
        The run; its `job` is the application's own name, or what the platform calls it where it says
        nothing (`jobs.JobNames` makes the recurring job's of it).
    """
    sizes = Sizes(log)
    machines = sizes.most
    not_counted = why_not_counted(log, sizes)
    cores = _cores_per_machine(log)
    return PastRun(
        job=_name(log),
        application_id=log.application_id,
        event_log=_as_text(without_credentials(event_log)),
        started_at=datetime.fromtimestamp(log.started_at, UTC).isoformat(),
        machines=machines,
        cores_per_machine=cores,
        seconds=max(0.0, log.clean_seconds),
        startup_seconds=max(0.0, log.ready_at - log.started_at),
        instance_type=_instance_type(log.properties),
        memory_megabytes_per_machine=_memory(log, machines, cores),
        input_bytes=_outside(log, log.task_columns.input_bytes),
        input_records=_outside(log, log.task_columns.input_records),
        failure="" if not_counted is None else not_counted.reason,
        spark=log.spark,
        main=log.main or None,
        main_folder=log.main_folder or None,
        has_end=log.is_complete,
        settings=tuple(sorted(settings_that_count(log.properties).items())),
        mean_machines=None if sizes.are_steady else sizes.mean,
        machine_seconds=sizes.machine_seconds,
        metrics=None if not_counted else run_metrics(log),
    )


def _as_text(place: str) -> str:
    """A path as JSON can hold it: Linux allows names that are no text."""
    return place.encode(errors="backslashreplace").decode()


def _name(log: EventLog) -> str:
    if recurring(log.name):
        return log.name
    told = (log.properties.get(name, "") for name in _STATED_NAMES)
    return next((name for name in told if recurring(name)), "") or _of_cluster(log.properties) or log.name


def _of_cluster(properties: Mapping[str, str]) -> str:
    """The job that Databricks started a cluster for, by its name or else by its number; empty for no job."""
    cluster = JOB_CLUSTER.fullmatch(properties.get(DATABRICKS_CLUSTER, ""))
    if cluster is None:
        return ""
    try:
        tags = msgspec.json.decode(properties.get(_DATABRICKS_TAGS, "[]"), type=list[dict[str, Any]])
    except msgspec.MsgspecError:
        tags = []
    names = [str(tag.get("value")) for tag in tags if tag.get("key") == "RunName"]
    name = next(filter(recurring, names), f"Databricks job {cluster['job']}")
    # A job may have several clusters, each for some of its tasks.
    return f"{name} {cluster['key'] or ''}".strip()


def _cores_per_machine(log: EventLog) -> int:
    """Of its executors; where machines differ, as containers of YARN may lie, what they have on average."""
    slots = [each for each in log.slots_by_worker.values() if each]
    return max(1, round(float(np.mean(slots)) * log.task_cores)) if slots else 0


def _memory(log: EventLog, machines: int, cores_per_machine: int) -> int | None:
    """MiB of the executors on one machine: all that they are given, or as much as the log tells."""
    workers = [each for each in log.executors if each.executor_id != DRIVER]
    try:
        heap = log.executor_memory_megabytes or megabytes(
            "spark.executor.memory", log.properties["spark.executor.memory"]
        )
    except (KeyError, InvalidParameterError):
        return None
    cores = float(np.median([each.cores for each in workers])) if workers else 0.0
    return None if not machines or not cores else heap * max(1, round(cores_per_machine / cores))


def _instance_type(properties: Mapping[str, str]) -> str | None:
    told = (properties.get(name, "") for name in _INSTANCE_TYPES)
    return next((each for each in told if _INSTANCE_TYPE.fullmatch(each)), None)


def _outside(log: EventLog, read: IntArray) -> int:
    """Of what tasks read, (tasks,), that from storage: Spark counts cached blocks as if read again."""
    cached = [stage.stage_id for stage in log.stages if stage.reads_cache]
    tasks = log.task_columns
    counted_rows = tasks.succeeded if not cached else tasks.succeeded & ~np.isin(tasks.stage_id, cached)
    return max(0, int(read[counted_rows].sum(dtype=float)))
