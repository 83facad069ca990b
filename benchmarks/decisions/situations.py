"""The choices that are posed: configurations of measured jobs with what they really took, and the limits.

To choose from are all measured numbers of machines at one size of the input: the largest of a context, or
where several types of machines are offered at once, the largest that was measured on all of them.

All limits can be kept: each lies between what the best and the worst option really take (or cost), by the
medians of their runs, spread evenly on the logarithm. They are fixed by the measured runs alone, and the
first is as tight as can be: the median of the very fastest option, which half of its runs miss. Who knows
that some option keeps each limit knows more than whoever decides: of such limits more are kept than anybody
could say. So what is said is held against what comes by limits that reach further, `BEYOND`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airflow_provider_ernest.decision.goals import TOLERANCE
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.settings import Billing, SizingGoal
from benchmarks.accuracy.traces import Context

PRICES_PER_HOUR: Mapping[str, float] = {
    "c4.2xlarge": 0.398,
    "m4.2xlarge": 0.400,
    "r4.2xlarge": 0.532,
    "r4.xlarge": 0.266,
}
"""Dollars for a machine and hour: Amazon EC2, on-demand, Linux, US East (N. Virginia), as listed on
aws.amazon.com/ec2/pricing/on-demand. What EMR asks besides for each of them is left out."""

OTHERS_PER_CORE_HOUR = 0.05
"""Dollars for machines of any other type: what a core of m4 costs. Where the type is the same whatever is
chosen, its price is in the regret of no decision."""


def billing_of(instance_type: str, *, cores: int) -> Billing:
    """How a machine with so many cores is paid for: by the second, and at least for a minute."""
    price = PRICES_PER_HOUR.get(instance_type, OTHERS_PER_CORE_HOUR * cores)
    return Billing(price_per_hour=price, increment_seconds=1.0, minimum_seconds=60.0)


TYPE, OF_A_TYPE = "machine_type", frozenset({"machine_type", "memory/machine", "slots/machine"})
"""The part of a context's setting that names its machines, and all parts that tell of them."""

