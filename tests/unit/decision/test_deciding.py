"""Choosing a configuration, with the saving of the paper as the worked example."""

import math
from dataclasses import replace

import pytest

from airflow_provider_ernest.decision.deciding import most_probable
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.decisions import Alternative, Decision
from airflow_provider_ernest.documents.profiles import ReplayedAllocation
from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.exceptions import (
    InfeasibleGoalError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.prediction.predict import predict_interval
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.bounds import METHODS
from airflow_provider_ernest.views.tables import decision_table
from airflow_provider_ernest.words import dollars, duration, executors, probability
from tests import examples
from tests.choices import choice_of
from tests.examples import observe, sizing_goal

HOUR = 3600.0


def goal_of(**limits):
    """By the median prediction unless a test says otherwise."""
    return sizing_goal(**{"confidence": 0.5, **limits})


ANY = goal_of(objective="cheapest")


def offer(model, *, executors, **billing):
    return Offer(
        model=model,
        executors=executors,
        billing=Billing(**{"price_per_hour": 1.0, "minimum_seconds": 0.0, **billing}),
    )


def choose(model, *, goal, scale=1.0, iterations=None, **offered):
    return choice_of(offer(model, **offered), goal=goal, scale=scale, iterations=iterations).required()


def model_with(
    *,
    fixed=0.0,
    spread=0.0,
    per_executor=0.0,
    startup=0.0,
    iterations=None,
    observed_up_to=16,
    method="relative",
):
    """A model trained on exact runs of a job with these coefficients, which "relative" finds exactly."""
    executors = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= observed_up_to]
    executors += executors[:1]
    scale = [0.1] * (len(executors) - 1) + [0.05]
    seconds = [fixed + spread * s / m + per_executor * m for m, s in zip(executors, scale, strict=True)]
    return train(
        observe(
            executors=executors,
            scale=scale,
            seconds=seconds,
            startup_seconds=startup,
            iterations=iterations,
            hosts=("10.0.0.1",),
        ),
        job="job",
        method=method,
        terms=("1", "scale/executors", "executors"),
        instance_type="r3.xlarge",
    )


def test_the_saving_of_the_paper_16_machines_where_64_cost_four_times_as_much():
    """Section 6.3: 40 iterations must end within an hour; machines cost 0.35 $ for each hour begun.

    An iteration may take 90 s. It takes 1,400 s on one machine and spreads, so that 16 machines need
    87.5 s. Two iterations on samples were observed.
    """
    model = model_with(spread=2 * 1400.0, iterations=2)

    decision = choose(
        model,
        goal=goal_of(deadline_seconds=HOUR),
        executors=[4, 8, 16, 32, 45, 64],
        price_per_hour=0.35,
        iterations=40,
        increment_seconds=HOUR,
    )

    assert decision.config.executors == 16
    assert decision.predicted_seconds == pytest.approx(40 * 87.5)
    assert decision.predicted_cost == pytest.approx(5.6)
    costs = {each.executors: each.cost for each in decision.alternatives}
    assert costs[64] == pytest.approx(22.4)
    assert [each.executors for each in decision.alternatives if not each.feasible] == [4, 8]


def test_a_best_value_that_is_not_the_cheapest_says_what_the_more_buys():
    """Just enough machines keep the deadline barely as surely as asked; a few more cost little."""
    model = model_with(fixed=10.0, spread=3600.0, method="averaging")
    ask = {"executors": range(1, 17)}
    goal = goal_of(deadline_seconds=500.0, confidence=0.6)

    value = choose(model, goal=goal, **ask)
    cheapest, both = (
        choose(model, goal=replace(goal, **changed), **ask)
        for changed in ({"objective": "cheapest"}, {"objective": "best_value", "budget_dollars": 2.0})
    )

    assert (
        value.predicted_cost
        > cheapest.predicted_cost
        == min(each.cost for each in value.alternatives if each.feasible)
    )
    more = dollars(value.predicted_cost - cheapest.predicted_cost)
    assert value.worth.startswith(f"Best value: for {more} more than the cheapest (")
    assert f"({executors(cheapest.config.executors)} of r3.xlarge)" in value.worth
    chances = [probability(cheapest.probability, value.probability), probability(value.probability)]
    assert value.worth.endswith(f"the chance rises from {chances[0]} to {chances[1]}.")
    assert (both.config, both.worth) == (value.config, value.worth)
    assert cheapest.worth == "" == choose(model, goal=replace(goal, objective="balanced"), **ask).worth


