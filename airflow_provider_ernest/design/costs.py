"""What a sample run costs, in the unit that the budget of an experiment design is given in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.documents.runs import Design, Observation
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    IntArray,
    positive_number,
    whole_number,
)
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import Column
from airflow_provider_ernest.settings import DesignBounds, SizingGoal
from airflow_provider_ernest.settings.bounds import (
    COST_UNITS,
    DOLLARS,
    MACHINE_SECONDS,
    PAPERS_COST,
)


@dataclass(frozen=True, kw_only=True)
class RelativeTime:
    """``scale/executors`` relative to the cheapest candidate: the cost of the paper (section 3.2).

    It needs no knowledge of the job, but takes runs on many executors, and tiny ones, for nearly free.
    """

    unit: ClassVar[str] = COST_UNITS[PAPERS_COST]

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Cost of each candidate, shape (n,); that of the cheapest is 1."""
        spreading = candidates.scale / candidates.executors
        return np.asarray(spreading / spreading.min(), dtype=np.float64)


relative_time = RelativeTime()


@dataclass(frozen=True, kw_only=True)
class MachineSeconds:
    """The seconds that a run is expected to take if its work spreads perfectly, times its executors.

    That is what is paid for, in dollars if a price is given.
    """

    full_seconds_on_one_machine: float  # a guess for the whole input, without overhead
    run_overhead_seconds: float = 0.0  # what every run takes besides: start-up, planning, result
    # paid for during a sample run, however few it uses: a cluster for the samples alone; 0 for the run's own
    billed_machines: float = 0.0
    price_per_hour: float | None = None  # dollars for one executor; None to count machine seconds

    @property
    def unit(self) -> str:
        """Of the costs."""
        return COST_UNITS[MACHINE_SECONDS if self.price_per_hour is None else DOLLARS]

    def __call__(self, candidates: Candidates) -> FloatArray:
        """Cost of each candidate, shape (n,)."""
        return self.of(executors=candidates.executors, scale=candidates.scale)

    def seconds(self, *, executors: FloatArray | IntArray, scale: FloatArray) -> FloatArray:
        """The expected seconds of runs, shape (n,)."""
        work = self.full_seconds_on_one_machine * scale / executors
        return np.asarray(self.run_overhead_seconds + work, dtype=np.float64)

    def of(self, *, executors: FloatArray | IntArray, scale: FloatArray) -> FloatArray:
        """What runs are expected to cost, shape (n,)."""
        seconds = self.seconds(executors=executors, scale=scale)
        machine_seconds = np.asarray(np.maximum(executors, self.billed_machines) * seconds, dtype=np.float64)
        if self.price_per_hour is None:
            return machine_seconds
        return machine_seconds * self.price_per_hour / 3600.0


Cost: TypeAlias = RelativeTime | MachineSeconds


def resolve_cost(cost: str, *, price_per_hour: float | None = None, **options: float) -> Cost:
    """The cost of that name (`settings.bounds.COST_UNITS`), by what `DesignBounds` have checked."""
    if cost == PAPERS_COST:
        return relative_time
    return MachineSeconds(**options, price_per_hour=price_per_hour if cost == DOLLARS else None)


# What runs are expected to take before they are made: designs weigh runs by it. Run times vary by per cent,
# and models are fitted to relative errors. So what a run tells of a coefficient is its term's value as a
# share of the run's time, and the rows of the information matrix are divided by a guess of the seconds. Only
# the guess's shape matters: a factor changes no design.

GUESS_TERMS = ("1", "scale/executors")
"""The terms of a guess from observed runs: fixed and spreading work tell any job's rough shape."""

RUNS_FOR_A_GUESS = 3
"""The fewest observed runs that tell a shape: two terms go through any two runs, however noisy."""


def expectation(*, candidates: Candidates, cost: Cost, observed: Sequence[Observation] = ()) -> Column:
    """The best guess there is of what runs take.

    In this order: a fit to the runs already made, if they are at least three; the guess in the cost, if that
    is made of seconds; and the shape of `half_fixed`.
    """
    if len(observed) >= RUNS_FOR_A_GUESS:
        regression = ErnestRegression(terms=GUESS_TERMS).fit_undetermined(
            executors=[run.executors for run in observed],
            scale=[run.scale for run in observed],
            seconds=[run.seconds for run in observed],
        )
        return regression.predict
    return cost.seconds if isinstance(cost, MachineSeconds) else half_fixed(candidates)


def half_fixed(candidates: Candidates) -> Column:
    """The shape of a job of which nothing is known.

    Work that spreads, ``scale/executors``, plus as much fixed work as a middling candidate has of the
    former (the geometric mean, since candidates differ by factors). Spreading work alone would take
    tiny samples for infinitely exact, fixed work alone is what the original assumes of all errors.
    """
    middling = float(np.exp(np.mean(np.log(candidates.scale / candidates.executors))))

    def shape(*, executors: FloatArray, scale: FloatArray) -> FloatArray:
        return np.asarray(scale / executors + middling, dtype=np.float64)

    return shape


def share_of_production(cost: Cost, share: float, *, executors: int = 1, scale: float = 1.0) -> float:
    """A budget: the share (0.05 is 5 %) of what one production run is predicted to cost.

    Its executors are such as now: work that spreads costs the same on any number, only overhead grows. Its
    scale is relative to the target input. An InvalidParameterError says that a number is invalid, or that the
    cost, relative to the cheapest sample run, tells nothing of production.
    """
    if isinstance(cost, RelativeTime):
        raise InvalidParameterError(
            "budget_share",
            share,
            f'needs to know what production costs, and cost="{PAPERS_COST}" does not say',
            remedy='Use cost="machine_seconds" or "dollars" with full_seconds_on_one_machine, a rough guess '
            "of the whole input's seconds on one machine.",
        )
    # Production is not made on the cluster of the samples.
    of_production = replace(cost, billed_machines=0.0).of(
        executors=np.array([whole_number("executors", executors)]),
        scale=np.array([positive_number("scale", scale)]),
    )
    return positive_number("share", share) * float(of_production[0])


