"""Reading Spark's event log of an application into tables, wherever and however Spark wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.spark.log_reading.log_names import application_of_name

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.log_reading.tables import EventLog

__all__ = ["read_event_log"]


def read_event_log(
    source: Any, *, most_tasks: int | None = None, most_seconds: float | None = None
) -> EventLog:
    """Read the event log of one application, of Spark 3.3 or later.

    It is read as a stream: the tables are all that is kept of it. What of it cannot be read is passed over
    and told by the log's `warnings`, `unreadable_lines` and `unknown_events`.

    Args:
        source: a path, an address that fsspec can open (s3://bucket/key), or anything with a path's methods,
            such as Airflow's `ObjectStoragePath`: a log's file, compressed or not, or the folder of one that
            is rolled over (``eventlog_v2_...``, or Databricks' with ``eventlog``), of an application that has
            ended or still runs.
        most_tasks: a log of more tasks is refused, to bound the memory: a task takes some 230 bytes. None
            for `MOST_TASKS`.
        most_seconds: to read for: whoever waits no longer shall not leave the work behind; None for no limit.

    Raises:
        EventLogError: it cannot be read, tells of no application, or of more than `most_tasks` tasks, or
            takes longer than `most_seconds`.
        MissingResourceError: the library that opens such an address is not installed.
    """
    from airflow_provider_ernest.spark.log_reading.application import Application
    from airflow_provider_ernest.spark.log_reading.bounds import Bounds
    from airflow_provider_ernest.spark.log_reading.files import open_lines
    from airflow_provider_ernest.spark.log_reading.notes import Notes
    from airflow_provider_ernest.spark.log_reading.task_table import MOST_TASKS

    notes = Notes(bounds=Bounds(most_seconds=most_seconds))
    application = Application(notes, most_tasks=MOST_TASKS if most_tasks is None else most_tasks)
    application.read(open_lines(source, notes=notes))
    name = str(source).rstrip("/").rpartition("/")[2]
    return application.event_log(str(source), application_of_name(name))