def test_a_best_value_within_a_budget_says_what_the_fastest_would_save():
    model = model_with(fixed=10.0, spread=3600.0, per_executor=5.0, method="averaging")
    ask = {"executors": range(1, 33)}
    goal = goal_of(budget_dollars=1.3, confidence=0.6)

    value, fastest = (
        choose(model, goal=goal, **ask),
        choose(model, goal=replace(goal, objective="fastest"), **ask),
    )

    assert fastest.predicted_seconds < value.predicted_seconds
    assert fastest.probability < value.probability
    more = duration(value.predicted_seconds - fastest.predicted_seconds)
    assert value.worth.startswith(f"Best value: for {more} more than the fastest (")


@pytest.mark.parametrize(
    ("limit", "named", "remedy"),
    [
        # 3600/m + 10 m is least at 19 machines.
        ({"deadline_seconds": 300.0}, "Fastest: 19 mac.* 6 min 19 s", "Extend the deadline"),
        ({"budget_dollars": 0.5}, r"at most \$0\.50 .*Cheapest: 1 mac.* \$1\.00", "Raise the budget"),
    ],
)
def test_an_unreachable_limit_names_what_comes_nearest(limit, named, remedy):
    model = model_with(spread=3600.0, per_executor=10.0)

    with pytest.raises(InfeasibleGoalError, match=named) as caught:
        choose(model, goal=goal_of(**limit), executors=range(1, 65))

    assert remedy in caught.value.remedy


@pytest.mark.parametrize("method", METHODS)
def test_each_alternative_carries_what_its_run_lies_between_and_with_what_probability(method):
    """A run stays below the upper bound of its 80 % interval with 90 %, above the lower with 90 %."""
    model = model_with(fixed=20.0, spread=3600.0, startup=200.0, method=method)

    decision = choose(model, goal=goal_of(deadline_seconds=5000.0), executors=[4, 8, 32], scale=0.5)

    for each in decision.alternatives:
        for shown, level in ((each.likely_seconds, 0.8), (each.nearly_certain_seconds, 0.95)):
            low, high = predict_interval(model, executors=each.executors, level=level, scale=0.5)
            assert shown == pytest.approx((low[0] + 200.0, high[0] + 200.0))
        assert each.nearly_certain_seconds[0] < each.likely_seconds[0] < each.seconds
        assert each.seconds < each.likely_seconds[1] < each.nearly_certain_seconds[1]
        for bound, chance in zip(each.likely_seconds, (0.1, 0.9), strict=True):
            goal = goal_of(deadline_seconds=bound)
            (same,) = choice_of(offer(model, executors=[each.executors]), goal=goal, scale=0.5).alternatives
            assert same.probability == pytest.approx(chance, abs=2e-3)
    (chosen,) = [each for each in decision.alternatives if each.executors == decision.config.executors]
    assert decision.likely_seconds == chosen.likely_seconds
    assert decision.nearly_certain_seconds == chosen.nearly_certain_seconds
    assert Decision.from_dict(decision.to_dict()) == decision


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"executors": []}, r"executors=\[\] is empty"),
        ({"executors": [4, 0]}, r"executors\[1\]=0"),
        ({"scale": -1.0}, "scale"),
    ],
)
def test_parameters_that_cannot_be_are_named(change, named):
    usual = {"goal": goal_of(deadline_seconds=60.0), "executors": [1, 2]}

    with pytest.raises(InvalidParameterError, match=named):
        choose(model_with(spread=10.0), **{**usual, **change})


def test_without_a_price_the_fewest_executor_hours_in_time_are_chosen():
    model, goal = model_with(fixed=10.0, spread=3600.0), goal_of(deadline_seconds=615.0)

    priced = choose(model, goal=goal, executors=range(1, 17))
    decision = choose(model, goal=goal, executors=range(1, 17), price_per_hour=None)

    assert decision.config == priced.config
    assert (decision.predicted_cost, decision.cost_parts, decision.price_per_hour) == (None, None, None)
    assert {each.cost for each in decision.alternatives} == {None}


