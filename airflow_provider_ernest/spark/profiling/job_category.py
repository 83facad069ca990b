"""What kind of job a run was (OptEx, section 4): by which of Spark's libraries its stages come of.

A stage that a library of Spark asked for tells so by its call site, whether the job is Scala, Java or Python:
that of a regression is ``treeAggregate at RDDLossFunction.scala:61``, and its stack trace, which the log has,
names ``org.apache.spark.ml``. Queries are known by their own events. What is none of these is a job of plain
RDDs. A job that does its own learning over RDDs, or in Python functions, is told from no other: the log does
not show what the functions of the user do.
"""

from __future__ import annotations

from collections import defaultdict

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, StageRow

CORE, GRAPHX, MLLIB, SQL, STREAMING = (
    run_profile.CORE,
    run_profile.GRAPHX,
    run_profile.MLLIB,
    run_profile.SQL,
    run_profile.STREAMING,
)

LIBRARY_SHARE = 0.2
"""MLlib and GraphX read and prepare their data by queries and RDDs: a job is theirs if at least this share of
its tasks' time is."""

_OF_LIBRARY = {"ml": MLLIB, "mllib": MLLIB, "graphx": GRAPHX, "streaming": STREAMING}


def category_of(log: EventLog) -> str:
    """The category of the job: `STREAMING`, `GRAPHX`, `MLLIB`, `SQL` or `CORE`."""
    if log.is_streaming:
        return STREAMING
    seconds = _seconds_by_category(log)
    total = sum(seconds.values())
    for category in (STREAMING, GRAPHX, MLLIB):
        if seconds[category] > 0 and seconds[category] >= LIBRARY_SHARE * total:
            return category
    if total == 0:
        return SQL if log.sql_executions else CORE
    return SQL if seconds[SQL] >= seconds[CORE] else CORE


def _seconds_by_category(log: EventLog) -> dict[str, float]:
    """The seconds of the tasks by the category of their stages."""
    queried = {job.job_id for job in log.jobs if job.sql_execution_id is not None}
    category = {
        (stage.stage_id, stage.attempt): _category_of_stage(stage, stage.job_id in queried)
        for stage in log.stages
    }
    seconds: dict[str, float] = defaultdict(float)
    tasks = log.tasks
    columns = (tasks.stage_id.tolist(), tasks.stage_attempt.tolist(), tasks.seconds.tolist())
    for stage_id, attempt, lasted in zip(*columns, strict=True):
        seconds[category.get((stage_id, attempt), CORE)] += max(0.0, lasted)
    return seconds


def _category_of_stage(stage: StageRow, queried: bool) -> str:
    return _OF_LIBRARY.get(stage.library, SQL if queried else CORE)
