"""Clusters of several types, from the models of runs on one type each, against all compositions."""

import itertools
import math
import random
from dataclasses import replace

import pytest
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.mixed import mixed_alternatives, mixed_billing, mixed_job
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.decisions import Configuration
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from tests import examples
from tests.examples import observe, sizing_goal

FIXED, SHARING = 20.0, 0.4
WORK = {"m5.large": 4000.0, "c5.large": 2000.0, "r5.large": 1600.0}
PRICES = {"m5.large": 0.10, "c5.large": 0.22, "r5.large": 0.26}


def model_of(instance_type, *, work=None, fixed=FIXED, noise=0.0, startup=0.0, metrics=None):
    """A model of runs whose times are those of OptEx's formula, but for the noise."""
    executors = [1, 2, 4, 8, 16, 1, 3, 12]
    scale = [0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.08, 0.06]
    work = WORK[instance_type] if work is None else work
    generator = random.Random(instance_type)
    seconds = [
        (fixed + SHARING * m + work * s / m) * math.exp(noise * generator.gauss(0, 1))
        for m, s in zip(executors, scale, strict=True)
    ]
    return train(
        observe(
            executors=executors,
            scale=scale,
            seconds=seconds,
            startup_seconds=startup,
            instance_type=instance_type,
            metrics=metrics,
        ),
        job="job",
        method="relative",
        terms=("1", "scale/executors", "executors"),
        instance_type=instance_type,
    )


def offers_of(*types, executors=range(1, 13), noise=0.0, billing=None):
    terms = {"minimum_seconds": 0.0, "increment_seconds": 1e-6, **(billing or {})}
    return [
        Offer(
            model=model_of(each, noise=noise),
            executors=executors,
            billing=Billing(price_per_hour=PRICES[each], **terms),
        )
        for each in types
    ]


def forecasts_of(offers, *, scale=1.0):
    return [offer.forecast(scale=scale) for offer in offers]


def job_of(offers):
    return mixed_job(forecasts_of(offers), goal=Goal(sizing_goal(deadline_seconds=1.0)))


def mixes_of(offers, *, goal):
    return mixed_alternatives(forecasts_of(offers, scale=goal.scale), goal=Goal(goal))


def seconds_and_cost(composition, *, boot=0.0, master=0.0):
    """By the formula that the runs were made with: seconds of the run, and dollars with boot and master."""
    speed = sum(count / WORK[each] for each, count in composition.items())
    seconds = FIXED + SHARING * sum(composition.values()) + 1.0 / speed
    hourly = sum(count * PRICES[each] for each, count in composition.items()) + master
    return seconds, hourly / 3600.0 * (seconds + boot)


def by_hand(offers, goal, *, boot=0.0, master=0.0):
    """For each composition that keeps to the goal as surely as asked for: (what counts, composition)."""
    job = job_of(offers)
    types, most = [offer.type_name for offer in offers], max(max(offer.executors) for offer in offers)
    for counts in itertools.product(*([0, *offer.executors] for offer in offers)):
        if not 0 < sum(counts) <= most:
            continue
        composition = dict(zip(types, counts, strict=True))
        seconds, cost = seconds_and_cost(composition, boot=boot, master=master)
        limit = goal.deadline_seconds
        if goal.budget_dollars:
            limit = (seconds + boot) * goal.budget_dollars / cost - boot
        if limit <= 0:
            continue
        probability = ndtr(math.log(limit / seconds) / job.log_spread(sum(counts)))
        if probability >= goal.confidence:
            yield (seconds if goal.budget_dollars else cost) / probability, composition


def is_mix(composition):
    return sum(1 for count in composition.values() if count) > 1


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.97])
@pytest.mark.parametrize("deadline", [200.0, 270.0, 450.0])
@pytest.mark.parametrize("types", [("m5.large", "c5.large"), ("m5.large", "c5.large", "r5.large")])
def test_no_composition_keeps_the_deadline_for_less(types, deadline, confidence):
    executors = [1, 2, 3, 5, 8, 12]
    offers, goal = (
        offers_of(*types, executors=executors),
        sizing_goal(deadline_seconds=deadline, confidence=confidence),
    )

    found = mixes_of(offers, goal=goal)

    least, best = min(by_hand(offers, goal), key=lambda item: item[0])
    for mix in found:
        assert mix.cost / mix.probability >= least * (1 - 1e-6)
        assert mix.seconds <= deadline
        assert mix.probability >= confidence
        assert mix.feasible
        assert mix.executors == sum(part.executors for part in mix.composition) <= 12
        assert {part.executors for part in mix.composition} <= set(executors)
    if is_mix(best):
        (mix,) = found
        assert mix.cost / mix.probability == pytest.approx(least, rel=0.005)


@pytest.mark.parametrize("budget", [0.14, 0.15, 0.17, 0.3])
def test_no_composition_is_faster_for_the_money(budget):
    billing = {"boot_seconds": 60, "master_price_per_hour": 0.1}
    offers = offers_of("m5.large", "c5.large", executors=range(1, 9), billing=billing)
    goal = sizing_goal(budget_dollars=budget)

    found = mixes_of(offers, goal=goal)

    told = list(by_hand(offers, goal, boot=60.0, master=0.1))
    if not told:
        assert found == ()
        return
    least, best = min(told, key=lambda item: item[0])
    for mix in found:
        assert mix.seconds / mix.probability >= least * (1 - 1e-6)
        assert mix.cost <= budget
    if is_mix(best):
        (mix,) = found
        assert mix.seconds / mix.probability == pytest.approx(least, rel=0.01)


