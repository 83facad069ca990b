"""Does production learn its size by itself, safely? Daily runs of measured jobs, from runs of one size only.

A situation is a job on one input and one type of machine, with the sizes that were measured: C3O (one shape
of each context's largest input), Bell, and Dataproc (two sizes of each type, measured once). Production has
had five runs on one size, the smallest, a middle or the largest. The deadline is 1.1 to 3 times what they
take; cases count where two sizes or more keep it. Production goes on for a month of 30 runs, each of which
takes as long as a measured run of its size, drawn at random. The asked confidence is 80 %. The best size is
the cheapest on which four of five measured runs keep the deadline.

* regret: what the median run on the size that is decided after five production runs costs more than on the
  best, %. near: in how many cases that is at most 10 % and the decided size keeps the deadline.
* kept: production runs of the month within the deadline, %; exploring: those that explored.
* cost: of explorations beyond the decided size (or of the sample runs), % of a month on the best size;
  largest: of any case; runs: how many explored.
* month: what all production runs of the month cost more than on the best size, %.

"today's size" changes nothing. "no exploration" decides before each run by what the runs tell so far, and
changes to sizes that were never tried. "sample runs" first makes up to three rounds of today's, on smaller
inputs where two were measured. "CherryPick" is Bayesian optimisation, see `cherry_pick`. Ours may spend 5 %
of a month of runs on the first size.

    python -m benchmarks.exploration DATA_FOLDER [--every N]
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from airflow_provider_ernest.decision.deciding import Offered, decide
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.exploration import Standing, next_exploration, within_tried
from airflow_provider_ernest.design.rounds import next_runs
from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.models import Model, Validation
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.predict import default_terms, new_predictor, observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.training import fitted_terms
from airflow_provider_ernest.settings import Billing, Exploration, SizingGoal
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.settings.goal import BEST_VALUE, MOST_PROBABLE
from benchmarks.accuracy import traces
from benchmarks.accuracy.evaluation import text
from benchmarks.decisions.situations import DEFAULT_CORES, TYPE, billing_of

CONFIDENCE, NEAR, SHARE = 0.8, 0.1, 0.05
PAST_RUNS, FEW_RUNS, MONTH = 5, 5, 30
SLACKS = (1.1, 1.3, 1.6, 2.0, 3.0)
FIRST_DAY = date(2026, 6, 1)
DATAPROC_CORE, DATAPROC_GIGABYTE = 0.04073, 0.005458
"""Dollars for an hour; see the README of the data."""


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A job with its sizes and the seconds of its measured runs.

    Attributes:
        smaller: those of smaller inputs by (size, scale): what sample runs may be.
    """

    data: str
    name: str
    runs: Mapping[int, tuple[float, ...]]
    billing: Billing
    smaller: Mapping[tuple[int, float], tuple[float, ...]]

    def cost(self, size: int, seconds: float) -> float:
        """Dollars of a run."""
        return self.billing.cost(executors=size, seconds=seconds).total

    def typical(self, size: int) -> float:
        """Dollars of the median run."""
        return self.cost(size, median(self.runs[size]))


@dataclass(frozen=True, kw_only=True)
class Case:
    """Production as it starts: on which size, with a deadline of so many times what it takes there."""

    situation: Situation
    start: int
    slack: float

    @property
    def deadline(self) -> float:
        """In seconds."""
        return self.slack * median(self.situation.runs[self.start])

    def is_kept(self, size: int) -> bool:
        """Whether enough of the measured runs keep the deadline."""
        return float(np.mean([each <= self.deadline for each in self.situation.runs[size]])) >= CONFIDENCE

    @property
    def best(self) -> int:
        """The cheapest size that keeps the deadline."""
        return min(filter(self.is_kept, self.situation.runs), key=self.situation.typical)


def cases(folder: Path) -> Iterator[Case]:
    """All of the data."""
    for situation in (*_c3o(folder / "c3o"), *_bell(folder / "bell"), *_dataproc(folder / "dataproc")):
        sizes = sorted(situation.runs)
        for start in sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}):
            for slack in SLACKS:
                case = Case(situation=situation, start=start, slack=slack)
                if case.is_kept(start) and sum(map(case.is_kept, sizes)) > 1:
                    yield case


