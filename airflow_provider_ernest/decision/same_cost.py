"""Which type of machine is faster for the same dollars per hour (Ernest, section 6.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, positive_number

MOST_RATES = 5  # as many rates are compared by default
MOST_EXCESS = 0.03  # share by which machines may be dearer than the rate that they stand for

MOST_MISMATCH = 0.1
"""Rates at which the types' whole machines differ by a larger share are not compared by default."""


class TypeAtRate(Document):
    """A run on as many machines of one type as a rate of dollars per hour pays for."""

    instance_type: str
    machines: int  # of those offered the number whose rate is nearest
    dollars_per_hour: float  # what they cost together, without the master, volumes and training
    seconds: float  # predicted, start-up included
    likely_seconds: tuple[float, float]  # contain the run with 80 % probability
    dollars: float  # of the run, all that is billed
    extrapolates: str = ""  # why the observations do not support the prediction, empty where they do
    is_fastest: bool = False  # whether no other type is faster at this rate


class SameCost(Document):
    """What each type makes of the same dollars per hour."""

    dollars_per_hour: float
    types: tuple[TypeAtRate, ...]  # in the order of the offers, without those that cannot come to the rate

    @property
    def fastest(self) -> TypeAtRate:
        """The type that makes the most of it."""
        return next(each for each in self.types if each.is_fastest)


def same_cost(
    offers: Sequence[Offer], alternatives: Sequence[Alternative], *, dollars_per_hour: float | None = None
) -> tuple[SameCost, ...]:
    """Compare types of machines at the same dollars per hour.

    The alternatives are what a decision has considered of all offers. Without a rate it is done at up to
    `MOST_RATES` rates, ascending, at which whole numbers of all types cost nearly the same.

    Raises:
        InvalidParameterError: the rate cannot be, or pays for no machine.
    """
    if dollars_per_hour is None:
        rates = _common_rates(offers)
    else:
        rates = [positive_number("dollars_per_hour", dollars_per_hour)]
        least = min(float(_rates(offer)[0]) for offer in offers)
        if dollars_per_hour * (1 + MOST_EXCESS) < least:
            raise InvalidParameterError(
                "dollars_per_hour",
                dollars_per_hour,
                "pays for no allowed number of machines",
                remedy=f"Give at least {least:.6g}, or allow fewer machines.",
            )
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
    """For each step from the least common rate to the most the rate at which the types differ least."""
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
    true = [(_nearest(offer, rate) or 0) * float(offer.billing.price_per_hour) for offer in offers]
    return round((max(true) - min(true)) / rate, 9)


def _at_rate(offers: Sequence[Offer], predicted: dict[tuple[str, int], Alternative], rate: float) -> SameCost:
    counts = ((offer, _nearest(offer, rate)) for offer in offers)
    found = [(offer, predicted[offer.type_name, count]) for offer, count in counts if count is not None]
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
