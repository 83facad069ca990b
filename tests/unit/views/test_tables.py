"""What people read in logs, in lines that fit a screen, beyond what tests/golden/expected/program shows."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.views.tables import decision_table, model_table
from airflow_provider_ernest.words import UNKNOWN, dollars, duration
from tests.choices import choice_of
from tests.examples import noisy_observations, sizing_goal
from tests.unit.views.stored import shared

WIDTH = 110
EASY = sizing_goal(deadline_seconds=1e6)
ADDED_LATER = ("probability", "confidence", "billing", "cost_parts", "is_pareto", "composition")
"""Fields of decisions that earlier ones lack."""


@pytest.fixture(scope="module")
def averaged() -> Model:
    return train(noisy_observations(), job="pca")


def offer(model: Model, executors: Any = range(1, 65, 9), **billing: Any) -> Offer:
    return Offer(model=model, executors=executors, billing=Billing(price_per_hour=1.0, **billing))


@pytest.fixture(scope="module")
def decision(averaged: Model) -> Decision:
    return choice_of(offer(averaged), goal=EASY).required()


def line_of(lines: list[str], beginning: str) -> str:
    (line,) = (line for line in lines if line.startswith(beginning))
    return line


def row_of(lines: list[str], executors: int) -> str:
    return line_of(lines, f"{executors:8d}  ")


class TestModel:
    @pytest.mark.parametrize(("share", "shown"), [(0.0, False), (0.009, False), (0.4, True)])
    def test_the_driver_is_mentioned_only_where_it_may_take_a_machine(
        self, averaged: Model, share: float, shown: bool
    ):
        lines = model_table(replace(averaged, driver_share=share))
        assert any("driver" in line for line in lines) == shown
        assert any("40 % chance that the driver" in line for line in lines) == shown

    @pytest.mark.parametrize(("errors", "shown"), [((), False), ((2.5, -2.0, 0.1, 3.0, -2.5, 2.2), True)])
    def test_what_production_says_of_intervals_is_told_where_it_changes_them(
        self, averaged: Model, errors: tuple[float, ...], shown: bool
    ):
        lines = model_table(replace(averaged, standardised_errors=errors))
        assert any("of the last 6 production runs 1 lay within" in line for line in lines) == shown


class TestDecision:
    def test_on_a_shared_cluster_executors_are_counted(self, averaged: Model):
        lines = decision_table(choice_of(offer(shared(averaged)), goal=EASY).required())
        assert lines[1].startswith("executors    seconds")
        assert line_of(lines, "        1  ").index("1") == len("executors") - 1, "below the end of its title"
        assert not any("machine" in line for line in lines)

    def test_machines_that_cannot_hold_the_data_are_marked(self, decision: Decision):
        short = replace(decision.alternatives[-1], memory_shortage="tasks spill to disk", feasible=False)
        line = row_of(decision_table(replace(decision, alternatives=(short,))), short.executors)
        assert "[tasks spill to disk]" in line
        assert "misses the goal" in line, "for another reason than the probability"

    @pytest.mark.parametrize("intervals", [(), ("likely_seconds", "nearly_certain_seconds")])
    def test_one_that_was_stored_before_there_were_such_fields_is_still_shown(
        self, decision: Decision, intervals: tuple[str, ...]
    ):
        later = {*ADDED_LATER, *intervals}
        stored = {name: value for name, value in decision.to_dict().items() if name not in later}
        stored["alternatives"] = [
            {name: value for name, value in each.items() if name not in later}
            for each in stored["alternatives"]
        ]
        lines = decision_table(Decision.from_dict(stored))
        assert [line for line in lines if "<- chosen" in line]
        assert any(UNKNOWN in line for line in lines) == bool(intervals)
        assert not any("probability" in line for line in lines[1:-1]), "but for those of goal and intervals"
        (told,) = [line for line in lines if line.startswith(f"{decision.config.executors} machine")]
        assert f" would do in {duration(decision.predicted_seconds)}" in told
        assert f" for {dollars(decision.predicted_run_cost)}" in " ".join(lines)

    def test_of_very_many_those_that_matter_are_shown(self, averaged: Model):
        decided = choice_of(offer(averaged, range(1, 1001)), goal=EASY).required()
        chosen = decided.config.executors
        lines = decision_table(decided)
        shown = [int(line.split()[0]) for line in lines[2:] if line[:8].strip().isdigit()]
        assert len(shown) <= 40
        assert shown == sorted(shown)
        fastest = min(decided.alternatives, key=lambda each: each.seconds).executors
        cheapest = min(decided.alternatives, key=lambda each: each.cost).executors
        assert {chosen, chosen + 1, chosen + 2, fastest, cheapest} <= set(shown)
        assert f"({1000 - len(shown)} of 1,000 alternatives are not shown here)" in lines

    def test_a_fallback_has_no_prediction(self):
        fallback = Decision(
            config=Configuration(executors=3), goal="best value within 5 s", price_per_hour=1.0
        )
        assert (
            decision_table(fallback)[-1] == "3 machines of local: the stated fallback, without a prediction."
        )


def test_lines_fit_a_screen(averaged: Model, decision: Decision):
    wide = "scale*log2(1e9*scale)/executors"
    extended = train(noisy_observations(), job="pca", method="relative", terms=["1", wide])
    other = offer(replace(averaged, instance_type="m5.24xlarge"), [4])
    large = choice_of([offer(averaged, range(1, 500)), other], goal=EASY).required()
    reason = "64 machines: at most 16 were observed; " * 4
    reasoned = tuple(replace(each, extrapolates=reason) for each in decision.alternatives)
    far = replace(decision, alternatives=reasoned)
    models = (line for each in (averaged, extended) for line in model_table(each))
    decisions = (line for each in (decision, large, far) for line in decision_table(each))
    for line in (*models, *decisions):
        assert len(line) <= WIDTH
