"""Production runs on another size to learn from: when they are made, what they may cost, what they tell."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from airflow_provider_ernest.decision.deciding import Offered, decide
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.design.exploration import (
    FURTHEST,
    Standing,
    explored,
    next_exploration,
    what_it_told,
    within_tried,
)
from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.decisions import (
    Configuration,
    Decision,
    DecisionRecord,
    ProductionRun,
    SizeExploration,
)
from airflow_provider_ernest.documents.models import HistoryBasis, Model, Replays, Validation
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.predict import default_terms, new_predictor, observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.training import fitted_terms
from airflow_provider_ernest.settings import Billing, Exploration, SizingGoal
from airflow_provider_ernest.settings.bounds import AVERAGING

SIZES = (2, 3, 4, 6, 8, 10, 12, 16)
FRIDAY = date(2026, 5, 1)
PRICE = 0.4


def flat(executors):
    """A job that more executors hardly help, so that most of them are paid for nothing."""
    return 500.0 + 800.0 / executors


def runs(sizes, seconds_of=flat, *, seed=1):
    generator = np.random.default_rng(seed)
    return [
        Observation(
            index=index,
            executors=size,
            scale=1.0,
            seconds=float(seconds_of(size) * np.exp(0.03 * np.clip(generator.standard_normal(), -2, 2))),
            from_history=True,
        )
        for index, size in enumerate(sizes)
    ]


def offer(observed, *, basis=None):
    prior = prior_for(observed)
    predictor = new_predictor(AVERAGING, prior=prior).fit_undetermined(**observed_columns(observed))
    model = Model(
        **new_stamp(),
        job="enrich",
        instance_type="local",
        terms=fitted_terms(predictor, default_terms(AVERAGING)),
        validation=Validation(
            folds=(), residual_sum_of_squares=0.0, median_error_percent=0.0, max_error_percent=0.0
        ),
        observations=tuple(observed),
        method=AVERAGING,
        prior=prior,
        basis=basis,
    )
    billing = Billing().completed(price_per_hour=PRICE, training_dollars=0.0)
    return Offer(model=model, executors=SIZES, billing=billing)


def goal(deadline=1000.0, **fields):
    return SizingGoal(deadline_seconds=deadline, allowed_executors=SIZES, **fields)


def decided(of, offered):
    return decide(of, Offered(offers=[within_tried(of, offered)])).required()


def proposed(
    offered=None, *, of=None, dollars=20.0, per_month=30.0, today=FRIDAY, standing=None, days=(), **changes
):
    offered, of = offered or offer(runs([12] * 5)), of or goal()
    return next_exploration(
        Exploration(dollars_per_month=dollars, excluded_days=days),
        goal=of,
        decision=replace(decided(of, offered), **changes),
        offer=offered,
        standing=standing or Standing(),
        runs_per_month=per_month,
        today=today,
    )


def chance(of, offered, executors):
    only = replace(of, allowed_executors=(executors,), on_failure="most_probable")
    return decide(only, Offered(offers=[replace(offered, executors=[executors])])).required().probability


def test_runs_of_one_size_are_followed_by_one_near_it_that_says_what_it_tells_and_costs():
    offered = offer(runs([12] * 5))
    proposal = proposed(offered)
    assert proposal.instead_of == 12
    assert proposal.executors != 12
    assert 12 / FURTHEST <= proposal.executors <= 12 * FURTHEST
    assert chance(goal(), offered, proposal.executors) >= 0.8
    assert proposal.reason.startswith(
        f"This run explores {proposal.executors} machines instead of 12, to tell"
    )
    assert proposal.value > proposal.extra_dollars
    for told in ("To know more is worth $", "probably costs $", "at most $", "keeps the goal with"):
        assert told in proposal.reason


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"days": ["saturday", "Fri"]}, "friday is excluded."),
        ({"days": "2026-05-01, sunday"}, "2026-05-01 is excluded."),
        ({"standing": Standing(was_late=True)}, "the last run explored and missed its deadline"),
        ({"standing": Standing(spent_dollars=20.5)}, "$20.50 are spent of the $20.00 for this month."),
        (
            {"dollars": 0.0001, "of": goal(1500.0), "only": 4, "spreads": True},
            "another size may cost $",
        ),
        ({"of": goal(600.0), "only": 16}, "no size that was not tried yet keeps the goal in 80 % of runs."),
        ({"per_month": None}, "state runs_per_month."),
        ({"fallback_reason": "no model"}, "it starts only from a fixed number"),
        ({"of": goal(748.0), "per_month": 0.2}, "missed deadlines included."),
    ],
)
def test_no_run_explores_where_it_may_not_and_a_sentence_says_why(changes, why):
    changes = dict(changes)
    size, spreads = changes.pop("only", 12), changes.pop("spreads", False)
    offered = offer(runs([size] * 5, (lambda size: 2000.0 / size) if spreads else flat))
    proposal = proposed(offered, **changes)
    assert proposal.executors is None
    assert proposal.reason.startswith("No exploration: ")
    assert why in proposal.reason


@pytest.mark.parametrize("left", [0.02, 0.05, 0.1, 0.3, 3.0])
def test_a_run_may_cost_no_more_than_what_is_left_of_the_month(left):
    offered = offer(runs([4] * 5, lambda size: 100.0 + 2000.0 / size))
    proposal = proposed(offered, of=goal(900.0), dollars=10.0 + left, standing=Standing(spent_dollars=10.0))
    if proposal.executors is not None:
        assert proposal.most_extra_dollars <= left


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_a_tighter_promise_explores_nearer(confidence):
    of, offered = goal(800.0, confidence=confidence), offer(runs([12] * 5))
    proposal = proposed(offered, of=of)
    assert proposal.executors is None or chance(of, offered, proposal.executors) >= confidence


def test_it_ends_where_the_decision_is_clear():
    every = offer(runs([2, 3, 4, 6, 8, 10, 12, 16] * 2))
    assert "were tried, too" in proposed(every).reason
    known = offer(runs([2, 2, 3, 4, 4, 6, 8]))
    assert "the decision is clear" in proposed(known, of=goal(2000.0)).reason


def test_a_month_of_runs_finds_a_cheap_size_for_little_money():
    """From 16 executors on, of which 2 are the cheapest by far that keep the deadline."""
    observed, spent, sizes = runs([16] * 5), 0.0, []
    for day in range(8):
        offered = offer(observed)
        usual = decided(goal(1100.0), offered)
        proposal = proposed(offered, of=goal(1100.0), dollars=2.0, standing=Standing(spent_dollars=spent))
        size = proposal.executors or usual.config.executors
        observed += runs([size], seed=10 + day)
        spent += proposal.spent(PRICE / 3600 * size * observed[-1].seconds)
        sizes.append(size)
    assert sizes[-1] == 2
    assert spent < 0.2 < PRICE / 3600 * 16 * flat(16)
    assert all(after >= before / FURTHEST for before, after in zip([16, *sizes], sizes, strict=False))


def test_a_replay_of_runs_of_one_size_is_explored_by_too():
    replays = Replays(
        executors=SIZES,
        scales=(1.0,),
        seconds=(tuple(flat(size) for size in SIZES),),
        met=(12,),
        noise=0.05,
        spread=0.3,
    )
    basis = HistoryBasis(executors=12, is_modelled=True, is_determined=False, replays=replays)
    assert proposed(offer(runs([12] * 5), basis=basis)).executors in (6, 8, 10)
    none = HistoryBasis(executors=12, is_modelled=True, is_determined=False)
    assert proposed(offer(runs([12] * 5), basis=none)).executors in SIZES


def test_a_replay_of_one_size_may_be_off_to_one_side_only():
    """More executors take longer than it says, or as long; fewer less, or as long."""
    replays = Replays(
        executors=SIZES,
        scales=(1.0,),
        seconds=(tuple(flat(size) for size in SIZES),),
        met=(4,),
        noise=0.05,
        spread=0.4,
    )
    basis = HistoryBasis(executors=4, is_modelled=False, is_determined=False, replays=replays)
    forecast = offer(runs([4] * 5), basis=basis).forecast(scale=1.0)
    low, high = (np.log(bound / forecast.seconds) for bound in forecast.interval(0.8))
    fewer, same, more = (SIZES.index(size) for size in (2, 4, 16))

    narrow = [-low[same], high[same], -low[more], high[fewer]]
    assert narrow == pytest.approx([1.28 * 0.05] * 4, rel=0.01)
    assert high[more] > 5 * high[same]
    assert -low[fewer] > 3 * high[same]


# What is kept and told.


def ran(exploration, *, seconds, at, cost=1.0, deadline=900.0, predicted=None):
    shared = {"id": f"{at}-{seconds}", "at": at, "job": "enrich", "instance_type": "local"}
    decision = Decision(
        config=Configuration(executors=6),
        goal="",
        exploration=exploration,
        likely_seconds=predicted,
        predicted_cost=0.8,
    )
    record = DecisionRecord(
        **shared, decision=decision, scale=1.0, min_executors=1, max_executors=16, deadline_seconds=deadline
    )
    run = ProductionRun(
        **shared, executors=6, scale=1.0, seconds=seconds, cost=cost, likely_seconds=predicted
    )
    return run, record


TRIED = SizeExploration(executors=6, instead_of=8, reason="", usual_dollars=0.7, extra_dollars=0.1)


def test_what_is_spent_counts_by_month_and_only_the_last_run_holds_the_next_one_back():
    late, usual = (
        ran(TRIED, seconds=950.0, at="2026-05-02T00:00:00+00:00"),
        SizeExploration(instead_of=6, reason=""),
    )
    early = ran(TRIED, seconds=800.0, at="2026-04-30T00:00:00+00:00")
    cheaper = ran(TRIED, seconds=800.0, at="2026-05-03T00:00:00+00:00", cost=0.5)
    unknown = ran(TRIED, seconds=800.0, at="2026-05-04T00:00:00+00:00", cost=None)
    standing = Standing.of([early, cheaper, unknown, late], FRIDAY)
    assert standing.spent_dollars == pytest.approx(0.3 + 0.0 + 0.1)
    assert standing.was_late
    after = ran(usual, seconds=950.0, at="2026-05-05T00:00:00+00:00")
    assert not Standing.of([late, after], FRIDAY).was_late


def test_the_run_gets_the_explored_size_with_its_own_prediction():
    offered = offer(runs([12] * 5))
    decision, proposal = decided(goal(), offered), proposed(offered)
    run = explored(decision, proposal, goal=goal(), offer=offered)
    assert run.config.executors == proposal.executors
    assert run.predicted_cost == pytest.approx(
        PRICE / 3600 * proposal.executors * run.predicted_seconds, rel=0.01
    )
    assert run.exploration == proposal
    assert (
        DecisionRecord.from_dict(
            ran(proposal, seconds=1.0, at="2026-05-01")[1].to_dict()
        ).decision.exploration
        == proposal
    )
    stays = SizeExploration(instead_of=12, reason="No exploration: friday is excluded.")
    assert explored(decision, stays, goal=goal(), offer=offered) == replace(decision, exploration=stays)


def test_afterwards_it_says_what_the_run_told():
    run, record = ran(TRIED, seconds=950.0, at="2026-05-02", predicted=(600.0, 800.0))
    after = Decision(config=Configuration(executors=6), goal="", predicted_cost=0.56)
    assert what_it_told(run, record.decision, after) == (
        "The run that explored 6 machines took 15 min 50 s, outside what was likely (10 min to 13 min "
        "20 s), and cost $0.30 more than one on 8. "
        "The decision goes from 8 to 6, which probably costs 20 % less a run."
    )
    same = replace(after, config=Configuration(executors=8))
    assert what_it_told(run, record.decision, same).endswith("The decision stays at 8.")
    assert what_it_told(run, after, same) == ""


def test_an_exploration_whose_run_failed_counts_as_dear_as_it_might_have_been():
    lost = SizeExploration(executors=4, instead_of=8, reason="", usual_dollars=1.0, most_extra_dollars=2.5)
    _, record = ran(lost, seconds=500.0, at="2026-05-02T00:00:00+00:00")
    assert Standing.of([], FRIDAY, not_recorded=[record]).spent_dollars == 2.5
    assert Standing.of([], date(2026, 6, 1), not_recorded=[record]).spent_dollars == 0.0
