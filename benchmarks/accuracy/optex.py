"""The OptEx paper's own tables: its recorded times against its estimates, the original's and ours.

The tables are III, IV and VI of Sidhanta, Golab, Mukhopadhyay (CCGrid 2016), one file each with the paper's
columns. Trained are the runs of at most half of the numbers of machines and of iterations; predicted are the
others. Iterations are the scale: the share of the most that were recorded.

Tables IV and VI are taken together, III is a job of its own: its times are not theirs (5 iterations on 5
machines: 78 s in III, 65 s in IV).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.optex import REGRESSORS, JobProfile, phases, predict, regressors
from airflow_provider_ernest.prediction.regression import non_negative_least_squares, undetermined_terms
from airflow_provider_ernest.prediction.terms import quoted
from benchmarks.accuracy.evaluation import Outcome, evaluate_rounds, tables
from benchmarks.accuracy.methods import ORIGINAL, AnyMethod, Averaging, PointForecast, PooledAveraging
from benchmarks.accuracy.runs import Case, Round, Runs, gather
from benchmarks.accuracy.traces import trace_files

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

BUDGET_ITERATIONS = 5
"""Of ALS in table VI, which does not tell them: its estimates go on those of table IV for 5."""

BOTH, MORE_MACHINES, MORE_ITERATIONS = "more machines and iterations", "more machines", "more iterations"
SPLITS = (BOTH, MORE_MACHINES, MORE_ITERATIONS)
PRINTED, FROM_RUNS = "OptEx, printed", "OptEx, from the runs"

ROUNDING = 0.1
"""Seconds that a printed figure may be off: some have no decimals, most have two."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table; one iteration where there are none, the other columns of table III as printed."""

    table: str
    job: str
    iterations: int
    executors: int
    estimated: float
    recorded: float
    printed: Mapping[str, float]

    @property
    def configuration(self) -> tuple[int, int]:
        """Iterations and machines."""
        return self.iterations, self.executors


@dataclass(frozen=True, kw_only=True)
class Job:
    """The rows of one job in one set of tables."""

    name: str
    rows: tuple[Row, ...]

    @property
    def most_iterations(self) -> int:
        """Of all rows; scale is relative to it."""
        return max(row.iterations for row in self.rows)

    @property
    def few(self) -> tuple[int, int]:
        """The most iterations and machines that are trained on: at most half of the different numbers."""
        iterations, executors = zip(*(row.configuration for row in self.rows), strict=True)
        return _lower_half(iterations), _lower_half(executors)

    def is_few(self, configuration: tuple[int, int]) -> bool:
        """Whether it is trained on."""
        return all(number <= most for number, most in zip(configuration, self.few, strict=True))

    def tested(self) -> dict[tuple[int, int], list[Row]]:
        """The rows to predict, by configuration, fewest iterations and machines first."""
        found: dict[tuple[int, int], list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: row.configuration):
            if not self.is_few(row.configuration):
                found.setdefault(row.configuration, []).append(row)
        return found

    def case(self) -> Case:
        """Few iterations and machines predict the others."""
        tested = self.tested()
        few = [row for row in self.rows if self.is_few(row.configuration)]
        return Case(
            job=self.name,
            condition="few",
            train=gather((row.executors, row.iterations / self.most_iterations, row.recorded) for row in few),
            test=gather(
                (executors, iterations / self.most_iterations, median(row.recorded for row in rows))
                for (iterations, executors), rows in tested.items()
            ),
            repetitions=tuple(tuple(row.recorded for row in rows) for rows in tested.values()),
            splits=tuple(map(self._split, tested)),
        )

    def _split(self, configuration: tuple[int, int]) -> str:
        few_iterations, few_machines = self.few
        if configuration[0] <= few_iterations:
            return MORE_MACHINES
        return BOTH if configuration[1] > few_machines else MORE_ITERATIONS


def report(directory: Path) -> str:
    """Whether the print follows from the formulas, and how near predictions come."""
    jobs = read_jobs(directory)
    found = sorted([*_printed(jobs), *_predicted(jobs)], key=lambda each: SPLITS.index(each.split))
    return "\n".join([*departures([row for job in jobs for row in job.rows]), "", tables("OptEx", found)])


def read_jobs(directory: Path) -> list[Job]:
    """The jobs of ``table3.csv``, ``table4.csv`` and ``table6.csv``."""
    found: dict[str, list[Row]] = {}
    for number, table in {3: "III", 4: "IV", 6: "VI"}.items():
        (path,) = trace_files(directory, f"table{number}.csv")
        with path.open(newline="", encoding="utf-8") as file:
            for row in map(partial(_row, table), csv.DictReader(file)):
                found.setdefault(f"{row.job}, III" if table == "III" else row.job, []).append(row)
    return [Job(name=name, rows=tuple(of)) for name, of in found.items()]


def _row(table: str, row: Mapping[str, str]) -> Row:
    application = row.get("application", "ALS")
    default = BUDGET_ITERATIONS if application == "ALS" else 1
    columns = ("variable_sharing", "communication", "execution", "computation") if table == "III" else ()
    return Row(
        table=table,
        job=f"{application}, {row.get('mode', 'Standalone').replace('Standalone', 'standalone')}",
        iterations=int(row.get("iterations") or default),
        executors=int(row["machines"]),
        estimated=float(row["estimated_seconds"]),
        recorded=float(row["recorded_seconds"]),
        printed={name: float(row[f"{name}_seconds"]) for name in columns},
    )


