"""Sample runs in rounds: what is proposed, and when the decision is clear."""

import re
from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.rounds import FEWEST_RUNS, next_runs
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.goal import BEST_VALUE, FASTEST

CANDIDATES = enumerate_candidates(
    max_executors=4, min_scale=0.001, max_scale=0.1, partitions=5000, by_ratio=True
)
MACHINES = (8, 16, 32, 64)
STARTUP = 20.0
EDGE = 1500.0
"""A deadline that 32 machines keep by 200 s, and by so few runs not surely enough."""


def seconds_of(executors, scale):
    """A job of half a minute of fixed work and 40,000 machine-seconds that spread."""
    return 30.0 + 40_000.0 * scale / executors


def run(experiment, generator):
    noise = 1 + 0.05 * np.clip(generator.standard_normal(), -2, 2)
    return Observation(
        index=experiment.index,
        executors=experiment.executors,
        scale=experiment.scale,
        seconds=float(seconds_of(experiment.executors, experiment.scale) * noise),
        startup_seconds=STARTUP,
    )


def goal(*, runs=None, allowed=MACHINES, **fields):
    fields.setdefault("objective", BEST_VALUE)
    return SizingGoal(allowed_executors=allowed, billing=Billing(expected_runs=runs), **fields)


def proposed(observed=(), *, of=None, **parameters):
    return next_runs(
        **{
            "candidates": CANDIDATES,
            "goal": of or goal(deadline_seconds=3000.0),
            "observed": observed,
            "billed_machines": 4,
            **parameters,
        }
    )


@pytest.fixture
def first():
    generator = np.random.default_rng(1)
    return [run(experiment, generator) for experiment in proposed().experiments]


def sampled(of, *, seed=1, most=1):
    generator, observed = np.random.default_rng(seed), []
    while True:
        proposal = proposed(observed, of=of, most=most)
        if not proposal.experiments:
            return observed, proposal
        observed += [run(experiment, generator) for experiment in proposal.experiments]


@pytest.mark.parametrize(
    ("most_machines", "larger_than_smallest"),
    [(4, {1: [False], 2: [False], 4: [True]}), (2, {1: [True, False], 2: [False]})],
    ids=["executors and data apart", "on two numbers the larger sample is on the fewer"],
)
def test_the_first_round_tells_machines_and_data_apart_and_costs_little(most_machines, larger_than_smallest):
    candidates = enumerate_candidates(
        max_executors=most_machines, min_scale=0.001, max_scale=0.1, partitions=5000, by_ratio=True
    )
    experiments = proposed(candidates=candidates, billed_machines=most_machines).experiments
    smallest = candidates.scale.min()
    made = {each.executors: [] for each in experiments}
    for each in experiments:
        made[each.executors].append(each.scale > smallest)
        assert seconds_of(each.executors, each.scale) < 300.0
    assert made == larger_than_smallest
    assert [each.index for each in experiments] == [0, 1, 2]


def test_a_wide_cluster_is_not_used_whole_where_only_the_own_machines_are_billed():
    wide = enumerate_candidates(max_executors=64, min_scale=0.01, max_scale=0.1, partitions=5000)
    assert max(run.executors for run in proposed(candidates=wide, billed_machines=0).experiments) == 4
    assert max(run.executors for run in proposed(candidates=wide, billed_machines=16).experiments) == 16


@pytest.mark.parametrize(
    "clear",
    [
        goal(deadline_seconds=3000.0, allowed=(16,), runs=1000),
        goal(deadline_seconds=1e6),
        goal(runs=1),
        goal(objective=FASTEST, runs=1),
    ],
    ids=["nothing to choose", "any size keeps the deadline", "no deadline", "fastest"],
)
def test_a_clear_decision_stops_at_once(first, clear):
    proposal = proposed(first, of=clear)
    assert proposal.experiments == ()
    assert proposal.reason.startswith("Stop: ")
    assert proposal.gain < proposal.cost


def test_what_is_gained_by_is_no_chance_of_few_outcomes(first):
    """On few of the outcomes to choose by some run seems to help here, and on all of them none does."""
    even = goal(deadline_seconds=float(seconds_of(16, 1.0)) + STARTUP, runs=100)
    assert proposed(first, of=even).experiments == ()


def test_a_deadline_at_the_edge_of_a_size_goes_on_where_many_runs_share_the_cost(first):
    few = proposed(first, of=goal(deadline_seconds=EDGE, runs=1))
    many = proposed(first, of=goal(deadline_seconds=EDGE, runs=100))
    assert len(many.experiments) == 1
    assert many.gain > many.cost
    assert many.experiments[0].index == 3
    assert few.gain < many.gain


