"""The sentence of a job, in all its variants, and what a run takes today."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents.decisions import Configuration, Decision, SizeExploration
from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.learning.freshness import DRIFTING, STALE
from airflow_provider_ernest.store.catalogue import PastSize
from airflow_provider_ernest.views.answer import LEADS
from airflow_provider_ernest.views.sentence import (
    GUESS,
    Proposal,
    Today,
    limits_in_words,
    proposal_of,
    sentence,
    today_of,
)
from tests.unit.views.stored import entry

TODAY = Today(executors=12, instance_type="m5.large", seconds=2460.0, cost=3.1, runs=5, runs_per_month=30.0)


def size(executors: int, instance_type: str = "m5.large") -> Configuration:
    return Configuration(executors=executors, instance_type=instance_type, executors_per_machine=None)


EIGHT = Proposal(
    config=size(8),
    seconds=2820.0,
    likely_seconds=(2580.0, 3120.0),
    cost=2.07,
    probability=0.97,
    confidence=0.95,
    limits=limits_in_words(3600.0, None),
)

RANGE = "47 min (80 %: 43 min to 52 min)"
SAVING = f"{RANGE} for $2.07, saving $30.90 a month"
HOLDS = "the deadline of 1 h holds in 97 % of runs."

VARIANTS = {
    "all is known": ({}, {}, f"Today 12 executors, 41 min, $3.10. 8 would do in {SAVING}; {HOLDS}"),
    "no price": (
        {"cost": None},
        {"cost": None},
        f"Today 12 executors, 41 min. 8 would do in {RANGE}; {HOLDS}",
    ),
    "no deadline": ({}, {"limits": ""}, f"Today 12 executors, 41 min, $3.10. 8 would do in {SAVING}."),
    "nothing asked": (
        {},
        {"limits": "", "role": "would be the cheapest tried, in"},
        f"Today 12 executors, 41 min, $3.10. 8 would be the cheapest tried, in {SAVING}.",
    ),
    "a deadline and a budget": (
        {},
        {"limits": limits_in_words(3600.0, 4.0)},
        f"Today 12 executors, 41 min, $3.10. 8 would do in {SAVING}; the deadline of 1 h and the budget of "
        "$4.00 hold in 97 % of runs.",
    ),
    "no production yet": (
        None,
        {},
        f"8 executors of m5.large would do in {RANGE} for $2.07; {HOLDS}",
    ),
    "today's size": (
        {},
        {"config": size(12)},
        f"Today 12 executors, 41 min, $3.10. The same would take {RANGE}; {HOLDS}",
    ),
    "dearer": (
        {},
        {"cost": 4.0},
        f"Today 12 executors, 41 min, $3.10. 8 would do in {RANGE} for $4.00, $27.00 a month more; {HOLDS}",
    ),
    "nobody knows how often it runs": (
        {"runs_per_month": None},
        {},
        f"Today 12 executors, 41 min, $3.10. 8 would do in {RANGE} for $2.07, saving $1.03 a run; {HOLDS}",
    ),
    "another type": (
        {},
        {"config": size(6, "r5.large")},
        "Today 12 executors of m5.large, 41 min, $3.10. 6 executors of r5.large would do in "
        f"{SAVING}; {HOLDS}",
    ),
    "a mix": (
        {},
        {"composition": (size(2), size(1, "r5.large"))},
        "Today 12 executors of m5.large, 41 min, $3.10. 2 executors of m5.large + 1 executor of r5.large "
        f"would do in {SAVING}; {HOLDS}",
    ),
    "dynamic allocation": (
        {},
        {"bounds": ExecutorBounds(minimum=1, initial=4, maximum=8)},
        f"Today 12 executors, 41 min, $3.10. 1 to 8 executors, 4 at first would do in {SAVING}; {HOLDS}",
    ),
    "drifting": (
        {},
        {"lead": LEADS[DRIFTING]},
        f"Today 12 executors, 41 min, $3.10. By predictions that no longer hold, 8 would do in {SAVING}; "
        f"{HOLDS}",
    ),
    "stale": (
        {},
        {"lead": LEADS[STALE], "config": size(12)},
        "Today 12 executors, 41 min, $3.10. By the model from before the change, the same would take "
        f"{RANGE}; {HOLDS}",
    ),
    "too little known": (
        {},
        {"lead": GUESS},
        f"Today 12 executors, 41 min, $3.10. By a guess, 8 would do in {SAVING}; {HOLDS}",
    ),
    "out of reach": (
        {},
        {"is_out_of_reach": True, "probability": 0.04},
        "Today 12 executors, 41 min, $3.10. The deadline of 1 h is out of reach: 8 come nearest, in "
        f"{SAVING}, with a chance of 4 %.",
    ),
    "history alone": (
        {"is_past": True, "runs_per_month": None},
        {},
        f"Before Ernest 12 executors, 41 min, $3.10. 8 would do in {RANGE} for $2.07, saving $1.03 a run; "
        f"{HOLDS}",
    ),
    "a stated fallback": (
        None,
        {"seconds": None},
        "8 executors of m5.large: the stated fallback, without a prediction.",
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant(variant: str):
    today, changed, words = VARIANTS[variant]
    told = sentence(None if today is None else replace(TODAY, **today), replace(EIGHT, **changed))
    assert told.replace("\u00a0", " ") == words


def test_an_exploration_says_that_it_is_one():
    exploration = SizeExploration(executors=8, instead_of=12, reason="Its times tell most.")
    decision = Decision(config=size(8), goal="", predicted_seconds=2820.0, exploration=exploration)
    told = sentence(None, proposal_of(decision))
    assert told == "To learn what others than 12 take, 8 executors of m5.large would do in 47 min."


def run(days: float, executors: int, seconds: float, cost: float | None = 1.0, **fields: Any) -> Any:
    return entry("production", days=days, executors=executors, seconds=seconds, cost=cost, **fields)


def test_today_is_the_median_of_the_newest_runs_on_the_size_of_the_last_one():
    runs = [run(9, 8, 900.0), run(8, 4, 10.0), *(run(7 - each, 4, 100.0 + each) for each in range(5))]
    today = today_of(entry(), [*runs, run(1, 4, 999.0, None), entry("production", days=0, name="unmeasured")])
    assert (today.executors, today.seconds, today.cost, today.runs) == (4, 103.0, 1.0, 5)
    assert today.runs_per_month == pytest.approx(7 / 8 * 365.25 / 12)
    assert today.cost_per_month == today.runs_per_month


def test_without_production_past_runs_tell_of_the_time_before():
    past = PastSize(executors=8, seconds=1800.0, runs=12)
    today = today_of(entry(past=past), [], 2.0)
    assert (today.is_past, today.executors, today.cost, today.cost_per_month) == (True, 8, 2.0, None)
    assert today_of(entry(), []) is None