DEFAULT_CORES = 8
"""Of a machine, where the traces do not tell."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """A configuration that may be chosen.

    Attributes:
        model: the position of its context among all, and so of the model that predicts it.
        cores: of each machine.
        scale: of the input, as a share of the context's largest.
        seconds: the median of its single runs in `repetitions`.
    """

    model: int
    instance_type: str
    cores: int
    executors: int
    scale: float
    billing: Billing
    seconds: float
    repetitions: tuple[float, ...]

    def cost_of(self, seconds: float) -> float:
        """Dollars of a run that takes so long."""
        return self.billing.cost(executors=self.executors, seconds=seconds).total


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A job with its input, told from others by `setting`, and its options by type and number of machines."""

    job: str
    setting: str
    options: tuple[Option, ...]

    @cached_property
    def seconds(self) -> FloatArray:
        """The median seconds of the options, shape (n,)."""
        return np.array([option.seconds for option in self.options])

    @cached_property
    def costs(self) -> FloatArray:
        """The dollars of a run of that time, shape (n,)."""
        return np.array([option.cost_of(option.seconds) for option in self.options])

    def by_model(self) -> list[tuple[int, IntArray]]:
        """The models that predict the options, each with the positions of its options."""
        models = np.array([option.model for option in self.options])
        return [(int(model), np.flatnonzero(models == model)) for model in np.unique(models)]

    def columns(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Machines and scale of the options at these positions."""
        chosen = [self.options[row] for row in rows]
        executors = np.array([option.executors for option in chosen], dtype=np.float64)
        return executors, np.array([option.scale for option in chosen])


def of_one_type(
    contexts: Sequence[Context],
    *,
    fewest_machines: int = 1,
) -> list[Situation]:
    """One situation for each context: how many machines, at its largest size?

    Args:
        contexts: all contexts.
        fewest_machines: to choose from.
    """
    return [
        _situation(contexts, [position], context.largest_size, fewest_machines)
        for position, context in enumerate(contexts)
    ]


def of_all_types(contexts: Sequence[Context]) -> list[Situation]:
    """One for each setting of a job that was measured on several types: how many machines of which?"""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, context in enumerate(contexts):
        alike[(context.job, *_told(context, with_type=False))].append(position)
    situations = []
    for positions in alike.values():
        common = set.intersection(*(_absolute_sizes(contexts[position]) for position in positions))
        if len(positions) > 1 and common:
            situations.append(_situation(contexts, positions, max(common), 1))
    return situations


def _situation(
    contexts: Sequence[Context],
    positions: Sequence[int],
    size: float,
    fewest_machines: int,
) -> Situation:
    first = contexts[positions[0]]
    several = len(positions) > 1
    options = [
        option
        for position in positions
        for option in _options(position, contexts[position], size)
        if option.executors >= fewest_machines
    ]
    return Situation(
        job=first.job,
        setting=" ".join(_told(first, with_type=False) if several else _told(first)),
        options=tuple(options),
    )


def _options(position: int, context: Context, size: float) -> list[Option]:
    told = dict(part.partition("=")[::2] for part in context.setting)
    instance_type = told.get(TYPE, "")
    cores = round(float(told.get("slots/machine", DEFAULT_CORES)))
    points = context.points
    return [
        Option(
            model=position,
            instance_type=instance_type,
            cores=cores,
            executors=int(points.executors[row]),
            scale=float(points.scale[row]),
            billing=billing_of(instance_type, cores=cores),
            seconds=float(points.seconds[row]),
            repetitions=context.repetitions[row],
        )
        for row in np.flatnonzero(np.isclose(points.scale * context.largest_size, size))
    ]


def _told(context: Context, *, with_type: bool = True) -> list[str]:
    """The parts of the setting; what only follows from the type is not told, and the type if asked for."""
    hidden = OF_A_TYPE - ({TYPE} if with_type else set())
    return [part for part in context.setting if part.partition("=")[0] not in hidden]


def _absolute_sizes(context: Context) -> set[float]:
    """Rounded, so that the same size in two contexts is one."""
    return {float(f"{scale * context.largest_size:.9g}") for scale in context.sizes}


DEADLINE, BUDGET = "deadline", "budget"

LIMITS = 10
"""How many of a kind are posed in each situation."""

BEYOND = 2.0
"""From half of what the best option takes to twice what the worst does."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The cheapest option within a deadline in seconds, or the fastest within a budget in dollars.

    `slack` is how much more the limit is than what the best option takes or costs: 0.1 is 10 %.
    """

    kind: str
    limit: float
    slack: float

    def goal(self, confidence: float) -> SizingGoal:
        """The goal as the package has it; the options say which numbers of machines there are."""
        return SizingGoal(
            deadline_seconds=self.limit if self.kind == DEADLINE else None,
            budget_dollars=None if self.kind == DEADLINE else self.limit,
            confidence=confidence,
            max_executors=1,
        )

    def keeps(self, option: Option, seconds: float) -> bool:
        """Whether a run of the option that takes so long keeps to it."""
        return self.is_met(seconds=seconds, cost=option.cost_of(seconds))

    def is_met(self, *, seconds: float, cost: float) -> bool:
        """Whether a run of so many seconds and dollars keeps to it."""
        return (seconds if self.kind == DEADLINE else cost) <= self.limit * (1 + TOLERANCE)

    def value(self, situation: Situation) -> FloatArray:
        """What is to be little: the options' dollars under a deadline, their seconds under a budget."""
        return situation.costs if self.kind == DEADLINE else situation.seconds


def questions(situation: Situation, kind: str, *, count: int = LIMITS, reach: float = 1.0) -> list[Question]:
    """So many questions of a kind, the tightest first.

    `reach` is by what factor they go beyond what options take or cost, at either end.
    """
    limited = situation.seconds if kind == DEADLINE else situation.costs
    least, most = float(limited.min()), float(limited.max())
    return [
        Question(kind=kind, limit=float(limit), slack=float(limit) / least - 1.0)
        for limit in np.geomspace(least / reach, most * reach, count)
    ]