def test_more_confidence_buys_more_machines_or_says_what_it_cannot_buy():
    model = model_with(fixed=10.0, spread=3600.0, method="averaging")
    ask = {"executors": range(1, 17)}

    even, sure = (
        choose(model, goal=goal_of(deadline_seconds=615.0, confidence=confidence), **ask)
        for confidence in (0.5, 0.95)
    )

    fewest = [
        min(each.executors for each in decision.alternatives if each.feasible) for decision in (even, sure)
    ]
    assert fewest == [6, 7]
    assert sure.probability >= 0.95
    assert (even.confidence, sure.confidence) == (0.5, 0.95)
    for each in sure.alternatives:
        assert each.feasible == (each.probability >= 0.95)


def test_a_deadline_that_cannot_be_kept_surely_names_the_most_probable():
    model = model_with(fixed=10.0, spread=3600.0, per_executor=10.0, method="averaging")
    offered = offer(model, executors=range(1, 65))
    goal = goal_of(deadline_seconds=395.0, confidence=0.95)

    with pytest.raises(InfeasibleGoalError, match=r"in 95 % of runs.*ost likely to") as caught:
        choice_of(offered, goal=goal).required()

    surest = caught.value.most_probable
    choice = choice_of(offered, goal=goal, on_failure="most_probable")
    highest = max(each.probability for each in choice.alternatives)
    assert 0.99 * highest <= surest.probability <= highest < 0.95
    decision = choice.required()
    assert decision.config.executors == surest.executors
    assert decision.fallback_reason == decision.warnings[0] == caught.value.message
    assert decision.probability == surest.probability


@pytest.mark.parametrize(
    ("nearest", "other"),
    [
        # Where all is nearly hopeless, the hopeless is not the most probable.
        ({"executors": 8, "seconds": 120.0, "probability": 0.004}, {"seconds": 900.0, "probability": 0.0}),
        # A model of few runs may be surer of fewer machines, of which some were observed.
        ({"executors": 8, "seconds": 95.0, "probability": 0.6}, {"seconds": 90.0, "probability": 0.55}),
    ],
    ids=["nearly hopeless", "the fastest is less sure"],
)
def test_the_surest_is_taken_where_there_is_a_chance(nearest, other):
    each = {"instance_type": "m5.large", "feasible": False, "cost": 0.1, "executors": 64}
    surest, less_sure = (Alternative(**{**each, **told}) for told in (nearest, other))

    for alternatives in ([surest, less_sure], [less_sure, surest]):
        assert most_probable(alternatives, Goal(goal_of(deadline_seconds=100.0))) is surest


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("limit", "nearest"),
    [
        ({"deadline_seconds": 1.0}, 16),
        # With a start-up of 30 s each has a probability of exactly 0.
        ({"deadline_seconds": 25.0}, 16),
        ({"budget_dollars": 1e-6}, 1),
    ],
)
def test_out_of_all_reach_the_nearest_is_also_the_most_probable(method, limit, nearest):
    offered = offer(
        model_with(fixed=20.0, spread=3600.0, startup=30.0, method=method), executors=range(1, 17)
    )

    with pytest.raises(
        InfeasibleGoalError, match=rf": {nearest} mach.* Also most likely to meet the goal \(under 0\.1 %\)\."
    ) as caught:
        choice_of(offered, goal=goal_of(**limit)).required()

    assert caught.value.most_probable.executors == nearest


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("method", "scale"), [("classic", 1e308), ("relative", 1e308), ("averaging", 1e308), ("classic", 1e-320)]
)
def test_a_scale_that_leads_to_no_time_is_named(method, scale):
    """No number holds 1e308 times 3600 s; and without fixed work next to no data takes next to no time."""
    model = model_with(spread=3600.0, method=method)

    with pytest.raises(
        InvalidParameterError, match=r"scale=1e.* is predicted to take (inf|.*e-31.) s at size 1"
    ):
        choose(model, goal=goal_of(deadline_seconds=60.0), executors=[1, 2], scale=scale)


