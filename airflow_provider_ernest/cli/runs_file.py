"""Files of runs: the original's CSV (machines, fraction, seconds) and lists of our JSON documents."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import described, read_text, warn
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError
from airflow_provider_ernest.words import as_percent

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.runs import Observation

FIELDS: Mapping[str, str] = {
    "machines": "machines",
    "cores": "machines",
    "fraction": "scale",
    "input fraction": "scale",
    "scale": "scale",
    "row_width": "row_width",
    "seconds": "seconds",
    "time": "seconds",
    "time (s)": "seconds",
    "startup_seconds": "startup_seconds",
    "iterations": "iterations",
    "instance_type": "instance_type",
    "application_id": "application_id",
    "event_log": "event_log",
    "job": "job",
    "left_out": "left_out",
    "mean_machines": "mean_machines",
    "cores_per_machine": "cores_per_machine",
    "memory_megabytes_per_machine": "memory_megabytes_per_machine",
    "input_bytes": "input_bytes",
    "input_records": "input_records",
    "started_at": "started_at",
    "spark": "spark",
    "main": "main",
}
"""By the column names that are understood, in lower case: the fields of an observation, those that say
whether a run is read (`JOB`, `LEFT_OUT`), and what ``ernest history`` tells of runs besides."""

JOB, LEFT_OUT = "job", "left_out"
"""The job that a run is of, in a file of several; and why a run does not count, if it does not."""

_TEXTS = ("instance_type", "application_id", "event_log")
_TOLD_BESIDE = (
    "mean_machines",
    "cores_per_machine",
    "memory_megabytes_per_machine",
    "input_bytes",
    "input_records",
    "started_at",
    "spark",
    "main",
)
_NO_FIELDS = (JOB, LEFT_OUT, *_TOLD_BESIDE)

USUAL = ("machines", "scale", "seconds")
"""What the columns are without a heading."""

LARGEST_FRACTION = 10.0
"""Of the input that a fraction may say: what it is from there on is a percentage."""

_NAMED_JOBS = 20

WHOLE_NUMBERS = ("machines", "iterations")

EXPLANATION = (
    "Each line holds machines,fraction,seconds, such as 8,0.05,12.3; a first line may name the columns, and "
    "lines that begin with # are comments."
)


PERCENTAGE = (
    "If it is a percentage, write 0.1 for 10 %. If a run really read more than the input of today, name the "
    "column scale in a first line."
)


@dataclass(frozen=True, kw_only=True)
class RunsFile:
    """What a file of runs says.

    Attributes:
        runs: that were made, and count.
        job: of which they are; None where the file does not name it.
        are_samples: whether all read shares of the one input that is asked about (the column `fraction`), so
            that they cannot differ from it in shape.
    """

    runs: list[Observation]
    job: str | None = None
    are_samples: bool = False


@dataclass(frozen=True)
class _Row:
    line: int
    cells: tuple[str, ...]


def read_runs(name: str, *, job: str | None = None) -> list[Observation]:
    """The runs in a file; those without seconds have not been made, and are left out with a warning.

    Args:
        name: of a CSV file, or a JSON file with a list of observations or a model; ``-`` is standard input.
        job: of which the runs are read, where the file has those of several.

    Raises:
        MissingResourceError: the file cannot be read.
        InvalidDocumentError: it holds something else; says in which line.
    """
    return runs_file_of(read_text(name), name, job).runs


def runs_file_of(
    text: str, name: str, job: str | None = None, *, whole: Mapping[str, float] | None = None
) -> RunsFile:
    """The runs in the content of a file, see `read_runs`; and what it says of them all.

    Args:
        text: the content.
        name: of the file.
        job: see `read_runs`.
        whole: what the whole input consists of, in columns of the file: first its rows, then what each
            holds, such as 1e8 rows of 15 features. The scale and the width of rows are taken from these.

    Raises:
        InvalidDocumentError: it holds something else, or runs of several jobs, and not of the one asked for.
    """
    from airflow_provider_ernest.documents.runs import Observation

    content = parsed_json(text, name)
    if content is None:
        return _from_csv(text, name, job, whole or {})
    if whole:
        raise InvalidDocumentError(
            f"{described(name)} is no CSV file: what its inputs consist of is read from columns.",
            remedy=f"Give a CSV file with the columns {', '.join(whole)}, or leave out --input.",
        )
    if isinstance(content, dict):
        content = content.get("observations")
    if not isinstance(content, list):
        raise InvalidDocumentError(
            f"{described(name)} holds no list of observations.",
            remedy="Give a JSON list of Observation documents, a model, or a CSV file of runs.",
        )
    observations = []
    for index, run in enumerate(content):
        with _place_told(f"{described(name)}, run {index}"):
            observations.append(Observation.from_dict(run))
    return RunsFile(runs=observations)


def parsed_json(text: str, name: str) -> Any:
    """The content if it is JSON; None if it is not meant to be, as in a CSV file.

    Raises:
        InvalidDocumentError: it begins like JSON and is none.
    """
    if not text.lstrip().startswith(("{", "[")):
        return None
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError(f"{described(name)} is not JSON: {error}.") from error


def _from_csv(text: str, name: str, job: str | None, whole: Mapping[str, float]) -> RunsFile:
    from airflow_provider_ernest.documents.runs import Observation

    rows = list(_rows(text, name))
    columns: Sequence[str] = USUAL
    is_fraction = True
    if rows and (named := _named_columns(rows[0], name, whole)):
        is_fraction = not whole and not any(_title(cell) == "scale" for cell in rows[0].cells)
        columns, rows = named, rows[1:]
    rows = [row for row in rows if not row.cells[0].startswith("#")]
    rows, of_job = _of_job(rows, columns, name, job)
    rows = _counting(rows, columns, name)
    observations: list[Observation] = []
    missing = 0
    for index, row in enumerate(rows):
        where = f"{described(name)}, line {row.line}"
        fields = _fields(columns, row, where, whole)
        if "seconds" not in fields:
            missing += 1
            continue
        with _place_told(where):
            observations.append(Observation(index=index, from_history=LEFT_OUT in columns, **fields))
            if is_fraction:
                _refuse_percentage(observations[-1].scale)
    largest = max((run.scale for run in observations), default=0.0)
    if is_fraction and largest > 1:
        warn(
            [
                f"{described(name)}: a fraction of {largest:g} is {as_percent(largest)} of the input. "
                f"{PERCENTAGE}"
            ]
        )
    if missing:
        warn(
            [f"{missing} of the {len(rows)} runs in {described(name)} have no seconds yet, and are left out."]
        )
    return RunsFile(runs=observations, job=of_job, are_samples=is_fraction)


def _of_job(
    rows: list[_Row], columns: Sequence[str], name: str, job: str | None
) -> tuple[list[_Row], str | None]:
    """The rows of one job, where the file names jobs, and the job."""
    if JOB not in columns:
        return rows, None
    place = columns.index(JOB)
    jobs = dict.fromkeys(row.cells[place] for row in rows if len(row.cells) > place)
    if len(jobs) < 2:
        # Whoever asks for another one gives it that name.
        return rows, next(iter(jobs), None) or None
    if job not in jobs:
        which = f"none of {job!r}" if job is not None else f"of {len(jobs)} jobs"
        named = ", ".join(list(jobs)[:_NAMED_JOBS])
        raise InvalidDocumentError(
            f"{described(name)} holds runs {which}.",
            remedy=f"Name one by --job: {named}{' ...' if len(jobs) > _NAMED_JOBS else ''}. "
            "A command without that option takes the model that `ernest fit --job` writes.",
        )
    return [row for row in rows if row.cells[place : place + 1] == (job,)], job


def _counting(rows: list[_Row], columns: Sequence[str], name: str) -> list[_Row]:
    """The rows of runs that count."""
    if LEFT_OUT not in columns:
        return rows
    place = columns.index(LEFT_OUT)
    counting = [row for row in rows if not any(row.cells[place : place + 1])]
    if len(counting) < len(rows):
        warn(
            [
                f"{len(rows) - len(counting)} of the {len(rows)} runs in {described(name)} do not count, and "
                "are left out; the column left_out says why."
            ]
        )
    return counting


def _rows(text: str, name: str) -> Iterator[_Row]:
    """The lines that are not empty, with their numbers from 1."""
    reader = csv.reader(text.splitlines())
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _Row(reader.line_num, tuple(cell.strip() for cell in cells))
    except csv.Error as error:
        raise InvalidDocumentError(
            f"{described(name)}, line {reader.line_num}: {error}.", remedy=EXPLANATION
        ) from error


def _named_columns(row: _Row, name: str, whole: Mapping[str, float]) -> tuple[str, ...] | None:
    """The fields that a heading names; None where the row is none.

    Raises:
        InvalidDocumentError: a column is unknown, missing or there twice.
    """
    commented = row.cells[0].startswith("#")
    titles = [_title(cell) for cell in row.cells]
    fields = tuple(title if title in whole else FIELDS.get(title, "") for title in titles)
    if not all(fields):
        if commented or any(_is_number(cell) for cell in row.cells):
            return None
        unknown = titles[fields.index("")]
        raise InvalidDocumentError(
            f"{described(name)}, line {row.line}: {unknown!r} is neither a number nor the name of a column "
            f"({', '.join(FIELDS)}).",
            remedy=EXPLANATION,
        )
    needed = ("machines", *(whole or ["scale"]))
    if len(set(fields)) < len(fields) or not set(needed) <= set(fields):
        titled = " and ".join("fraction" if field == "scale" else field for field in needed)
        raise InvalidDocumentError(
            f"{described(name)}, line {row.line}: the heading must name {titled}, each once.",
            remedy=EXPLANATION,
        )
    return fields


def _title(cell: str) -> str:
    return cell.lstrip("# ").lower()


def _refuse_percentage(fraction: float) -> None:
    if fraction >= LARGEST_FRACTION:
        raise InvalidDocumentError(
            f"the fraction {fraction:g} would be {as_percent(fraction)} of the input.", remedy=PERCENTAGE
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _fields(columns: Sequence[str], row: _Row, where: str, whole: Mapping[str, float]) -> dict[str, Any]:
    """The fields of a row that are not empty, as numbers; of what an input consists, scale and row width."""
    if any(row.cells[len(columns) :]):
        raise InvalidDocumentError(
            f"{where}: there are {len(row.cells)} values for {len(columns)} columns.", remedy=EXPLANATION
        )
    given = {field: cell for field, cell in zip(columns, row.cells, strict=False) if cell}
    if not {"machines", *(whole or ["scale"])} <= set(given):
        missing = " or ".join(["machines", *(whole or ["fraction"])])
        raise InvalidDocumentError(f"{where}: {missing} is missing.", remedy=EXPLANATION)
    fields = {
        field: _value(field, cell, where)
        for field, cell in given.items()
        if field in whole or field not in _NO_FIELDS
    }
    if not whole:
        return fields
    shares = [_above_zero(field, fields.pop(field), where) / of_whole for field, of_whole in whole.items()]
    return {**fields, "scale": math.prod(shares), "row_width": math.prod(shares[1:])}


def _above_zero(field: str, number: float, where: str) -> float:
    if not (math.isfinite(number) and number > 0):
        raise InvalidDocumentError(f"{where}: {field} {number:g} is not above 0.", remedy="Mend the line.")
    return number


def _value(field: str, cell: str, where: str) -> Any:
    if field in _TEXTS:
        return cell
    try:
        number = float(cell)
        whole = int(number) if field in WHOLE_NUMBERS else 0
    except (ValueError, OverflowError):
        raise InvalidDocumentError(
            f"{where}: {field} {cell!r} is not a number.", remedy=EXPLANATION
        ) from None
    if field not in WHOLE_NUMBERS:
        return number
    if whole != number:
        raise InvalidDocumentError(
            f"{where}: {field} {cell} is not a whole number.",
            remedy="Machines come first, then the fraction of the input.",
        )
    return whole


@contextmanager
def _place_told(where: str) -> Iterator[None]:
    """Errors within say where in the file they are."""
    try:
        yield
    except ErnestError as error:
        raise InvalidDocumentError(f"{where}: {error.message}", remedy=error.remedy) from error
