"""What the sample runs may cost together: as the user says, else little beside a long production run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.choices import DOLLARS, MACHINE_SECONDS, PAPERS_COST
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.model.design.budgets import ProductionShare
from airflow_provider_ernest.model.design.costs import CheckedCost, MachineSeconds, resolve_cost
from airflow_provider_ernest.model.design.training_share import RUN_OVERHEAD_SECONDS, ProductionRun
from airflow_provider_ernest.model.documents import Design

COSTS_OF_PRODUCTION = (MACHINE_SECONDS, DOLLARS)
"""The costs of which a production run has one, too."""

SHARE = 0.05
"""Of the cost of a long production run: what its sample runs are to cost at most."""

PLANNED_SHARES = (0.04, SHARE, 0.07, 0.1, 0.14, 0.2, 0.3, 0.45, 0.7)
"""The first of these that allows a design is planned with, and where none does, the default design.

First less than `SHARE`: production may cost less than guessed, and runs have fixed work beside start-up.
"""

MIN_SCALE = 0.01
"""The smallest share of the input that a sample run reads, by default."""

MIN_SCALE_WITHIN_SHARE = 0.001
"""The same where runs may cost a share of production: six runs of 1 % each are more than 5 % of it."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """One way to bound what sample runs cost.

    Attributes:
        cost: of a run.
        budget: of all of them; None for the default of designs.
        min_scale: the smallest share of the input that a run reads.
        by_ratio: whether scales are considered that are small and differ little, see `enumerate_candidates`.
    """

    cost: CheckedCost
    budget: float | ProductionShare | None
    min_scale: float
    by_ratio: bool = False


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What is known of the cost of sample runs and of production, and what the user says of it.

    Attributes:
        cost: the name of the cost of a run.
        options: what it needs to know: arguments of `costs.resolve_cost`.
        budget: of all runs, in the unit of the cost; None where none is stated.
        share: the same as a share of what one production run costs.
        min_scale: the smallest share of the input that a run reads; None for the default.
        billed_machines: that are paid for while a run is on, however few it uses; 0 for the run's own.
        production: what one production run takes; None where nothing tells.
        fewest_machines: that production may have.
        scale: of production's input, relative to the one that is sampled.
    """

    cost: str = PAPERS_COST
    options: Mapping[str, float]
    budget: float | None = None
    share: float | None = None
    min_scale: float | None = None
    billed_machines: float = 0.0
    production: ProductionRun | None = None
    fewest_machines: int = 1
    scale: float = 1.0

    @property
    def is_frugal(self) -> bool:
        """Whether training is to cost little although nobody says so: beside long production."""
        stated = self.budget is not None or self.share is not None or "run_overhead" in self.options
        comparable = self.cost in (PAPERS_COST, *COSTS_OF_PRODUCTION)
        return comparable and not stated and self.production is not None and self.production.is_long

    def planned(self, plan: Callable[[Allowance], Design]) -> Design:
        """The design of the first allowance that allows one.

        Args:
            plan: makes a design within an allowance, or raises a `DesignError`.

        Raises:
            DesignError: the last allowance does not allow any.
            InvalidParameterError: a number cannot be, or nothing tells of what the share is.
        """
        *frugal, last = self.allowances()
        for allowance in frugal:
            try:
                return plan(allowance)
            except DesignError:
                continue
        return plan(last)

    def allowances(self) -> Sequence[Allowance]:
        """The ways to bound the cost, the one that is preferred first.

        Raises:
            InvalidParameterError: a number cannot be, or nothing tells of what the share is.
        """
        own, _ = resolve_cost(self.cost, **self.options, billed_machines=self.billed_machines)
        if self.share is not None:
            return [self._of_share(self.share, own)]
        usual = Allowance(
            cost=own, budget=self.budget, min_scale=MIN_SCALE if self.min_scale is None else self.min_scale
        )
        if not self.is_frugal:
            return [usual]
        beside_production = self._cost_beside_production()
        return [*(self._within(share, beside_production) for share in PLANNED_SHARES), usual]

    def share_of(self, design: Design) -> float | None:
        """What a design's runs are expected to cost, as a share of one production run; None if unknown."""
        if self.production is None:
            return None
        return self.production.share_of(design, self._machine_seconds())

    def _of_share(self, share: float, own: CheckedCost) -> Allowance:
        if self.cost in COSTS_OF_PRODUCTION:
            return self._within(share, own, machines=self.fewest_machines)
        if self.cost == PAPERS_COST and self.production is not None:
            return self._within(share, self._cost_beside_production())
        raise InvalidParameterError(
            "budget_share",
            share,
            f'says nothing with cost="{self.cost}", by which production costs nothing',
            remedy='Use cost="machine_seconds" or "dollars", or state a deadline.',
        )

    def _within(self, share: float, cost: CheckedCost, *, machines: int = 1) -> Allowance:
        return Allowance(
            cost=cost,
            budget=ProductionShare(share=share, machines=machines, scale=self.scale),
            min_scale=MIN_SCALE_WITHIN_SHARE if self.min_scale is None else self.min_scale,
            by_ratio=True,
        )

    def _cost_beside_production(self) -> CheckedCost:
        """The user's cost, or machine seconds, with what the user does not say of it guessed."""
        guess = self._machine_seconds()
        named = self.cost if self.cost in COSTS_OF_PRODUCTION else COSTS_OF_PRODUCTION[0]
        cost, _ = resolve_cost(
            named,
            full_seconds_on_one_machine=guess.full_seconds_on_one_machine,
            run_overhead_seconds=guess.run_overhead_seconds,
            price_per_hour=self.options.get("price_per_hour"),
            billed_machines=self.billed_machines,
        )
        return cost

    def _machine_seconds(self) -> MachineSeconds:
        if self.production is None:
            raise AssertionError("asked only where it is known")
        return self.production.cost_of_samples(
            billed_machines=self.billed_machines,
            run_overhead_seconds=self.options.get("run_overhead_seconds", RUN_OVERHEAD_SECONDS),
        )