def test_the_boot_of_the_machines_counts_against_the_deadline_and_is_billed():
    model = model_with(fixed=10.0, spread=3600.0)
    ask = {"executors": range(1, 17), "price_per_hour": 3600.0, "goal": goal_of(deadline_seconds=1000.0)}

    assert choose(model, **ask).config.executors == 4
    late = choose(model, boot_seconds=300.0, **ask)

    assert late.config.executors == 6
    assert late.predicted_seconds == pytest.approx(610.0)  # as production will measure it, from submission
    assert late.predicted_cost == pytest.approx(6 * 910.0)


def test_a_type_offered_twice_is_refused():
    model = model_with(spread=3600.0)

    with pytest.raises(InvalidParameterError, match=r"names a type of machine twice"):
        choice_of([offer(model, executors=[1]), offer(model, executors=[2])], goal=ANY)
    with pytest.raises(InvalidParameterError, match=r"offers=\[\] is empty"):
        choice_of([], goal=ANY)


def test_a_type_that_cannot_be_predicted_is_left_out_beside_others():
    with_iterations = model_with(spread=3600.0, iterations=2)
    without = replace(model_with(spread=3600.0), instance_type="c5.xlarge")
    offers = [offer(without, executors=[1]), offer(with_iterations, executors=[1, 2])]

    choice = choice_of(offers, goal=ANY, iterations=4)

    assert [each.type_name for each in choice.offers] == ["r3.xlarge"]
    assert list(choice.left_out) == ["c5.xlarge"]
    assert choice.decision.config.instance_type == "r3.xlarge"
    assert choice.decision.warnings[0].startswith("c5.xlarge is not among the choices: iterations=4 is asked")
    with pytest.raises(InvalidParameterError, match="iterations=4 is asked"):
        choice_of(offers[:1], goal=ANY, iterations=4)


def test_of_both_limits_both_are_kept():
    model = model_with(fixed=100.0, spread=3600.0)
    goal = goal_of(deadline_seconds=1000.0, budget_dollars=5520.0, objective="balanced")

    decision = choose(model, goal=goal, executors=range(1, 33), price_per_hour=3600.0)

    kept = {each.executors for each in decision.alternatives if each.feasible}
    # 100 + 3600/m within 1,000 s from m = 4 on; 100 m + 3600 $ within 5,520 $ up to m = 19.
    assert kept == set(range(4, 20))
    assert decision.config.executors in kept
    assert decision.goal == "balanced within 16 min 40 s and $5,520.00 in 50 % of runs"


def test_machines_that_cannot_hold_the_data_are_marked():
    offered = offer(caching(model_with(spread=360.0)), executors=[2, 8])
    goal = goal_of(deadline_seconds=1e5)

    small, large = choice_of(offered, goal=goal).alternatives

    assert "40 % of the data to be cached finds room in memory" in small.memory_shortage
    assert large.memory_shortage == ""


def caching(model):
    """Of a job that caches 1 GiB for each tenth of the input, on machines that hold 2 GiB each."""

    def metrics_of(run):
        wanted = int(10 * run.scale * 2**30)
        return examples.metrics(
            slots=run.executors,
            storage_memory_bytes=2 * 2**30 * run.executors,
            cache_wanted_bytes=wanted,
            cached_bytes=wanted,
        )

    cached = tuple(replace(run, metrics=metrics_of(run)) for run in model.observations)
    return replace(model, observations=cached)


def test_a_mix_that_is_chosen_is_billed_for_all_its_parts():
    slow = model_with(fixed=10.0, spread=3600.0, method="averaging")
    fast = replace(
        model_with(fixed=10.0, spread=1800.0, startup=20.0, method="averaging"),
        instance_type="c5.xlarge",
        warnings=("Only ten runs.",),
    )
    offers = [
        offer(slow, executors=range(1, 5)),
        offer(fast, executors=range(1, 3), price_per_hour=2.0, master_price_per_hour=0.5),
    ]

    goal = goal_of(deadline_seconds=750.0, confidence=0.8, allow_mixed=True)
    decision = choice_of(offers, goal=goal).required()

    parts = {part.instance_type: part.executors for part in decision.composition}
    assert set(parts) == {"r3.xlarge", "c5.xlarge"}
    assert decision.config.executors == sum(parts.values()) <= 4
    hourly = parts["r3.xlarge"] * 1.0 + parts["c5.xlarge"] * 2.0
    billed = math.ceil(decision.predicted_seconds)
    assert decision.cost_parts.executors == pytest.approx(hourly * billed / HOUR)
    assert decision.cost_parts.master == pytest.approx(0.5 * billed / HOUR)
    assert decision.predicted_cost == pytest.approx(decision.cost_parts.total)
    assert decision.startup_seconds == 20.0
    assert "no mix of types" in decision.warnings[0]
    assert "Only ten runs." in decision.warnings, "which is of one of its parts"
    assert Decision.from_dict(decision.to_dict()) == decision


