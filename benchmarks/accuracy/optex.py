"""Protocol OptEx: the paper's own tables, its recorded times against its estimates, the original's and ours.

The tables are III, IV and VI of Sidhanta, Golab, Mukhopadhyay (CCGrid 2016), one file each with the paper's
columns. Trained are the runs of at most half of the numbers of machines and of iterations; predicted are the
others. Iterations are the scale: the share of the most that were recorded.

Tables IV and VI are taken together, III is a job of its own: its times are not theirs (5 iterations on 5
machines: 78 s in III, 65 s in IV).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, positive_number
from airflow_provider_ernest.prediction.optex import JobProfile, phases, predict, profile_from_runs
from airflow_provider_ernest.prediction.terms import ERNEST
from benchmarks.accuracy.evaluation import Outcome, evaluate_rounds
from benchmarks.accuracy.forms import LeastSquares
from benchmarks.accuracy.methods import ORIGINAL, AnyMethod
from benchmarks.accuracy.ours import ours
from benchmarks.accuracy.runs import Case, Round, Runs, gather, trace_files

PROFILE = JobProfile(
    initialisation_seconds=20.0,
    preparation_seconds=13.0,
    baseline_variable_sharing_seconds=15.0,
    variable_sharing_coefficient=0.004,
    baseline_communication_seconds=11.0,
    communication_coefficient=0.07,
    unit_task_seconds=(0.100, 0.098, 0.072, 0.005, 0.124, 0.300),
)
"""Table II: MLlib on m1.large, ALS."""

PAPER_ERROR_PERCENT, PAPER_KEPT_PERCENT = 9.4, 98
"""As the paper reports: the mean error of ALS in standalone mode, and the deadlines kept."""

BUDGET_ITERATIONS = 5
"""Of ALS in table VI, which does not tell them: its estimates go on those of table IV for 5."""

BOTH, MORE_MACHINES, MORE_ITERATIONS = "more machines and iterations", "more machines", "more iterations"
SPLITS = (BOTH, MORE_MACHINES, MORE_ITERATIONS)
PRINTED, FROM_RUNS = "OptEx, printed", "OptEx, from the runs"

ROUNDING = 0.1
"""Seconds that a printed figure may be off: some have no decimals, most have two."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table.

    Attributes:
        table: III, IV or VI.
        job: mode and application.
        iterations, machines: the configuration; one iteration where there are none.
        limit: seconds in table IV, dollars in table VI, None in table III.
        estimated, recorded: seconds.
        printed: the other columns of table III, seconds.
    """

    table: str
    job: str
    iterations: int
    machines: int
    limit: float | None
    estimated: float
    recorded: float
    printed: Mapping[str, float]


Configuration = tuple[int, int]
"""Iterations and machines."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The rows of one job in one set of tables."""

    name: str
    rows: tuple[Row, ...]

    @property
    def most_iterations(self) -> int:
        """Of all rows; scale is relative to it."""
        return max(row.iterations for row in self.rows)

    def by_configuration(self) -> dict[Configuration, list[Row]]:
        """Fewest iterations and machines first."""
        found: dict[Configuration, list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: (row.iterations, row.machines)):
            found.setdefault((row.iterations, row.machines), []).append(row)
        return found

    def few(self) -> tuple[int, int]:
        """The most iterations and machines that are trained on: at most half of the different numbers."""
        iterations, machines = zip(*self.by_configuration(), strict=True)
        return _lower_half(iterations), _lower_half(machines)

    def is_few(self, configuration: Configuration) -> bool:
        """Whether it is trained on."""
        return all(number <= most for number, most in zip(configuration, self.few(), strict=True))

    def runs(self, rows: Iterable[Row]) -> Runs:
        """Their recorded times."""
        return gather((row.machines, row.iterations / self.most_iterations, row.recorded) for row in rows)


