"""The decisions benchmark: what is asked, who answers how, and what the answers come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.settings import Billing
from benchmarks.decisions import rules
from benchmarks.decisions.evaluation import decide, summarise
from benchmarks.decisions.rules import Outlook
from benchmarks.decisions.situations import BUDGET, DEADLINE, Option, Situation, questions

SECONDS = {2: 200.0, 4: 110.0, 8: 80.0}
"""Median seconds by machines; at 3.60 $ an hour a machine second is a thousandth of a dollar: 0.40, 0.44 and
0.64 $."""


class Told:
    """A forecast with fixed probabilities, whatever the limit."""

    def __init__(self, probabilities: Sequence[float]) -> None:
        self.probabilities = np.array(probabilities)

    def predict(self, *, executors, scale):
        raise AssertionError("outlooks hold the predictions")

    def interval(self, *, executors, scale, level):
        return None

    def probability_within(self, *, executors, scale, limits):
        return np.tile(self.probabilities, len(limits) // len(self.probabilities))


def situation() -> Situation:
    options = [
        Option(
            model=0,
            instance_type="m4",
            cores=4,
            executors=executors,
            scale=1.0,
            billing=Billing(price_per_hour=3.6),
            seconds=seconds,
            repetitions=(seconds - 10, seconds, seconds + 10),
        )
        for executors, seconds in SECONDS.items()
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


UNSURE = {"probabilities": (0.6, 0.9, 0.99)}
UNKNOWING = {"original": (1.0, 1.0, 1.0), "ours": (1.0, 1.0, 1.0)}


@pytest.mark.parametrize(
    ("rule", "kind", "limit", "told", "executors"),
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
def test_what_each_rule_chooses(rule, kind, limit, told, executors):
    (question,) = questions(situation(), kind, count=1)
    given = outlook(**told)
    ((position, _),) = rules.all_rules()[rule](given, [replace(question, limit=limit)])
    assert given.situation.options[position].executors == executors


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