# Dynamic allocation.


def allocation(minimum: int, initial: int, maximum: int, *, times: float, mean: float) -> ReplayedAllocation:
    """A replay that takes so many times as long as on the maximum all the time, with so many on average."""
    return ReplayedAllocation(
        bounds=ExecutorBounds(minimum=minimum, initial=initial, maximum=maximum),
        seconds=100.0 * times,
        fixed_seconds=100.0,
        executor_seconds=100.0 * times * mean,
    )


ALLOCATIONS = (
    allocation(1, 1, 4, times=1.5, mean=3.0),
    allocation(4, 4, 4, times=1.0, mean=4.0),
    allocation(1, 1, 8, times=1.5, mean=5.0),
    allocation(8, 8, 8, times=1.0, mean=8.0),
)


def dynamic(model, *, allocations=ALLOCATIONS, **limits):
    offered = replace(offer(model, executors=range(1, 9)), allocations=allocations)
    return choice_of(offered, goal=goal_of(allocation="dynamic", objective="cheapest", **limits))


def test_bounds_of_dynamic_allocation_cost_the_least_executor_seconds_that_keep_the_deadline():
    """8 s of fixed work and 800 s that spread: 208 s on four executors, 108 s on eight."""
    model = model_with(fixed=8.0, spread=800.0, startup=10.0)

    decision = dynamic(model, deadline_seconds=250.0).required()

    # One to four take 312 s: too long. One to eight take 162 s with five: less than four for 208 s.
    assert decision.bounds == ALLOCATIONS[2].bounds
    assert decision.config.executors == 8
    assert decision.run_seconds == pytest.approx(162.0, rel=0.01)
    # The first executor is there while the run starts up.
    assert decision.predicted_cost == pytest.approx((5 * 162.0 + 10.0) / 3600, rel=0.01)
    assert [each.bounds for each in decision.alternatives if not each.feasible] == [ALLOCATIONS[0].bounds]
    chosen = next(each for each in decision.alternatives if decision.is_for(each))
    assert chosen.mean_executors == pytest.approx((5 * 162.0 + 10.0) / 172.0, rel=0.01)
    assert chosen.likely_seconds[0] < decision.predicted_seconds < chosen.likely_seconds[1]


def test_the_table_of_a_decision_names_the_bounds():
    decision = dynamic(model_with(fixed=8.0, spread=800.0), deadline_seconds=250.0).required()
    lines = decision_table(decision)
    assert any("<- chosen  min 1, initial 1, mean 5.00" in line for line in lines)
    assert any(line.startswith("1 to 8 executors, 1 at first would do in 2 min 42 s ") for line in lines)


def test_a_deadline_that_no_bounds_keep_names_the_most_probable_ones():
    with pytest.raises(InfeasibleGoalError) as error:
        dynamic(model_with(fixed=8.0, spread=800.0), deadline_seconds=50.0).required()
    assert "8 executors all the time" in str(error.value)


def test_the_less_a_replay_is_trusted_the_more_confidence_costs():
    """162 s in the median: of 80 % of runs the replay alone leaves some per cent more."""
    model = model_with(fixed=8.0, spread=800.0)
    probabilities = [
        each.probability
        for each in dynamic(model, deadline_seconds=165.0).alternatives
        if each.executors == 8
    ]
    assert 0.55 < probabilities[0] < 0.75
    assert probabilities[1] > 0.99


def test_without_a_replay_there_are_no_bounds_and_it_is_said_what_is_missing():
    with pytest.raises(MissingResourceError, match="neither a profile of one nor an event log"):
        dynamic(model_with(spread=800.0), allocations=(), deadline_seconds=250.0).required()


def test_dynamic_allocation_of_two_types_of_machines_is_refused():
    with pytest.raises(InvalidParameterError, match="allow_mixed"):
        goal_of(allocation="dynamic", allow_mixed=True, deadline_seconds=10.0)
