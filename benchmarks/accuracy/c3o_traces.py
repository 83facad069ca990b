"""Reads traces in the format of dos-group/c3o-experiments into contexts.

A file holds the runs of one job, tab-separated: ``instance_count``, ``machine_type``, ``slots`` and
``memory`` (of all machines together), ``data_size_MB``, columns of the job, and ``gross_runtime`` in
seconds. A context is one setting of all columns but the number of machines and the size of the input.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from benchmarks.accuracy.runs import Runs, gather

MACHINES, SECONDS, MEGABYTES = "instance_count", "gross_runtime", "data_size_MB"

OF_THE_CLUSTER = ("slots", "memory")
"""Columns that count all machines together, so that only their share of a machine is a context."""

LOGICAL_SIZES: tuple[tuple[str, ...], ...] = (
    ("lines",),
    ("observations", "features"),
    ("observations",),
    ("pages",),
    ("links",),
)
"""What the size of an input is the product of; the first whose columns a file has is taken."""

SIZE_COLUMNS = frozenset({MEGABYTES}.union(*LOGICAL_SIZES))
"""Columns that describe the size of the input and never the context, unless its shape is to be fixed."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """The runs of one job in one setting.

    Attributes:
        job: the file's name without its ending.
        setting: the columns that are fixed, as "name=value".
        points: configurations (machines and scale) with the median of their runs. Inputs of one scale
            that differ otherwise (twice the features, half the observations) are the same configuration.
        repetitions: the seconds of the single runs of each configuration.
        largest_size: what scale 1 is, in the unit of the columns that the size is made of.
        megabytes: of the largest input of that size; None where the file does not tell.
    """

    job: str
    setting: tuple[str, ...]
    points: Runs
    repetitions: tuple[tuple[float, ...], ...]
    largest_size: float = 1.0
    megabytes: float | None = None

    @property
    def sizes(self) -> tuple[float, ...]:
        """The distinct scales, smallest first."""
        return tuple(np.unique(self.points.scale).tolist())


def read_contexts(path: Path, *, one_shape: bool = False) -> list[Context]:
    """All contexts of one file, in the order of their settings.

    Args:
        path: the file.
        one_shape: see `c3o.contexts`.

    Raises:
        InvalidParameterError: the file has not the columns, or a value is no number above 0.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    size_columns = _size_columns(set(rows[0]) if rows else set(), path)
    by_setting: dict[tuple[str, ...], list[Mapping[str, str]]] = defaultdict(list)
    for row in rows:
        shape = _shape(row, path) if one_shape else ()
        by_setting[_setting(row, path) + shape].append(row)
    return [
        _context(path, setting, by_setting[setting], size_columns, of_one_input=one_shape)
        for setting in sorted(by_setting)
    ]


