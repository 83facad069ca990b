"""Files of runs: the original's CSV (machines, fraction, seconds) and lists of our JSON documents."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import described, warn
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError
from airflow_provider_ernest.words import as_percent

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.runs import Observation

USUAL = ("machines", "scale", "seconds")
"""What the columns are without a heading."""

WHOLE_NUMBERS = ("machines", "iterations")
_TEXTS = ("instance_type", "application_id", "event_log")
_NOT_READ = (
    *("job", "left_out", "mean_machines", "cores_per_machine", "memory_megabytes_per_machine"),
    *("input_bytes", "input_records", "started_at", "spark", "main"),
)
"""What ``ernest history`` says of runs beside the fields of an observation. `job` is the job of a run in a
file of several, and `left_out` why a run does not count."""

FIELDS: Mapping[str, str] = {
    **{name: name for name in (*USUAL, "row_width", "startup_seconds", "iterations", *_TEXTS, *_NOT_READ)},
    **{"cores": "machines", "fraction": "scale", "input fraction": "scale"},
    **{"time": "seconds", "time (s)": "seconds"},
}
"""By the column names that are understood, in lower case."""

LARGEST_FRACTION = 10.0
"""Of the input that a fraction may say: from there on it is a percentage."""

_NAMED_JOBS = 20

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
    """A line of a CSV file: its place for messages, and its values that are not empty, by field."""

    place: str
    values: dict[str, str]


def runs_file_of(
    text: str, name: str, job: str | None = None, *, whole: Mapping[str, float] | None = None
) -> RunsFile:
    """The runs in a file; those without seconds have not been made, and are left out with a warning.

    Args:
        text: a CSV file, or a JSON file with a list of observations or a model.
        name: of the file.
        job: of which the runs are read, where the file has those of several.
        whole: what the whole input consists of, in columns of the file: first its rows, then what each
            holds, such as 1e8 rows of 15 features. The scale and the width of rows are taken from these.

    Raises:
        InvalidDocumentError: it holds something else, and says in which line; or runs of several jobs, and
            not of the one asked for.
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
        with _located(f"{described(name)}, run {index}"):
            observations.append(Observation.from_dict(run))
    return RunsFile(runs=observations)