CHEAP = 0.08


def few_cheap_machines(noise=0.0):
    """Twelve of c5.large, but only six of m5.large, which costs less for its speed."""
    offers = offers_of("m5.large", "c5.large", noise=noise)
    cheap = replace(offers[0].billing, price_per_hour=CHEAP)
    return [replace(offers[0], executors=range(1, 7), billing=cheap), offers[1]]


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_where_the_cheap_type_runs_out_a_mix_keeps_the_deadline_as_surely_as_asked(confidence):
    offers = few_cheap_machines(noise=0.04)
    goal = sizing_goal(deadline_seconds=330.0, confidence=confidence)

    (mix,) = mixes_of(offers, goal=goal)

    names = " + ".join(f"{part.executors} {part.instance_type}" for part in mix.composition)
    assert mix.instance_type == names
    assert {part.instance_type for part in mix.composition} == {"m5.large", "c5.large"}
    assert mix.extrapolates == "Extrapolated: no mix of types was tried, it goes by OptEx's formula"
    assert mix.feasible
    assert mix.probability >= confidence
    low, high = mix.likely_seconds
    assert low < mix.seconds < high
    spread = math.log(high / mix.seconds) / ndtri(0.9)
    assert math.log(330.0 / mix.seconds) / spread >= ndtri(confidence) - 1e-6


def test_a_mix_of_more_machines_than_were_observed_says_that_too():
    """Twelve of the cheap type and up to twenty of the other, where at most sixteen were observed."""
    cheap, dear = few_cheap_machines()
    offers = [replace(cheap, executors=range(1, 13)), replace(dear, executors=[*range(1, 21)])]

    (mix,) = mixes_of(offers, goal=sizing_goal(deadline_seconds=170.0))

    assert mix.executors > 16
    assert "only 1 to 16 machines were tried" in mix.extrapolates


def test_there_are_none_of_one_type_none_out_of_reach_and_none_where_the_formula_does_not_fit():
    offers = offers_of("m5.large", "c5.large", billing={"boot_seconds": 100})

    assert mixes_of(offers[:1], goal=sizing_goal(deadline_seconds=500.0)) == ()
    for limit in ({"deadline_seconds": 90.0}, {"deadline_seconds": 130.0}, {"budget_dollars": 0.001}):
        assert mixes_of(offers, goal=sizing_goal(**limit)) == ()
    # One type with a fixed part a hundred times the other's: no F serves both.
    odd = replace(offers[1], model=model_of("c5.large", fixed=100 * FIXED))
    assert job_of([offers[0], odd]) is None
    assert mixes_of([offers[0], odd], goal=sizing_goal(deadline_seconds=4000.0)) == ()


def test_all_wait_for_the_slowest_start():
    offers = offers_of("m5.large", "c5.large", billing={"boot_seconds": 30})
    offers[1] = replace(
        offers[1],
        model=replace(offers[1].model, startup_seconds=25.0),
        billing=replace(offers[1].billing, boot_seconds=70),
    )

    (mix,) = mixes_of(offers, goal=sizing_goal(deadline_seconds=330.0))

    counts = {part.instance_type: part.executors for part in mix.composition}
    run, _ = seconds_and_cost(counts)
    assert mix.seconds == pytest.approx(run + 25.0, rel=1e-3)
    assert mix.seconds + 70.0 <= 330.0
    hourly = sum(count * PRICES[each] for each, count in counts.items())
    assert mix.cost == pytest.approx(hourly / 3600.0 * (mix.seconds + 70.0), rel=1e-6)


def test_the_parts_are_billed_each_at_its_price_with_one_master_and_the_dearest_training_once():
    terms = {"master_price_per_hour": 0.5, "boot_seconds": 600.0, "expected_runs": 10}
    offers = [
        Offer(
            model=model_of(name),
            executors=[1, 2, 3, 4],
            billing=Billing(
                price_per_hour=price,
                volume_gigabytes=gigabytes,
                volume_price_per_gigabyte_month=0.073,
                training_dollars=training,
                **terms,
            ),
        )
        for name, price, gigabytes, training in (("m5.large", 0.1, 100.0, 4.0), ("c5.large", 0.2, 40.0, 3.0))
    ]
    parts = [
        Configuration(executors=count, instance_type=name)
        for count, name in ((4, "m5.large"), (1, "c5.large"))
    ]

    for listed in (offers, offers[::-1]):
        cost = mixed_billing(listed, parts).cost(executors=5, seconds=3000.0)
        assert cost.executors == pytest.approx(4 * 0.1 + 0.2)
        assert cost.master == pytest.approx(0.5)
        # 440 GB of the workers and as much as they have on average for the master, at 0.073 $ for 730 hours.
        assert cost.volumes == pytest.approx((440 + 88) * 0.073 / 730)
        assert cost.training == pytest.approx(0.4)


def test_machines_that_cannot_hold_the_data_are_marked():
    gigabyte = 1_000_000_000
    metrics = examples.metrics(
        slots=8,
        storage_memory_bytes=4 * gigabyte,
        cache_wanted_bytes=30 * gigabyte,
        cached_bytes=3 * gigabyte,
    )
    offers = [
        replace(offer, model=model_of(offer.type_name, metrics=metrics))
        for offer in offers_of("m5.large", "c5.large")
    ]

    (mix,) = mixes_of(offers, goal=sizing_goal(deadline_seconds=700.0))

    assert "finds room in memory" in mix.memory_shortage