def test_it_ends_and_no_later_than_the_most_runs():
    observed, proposal = sampled(goal(deadline_seconds=EDGE, runs=10_000))
    assert proposal.reason.startswith("Stop")
    assert FEWEST_RUNS < len(observed) <= 12
    configurations = [(each.executors, each.scale) for each in observed]
    assert len(set(configurations)) == len(configurations)


def test_a_round_may_have_several_runs_and_ends_at_the_most(first):
    edge = goal(deadline_seconds=EDGE, runs=10_000)
    assert len(proposed(first, of=edge, most=2, min_runs=4).experiments) in (1, 2)
    assert len(proposed(first, of=edge, most=2, min_runs=4, max_runs=4).experiments) == 1
    assert proposed(first, of=edge, max_runs=3).reason == "Stop: 3 runs were made, and max_runs is 3."


def test_more_runs_than_it_takes_are_made_where_they_are_asked_for(first):
    clear = goal(deadline_seconds=1e6)
    proposal = proposed(first, of=clear, min_runs=4)
    assert len(proposal.experiments) == 1
    assert proposal.reason.endswith("It is made nevertheless: more runs are asked for.")


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (2.0, r"the model's leave-one-out error is \d+ %, above 25 %"),
        (6.0, "the runs make no model yet"),
    ],
)
def test_a_model_that_would_be_refused_gets_one_more_run_where_its_error_counts(first, factor, says):
    clear = goal(deadline_seconds=1e6)
    disturbed = [first[0], replace(first[1], seconds=factor * first[1].seconds), first[2]]
    assert proposed(first, of=clear, max_error_percent=25).experiments == ()
    assert proposed(disturbed, of=clear, most=2).experiments == ()

    one = proposed(disturbed, of=clear, most=2, max_error_percent=25)
    assert len(one.experiments) == 1
    assert re.search(f"It is made nevertheless: {says}.$", one.reason)


def test_runs_that_could_not_tell_what_is_asked_are_refused_before_the_first():
    for bounds, says in [
        ({"max_executors": 1, "min_scale": 0.01}, "All candidates have one number of executors, 1"),
        ({"max_executors": 4, "min_scale": 0.1}, "All candidates have one scale, 0.1"),
    ]:
        alike = enumerate_candidates(max_scale=0.1, partitions=100, **bounds)
        with pytest.raises(DesignError, match=says):
            proposed(candidates=alike)


def test_without_a_price_the_same_is_decided_in_machine_seconds(first):
    edge = goal(deadline_seconds=EDGE, runs=100)
    without, dear = proposed(first, of=edge), proposed(first, of=edge, price_per_hour=3600.0)
    assert (without.unit, dear.unit) == ("machine-seconds", "dollars")
    assert without.experiments == dear.experiments
    assert without.gain == pytest.approx(dear.gain)
    assert "machine-seconds" in without.reason
    assert "$" in dear.reason


def test_a_budget_needs_a_price(first):
    within = goal(budget_dollars=10.0)
    with pytest.raises(InvalidParameterError, match="price_per_hour=None is missing"):
        proposed(first, of=within)
    assert proposed(first, of=within, price_per_hour=0.2).unit == "dollars"


def test_a_large_cluster_makes_runs_dearer(first):
    edge = goal(deadline_seconds=EDGE, runs=100)
    small, large = proposed(first, of=edge), proposed(first, of=edge, billed_machines=400)
    assert small.experiments
    assert large.experiments == ()


def test_history_takes_the_place_of_the_first_round(first):
    past = [
        Observation(index=at, executors=executors, scale=scale, seconds=float(seconds_of(executors, scale)))
        for at, (executors, scale) in enumerate([(8, 1.0), (16, 1.0), (16, 0.8)])
    ]
    assert proposed(past, of=goal(deadline_seconds=1e6)).experiments == ()
    assert proposed(past[:1], of=goal(deadline_seconds=1e6)).experiments[0].index == 1


def test_a_first_round_that_lost_a_run_makes_that_one_again(first):
    (again,) = proposed(first[:2], first_index=3).experiments
    assert (again.executors, again.scale) == (first[2].executors, first[2].scale)
    assert again.index == 3


def test_all_candidates_run_is_a_reason_to_stop(first):
    few = enumerate_candidates(max_executors=1, min_scale=0.1, max_scale=0.1, partitions=10)
    made = [Observation(index=0, executors=1, scale=0.1, seconds=10.0)]
    assert proposed(made, candidates=few).reason == "Stop: all candidates were run."