def parsed_json(text: str, name: str) -> Any:
    """The content if it is JSON; None if it is not meant to be, as in a CSV file."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError(f"{described(name)} is not JSON: {error}.") from error


def _from_csv(text: str, name: str, job: str | None, whole: Mapping[str, float]) -> RunsFile:
    from airflow_provider_ernest.documents.runs import Observation

    lines = list(_lines(text, name))
    columns: Sequence[str] | None = _named_columns(*lines[0], whole) if lines else None
    is_fraction = not whole and not (columns and "scale" in _titles(lines[0][1]))
    rows = [
        _row(columns or USUAL, place, cells)
        for place, cells in lines[1 if columns else 0 :]
        if not cells[0].startswith("#")
    ]
    rows, of_job = _of_job(rows, name, job)
    counting = [row for row in rows if "left_out" not in row.values]
    if len(counting) < len(rows):
        left_out = f"{len(rows) - len(counting)} of the {len(rows)} runs in {described(name)} do not count"
        warn([f"{left_out}, and are left out; the column left_out says why."])
    observations = []
    for index, row in enumerate(counting):
        fields = _fields(row, whole)
        if "seconds" not in fields:
            continue
        with _located(row.place):
            run = Observation(index=index, from_history="left_out" in (columns or USUAL), **fields)
            if is_fraction and run.scale >= LARGEST_FRACTION:
                raise InvalidDocumentError(
                    f"the fraction {run.scale:g} would be {as_percent(run.scale)} of the input.",
                    remedy=PERCENTAGE,
                )
        observations.append(run)
    largest = max((run.scale for run in observations), default=0.0)
    if is_fraction and largest > 1:
        of_input = f"a fraction of {largest:g} is {as_percent(largest)} of the input"
        warn([f"{described(name)}: {of_input}. {PERCENTAGE}"])
    if missing := len(counting) - len(observations):
        of_all = f"{missing} of the {len(counting)} runs in {described(name)}"
        warn([f"{of_all} have no seconds yet, and are left out."])
    return RunsFile(runs=observations, job=of_job, are_samples=is_fraction)


def _of_job(rows: list[_Row], name: str, job: str | None) -> tuple[list[_Row], str | None]:
    """The rows of one job, where the file names several, and the job."""
    jobs = dict.fromkeys(row.values["job"] for row in rows if "job" in row.values)
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
    return [row for row in rows if row.values.get("job", "") == job], job


def _lines(text: str, name: str) -> Iterator[tuple[str, list[str]]]:
    """The places and the cells of the lines that are not empty."""
    reader = csv.reader(text.splitlines())

    def place() -> str:
        return f"{described(name)}, line {reader.line_num}"

    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield place(), [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InvalidDocumentError(f"{place()}: {error}.", remedy=EXPLANATION) from error


def _named_columns(place: str, cells: Sequence[str], whole: Mapping[str, float]) -> list[str] | None:
    """The fields that a heading names; None where the line is none."""
    titles = _titles(cells)
    fields = [title if title in whole else FIELDS.get(title, "") for title in titles]
    if not all(fields):
        if cells[0].startswith("#") or any(map(_is_number, cells)):
            return None
        unknown = titles[fields.index("")]
        raise InvalidDocumentError(
            f"{place}: {unknown!r} is neither a number nor the name of a column ({', '.join(FIELDS)}).",
            remedy=EXPLANATION,
        )
    needed = ("machines", *(whole or ["scale"]))
    if len(set(fields)) < len(fields) or not set(needed) <= set(fields):
        titled = " and ".join("fraction" if field == "scale" else field for field in needed)
        raise InvalidDocumentError(f"{place}: the heading must name {titled}, each once.", remedy=EXPLANATION)
    return fields


def _titles(cells: Sequence[str]) -> list[str]:
    return [cell.lstrip("# ").lower() for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _row(columns: Sequence[str], place: str, cells: Sequence[str]) -> _Row:
    if any(cells[len(columns) :]):
        raise InvalidDocumentError(
            f"{place}: there are {len(cells)} values for {len(columns)} columns.", remedy=EXPLANATION
        )
    # An empty job is another one; a line that ends before the job says nothing of it.
    named = zip(columns, cells, strict=False)
    return _Row(place, {field: cell for field, cell in named if cell or field == "job"})


def _fields(row: _Row, whole: Mapping[str, float]) -> dict[str, Any]:
    """The fields of an observation; of what an input consists, scale and row width."""
    if not {"machines", *(whole or ["scale"])} <= row.values.keys():
        missing = " or ".join(["machines", *(whole or ["fraction"])])
        raise InvalidDocumentError(f"{row.place}: {missing} is missing.", remedy=EXPLANATION)
    fields: dict[str, Any] = {
        field: cell if field in _TEXTS else _number(field, cell, row.place)
        for field, cell in row.values.items()
        if field in whole or field not in _NOT_READ
    }
    if not whole:
        return fields
    shares = []
    for field, of_whole in whole.items():
        number = fields.pop(field)
        if not (math.isfinite(number) and number > 0):
            raise InvalidDocumentError(
                f"{row.place}: {field} {number:g} is not above 0.", remedy="Correct the line."
            )
        shares.append(number / of_whole)
    return {**fields, "scale": math.prod(shares), "row_width": math.prod(shares[1:])}


def _number(field: str, cell: str, place: str) -> float:
    try:
        number = float(cell)
        whole = int(number) if field in WHOLE_NUMBERS else 0
    except (ValueError, OverflowError):
        raise InvalidDocumentError(
            f"{place}: {field} {cell!r} is not a number.", remedy=EXPLANATION
        ) from None
    if field not in WHOLE_NUMBERS:
        return number
    if whole != number:
        raise InvalidDocumentError(
            f"{place}: {field} {cell} is not a whole number.",
            remedy="Machines come first, then the fraction of the input.",
        )
    return whole


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Errors within say where in the file they are."""
    try:
        yield
    except ErnestError as error:
        raise InvalidDocumentError(f"{place}: {error.message}", remedy=error.remedy) from error