def read_contexts_by_rows(path: Path) -> list[Context]:
    """The contexts of one file whose inputs differ in what a row holds, once for each shape of the largest.

    A context's points then tell the width of the rows of their input. Of the largest inputs only those of one
    shape are in it.

    Raises:
        InvalidParameterError: see `read_contexts`.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    size_columns = _size_columns(set(rows[0]) if rows else set(), path)
    by_setting: dict[tuple[str, ...], dict[float, list[Mapping[str, str]]]] = {}
    for row in rows:
        by_shape = by_setting.setdefault(_setting(row, path), defaultdict(list))
        by_shape[_row_width(row, path)].append(row)
    return [
        context
        for setting, by_shape in sorted(by_setting.items())
        if len(by_shape) > 1
        for context in _by_rows(path, setting, by_shape, size_columns)
    ]


def _by_rows(
    path: Path,
    setting: tuple[str, ...],
    by_shape: Mapping[float, Sequence[Mapping[str, str]]],
    size_columns: Sequence[str],
) -> Iterator[Context]:
    parts = {width: _context(path, setting, rows, size_columns) for width, rows in by_shape.items()}
    largest = max(part.largest_size for part in parts.values())
    for asked in sorted(width for width, part in parts.items() if part.largest_size == largest):
        table: list[tuple[float, float, float, float]] = []
        repetitions: list[tuple[float, ...]] = []
        for width, part in sorted(parts.items()):
            scales = part.points.scale * part.largest_size / largest
            for row in np.flatnonzero((scales < 1.0) | (width == asked)):
                points = part.points
                table.append((points.machines[row], scales[row], points.seconds[row], width / asked))
                repetitions.append(part.repetitions[row])
        machines, scale, seconds, row_width = np.array(table).T
        yield Context(
            job=path.stem,
            setting=(*setting, f"row={asked:g}"),
            points=Runs(machines=machines, scale=scale, seconds=seconds, row_width=row_width),
            repetitions=tuple(repetitions),
            largest_size=largest,
        )


def _row_width(row: Mapping[str, str], path: Path) -> float:
    """What a row of the input holds: features, or links of a page."""
    if "observations" in row and "features" in row:
        return _number(row, "features", path)
    if "pages" in row and "links" in row:
        return float(f"{_number(row, 'links', path) / _number(row, 'pages', path):.2g}")
    return 1.0


def _context(
    path: Path,
    setting: tuple[str, ...],
    rows: Sequence[Mapping[str, str]],
    size_columns: Sequence[str],
    *,
    of_one_input: bool = False,
) -> Context:
    sizes = [math.prod(_number(row, name, path) for name in size_columns) for row in rows]
    largest = max(sizes)
    configurations: dict[tuple[float, float], list[float]] = defaultdict(list)
    for row, size in zip(rows, sizes, strict=True):
        configurations[_number(row, MACHINES, path), size / largest].append(_number(row, SECONDS, path))
    ordered = sorted(configurations.items())
    whole = [row for row, size in zip(rows, sizes, strict=True) if size == largest]
    return Context(
        job=path.stem,
        setting=setting,
        points=gather(
            ((machines, scale, median(seconds)) for (machines, scale), seconds in ordered),
            of_one_input=of_one_input,
        ),
        repetitions=tuple(tuple(seconds) for _, seconds in ordered),
        largest_size=largest,
        megabytes=max(_number(row, MEGABYTES, path) for row in whole) if MEGABYTES in rows[0] else None,
    )


def _shape(row: Mapping[str, str], path: Path) -> tuple[str, ...]:
    """What inputs of the same amount may differ in."""
    shape = []
    if "observations" in row and "features" in row:
        shape.append(f"features={row['features']}")
    if "pages" in row and "links" in row:
        shape.append(f"links/page={_number(row, 'links', path) / _number(row, 'pages', path):.2g}")
    return tuple(shape)


def _setting(row: Mapping[str, str], path: Path) -> tuple[str, ...]:
    """What is fixed in a run's context: every other column, those of the whole cluster per machine."""
    setting = []
    for name in sorted(row.keys() - SIZE_COLUMNS - {MACHINES, SECONDS}):
        if name in OF_THE_CLUSTER:
            setting.append(f"{name}/machine={_number(row, name, path) / _number(row, MACHINES, path):.3g}")
        else:
            setting.append(f"{name}={row[name]}")
    return tuple(setting)


def _size_columns(columns: set[str], path: Path) -> tuple[str, ...]:
    """The columns that the size of the input is the product of."""
    missing = sorted({MACHINES, SECONDS} - columns)
    if missing:
        raise InvalidParameterError(
            "c3o",
            str(path),
            f"has no column {', '.join(missing)}",
            remedy="Each file holds tab-separated runs of one job, with a header.",
        )
    for names in (*LOGICAL_SIZES, (MEGABYTES,)):
        if columns.issuperset(names):
            return names
    raise InvalidParameterError(
        "c3o",
        str(path),
        "has no column that tells the size of the input",
        remedy=f"Known are {', '.join(sorted(SIZE_COLUMNS))}.",
    )


def _number(row: Mapping[str, str], name: str, path: Path) -> float:
    try:
        number = float(row[name])
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise InvalidParameterError(
            f"{path.name}: {name}", row[name], "is not a number above 0", remedy="Mend or remove the row."
        )
    return number