def _c3o(folder: Path) -> Iterator[Situation]:
    found: set[tuple[str, ...]] = set()
    for context in traces.contexts(folder, one_shape=True):
        setting = tuple(part for part in context.setting if not part.startswith("row="))
        if (context.job, *setting) in found:
            continue
        found.add((context.job, *setting))
        points = zip(context.points.executors, context.points.scale, context.repetitions, strict=True)
        every = {(int(size), float(scale)): seconds for size, scale, seconds in points}
        kind = dict(part.partition("=")[::2] for part in setting)[TYPE]
        yield Situation(
            data="C3O",
            name=f"{context.job} {' '.join(part for part in setting if '/machine' not in part)}",
            runs={size: seconds for (size, scale), seconds in every.items() if scale == 1.0},
            billing=billing_of(kind, cores=DEFAULT_CORES),
            smaller={key: seconds for key, seconds in every.items() if key[1] < 1.0},
        )


def _bell(folder: Path) -> Iterator[Situation]:
    for name, runs in traces.bell_traces(folder).items():
        billing = billing_of("", cores=DEFAULT_CORES)
        yield Situation(data="Bell", name=name, runs=runs, billing=billing, smaller={})


def _dataproc(folder: Path) -> Iterator[Situation]:
    measured: dict[tuple[str, ...], dict[float, dict[int, tuple[float, ...]]]] = defaultdict(dict)
    with (folder / "four_jobs.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            kind = row["algorithm"], row["cpu_cores_per_node"], row["memory_gb_per_node"]
            of_input = measured[kind].setdefault(float(row["dataset_size_bytes"]), {})
            of_input[int(row["scaleout"])] = (float(row["runtime"]),)
    for (job, cores, memory), by_input in measured.items():
        price = DATAPROC_CORE * float(cores) + DATAPROC_GIGABYTE * float(memory)
        for size, runs in by_input.items():
            smaller = (
                (count, other / size, each) for other, of in by_input.items() for count, each in of.items()
            )
            if len(runs) > 1:
                yield Situation(
                    data="Dataproc",
                    name=f"{job} of {size:.3g} B, {cores} cores and {memory} GB",
                    runs=runs,
                    billing=Billing(price_per_hour=price),
                    smaller={(count, scale): each for count, scale, each in smaller if scale < 1.0},
                )


@dataclass(kw_only=True)
class Production:
    """What has happened so far: past runs and samples in `observed`, runs of the month in the others."""

    case: Case
    generator: np.random.Generator
    observed: list[Observation] = field(default_factory=list)
    runs: list[tuple[int, float]] = field(default_factory=list)  # size and seconds
    decided: list[int] = field(default_factory=list)  # the size that each would have had without exploring
    dollars: float = 0.0  # of explorations, or of sample runs

    def observe(self, size: int, scale: float = 1.0) -> float:
        """Let a run take as long as one of those that were measured; as a sample run where it is smaller."""
        situation, index = self.case.situation, len(self.observed)
        seconds = float(
            self.generator.choice(situation.runs[size] if scale == 1.0 else situation.smaller[size, scale])
        )
        self.observed.append(
            Observation(index=index, executors=size, scale=scale, seconds=seconds, from_history=scale == 1.0)
        )
        return seconds

    @property
    def goal(self) -> SizingGoal:
        """Of production."""
        return SizingGoal(
            deadline_seconds=self.case.deadline,
            confidence=CONFIDENCE,
            objective=BEST_VALUE,
            allowed_executors=tuple(sorted(self.case.situation.runs)),
            on_failure=MOST_PROBABLE,
        )

    def offer(self) -> Offer:
        """By a model of all runs, of whatever sizes."""
        columns, prior = observed_columns(self.observed), prior_for(self.observed)
        predictor = new_predictor(AVERAGING, prior=prior).fit_undetermined(**columns)
        validation = Validation(
            folds=(), residual_sum_of_squares=0.0, median_error_percent=0.0, max_error_percent=0.0
        )
        model = Model(
            **new_stamp(),
            job="",
            instance_type="",
            terms=fitted_terms(predictor, default_terms(AVERAGING)),
            validation=validation,
            observations=tuple(self.observed),
            method=AVERAGING,
            prior=prior,
        )
        billing = self.case.situation.billing
        billing = billing.completed(price_per_hour=billing.price_per_hour, training_dollars=0.0)
        return Offer(model=model, executors=self.goal.executors, billing=billing)


Method = Callable[[Production, int], tuple[int, int]]
"""Of the production so far and the day: the size of its run, and that which was decided without exploring."""


def stay(production: Production, day: int) -> tuple[int, int]:
    """Change nothing."""
    return production.case.start, production.case.start


def without(production: Production, day: int) -> tuple[int, int]:
    """Decide by what the runs tell."""
    size = decide(production.goal, Offered(offers=[production.offer()])).required().config.executors
    return size, size


def sampled(production: Production, day: int) -> tuple[int, int]:
    """Make sample runs on the first day, then decide by all runs."""
    situation, made = production.case.situation, list[Observation]()
    every = sorted(situation.smaller)
    if len({scale for _, scale in every}) < 2:
        every += [(size, 1.0) for size in sorted(situation.runs)]
    executors, scale = (np.array(column) for column in zip(*every, strict=True))
    partitions = np.maximum(1, np.rint(1000 * scale)).astype(np.int64)
    for _ in range(0 if day else 3):
        proposal = next_runs(
            candidates=Candidates(executors=executors, scale=scale, partitions=partitions),
            goal=replace(production.goal, billing=Billing(expected_runs=MONTH)),
            observed=made,
            price_per_hour=situation.billing.price_per_hour,
            most=3,
        )
        for run in proposal.experiments:
            seconds = production.observe(run.executors, run.scale)
            production.observed[-1] = replace(production.observed[-1], from_history=False)
            production.dollars += situation.cost(run.executors, seconds)
            made.append(production.observed[-1])
    return without(production, day)


def cherry_pick(production: Production, day: int) -> tuple[int, int]:
    """Bayesian optimisation (Alipourfard et al., NSDI 2017): Matern 5/2, expected improvement, constrained.

    Beside the first size two spread ones come first, then where the improvement of dollars, times the
    probability that the deadline is kept, is expected to be most. It stops after six sizes where that
    improvement is less than a tenth.
    """
    case, situation = production.case, production.case.situation
    sizes, seconds = sorted(situation.runs), defaultdict[int, list[float]](list)
    for run in production.observed:
        seconds[run.executors].append(run.seconds)
    dollars = {size: situation.cost(size, median(times)) for size, times in seconds.items()}
    kept = [size for size, times in seconds.items() if median(times) <= case.deadline] or [case.start]
    best = min(kept, key=dollars.__getitem__)
    left = [size for size in sizes if size not in seconds]
    spread = [size for size in (sizes[len(sizes) // 4], sizes[3 * len(sizes) // 4]) if size in left]
    if spread or not left:
        return (spread[0] if spread else best), best
    kernel = ConstantKernel(0.25, "fixed") * Matern(nu=2.5) + WhiteKernel(0.003, "fixed")
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(
        np.log([[run.executors] for run in production.observed]),
        np.log([situation.cost(run.executors, run.seconds) for run in production.observed]),
    )
    mean, deviation = process.predict(np.log([[size] for size in left]), return_std=True)
    gain = np.log(dollars[best]) - mean
    improvement = gain * ndtr(gain / deviation) + deviation * norm.pdf(gain / deviation)
    if len(seconds) >= 6 and improvement.max() < 0.1:
        return best, best
    limits = np.log([situation.cost(size, case.deadline) for size in left])
    return left[int(np.argmax(improvement * ndtr((limits - mean) / deviation)))], best


def ours(production: Production, day: int) -> tuple[int, int]:
    """Explore as `design.exploration` proposes."""
    case, offer = production.case, production.offer()
    decision = decide(production.goal, Offered(offers=[within_tried(production.goal, offer)])).required()
    has_explored = bool(production.runs) and production.runs[-1][0] != production.decided[-1]
    proposal = next_exploration(
        Exploration(dollars_per_month=SHARE * MONTH * case.situation.typical(case.start)),
        goal=production.goal,
        decision=replace(decision, fallback_reason=None),
        offer=offer,
        standing=Standing(
            spent_dollars=production.dollars,
            was_late=has_explored and production.runs[-1][1] > case.deadline,
        ),
        runs_per_month=MONTH,
        today=FIRST_DAY + timedelta(days=day),
    )
    return proposal.executors or decision.config.executors, decision.config.executors


NONE, OURS, WORST = "no exploration", "ours", 6
METHODS: Mapping[str, Method] = {
    "today's size": stay,
    NONE: without,
    "sample runs": sampled,
    "CherryPick": cherry_pick,
    OURS: ours,
}


def simulated(case: Case, name: str) -> dict[str, object]:
    """A month of production by one method."""
    situation, best = case.situation, case.situation.typical(case.best)
    seed = zlib.crc32(f"{situation.name} {case.slack} {case.start}".encode())
    production = Production(case=case, generator=np.random.default_rng(seed))
    for _ in range(PAST_RUNS):
        production.observe(case.start)
    for day in range(MONTH):
        size, usual = METHODS[name](production, day)
        seconds = production.observe(size)
        production.runs.append((size, seconds))
        production.decided.append(usual)
        if size != usual:
            production.dollars += max(0.0, situation.cost(size, seconds) - situation.typical(usual))
    kept = [seconds <= case.deadline for _, seconds in production.runs]
    explored = [size != usual for (size, _), usual in zip(production.runs, production.decided, strict=True)]
    after = production.decided[FEW_RUNS]
    regret = situation.typical(after) / best - 1.0
    return {
        "data": situation.data,
        "method": name,
        "case": f"{situation.data}, {situation.name}, {case.slack:g} times, from {case.start}",
        "slack": case.slack,
        "sizes": f"{after} instead of {case.best} (runs: {[size for size, _ in production.runs[:8]]})",
        "regret": 100 * regret,
        "near": 100 * (regret <= NEAR and case.is_kept(after)),
        "kept": 100 * np.mean(kept),
        "exploring": [100 * each for each, is_it in zip(kept, explored, strict=True) if is_it],
        "cost": 100 * production.dollars / (MONTH * best),
        "runs": sum(explored),
        "of the sum": 100 * production.dollars / (SHARE * MONTH * situation.typical(case.start)),
        "month": 100 * (sum(situation.cost(*run) for run in production.runs) / (MONTH * best) - 1.0),
    }


def summary(rows: pd.DataFrame) -> pd.Series:
    """Means over cases, of explorations over all of them."""
    means = rows[["regret", "near", "kept", "cost", "runs", "month"]].mean()
    exploring = np.mean([*rows["exploring"].sum(), *([] if rows["runs"].any() else [np.nan])])
    return pd.Series(
        {"cases": len(rows), "median": rows["regret"].median(), "largest": rows["cost"].max()}
        | {"exploring": exploring}
        | means.to_dict()
    )[["cases", "regret", "median", "near", "kept", "exploring", "cost", "largest", "runs", "month"]]


def table(frame: pd.DataFrame, by: str) -> str:
    """The methods by a column, then for all cases."""
    groups = {key: summary(rows) for key, rows in frame.groupby([by, "method"], sort=False)}
    groups |= {("all", key): summary(rows) for key, rows in frame.groupby("method", sort=False)}
    return text(pd.DataFrame(groups).T)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exploration")
    parser.add_argument("data", type=Path, metavar="DATA_FOLDER", help="with c3o, bell and dataproc")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth case")
    options = parser.parse_args()
    every: Sequence[Case] = list(cases(options.data))[:: options.every]
    jobs = [(case, name) for case in every for name in METHODS]
    with ProcessPoolExecutor() as pool:
        frame = pd.DataFrame(pool.map(simulated, *zip(*jobs, strict=True), chunksize=8))
    own = frame[frame["method"] == OURS]
    by_slack = frame[frame["method"].isin([OURS, NONE])].sort_values("slack", kind="stable")
    figures = summary(own)
    print(f"== by data ==\n{table(frame, 'data')}\n")
    print(f"== by the deadline, in times of today's runs ==\n{table(by_slack, 'slack')}\n")
    print("== ours against the goals ==")
    print(f"a run costs {figures['regret']:.1f} % more than on the best size after {FEW_RUNS} (goal: 10 %)")
    print(f"deadlines kept: {figures['kept']:.1f} %, exploring {figures['exploring']:.1f} % (goal: 80 %)")
    print(f"explorations: {figures['cost']:.1f} % of a month, {figures['largest']:.1f} % at most (goal: 5 %)")
    above = own["of the sum"] - 100
    count, most = int((above > 0).sum()), max(0.0, above.max())
    print(f"the stated sum is passed in {count} of {len(own)} cases, by {most:.0f} % at most\n")
    print("== what speaks against it: the dearest decisions, and the dearest explorations, %")
    for column in ("regret", "cost"):
        for row in own.sort_values(column, ascending=False).head(WORST).to_dict("records"):
            print(f"{column} {row[column]:.0f}: {row['case']}: {row['sizes']}")


if __name__ == "__main__":
    main()