# What the sample runs may cost beside the production run they are for, before either was made.
#
# A deadline tells how long production runs: the cheapest configuration within it takes about as long. Times a
# middle number of the executors that production may have, that is a rough guess of its machine seconds. Rough
# is enough: work that spreads costs its scale of production, whatever that takes, and only what every run
# costs besides is weighed against the guess.

LONG_SECONDS = 1200.0
"""Production that takes as long can be sampled for little: start-ups are little beside it."""

RUN_OVERHEAD_SECONDS = 45.0
"""What every run takes besides its work, where nobody says: start-up, result, the gap before the next one."""

SHARE = 0.05  # of the cost of a long production run: what its sample runs are to cost at most
PLANNED_SHARES = (0.04, SHARE, 0.07, 0.1, 0.14, 0.2, 0.3, 0.45, 0.7)
"""The design is planned with the first of these that allows one; if none does, the default design is made.

First less than `SHARE`: production may cost less than guessed, and runs have fixed work beside start-up.
"""

MIN_SCALE = 0.01  # the smallest share of the input that a sample run reads, by default
MIN_SCALE_WITHIN_SHARE = 0.001
"""The same where runs may cost a share of production: six runs of 1 % each are more than 5 % of it."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """One way to bound what sample runs cost."""

    cost: Cost  # of a run
    budget: float | None  # of all runs; None for the default of designs
    min_scale: float  # the smallest share of the input that a run reads
    by_ratio: bool = False  # whether candidates are spread by the ratios of their scales


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What sample runs may cost, beside the production run that they are for."""

    bounds: DesignBounds
    goal: SizingGoal  # of production
    billed_machines: float = 0.0  # that are paid for during a run, however few it uses; 0 for the run's own

    @property
    def machine_seconds(self) -> float | None:
        """Of one production run, by what the user said; None where that tells nothing.

        The user's guess of the seconds is worth more than the deadline.
        """
        guess: float | None = self.bounds.cost_options.get("full_seconds_on_one_machine")
        if guess is not None:
            return float(self.goal.scale * guess)
        deadline: float | None = self.goal.deadline_seconds
        return None if deadline is None else deadline * _middle(self.goal.executors)

    @property
    def is_frugal(self) -> bool:
        """Whether training is to cost little although nobody says so: beside long production."""
        bounds, goal = self.bounds, self.goal
        if (bounds.budget, bounds.budget_share) != (None, None) or self.machine_seconds is None:
            return False
        if goal.deadline_seconds is not None:
            return bool(goal.deadline_seconds >= LONG_SECONDS)
        return self.machine_seconds / _middle(goal.executors) >= LONG_SECONDS

    def planned(self, plan: Callable[[Allowance], Design]) -> Design:
        """The design of the first allowance within which `plan` makes one; errors are those of the last."""
        *frugal, last = self.allowances()
        for allowance in frugal:
            try:
                return plan(allowance)
            except DesignError:
                continue
        return plan(last)

    def allowances(self) -> Sequence[Allowance]:
        """The ways to bound the cost, the one that is preferred first."""
        bounds, share = self.bounds, self.bounds.budget_share
        own = resolve_cost(bounds.cost, **bounds.cost_options, billed_machines=self.billed_machines)
        beside_production = self._cost_in_machine_seconds()
        if beside_production is not None and bounds.cost == DOLLARS:
            beside_production = replace(
                beside_production, price_per_hour=bounds.cost_options["price_per_hour"]
            )
        if share is None:
            least = MIN_SCALE if bounds.min_scale is None else bounds.min_scale
            usual = Allowance(cost=own, budget=bounds.budget, min_scale=least)
            if beside_production is None or not self.is_frugal:
                return [usual]
            return [*(self._within(each, beside_production) for each in PLANNED_SHARES), usual]
        if bounds.cost != PAPERS_COST:
            return [self._within(share, own, executors=self.goal.min_executors)]
        return [self._within(share, own if beside_production is None else beside_production)]

    def share_of(self, design: Design) -> float | None:
        """What a design's runs are expected to cost, as a share of one production run; None if unknown."""
        cost = self._cost_in_machine_seconds()
        if cost is None or self.machine_seconds is None:
            return None
        executors = np.array([run.executors for run in design.experiments])
        scale = np.array([run.scale for run in design.experiments])
        return float(cost.of(executors=executors, scale=scale).sum()) / self.machine_seconds

    def _within(self, share: float, cost: Cost, *, executors: int = 1) -> Allowance:
        least, scale = self.bounds.min_scale, self.goal.scale
        return Allowance(
            cost=cost,
            budget=share_of_production(cost, share, executors=executors, scale=scale),
            min_scale=MIN_SCALE_WITHIN_SHARE if least is None else least,
            by_ratio=True,
        )

    def _cost_in_machine_seconds(self) -> MachineSeconds | None:
        """What sample runs cost beside production; None where nothing is known of that."""
        if self.machine_seconds is None:
            return None
        options = self.bounds.cost_options
        return MachineSeconds(
            full_seconds_on_one_machine=self.machine_seconds / self.goal.scale,
            run_overhead_seconds=options.get("run_overhead_seconds", RUN_OVERHEAD_SECONDS),
            billed_machines=self.billed_machines,
        )


def _middle(executors: Sequence[int]) -> float:
    """Their geometric mean."""
    return float(np.exp(np.mean(np.log(executors))))