def _lower_half(numbers: Iterable[int]) -> int:
    distinct = sorted(set(numbers))
    return distinct[max(1, len(distinct) // 2) - 1]


def departures(rows: Sequence[Row]) -> list[str]:
    """Where the paper's print follows from its formulas and its profile, and where it does not."""
    detailed = [row for row in rows if row.table == "III"]
    closed = [phases(PROFILE, executors=row.executors, iterations=row.iterations) for row in detailed]
    sharing = np.array([each.variable_sharing_seconds for each in closed])
    printed = {name: np.array([row.printed[name] for row in detailed]) for name in detailed[0].printed}
    estimated = np.array([row.estimated for row in detailed])
    executors = np.array([row.executors for row in detailed])
    iterations = np.array([row.iterations for row in detailed])
    fixed = PROFILE.initialisation_seconds + PROFILE.preparation_seconds
    whole = predict(PROFILE, executors=executors, iterations=iterations)
    off = {
        "sharing = machines * iterations * C": printed["variable_sharing"] - sharing,
        "computation = communication + execution": (
            printed["computation"] - printed["communication"] - printed["execution"]
        ),
        "estimate = Tinit + Tprep + sharing + computation": (
            estimated - fixed - printed["variable_sharing"] - printed["computation"]
        ),
        "estimate = the closed form with the profile": estimated - whole,
    }
    lines = ["== OptEx: does the print of table III follow from the formulas? =="]
    for what, each in off.items():
        holds = int((np.abs(each) <= ROUNDING).sum())
        lines.append(f"  {what}: {holds} of {len(detailed)} rows; most {each[np.abs(each).argmax()]:+.1f} s")
    for table in dict.fromkeys(row.table for row in rows):
        errors = [abs(row.estimated / row.recorded - 1.0) for row in rows if row.table == table]
        lines.append(f"  table {table}: mean error of the estimates: {100 * np.mean(errors):.1f} %")
    return lines


def profile_from_runs(observations: Sequence[Observation]) -> JobProfile:
    """Fit the closed form to whole run times, for a job whose phases are not known.

    No constant is negative, and errors are relative to each run's time. Run times do not tell Tinit from
    Tprep: `initialisation_seconds` is their sum.

    Raises:
        FitError: there are fewer runs than constants, or they cannot tell some of the phases apart.
    """
    columns: dict[str, list[float]] = {
        "executors": [run.executors for run in observations],
        "scale": [run.scale for run in observations],
        "iterations": [run.iterations or 1 for run in observations],
    }
    if len(observations) < len(REGRESSORS):
        raise TooFewObservationsError(
            f"{len(observations)} observations cannot determine the {len(REGRESSORS)} constants of OptEx.",
            remedy=f"Observe at least {len(REGRESSORS)} runs, better {len(REGRESSORS) + 2}, or measure "
            "the phases of one run (job_profile).",
        )
    rows = regressors(**columns)
    undetermined = undetermined_terms(rows, REGRESSORS)
    if undetermined:
        varied = ", ".join(f"{name} ({len(set(column))} different)" for name, column in columns.items())
        raise FitError(
            f"The {len(rows)} observations cannot tell the terms {quoted(undetermined)} of OptEx apart.",
            remedy=f"Vary {varied}: at least 3 numbers of executors, and scale or iterations "
            "independently of them.",
        )
    seconds = np.array([run.seconds for run in observations])
    solution = non_negative_least_squares(rows / seconds[:, None], np.ones(len(rows)))
    fixed, sharing, computation, communication = solution.tolist()
    return JobProfile(
        initialisation_seconds=fixed,
        preparation_seconds=0.0,
        baseline_variable_sharing_seconds=sharing,
        baseline_communication_seconds=communication,
        unit_task_seconds=(computation,),
    )


@dataclass
class OptexRegression:
    """OptEx's closed form fitted to run times of different iterations (`profile_from_runs`)."""

    most_iterations: int
    name: str = FROM_RUNS

    def fit(self, runs: Runs) -> PointForecast:
        """Learn from runs; the scale is the share of the most iterations."""
        observed = zip(runs.observations(), self._iterations(runs.scale), strict=True)
        profile = profile_from_runs(
            [replace(run, scale=1.0, iterations=int(repeated)) for run, repeated in observed]
        )
        return PointForecast(
            lambda executors, scale: predict(profile, executors=executors, iterations=self._iterations(scale))
        )

    def _iterations(self, scale: FloatArray) -> list[float]:
        return [float(iterations) for iterations in np.round(scale * self.most_iterations)]


def _predicted(jobs: Sequence[Job]) -> list[Outcome]:
    """By the original, OptEx from the same runs, and ours; the jobs of one mode are one deployment."""
    methods: list[AnyMethod] = [
        ORIGINAL,
        OptexRegression(max(job.most_iterations for job in jobs)),
        Averaging(),
        PooledAveraging(),
    ]
    modes = dict.fromkeys(job.name.split(", ")[1] for job in jobs)
    rounds: list[Round] = [
        tuple(job.case() for job in jobs if job.name.split(", ")[1] == mode) for mode in modes
    ]
    return evaluate_rounds("OptEx", rounds, methods)


def _printed(jobs: Sequence[Job]) -> list[Outcome]:
    """The paper's estimates as predictions."""
    return [
        Outcome(
            method=PRINTED,
            job=job.name,
            condition="few",
            split=split,
            executors=float(configuration[1]),
            scale=configuration[0] / job.most_iterations,
            seconds=median(row.recorded for row in rows),
            repetitions=tuple(row.recorded for row in rows),
            predicted=median(row.estimated for row in rows),
            bounds=None,
        )
        for job in jobs
        for split, (configuration, rows) in zip(job.case().splits, job.tested().items(), strict=True)
    ]
