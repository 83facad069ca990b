"""Which type of machine is faster for the same dollars per hour (Ernest, section 6.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, positive_number

MOST_RATES = 5
"""As many rates are compared by default."""

MOST_EXCESS = 0.03
"""The share by which machines may be dearer than the rate that they stand for."""

MOST_MISMATCH = 0.1
"""Rates at which the types' whole machines differ by a larger share are not compared by default."""


@dataclass(frozen=True, kw_only=True)
class TypeAtRate(Document):
    """A run on as many machines of one type as a rate of dollars per hour pays for.

    Attributes:
        instance_type: the type.
        machines: the number, of those offered, whose rate is nearest.
        dollars_per_hour: what they cost together; the master, volumes and training are left out.
        seconds: predicted, start-up included.
        likely_seconds: what the run lies between with 80 % probability.
        dollars: of the run, all that is billed.
        extrapolates: why the observations do not support the prediction, empty where they do.
        is_fastest: whether no other type is faster at this rate.
    """

    instance_type: str
    machines: int
    dollars_per_hour: float
    seconds: float
    likely_seconds: tuple[float, float]
    dollars: float
    extrapolates: str = ""
    is_fastest: bool = False


@dataclass(frozen=True, kw_only=True)
class SameCost(Document):
    """What each type makes of the same dollars per hour.

    Attributes:
        dollars_per_hour: the rate.
        types: in the order of the offers; without those that cannot come to the rate.
    """

    dollars_per_hour: float
    types: tuple[TypeAtRate, ...]

    @property
    def fastest(self) -> TypeAtRate:
        """The type that makes the most of it."""
        return next(each for each in self.types if each.is_fastest)


def same_cost(
    offers: Sequence[Offer], alternatives: Sequence[Alternative], *, dollars_per_hour: float | None = None
) -> tuple[SameCost, ...]:
    """Compare types of machines at the same dollars per hour.

    Args:
        offers: the types, each with its numbers of machines.
        alternatives: what a decision has considered of all of them; see `deciding.Choice`.
        dollars_per_hour: the rate; None for up to `MOST_RATES` rates from few machines to most, at which
            whole numbers of all types cost nearly the same.

    Returns:
        By ascending rate. Empty where no rate is given and the types have none in common.

    Raises:
        InvalidParameterError: a parameter cannot be, or the rate pays for no machine.
    """
    if dollars_per_hour is None:
        rates = _common_rates(offers)
    else:
        rates = [positive_number("dollars_per_hour", dollars_per_hour)]
        _refuse_too_little(offers, dollars_per_hour)
    predicted = {(each.instance_type, each.machines): each for each in alternatives}
    return tuple(_at_rate(offers, predicted, rate) for rate in rates)


def _rates(offer: Offer) -> FloatArray:
    """Dollars per hour of its numbers of machines, ascending."""
    return np.array(offer.counts, dtype=np.float64) * float(offer.billing.price_per_hour)


def _nearest(offer: Offer, rate: float) -> int | None:
    """The number of machines that costs nearest to a rate; None where even the fewest are too dear."""
    rates = _rates(offer)
    affordable = np.flatnonzero(rates <= rate * (1 + MOST_EXCESS))
    if not affordable.size:
        return None
    return offer.counts[int(affordable[np.argmin(np.abs(rates[affordable] - rate))])]


def _common_rates(offers: Sequence[Offer]) -> list[float]:
    """In each of as many steps from the least common rate to the most the one that differs least by type."""
    columns = [_rates(offer) for offer in offers]
    least, most = max(column[0] for column in columns), min(column[-1] for column in columns)
    candidates = sorted({float(rate) for column in columns for rate in column if least <= rate <= most})
    if not candidates:
        return []
    ratio = math.log(most / least)
    best: dict[int, tuple[float, float]] = {}
    for rate in candidates:
        step = min(MOST_RATES - 1, int(MOST_RATES * math.log(rate / least) / ratio)) if ratio > 0 else 0
        best[step] = min(best.get(step, (math.inf, 0.0)), (_mismatch(offers, rate), rate))
    nearly = max(MOST_MISMATCH, min(mismatch for mismatch, _ in best.values()))
    return [rate for _, (mismatch, rate) in sorted(best.items()) if mismatch <= nearly]


def _mismatch(offers: Sequence[Offer], rate: float) -> float:
    """By how much the types' true rates differ at a rate that all of them have, as a share of it."""
    counts = [_nearest(offer, rate) for offer in offers]
    true = [
        count * float(offer.billing.price_per_hour)
        for offer, count in zip(offers, counts, strict=True)
        if count is not None
    ]
    return round((max(true) - min(true)) / rate, 9)


def _at_rate(offers: Sequence[Offer], predicted: dict[tuple[str, int], Alternative], rate: float) -> SameCost:
    """The comparison at one rate."""
    found: list[tuple[Offer, Alternative]] = []
    for offer in offers:
        count = _nearest(offer, rate)
        if count is not None:
            found.append((offer, predicted[offer.type_name, count]))
    fastest = min(alternative.seconds for _, alternative in found)
    return SameCost(
        dollars_per_hour=rate,
        types=tuple(
            TypeAtRate(
                instance_type=offer.type_name,
                machines=each.machines,
                dollars_per_hour=each.machines * offer.billing.price_per_hour,
                seconds=each.seconds,
                likely_seconds=each.likely_seconds or (each.seconds, each.seconds),
                dollars=each.cost,
                extrapolates=each.extrapolates,
                is_fastest=each.seconds == fastest,
            )
            for offer, each in found
        ),
    )


def _refuse_too_little(offers: Sequence[Offer], rate: float) -> None:
    least = min(float(_rates(offer)[0]) for offer in offers)
    if rate * (1 + MOST_EXCESS) < least:
        raise InvalidParameterError(
            "dollars_per_hour",
            rate,
            "pays for no allowed number of machines",
            remedy=f"Give at least {least:.6g}, or allow fewer machines.",
        )