def jobs(directory: Path | str) -> list[Job]:
    """The jobs of the tables in a folder: ``table3.csv``, ``table4.csv``, ``table6.csv``.

    Raises:
        MissingResourceError: there is no such folder or file.
        InvalidParameterError: a row is not as in the paper.
    """
    rows = [row for number, name in _TABLES.items() for row in _read(Path(directory), number, name)]
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(f"{row.job}, III" if row.table == "III" else row.job, []).append(row)
    return [Job(name=name, rows=tuple(of)) for name, of in found.items()]


_TABLES = {3: "III", 4: "IV", 6: "VI"}
_LIMITS = {"IV": "deadline_seconds", "VI": "budget_dollars"}
_PHASES = ("variable_sharing", "communication", "execution", "computation")


def _read(directory: Path, number: int, table: str) -> list[Row]:
    (path,) = trace_files(directory, f"table{number}.csv")
    with path.open(newline="", encoding="utf-8") as file:
        return [_row(table, row, f"{path}, line {line}") for line, row in enumerate(csv.DictReader(file), 2)]


def _row(table: str, row: Mapping[str, str], where: str) -> Row:
    try:
        application = row.get("application", "ALS")
        default = BUDGET_ITERATIONS if application == "ALS" else 1
        limit = _LIMITS.get(table)
        columns = _PHASES if table == "III" else ()
        return Row(
            table=table,
            job=f"{application}, {row.get('mode', 'Standalone').replace('Standalone', 'standalone')}",
            iterations=int(row.get("iterations") or default),
            machines=int(row["machines"]),
            limit=None if limit is None else positive_number(limit, float(row[limit])),
            estimated=positive_number("estimated_seconds", float(row["estimated_seconds"])),
            recorded=positive_number("recorded_seconds", float(row["recorded_seconds"])),
            printed={name: float(row[f"{name}_seconds"]) for name in columns},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidParameterError(
            "optex", where, "is not a row of the paper's table", remedy=f"Mend it: {error}."
        ) from error


def _lower_half(numbers: Iterable[int]) -> int:
    distinct = sorted(set(numbers))
    return distinct[max(1, len(distinct) // 2) - 1]


# What the closed form says of the tables.


def departures(of: Sequence[Job]) -> list[str]:
    """Where the paper's print follows from its formulas and its profile, and where it does not."""
    rows = [row for job in of for row in job.rows]
    detailed = [row for row in rows if row.table == "III"]
    closed = [phases(PROFILE, machines=row.machines, iterations=row.iterations) for row in detailed]
    fixed = PROFILE.initialisation_seconds + PROFILE.preparation_seconds
    printed = {name: np.array([row.printed[name] for row in detailed]) for name in _PHASES}
    estimated = np.array([row.estimated for row in detailed])
    by_machines = np.array([row.machines for row in detailed])
    by_iterations = np.array([row.iterations for row in detailed])
    spread = printed["execution"] * by_machines / by_iterations
    sent = printed["communication"] * by_machines
    whole = predict(PROFILE, machines=by_machines, iterations=by_iterations)
    _, _, computation, communication = PROFILE.coefficients.tolist()
    return [
        "== OptEx: does the print follow from the formulas? ==",
        "table III",
        _holds(
            "sharing = machines * iterations * C",
            detailed,
            printed["variable_sharing"] - [each.variable_sharing_seconds for each in closed],
        ),
        _holds(
            "computation = communication + execution",
            detailed,
            printed["computation"] - printed["communication"] - printed["execution"],
        ),
        _holds(
            "estimate = Tinit + Tprep + sharing + computation",
            detailed,
            estimated - fixed - printed["variable_sharing"] - printed["computation"],
        ),
        f"  execution * machines / iterations, B in the formula: {spread.min():.1f} to {spread.max():.1f} s; "
        f"the profile's unit tasks: {computation:.1f} s",
        f"  communication * machines, A*s in the formula: {sent.min():.1f} to {sent.max():.1f} s; the "
        f"profile's: {communication:.1f} s",
        _holds("estimate = the closed form with the profile", detailed, estimated - whole),
        f"  mean error of the estimates: {_mean_error(detailed):.1f} % (paper: {PAPER_ERROR_PERCENT} %)",
        "tables IV and VI",
        *(line for job in of if job.rows[0].table != "III" for line in _laws(job)),
        *_kept_in_print(rows),
        "",
    ]


def _holds(what: str, rows: Sequence[Row], off: FloatArray) -> str:
    """Of how many rows, and where the print departs most."""
    holds = int((np.abs(off) <= ROUNDING).sum())
    told = f"  {what}: {holds} of {len(rows)} rows"
    if holds == len(rows):
        return told
    worst = int(np.argmax(np.abs(off)))
    at = rows[worst]
    return f"{told}; most {off[worst]:+.1f} s ({at.iterations} iterations, {at.machines} machines)"


_LAWS: Mapping[str, Callable[[Row], float]] = {
    "iterations/machines": lambda row: row.iterations / row.machines,
    "iterations/machines^2": lambda row: row.iterations / row.machines**2,
}


def _laws(job: Job) -> list[str]:
    """How many of the estimates a law of a constant and one term has, within their rounding."""
    lines = []
    for name, column in _LAWS.items():
        best = max(
            (law for one, other in combinations(job.rows, 2) if (law := _through(one, other, column))),
            key=lambda law: _on(law, job.rows, column),
            default=(0.0, 0.0),
        )
        told = f"  {job.name}: estimate = {best[0]:.1f} {best[1]:+.1f} * {name}"
        lines.append(f"{told}: {_on(best, job.rows, column)} of {len(job.rows)} rows")
    return lines


def _through(one: Row, other: Row, column: Callable[[Row], float]) -> tuple[float, float] | None:
    """The constant and the coefficient of the law through two estimates."""
    if column(one) == column(other):
        return None
    slope = (one.estimated - other.estimated) / (column(one) - column(other))
    return one.estimated - slope * column(one), slope


def _on(law: tuple[float, float], rows: Sequence[Row], column: Callable[[Row], float]) -> int:
    return sum(abs(law[0] + law[1] * column(row) - row.estimated) <= ROUNDING for row in rows)


def _kept_in_print(rows: Sequence[Row]) -> list[str]:
    price = price_per_hour(rows)
    lines = []
    for table, kept in (("IV", _in_time), ("VI", lambda row: _dollars(row, price) <= (row.limit or 0.0))):
        of = [row for row in rows if row.table == table]
        count = sum(map(kept, of))
        told = f"  table {table}: {'deadlines' if table == 'IV' else 'budgets'} kept by the recorded times: "
        told += f"{count} of {len(of)}, {100 * count / max(1, len(of)):.0f} %"
        lines.append(told + (f" (paper: about {PAPER_KEPT_PERCENT} %)" if table == "IV" else ""))
        lines.append(f"  table {table}: mean error of the estimates: {_mean_error(of):.1f} %")
    explained = sum(low < price <= high for low, high in _prices(rows))
    told = f"  table VI: taken for the price: {price:.3f} $ a machine and hour, at which {explained} of "
    return [*lines, f"{told}{len(_prices(rows))} clusters are the largest that their budgets pay for"]


def _in_time(row: Row) -> bool:
    return row.recorded <= (row.limit or 0.0)


def _dollars(row: Row, price: float) -> float:
    return row.machines * row.recorded * price / 3600.0


def _mean_error(rows: Sequence[Row]) -> float:
    return 100.0 * float(np.mean([abs(row.estimated / row.recorded - 1.0) for row in rows]))


def price_per_hour(rows: Sequence[Row]) -> float:
    """Dollars of a machine, which table VI does not tell: at it most of its clusters are the largest.

    The budget pays for the cluster, by its estimate, and not for one machine more.
    """
    bounds = _prices(rows)
    ends = sorted({end for pair in bounds for end in pair})
    middles = [(low + high) / 2 for low, high in pairwise(ends)]
    return max(middles, key=lambda price: sum(low < price <= high for low, high in bounds))


def _prices(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Of each budget the prices, above and up to, at which its cluster is the largest that it pays for."""
    hours = [
        (row.limit, row.machines * row.estimated / 3600.0, row.estimated / 3600.0)
        for row in rows
        if row.table == "VI" and row.limit is not None
    ]
    return [(limit / (cluster + one), limit / cluster) for limit, cluster, one in hours]


# From few machines and iterations to more.


class OptexRegression:
    """OptEx's closed form fitted to run times of different iterations (`profile_from_runs`)."""

    name = FROM_RUNS

    def __init__(self, most_iterations: int) -> None:
        self._most_iterations = most_iterations
        self._profile: JobProfile | None = None

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> OptexRegression:
        """Learn from runs, all of shape (n,); the scale is the share of the most iterations."""
        table = zip(machines.tolist(), self._iterations(scale), seconds.tolist(), strict=True)
        runs = [
            Observation(index=index, machines=int(count), scale=1.0, iterations=int(repeated), seconds=each)
            for index, (count, repeated, each) in enumerate(table)
        ]
        self._profile = profile_from_runs(runs)
        return self

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""
        assert self._profile is not None
        return predict(self._profile, machines=machines, iterations=self._iterations(scale))

    def interval(self, *, machines: FloatArray, scale: FloatArray, level: float) -> None:
        """None: the closed form knows no uncertainty."""

    def _iterations(self, scale: FloatArray) -> list[float]:
        return [float(iterations) for iterations in np.round(scale * self._most_iterations)]


def methods(most_iterations: int) -> list[AnyMethod]:
    """The original, OptEx from the same runs, and ours."""
    original = LeastSquares(ORIGINAL, terms=ERNEST, weighting="absolute")
    return [original, OptexRegression(most_iterations), *ours()]


def outcomes(of: Sequence[Job]) -> list[Outcome]:
    """All that is predicted; what the paper prints beside it."""
    most = max(job.most_iterations for job in of)
    predicted = evaluate_rounds(rounds(of), methods(most))
    found = [*(outcome for job in of for outcome in _printed(job)), *predicted]
    return sorted(found, key=lambda outcome: SPLITS.index(outcome.split))


def rounds(of: Sequence[Job]) -> list[Round]:
    """The jobs of one mode are one deployment."""
    modes = dict.fromkeys(mode_of(job) for job in of)
    return [
        Round(deployment=mode, cases=tuple(_case(job) for job in of if mode_of(job) == mode))
        for mode in modes
    ]


def mode_of(job: Job) -> str:
    """Standalone or YARN."""
    return job.name.split(", ")[1]


def _case(job: Job) -> Case:
    tested = _tested(job)
    return Case(
        job=job.name,
        condition="few",
        train=job.runs(row for row in job.rows if job.is_few((row.iterations, row.machines))),
        test=gather(
            (machines, iterations / job.most_iterations, median(row.recorded for row in rows))
            for (iterations, machines), rows in tested.items()
        ),
        repetitions=tuple(tuple(row.recorded for row in rows) for rows in tested.values()),
        splits=tuple(_split(job, configuration) for configuration in tested),
    )


def _tested(job: Job) -> dict[Configuration, list[Row]]:
    found = job.by_configuration()
    return {configuration: rows for configuration, rows in found.items() if not job.is_few(configuration)}


def _split(job: Job, configuration: Configuration) -> str:
    few_iterations, few_machines = job.few()
    if configuration[0] <= few_iterations:
        return MORE_MACHINES
    return BOTH if configuration[1] > few_machines else MORE_ITERATIONS


def _printed(job: Job) -> list[Outcome]:
    """The paper's estimates as predictions."""
    return [
        Outcome(
            method=PRINTED,
            job=job.name,
            condition="few",
            split=_split(job, configuration),
            machines=float(configuration[1]),
            scale=configuration[0] / job.most_iterations,
            seconds=median(row.recorded for row in rows),
            repetitions=tuple(row.recorded for row in rows),
            predicted=median(row.estimated for row in rows),
            bounds=None,
        )
        for configuration, rows in _tested(job).items()
    ]
