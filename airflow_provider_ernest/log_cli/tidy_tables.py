"""The tables of an event log as files of comma-separated values, for pandas, R or a spreadsheet."""

from __future__ import annotations

import csv
import math
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.log_reading.tables import EventLog, TaskTable

FILES = ("jobs.csv", "stages.csv", "tasks.csv", "executors.csv", "sql_executions.csv")
"""What is written into a folder."""

_OF_TASKS = ("seconds", "scheduler_delay_seconds")
"""What is reckoned from the columns of tasks and stands beside them."""

_ROWS_AT_ONCE = 10_000


def refuse_tables(folder: str, *, force: bool) -> None:
    """Refuse a folder that cannot be one, or that has a file of one of these names, before any work is done.

    Raises:
        InvalidParameterError: it is no folder, or a file is there and `force` is not set.
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise InvalidParameterError("csv", folder, "is no folder", remedy="Name a folder, new or empty.")
    there = [name for name in FILES if (place / name).exists()]
    if there and not force:
        raise InvalidParameterError(
            "csv",
            folder,
            f"has {', '.join(there)} already",
            remedy="Choose another folder, or overwrite these files with --force.",
        )


def write_tables(log: EventLog, folder: str, *, force: bool) -> None:
    """Write all tables; times are seconds since the epoch, durations seconds, sizes bytes, unknowns empty.

    Args:
        log: that is written.
        folder: is made where it is not there; other files in it stay.
        force: whether files of these names may be overwritten.

    Raises:
        InvalidParameterError: see `refuse_tables`; or it cannot be written to.
    """
    from airflow_provider_ernest.spark.log_reading.executor_rows import ExecutorRow
    from airflow_provider_ernest.spark.log_reading.tables import (
        JobRow,
        SqlExecutionRow,
        StageRow,
    )

    refuse_tables(folder, force=force)
    contents: dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]] = {
        "jobs.csv": _of_rows(JobRow, log.jobs),
        "stages.csv": _of_rows(StageRow, log.stages),
        "tasks.csv": _of_tasks(log.tasks),
        "executors.csv": _of_rows(ExecutorRow, log.executors),
        "sql_executions.csv": _of_rows(SqlExecutionRow, log.sql_executions),
    }
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            _write(place / name, *contents[name])
    except OSError as error:
        raise InvalidParameterError(
            "csv",
            folder,
            f"cannot be written to: {error.strerror}",
            remedy="Check that the folder may be written to, and that there is room.",
        ) from error


def _write(path: Path, heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A file that appears whole or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("w", encoding="utf-8", errors="xmlcharrefreplace", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(heading)
            writer.writerows(rows)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _of_rows(form: type[Any], rows: Iterable[Any]) -> tuple[list[str], Iterator[list[Any]]]:
    names = [column.name for column in fields(form)]
    return names, ([_cell(getattr(row, name)) for name in names] for row in rows)


def _of_tasks(tasks: TaskTable) -> tuple[list[str], Iterator[list[Any]]]:
    names = [*(column.name for column in fields(tasks)), *_OF_TASKS]
    columns = [getattr(tasks, name) for name in names]

    def rows() -> Iterator[list[Any]]:
        # As Python's own numbers, but never all of them at once: a log may have millions of tasks.
        for start in range(0, len(tasks), _ROWS_AT_ONCE):
            parts = [column[start : start + _ROWS_AT_ONCE].tolist() for column in columns]
            yield from ([_cell(value) for value in row] for row in zip(*parts, strict=True))

    return names, rows()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else round(value, 6)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "" if value is None else value
