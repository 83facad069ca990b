"""Clusters of several types of machines, by OptEx's formula with the figures of the types' models.

After Sidhanta, Golab, Mukhopadhyay, "OptEx: A Deadline-Aware Cost Optimization Model for Spark" (CCGrid
2016, arXiv:1603.07936), cost optimal cluster composition; see `optex.composition`. Its terms come from the
models of the types; see `mixed_job`. How badly they fit the models widens the interval of a mix, and where
they do not fit at all there are no mixes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.choices import CHEAPEST, FASTEST
from airflow_provider_ernest.model.billing import HOUR_SECONDS, Billing
from airflow_provider_ernest.model.choice import LIKELY, NEARLY_CERTAIN, is_sure
from airflow_provider_ernest.model.documents import Configuration
from airflow_provider_ernest.model.goals import Goal
from airflow_provider_ernest.model.intervals import two_sided
from airflow_provider_ernest.model.mixed_job import MixedJob, mixed_job
from airflow_provider_ernest.model.offers import Offer
from airflow_provider_ernest.model.optex.composition_search import CompositionProblem, best_counts
from airflow_provider_ernest.model.parameters import IntArray
from airflow_provider_ernest.model.prediction import extrapolation, memory_shortage
from airflow_provider_ernest.model.results import Alternative

SURER = (0.9, 0.95, 0.99)
"""Confidences that are tried besides the one asked for."""

UNOBSERVED = "a mix of types by OptEx's formula: no such run was observed"


def mixed_alternatives(
    offers: Sequence[Offer], *, goal: Goal, scale: float = 1.0, iterations: int | None = None
) -> tuple[Alternative, ...]:
    """The best clusters of at least two types that keep to a goal as surely as it asks for.

    The cheapest, the fastest, or both where the goal's objective is another one. Each type has a number of
    machines that its offer allows, and all together have no more than the largest of these numbers. Types
    that were not trained are left out. The search bills by the second; what is told of its result is billed
    as the offers say.

    Args:
        offers: what may be chosen, one for each type.
        goal: what must be kept to.
        scale: the production input relative to the one that was sampled.
        iterations: of the production run; see `prediction.predict_seconds`.

    Returns:
        None at all where machines of one type are better by the same formula, and where it does not fit
        the models.
    """
    trained = tuple(offer for offer in offers if not offer.is_extrapolated)
    job = mixed_job(trained, scale=scale, iterations=iterations) if len(trained) > 1 else None
    if job is None:
        return ()
    ends = {CHEAPEST: (False,), FASTEST: (True,)}.get(goal.objective_in_words, (False, True))
    found = {each.instance_type: each for fastest in ends if (each := _best(job, goal, fastest=fastest))}
    return tuple(found.values())


def mixed_billing(offers: Sequence[Offer], composition: Sequence[Configuration]) -> Billing:
    """How a cluster of several types is paid for, per machine on average: its costs are those of its parts.

    There is one master, which is that of the type with the dearest, and the training is paid once. All
    machines wait for the slowest to boot. Where the types are billed in different increments, by the
    largest.

    Args:
        offers: of all the types.
        composition: the machines of each type.
    """
    of_type = {offer.type_name: offer.billing for offer in offers}
    parts = [(of_type[part.instance_type], part.machines) for part in composition]
    machines = sum(count for _, count in parts)
    volume_price = max(billing.volume_price_per_gigabyte_month for billing, _ in parts)
    volumes_per_month = sum(
        count * billing.volume_gigabytes * billing.volume_price_per_gigabyte_month for billing, count in parts
    )
    return replace(
        max((billing for billing, _ in parts), key=lambda billing: billing.training_share),
        price_per_hour=sum(count * billing.price_per_hour for billing, count in parts) / machines,
        increment_seconds=max(billing.increment_seconds for billing, _ in parts),
        minimum_seconds=max(billing.minimum_seconds for billing, _ in parts),
        boot_seconds=max(billing.boot_seconds for billing, _ in parts),
        master_price_per_hour=max(billing.master_price_per_hour for billing, _ in parts),
        volume_gigabytes=volumes_per_month / volume_price / machines if volume_price else 0.0,
        volume_price_per_gigabyte_month=volume_price,
        market=" and ".join(sorted({billing.market for billing, _ in parts})),
    )


def _best(job: MixedJob, goal: Goal, *, fastest: bool) -> Alternative | None:
    """The best mix found that keeps to the goal; None where there is none.

    What is best also depends on how surely it keeps to the goal (see `Goal.preference`), so that more
    confidence than is asked for is tried as well.
    """
    surer = [level for level in SURER if level > goal.confidence] if goal.has_limits else []
    found = {counts for level in (goal.confidence, *surer) for counts in _found(job, goal, level, fastest)}
    mixes = [each for counts in found if (each := _alternative(job, goal, np.array(counts))).composition]
    preference = Goal(objective=FASTEST if fastest else CHEAPEST).preference
    return min((each for each in mixes if each.feasible), key=preference, default=None)


def _found(job: MixedJob, goal: Goal, confidence: float, fastest: bool) -> set[tuple[int, ...]]:
    """Compositions that may keep to the goal with this confidence.

    How much must be spared for it depends on the number of machines. The search is made with the widest
    spread that any number has, which is safe, with the narrowest, and with those of what is found.
    """
    spreads = {job.log_spread(machines) for machines in range(1, _most_machines(job) + 1)}
    found: set[tuple[int, ...]] = set()
    for spread in (max(spreads), min(spreads)):
        counts = _search(job, goal, factor=math.exp(float(ndtri(confidence)) * spread), fastest=fastest)
        if counts is None:
            continue
        found.add(tuple(counts.tolist()))
        own = math.exp(float(ndtri(confidence)) * job.log_spread(int(counts.sum())))
        again = _search(job, goal, factor=own, fastest=fastest)
        if again is not None:
            found.add(tuple(again.tolist()))
    return found


def _most_machines(job: MixedJob) -> int:
    return max(offer.counts[-1] for offer in job.offers)


def _search(job: MixedJob, goal: Goal, *, factor: float, fastest: bool) -> IntArray | None:
    """The best numbers of machines, shape (k,); None where none keeps to the goal.

    A run is to keep to it even where it takes `factor` times its predicted seconds. A budget is searched
    with these; within a deadline alone, which only has to be shortened, the predicted dollars are minimised.
    """
    billings = [offer.billing for offer in job.offers]
    waiting = job.startup_seconds + max(billing.boot_seconds for billing in billings)
    most_seconds = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    if most_seconds <= waiting:
        return None
    if goal.budget_dollars is None and not fastest:
        most_seconds, factor = waiting + (most_seconds - waiting) / factor, 1.0
    most_cost = math.inf
    if goal.budget_dollars is not None:
        most_cost = goal.budget_dollars - max(billing.training_share for billing in billings)
    prices = [_per_second(billing) for billing in billings]
    masters = [
        _per_second(each, with_master=True) - price for each, price in zip(billings, prices, strict=True)
    ]
    problem = CompositionProblem(
        fixed_seconds=waiting + factor * job.fixed_seconds,
        sharing_seconds=factor * job.sharing_seconds,
        work_seconds=factor * float(job.work_seconds[0]),
        prices=np.array(prices),
        speeds=job.speeds,
        allowed=tuple(np.array(offer.counts, dtype=np.int64) for offer in job.offers),
        fixed_price=max(masters),
        most_machines=_most_machines(job),
    )
    return best_counts(problem, most_seconds=most_seconds, most_cost=most_cost, fastest=fastest)


def _per_second(billing: Billing, *, with_master: bool = False) -> float:
    """Dollars for a second of a machine with its volumes, and of a master where it is asked for."""
    plain = replace(
        billing,
        increment_seconds=1.0,
        minimum_seconds=0.0,
        boot_seconds=0.0,
        training_dollars=0.0,
        master_price_per_hour=billing.master_price_per_hour if with_master else 0.0,
    )
    return plain.cost(machines=1, seconds=HOUR_SECONDS).total / HOUR_SECONDS


def _alternative(job: MixedJob, goal: Goal, counts: IntArray) -> Alternative:
    """What is told of a composition."""
    parts = tuple(
        Configuration(machines=int(count), instance_type=offer.type_name)
        for offer, count in zip(job.offers, counts, strict=True)
        if count
    )
    machines, billing = int(counts.sum()), mixed_billing(job.offers, parts)
    offers = [offer for offer, count in zip(job.offers, counts, strict=True) if count]
    startup, run = max(offer.model.startup_seconds for offer in offers), job.run_seconds(counts)
    spread = job.log_spread(machines)
    scales = [(offer.model, job.scale * offer.input_growth) for offer in offers]
    shortages = {memory_shortage(model, machines=machines, scale=scale) for model, scale in scales} - {""}
    unsupported = {extrapolation(model, machines=machines, scale=scale) for model, scale in scales} - {""}
    limit = goal.limit_seconds(billing, machines) - startup
    probability = None
    if goal.has_limits:
        probability = float(ndtr(math.log(limit / run) / spread)) if limit > 0 else 0.0

    def interval(level: float) -> tuple[float, float]:
        distance = float(ndtri(two_sided(level)[1])) * spread
        return startup + run * math.exp(-distance), startup + run * math.exp(distance)

    return Alternative(
        machines=machines,
        instance_type=" + ".join(f"{part.machines} {part.instance_type}" for part in parts),
        seconds=startup + run,
        cost=billing.cost(machines=machines, seconds=startup + run).total,
        feasible=is_sure(probability, goal),
        likely_seconds=interval(LIKELY),
        nearly_certain_seconds=interval(NEARLY_CERTAIN),
        extrapolates="; ".join([UNOBSERVED, *sorted(unsupported)]),
        probability=probability,
        memory_shortage="; ".join(sorted(shortages)),
        composition=parts if len(parts) > 1 else (),
    )
