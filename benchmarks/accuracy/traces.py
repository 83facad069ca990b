"""The public traces of measured jobs: C3O (tab-separated files), and others (comma-separated).

A file of dos-group/c3o-experiments holds the runs of one job: ``instance_count``, ``machine_type``, ``slots``
and ``memory`` (of all machines together), ``data_size_MB``, columns of the job, and ``gross_runtime`` in
seconds. A context is one setting of all columns but the number of machines and the size of the input. A file
of dos-group/runtime-prediction-experiments, ``job.system.csv``, has ``Nodes,Runtime``, the latter in ms.
TPC-H is that of hongzimao/decima-sim, its stages scheduled with the task times that were measured on so many
executors. Load tests of one host: LucaCanali/Miscellaneous (Spark_CPU_memory_load_testkit).
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.accuracy.runs import Runs, gather

MACHINES, SECONDS, MEGABYTES = "instance_count", "gross_runtime", "data_size_MB"

OF_THE_CLUSTER = ("slots", "memory")
"""Columns that count all machines together, so that only their share of a machine is a context."""

LOGICAL_SIZES: tuple[tuple[str, ...], ...] = (
    ("lines",),
    ("observations", "features"),
    ("observations",),
    ("links",),
    ("pages",),
    (MEGABYTES,),
)
"""What the size of an input is the product of; the first whose columns a file has is taken."""

SIZE_COLUMNS = frozenset().union(*LOGICAL_SIZES)
"""Columns that describe the size of the input and never the context, unless its shape is to be fixed."""

FEWEST_TRAINED = 3
"""Training configurations below which a context is left out."""

MOST_TRAINED_MACHINES = 6
FEWEST_TESTED_MACHINES = 8

Row = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Context:
    """The runs of one job in one setting.

    Attributes:
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

    @property
    def trainable(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which points may be trained on; of an odd number of sizes the middle one counts as small."""
        largest = self.sizes[math.ceil(len(self.sizes) / 2) - 1]
        return (self.points.scale <= largest) & (self.points.executors <= MOST_TRAINED_MACHINES)

    def trained(self) -> Runs:
        """The configurations to train on, with their median times."""
        return self.points.at(self.trainable)

    def trained_runs(self) -> Runs:
        """Every single run of the configurations to train on."""
        which = np.flatnonzero(self.trainable)
        times = [self.repetitions[row] for row in which]
        runs = self.points.at(np.repeat(which, [len(each) for each in times]))
        return replace(runs, seconds=np.concatenate(times).astype(np.float64))

    def cheapest(self, count: int, *, cost: Callable[[Runs], FloatArray]) -> Runs:
        """The `count` trainable points of least cost; all if there are fewer."""
        trained = self.trained()
        return trained.at(np.argsort(cost(trained), kind="stable")[:count])

    def tested(self) -> tuple[Runs, tuple[tuple[float, ...], ...]]:
        """The configurations to predict with their median times, and the single runs of each."""
        points = self.points
        is_tested = (points.scale >= self.sizes[-1]) & (points.executors >= FEWEST_TESTED_MACHINES)
        which = np.flatnonzero(is_tested)
        return points.at(which), tuple(self.repetitions[row] for row in which)


def contexts(directory: Path, *, one_shape: bool = False) -> list[Context]:
    """All contexts of C3O in a folder that have three configurations to train on and one to predict.

    With `one_shape` the inputs of a context differ in their amount only, all with as many features or links a
    page, and the methods are told so: no function of the scale can tell what another shape takes.
    """
    found = []
    for path in trace_files(directory, "*.tsv"):
        by_setting: dict[tuple[str, ...], list[Row]] = defaultdict(list)
        for row in _rows(path):
            by_setting[_setting(row) + (_shape(row) if one_shape else ())].append(row)
        for setting, rows in sorted(by_setting.items()):
            found.append(_context(path, setting, rows, of_one_input=one_shape))
    return [context for context in found if _is_large_enough(context)]


def contexts_by_rows(directory: Path) -> list[Context]:
    """Contexts whose inputs differ in what a row holds, once for each shape of the largest.

    Their points tell the width of the rows of their input. Of the largest inputs only those of one shape
    are in a context.
    """
    found: list[Context] = []
    for path in trace_files(directory, "*.tsv"):
        by_setting: dict[tuple[str, ...], dict[float, list[Row]]] = {}
        for row in _rows(path):
            by_setting.setdefault(_setting(row), defaultdict(list))[_row_width(row)].append(row)
        for setting, by_shape in sorted(by_setting.items()):
            if len(by_shape) > 1:
                found += _by_rows(path, setting, by_shape)
    return [context for context in found if _is_large_enough(context)]


def bell_traces(directory: Path) -> dict[str, dict[int, tuple[float, ...]]]:
    """Of a folder's ``*.csv`` files, by ``job.system``: the single times by numbers of machines."""
    traces = {}
    for path in trace_files(directory, "*.csv"):
        seconds: dict[int, list[float]] = defaultdict(list)
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                seconds[int(row["Nodes"])].append(float(row["Runtime"]) / 1000.0)
        traces[path.stem] = {executors: tuple(seconds[executors]) for executors in sorted(seconds)}
    return traces


def tpch_traces(directory: Path) -> dict[str, dict[tuple[int, int], float]]:
    """Of ``tpch*.csv`` in a folder: seconds by executors and gigabytes, of each query."""
    traces: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for path in trace_files(directory, "tpch*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                size = int(row["executors"]), int(row["gigabytes"])
                traces[f"query {row['query']}"][size] = float(row["seconds"])
    return dict(traces)


def plateau_traces(directory: Path) -> dict[str, dict[int, tuple[float, ...]]]:
    """Of a folder's ``*.csv`` of load tests, by host: the single times by concurrent tasks."""
    traces = {}
    for path in trace_files(directory, "*.csv"):
        seconds: dict[int, list[float]] = defaultdict(list)
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if tasks := row["Num_concurrent_tasks"]:
                    seconds[int(tasks)].append(float(row["job_run_time (sec)"]))
        traces[path.stem] = {tasks: tuple(seconds[tasks]) for tasks in sorted(seconds)}
    return traces


def trace_files(directory: Path, pattern: str) -> list[Path]:
    """The files of a folder, by name; the program ends where there is none."""
    files = sorted(directory.glob(pattern))
    if not files:
        raise SystemExit(f"There is no {pattern} in {directory}: pass the folder of the traces.")
    return files


def _rows(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _is_large_enough(context: Context) -> bool:
    return len(context.trained()) >= FEWEST_TRAINED and len(context.tested()[0]) > 0


def _context(
    path: Path, setting: tuple[str, ...], rows: Sequence[Row], *, of_one_input: bool = False
) -> Context:
    columns = next(names for names in LOGICAL_SIZES if set(names) <= rows[0].keys())
    sizes = [math.prod(float(row[name]) for name in columns) for row in rows]
    largest = max(sizes)
    configurations: dict[tuple[float, float], list[float]] = defaultdict(list)
    for row, size in zip(rows, sizes, strict=True):
        configurations[float(row[MACHINES]), size / largest].append(float(row[SECONDS]))
    ordered = sorted(configurations.items())
    whole = [row for row, size in zip(rows, sizes, strict=True) if size == largest]
    return Context(
        job=path.stem,
        setting=setting,
        points=gather(
            ((executors, scale, median(seconds)) for (executors, scale), seconds in ordered),
            of_one_input=of_one_input,
        ),
        repetitions=tuple(tuple(seconds) for _, seconds in ordered),
        largest_size=largest,
        megabytes=max(float(row[MEGABYTES]) for row in whole) if MEGABYTES in rows[0] else None,
    )


def _by_rows(
    path: Path, setting: tuple[str, ...], by_shape: Mapping[float, Sequence[Row]]
) -> Iterator[Context]:
    parts = {width: _context(path, setting, rows) for width, rows in by_shape.items()}
    largest = max(part.largest_size for part in parts.values())
    for asked in sorted(width for width, part in parts.items() if part.largest_size == largest):
        table: list[tuple[float, float, float, float]] = []
        repetitions: list[tuple[float, ...]] = []
        for width, part in sorted(parts.items()):
            scales = part.points.scale * part.largest_size / largest
            for row in np.flatnonzero((scales < 1.0) | (width == asked)):
                points = part.points
                table.append((points.executors[row], scales[row], points.seconds[row], width / asked))
                repetitions.append(part.repetitions[row])
        executors, scale, seconds, row_width = np.array(table).T
        yield Context(
            job=path.stem,
            setting=(*setting, f"row={asked:g}"),
            points=Runs(executors=executors, scale=scale, seconds=seconds, row_width=row_width),
            repetitions=tuple(repetitions),
            largest_size=largest,
        )


def _row_width(row: Row) -> float:
    """What a row of the input holds: features, or links of a page."""
    if "observations" in row and "features" in row:
        return float(row["features"])
    if "pages" in row and "links" in row:
        return float(f"{float(row['links']) / float(row['pages']):.2g}")
    return 1.0


def _shape(row: Row) -> tuple[str, ...]:
    """What inputs of the same amount may differ in."""
    has_shape = {"observations", "features"} <= row.keys() or {"pages", "links"} <= row.keys()
    return (f"row={_row_width(row):g}",) if has_shape else ()


def _setting(row: Row) -> tuple[str, ...]:
    """What is fixed in a run's context: every other column, those of the whole cluster per machine."""
    setting = []
    for name in sorted(row.keys() - SIZE_COLUMNS - {MACHINES, SECONDS}):
        if name in OF_THE_CLUSTER:
            setting.append(f"{name}/machine={float(row[name]) / float(row[MACHINES]):.3g}")
        else:
            setting.append(f"{name}={row[name]}")
    return tuple(setting)
