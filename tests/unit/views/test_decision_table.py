"""What people read of a decision in logs: the figures of the document, in lines that fit a screen."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.decision.choice import choose, consider, decide_on
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.decision.same_cost import SameCost, TypeAtRate
from airflow_provider_ernest.documents import Alternative, BilledCost, Billing, Configuration, Decision
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.views.tables import decision_table, same_cost_table
from benchmarks.table1 import seconds_of
from tests.examples import observe

WIDTH = 110
MACHINES, SCALE = [1, 2, 4, 8, 16, 1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.02]
OBSERVATIONS = observe(
    machines=MACHINES, scale=SCALE, seconds=seconds_of("pca", machines=MACHINES, scale=SCALE)
)


@pytest.fixture(scope="module")
def averaged():
    return train(OBSERVATIONS, job="pca")


def offer(model, machines=range(1, 65, 9), **billing):
    return Offer(model=model, machines=machines, billing=Billing(price_per_hour=1.0, **billing))


@pytest.fixture
def decision(averaged):
    return choose(offer(averaged), goal=Goal(deadline_seconds=1e6))


def line_of(lines, beginning):
    (line,) = (line for line in lines if line.startswith(beginning))
    return line


def test_it_shows_how_certain_each_prediction_is(decision):
    lines = decision_table(decision)

    for alternative in decision.alternatives:
        low, high = alternative.likely_seconds
        assert f"{low:.1f} to {high:.1f}" in line_of(lines, f"{alternative.machines:8d}  ")
    low, high = decision.nearly_certain_seconds
    assert lines[-1].endswith(f"{low:.1f} to {high:.1f} s with 95 %")


def test_it_shows_how_probably_each_keeps_to_the_goal(averaged):
    median = choose(offer(averaged), goal=Goal(deadline_seconds=1e6)).alternatives[2].seconds
    decision = choose(offer(averaged), goal=Goal(deadline_seconds=median, confidence=0.9))
    lines = decision_table(decision)

    assert "with a probability of 90 %" in lines[0]
    assert lines[1].endswith("probability")
    told = {each.machines: line_of(lines, f"{each.machines:8d}  ") for each in decision.alternatives}
    at_the_median = decision.alternatives[2]
    assert f" {100 * at_the_median.probability:.1f} %  below 90 %" in told[at_the_median.machines]
    assert "below 90 %" in told[1]
    assert "below" not in told[decision.config.machines]
    assert [machines for machines, line in told.items() if "<- chosen" in line] == [decision.config.machines]
    assert any(line.startswith("keeps to the goal with a probability of ") for line in lines)


def test_it_says_why_a_cheaper_one_was_left(decision):
    def of(machines, cost, probability):
        return Alternative(
            machines=machines,
            instance_type="local",
            seconds=100.0 / machines,
            cost=cost,
            feasible=probability >= 0.8,
            probability=probability,
        )

    chosen = replace(decision, config=Configuration(machines=2), goal="cheapest within 60 s")
    reason = "dollars count per run that keeps to the goal"

    lines = decision_table(replace(chosen, alternatives=(of(1, 0.99, 0.81), of(2, 1.0, 0.99))))
    assert any(line.startswith(reason) for line in lines)
    for other in (of(1, 0.99, 0.5), of(1, 1.5, 0.9)):
        lines = decision_table(replace(chosen, alternatives=(other, of(2, 1.0, 0.99))))
        assert not any(line.startswith(reason) for line in lines)


@pytest.mark.parametrize(
    ("probability", "shown"),
    [(1.0, "100.0 %"), (0.99999, "> 99.9 %"), (0.5, "50.0 %"), (0.0001, "< 0.1 %"), (0.0, "0.0 %")],
)
def test_what_is_not_certain_is_not_called_so(decision, probability, shown):
    one = replace(decision.alternatives[0], probability=probability)

    lines = decision_table(replace(decision, alternatives=(one,)))

    assert shown in line_of(lines, f"{one.machines:8d}  ")


def test_machines_that_cannot_hold_the_data_are_marked(decision):
    short = replace(decision.alternatives[-1], memory_shortage="tasks spill to disk", feasible=False)

    lines = decision_table(replace(decision, alternatives=(short,)))

    line = line_of(lines, f"{short.machines:8d}  ")
    assert "[tasks spill to disk]" in line
    assert "misses the goal" in line, "for another reason than the probability"


def test_all_that_is_billed_stands_below(averaged, decision):
    assert not any("machines, " in line for line in decision_table(decision))

    billed = choose(
        offer(averaged, master_price_per_hour=0.5, training_dollars=3.0, expected_runs=6),
        goal=Goal(deadline_seconds=1e6),
    )
    parts = billed.cost_parts
    assert isinstance(parts, BilledCost)
    line = line_of(decision_table(billed), "of which ")
    assert f"{parts.machines:.5f} $ machines" in line
    assert f"{parts.master:.5f} $ master" in line
    assert "0.50000 $ training" in line
    assert "volumes" not in line


def test_a_decision_stored_before_probabilities_and_bills_were_is_still_shown(decision):
    later = {
        "probability",
        "confidence",
        "billing",
        "cost_parts",
        "is_pareto",
        "memory_shortage",
        "composition",
    }
    stored = {name: value for name, value in decision.to_dict().items() if name not in later}
    stored["alternatives"] = [
        {name: value for name, value in each.items() if name not in later} for each in stored["alternatives"]
    ]

    lines = decision_table(Decision.from_dict(stored))

    assert [line for line in lines if "<- chosen" in line]
    assert not any("probability" in line for line in lines[1:-1]), "but for those of goal and intervals"
    figures = f"{decision.predicted_seconds:.1f} s for {decision.predicted_cost:.5f} $"
    assert figures in line_of(lines, f"{decision.config.machines} machine")


def test_one_machine_is_no_machines(averaged):
    lines = decision_table(choose(offer(averaged, [1]), goal=Goal(deadline_seconds=1e6)))

    assert line_of(lines, "1 machine: ")


def test_several_types_are_named(averaged):
    twice = replace(averaged, instance_type="r3.2xlarge")
    both = [offer(averaged, [4, 8]), offer(twice, [2, 8])]

    decision = choose(both, goal=Goal(deadline_seconds=1e6))

    lines = decision_table(decision)
    assert lines[1].split()[:2] == ["type", "machines"]
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["local", "4"],
        ["local", "8"],
        ["r3.2xlarge", "2"],
        ["r3.2xlarge", "8"],
    ]
    assert sum("<- chosen" in line for line in lines) == 1, "8 of the other type are not 8 of this"
    assert any(line.startswith(f"{decision.config.machines} machines of ") for line in lines)


def test_a_mix_is_named_by_its_parts(decision):
    parts = (
        Configuration(machines=4, instance_type="m5.large"),
        Configuration(machines=2, instance_type="c5.large"),
    )
    name = "4 m5.large + 2 c5.large"
    mix = replace(decision.alternatives[0], machines=6, instance_type=name, composition=parts)

    lines = decision_table(
        replace(
            decision,
            config=Configuration(machines=6, instance_type=name),
            composition=parts,
            alternatives=(*decision.alternatives, mix),
        )
    )

    assert "<- chosen" in line_of(lines, f"{name}         6")
    assert any(line.startswith(f"{name}: ") for line in lines)


def test_of_very_many_those_that_matter_are_shown(averaged):
    decision = choose(offer(averaged, range(1, 1001)), goal=Goal(deadline_seconds=1e6))
    chosen = decision.config.machines

    lines = decision_table(decision)

    shown = [int(line.split()[0]) for line in lines[2:] if line[:8].strip().isdigit()]
    assert len(shown) <= 40
    assert shown == sorted(shown)
    assert {chosen, chosen + 1, chosen + 2} <= set(shown)
    fastest = min(decision.alternatives, key=lambda each: each.seconds)
    cheapest = min(decision.alternatives, key=lambda each: each.cost)
    assert {fastest.machines, cheapest.machines} <= set(shown)
    assert f"({1000 - len(shown)} of 1000 alternatives are not shown here)" in lines


def test_few_are_all_shown(averaged):
    decision = choose(offer(averaged, range(1, 41)), goal=Goal(deadline_seconds=1e6))

    lines = decision_table(decision)

    assert [int(line.split()[0]) for line in lines[2:42]] == list(range(1, 41))
    assert not any("not shown" in line for line in lines)


def test_the_most_probable_is_not_called_a_choice(averaged):
    goal, offers = Goal(deadline_seconds=1.0), offer(averaged)
    alternatives = consider(offers, goal=goal)

    decision = decide_on(alternatives[-1], alternatives, offers, goal=goal, fallback_reason="out of reach")

    lines = decision_table(decision)
    assert "<- fallback" in line_of(lines, f"{alternatives[-1].machines:8d}  ")
    assert not any("<- chosen" in line for line in lines)
    assert any("asked for were 80 %" in line for line in lines)


def test_long_reasons_do_not_break_the_table(decision):
    reason = "64 machines: at most 16 were observed; " * 4
    alternatives = tuple(replace(one, extrapolates=reason) for one in decision.alternatives)

    for line in decision_table(replace(decision, alternatives=alternatives)):
        assert len(line) <= WIDTH


def test_lines_fit_a_screen(averaged, decision):
    large = choose(
        [offer(averaged, range(1, 500)), offer(replace(averaged, instance_type="m5.24xlarge"), [4])],
        goal=Goal(deadline_seconds=1e6),
    )

    for line in (*decision_table(decision), *decision_table(large)):
        assert len(line) <= WIDTH


def test_decisions_of_before_there_were_intervals_can_still_be_read(decision):
    old = replace(
        decision,
        likely_seconds=None,
        nearly_certain_seconds=None,
        probability=None,
        confidence=None,
        cost_parts=None,
        alternatives=tuple(
            Alternative(
                machines=one.machines,
                instance_type=one.instance_type,
                seconds=one.seconds,
                cost=one.cost,
                feasible=False,
            )
            for one in decision.alternatives
        ),
    )

    lines = decision_table(old)

    assert any("unknown" in line and "misses the goal" in line for line in lines)
    assert not any("probability" in line for line in lines[1:])


def test_a_fallback_has_no_prediction():
    fallback = Decision(config=Configuration(machines=3), goal="cheapest within 5 s", price_per_hour=1.0)

    assert decision_table(fallback)[-1] == "fallback: 3 machines, without a prediction"


def test_types_at_the_same_rate_stand_below_each_other():
    of_type = {
        "likely_seconds": (90.0, 130.0),
        "extrapolates": "",
        "machines": 16,
        "dollars_per_hour": 3.2,
        "dollars": 0.1,
    }
    row = SameCost(
        dollars_per_hour=3.2,
        types=(
            TypeAtRate(**{**of_type, "instance_type": "m5.large", "seconds": 110.0}),
            TypeAtRate(**{**of_type, "instance_type": "c5.2xlarge", "seconds": 100.0, "is_fastest": True}),
        ),
    )

    first, second = same_cost_table([row])[2:]

    assert first.split()[:4] == ["3.20", "m5.large", "16", "3.200"]
    assert second.split()[:2] == ["c5.2xlarge", "16"]
    assert second.endswith("<- fastest")
    assert "<-" not in first
    assert same_cost_table([]) == ["the same dollars per hour: the types have no rate in common"]
