"""The decisions benchmark: what is asked, who answers how, and what the answers come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from airflow_provider_ernest.settings import Billing
from benchmarks.accuracy.traces import contexts
from benchmarks.decisions import rules, training_share
from benchmarks.decisions.evaluation import decide, probabilities_table, summarise, unfavourable
from benchmarks.decisions.rules import Forecasts, Outlook
from benchmarks.decisions.situations import (
    BEYOND,
    BUDGET,
    DEADLINE,
    Option,
    Situation,
    of_all_types,
    of_one_type,
    questions,
)
from tests.unit.benchmarks.c3o_files import write_two_types

SECONDS = {2: 200.0, 4: 110.0, 8: 80.0}
"""Median seconds by machines; at 3.60 $ an hour a machine second is a thousandth of a dollar: 0.40, 0.44 and
0.64 $."""


class Told:
    """A forecast with fixed probabilities, whatever the limit."""

    def __init__(self, probabilities: Sequence[float]) -> None:
        self.probabilities = np.array(probabilities)

    def predict(self, *, machines, scale):
        raise AssertionError("outlooks hold the predictions")

    def interval(self, *, machines, scale, level):
        return None

    def probability_within(self, *, machines, scale, limits):
        return np.tile(self.probabilities, len(limits) // len(self.probabilities))


def situation() -> Situation:
    options = [
        Option(
            model=0,
            instance_type="m4",
            cores=4,
            machines=machines,
            scale=1.0,
            billing=Billing(price_per_hour=3.6),
            seconds=seconds,
            repetitions=(seconds - 10, seconds, seconds + 10),
        )
        for machines, seconds in SECONDS.items()
    ]
    return Situation(job="grep", setting="made up", options=tuple(options))


def outlook(
    *,
    original: Sequence[float] = tuple(SECONDS.values()),
    ours: Sequence[float] = tuple(SECONDS.values()),
    probabilities: Sequence[float] = (0.1, 0.9, 0.99),
) -> Outlook:
    return Outlook(
        situation=situation(),
        original_seconds=np.array(original),
        seconds=np.array(ours),
        forecasts=[Told(probabilities)],
    )


def test_each_context_is_one_with_all_machines_at_its_largest_size(tmp_path: Path):
    write_two_types(tmp_path)
    _, of_m4 = of_one_type(contexts(tmp_path))
    assert [option.machines for option in of_m4.options] == [2, 4, 6, 8, 12]
    assert {option.scale for option in of_m4.options} == {1.0}
    # The median of three runs of 30 s and 40 s for each of four million lines, at 0.40 $ an hour.
    assert of_m4.seconds[0] == pytest.approx(30 + 40 * 4 / 2 + 1)
    assert of_m4.costs[0] == pytest.approx(2 * 0.40 / 3600 * 111)


def test_all_types_are_offered_at_the_largest_size_that_all_were_measured_at(tmp_path: Path):
    write_two_types(tmp_path)
    (both,) = of_all_types(contexts(tmp_path))
    offered = {(option.instance_type, option.scale) for option in both.options}
    assert offered == {("c4.2xlarge", 1.0), ("m4.2xlarge", 0.75)}
    assert both.seconds[5] == pytest.approx(30 + 40 * 3 / 2 + 1)


@pytest.mark.parametrize(("kind", "least", "most"), [(DEADLINE, 80.0, 200.0), (BUDGET, 0.4, 0.64)])
def test_limits_reach_from_the_best_to_the_worst_option_and_all_can_be_kept(kind, least, most):
    limits = [question.limit for question in questions(situation(), kind, count=4)]
    assert (limits[0], limits[-1]) == pytest.approx((least, most))

    oracle = {rules.ORACLE: rules.all_rules()[rules.ORACLE]}
    figures = summarise(decide([outlook()], kind, count=20, rules=oracle))
    assert (figures["kept"], figures["regret"]) == (100.0, 0.0)


def test_what_is_said_is_held_against_limits_that_no_option_and_that_every_option_keeps():
    limits = [question.limit for question in questions(situation(), DEADLINE, count=3, reach=BEYOND)]
    assert limits == pytest.approx([40.0, 126.49, 400.0], abs=0.01)

    of_ours = {rules.ours(0.8): rules.all_rules()[rules.ours(0.8)]}
    # Said to be kept by 90 %, whatever the limit: on 4 machines, where none, all and all of three runs do.
    decided = decide([outlook()], DEADLINE, count=3, reach=BEYOND, rules=of_ours)
    figures = summarise(decided)
    assert (figures["said"], figures["single runs"]) == pytest.approx((90.0, 200 / 3))
    table = probabilities_table({"made up": decided})
    assert table.split("\n")[1].split().count("90.0") == 2, "over all, and from 0.8 to 0.95"


UNSURE = {"probabilities": (0.6, 0.9, 0.99)}
UNKNOWING = {"original": (1.0, 1.0, 1.0), "ours": (1.0, 1.0, 1.0)}


@pytest.mark.parametrize(
    ("rule", "kind", "limit", "told", "machines"),
    [
        # The cheapest that is predicted within the deadline, the fastest within the budget, else the nearest.
        (rules.ORIGINAL, DEADLINE, 120.0, {}, 4),
        (rules.WITH_MARGIN, DEADLINE, 120.0, {}, 8),
        (rules.ORIGINAL, BUDGET, 0.5, {}, 4),
        (rules.WITH_MARGIN, BUDGET, 0.5, {}, 2),
        (rules.ORIGINAL, DEADLINE, 10.0, {}, 8),
        (rules.ORIGINAL, BUDGET, 0.1, {}, 2),
        (rules.LARGEST, DEADLINE, 1000.0, {}, 8),
        # Of 0.40, 0.44 and 0.64 $, for each run that keeps the deadline: 0.67, 0.49 and 0.65 $.
        (rules.ours(0.8), DEADLINE, 100.0, UNSURE, 4),
        (rules.ours(0.95), DEADLINE, 100.0, UNSURE, 8),
        (rules.ours(0.8), DEADLINE, 100.0, {"probabilities": (0.81, 0.99, 1.0)}, 4),
        (rules.ours(0.8), BUDGET, 0.5, {"probabilities": (0.99, 0.9, 0.2)}, 4),
        (rules.ours(0.95), DEADLINE, 100.0, {"probabilities": (0.2, 0.7, 0.4)}, 4),
        # The oracle knows what runs take.
        (rules.ORACLE, DEADLINE, 110.0, UNKNOWING, 4),
    ],
)
def test_what_each_rule_chooses(rule, kind, limit, told, machines):
    (question,) = questions(situation(), kind, count=1)
    given = outlook(**told)
    ((position, _),) = rules.all_rules()[rule](given, [replace(question, limit=limit)])
    assert given.situation.options[position].machines == machines


def test_a_miss_earns_nothing_by_being_cheap():
    """By deadlines of 80, 126.5 and 200 s."""
    on_four = {"on four": lambda outlook, asked: [(1, None)] * len(asked)}
    decided = decide([outlook()], DEADLINE, count=3, rules=on_four)
    assert [each.kept for each in decided] == [False, True, True]
    # On 4 machines for 0.44 $: the oracle needs 0.64, 0.44 and 0.40 $.
    assert [each.regret for each in decided] == pytest.approx([0.0, 0.0, 0.1])
    figures = summarise(decided)
    assert (figures["kept"], figures["regret"]) == pytest.approx((200 / 3, 10 / 3))
    assert figures["of kept"] == pytest.approx(5.0)


def test_under_a_budget_regret_is_in_time():
    cheapest = rules.all_rules()[rules.ORIGINAL]
    decided = decide([outlook(original=(100.0, 500.0, 500.0))], BUDGET, count=2, rules={"slow": cheapest})
    # 200 s on 2 machines; with 0.64 $ there were 80 s to be had.
    assert [each.regret for each in decided] == pytest.approx([0.0, 1.5])


def test_forecasts_see_only_training_runs_and_choose_well_all_the_same(tmp_path: Path):
    write_two_types(tmp_path)
    found = contexts(tmp_path)
    forecasts = Forecasts([context.trained_runs() for context in found])
    for situations in (of_one_type(found), of_all_types(found)):
        decided = decide([forecasts.outlook(each) for each in situations], DEADLINE, count=4)
        own = summarise(each for each in decided if each.rule == rules.ours(0.95))
        assert own["kept"] == 100.0
        assert own["regret"] < 40.0


def test_what_is_better_than_ours_is_said():
    fearful = decide([outlook(probabilities=(0.0, 0.1, 0.99))], DEADLINE, count=5)
    told = [line for line in unfavourable({"deadlines": fearful}) if "original Ernest" in line]
    assert len(told) == len(rules.CONFIDENCES)


def test_the_deadline_alone_makes_training_cheap_by_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training_share, "PRODUCTION_SECONDS", (3600.0,))
    monkeypatch.setattr(training_share, "GROWTHS", (training_share.LARGER_INPUT,))
    plans = ("default, 4 machines", "no deadline, 4 machines")
    monkeypatch.setattr(training_share, "PLANS_OF", {training_share.LARGER_INPUT: plans})
    table = training_share.table(repetitions=1).droplevel([0, 1])
    default, untold = table.loc[plans[0]], table.loc[plans[1]]

    assert default["share"] < default["bill"] < training_share.AIM < untold["share"] < untold["bill"]
    assert default["kept"] > 90.0
