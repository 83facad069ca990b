"""The choices that are posed: configurations of measured jobs, with what they really took.

To choose from are all measured numbers of machines at one size of the input: the largest of a context, or
where several types of machines are offered at once, the largest that was measured on all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.settings import Billing
from benchmarks.accuracy.c3o_traces import Context
from benchmarks.decisions.prices import PRICES_PER_HOUR, billing_of

TYPE, OF_A_TYPE = "machine_type", frozenset({"machine_type", "memory/machine", "slots/machine"})
"""The part of a context's setting that names its machines, and all parts that tell of them."""

DEFAULT_CORES = 8
"""Of a machine, where the traces do not tell."""

MEGABYTES_PER_GIGABYTE = 1000.0


@dataclass(frozen=True, kw_only=True)
class Option:
    """A configuration that may be chosen.

    Attributes:
        model: the position of its context among all, and so of the model that predicts it.
        instance_type: the type of its machines.
        cores: of each.
        machines: how many.
        scale: of the input, as a share of the context's largest.
        billing: how the machines are paid for.
        seconds: the median of its runs.
        repetitions: the seconds of its single runs.
    """

    model: int
    instance_type: str
    cores: int
    machines: int
    scale: float
    billing: Billing
    seconds: float
    repetitions: tuple[float, ...]

    def cost_of(self, seconds: float) -> float:
        """Dollars of a run that takes so long."""
        return self.billing.cost(machines=self.machines, seconds=seconds).total


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A job with its input, and the configurations to choose from.

    Attributes:
        job: its name.
        setting: what else tells it from the others, in words.
        gigabytes: of its input; None where the traces do not tell.
        options: by type and number of machines.
    """

    job: str
    setting: str
    gigabytes: float | None
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
        machines = np.array([option.machines for option in chosen], dtype=np.float64)
        return machines, np.array([option.scale for option in chosen])


def of_one_type(
    contexts: Sequence[Context],
    *,
    fewest_machines: int = 1,
    prices_per_hour: Mapping[str, float] = PRICES_PER_HOUR,
) -> list[Situation]:
    """One situation for each context: how many machines, at its largest size?

    Args:
        contexts: all contexts.
        fewest_machines: to choose from.
        prices_per_hour: dollars by type.
    """
    return [
        _situation(contexts, [position], context.largest_size, fewest_machines, prices_per_hour)
        for position, context in enumerate(contexts)
    ]


def of_all_types(
    contexts: Sequence[Context], *, prices_per_hour: Mapping[str, float] = PRICES_PER_HOUR
) -> list[Situation]:
    """One for each setting of a job that was measured on several types: how many machines of which?"""
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for position, context in enumerate(contexts):
        alike[(context.job, *_told(context, with_type=False))].append(position)
    situations = []
    for positions in alike.values():
        common = set.intersection(*(_absolute_sizes(contexts[position]) for position in positions))
        if len(positions) > 1 and common:
            situations.append(_situation(contexts, positions, max(common), 1, prices_per_hour))
    return situations


def _situation(
    contexts: Sequence[Context],
    positions: Sequence[int],
    size: float,
    fewest_machines: int,
    prices_per_hour: Mapping[str, float],
) -> Situation:
    first = contexts[positions[0]]
    several = len(positions) > 1
    options = [
        option
        for position in positions
        for option in _options(position, contexts[position], size, prices_per_hour)
        if option.machines >= fewest_machines
    ]
    megabytes = None if first.megabytes is None else first.megabytes * size / first.largest_size
    return Situation(
        job=first.job,
        setting=" ".join(_told(first, with_type=False) if several else _told(first)),
        gigabytes=None if megabytes is None else megabytes / MEGABYTES_PER_GIGABYTE,
        options=tuple(options),
    )


def _options(
    position: int, context: Context, size: float, prices_per_hour: Mapping[str, float]
) -> list[Option]:
    told = dict(part.partition("=")[::2] for part in context.setting)
    instance_type = told.get(TYPE, "")
    cores = round(float(told.get("slots/machine", DEFAULT_CORES)))
    points = context.points
    return [
        Option(
            model=position,
            instance_type=instance_type,
            cores=cores,
            machines=int(points.machines[row]),
            scale=float(points.scale[row]),
            billing=billing_of(instance_type, cores=cores, prices_per_hour=prices_per_hour),
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
