"""The rules that decide: what users do, the original, the method of this package, and an oracle.

A rule is asked all questions of a kind in one situation at once, and answers with the positions of the
options that it chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from airflow_provider_ernest.decision.deciding import most_probable
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.decisions.outlook import Outlook
from benchmarks.decisions.questions import DEADLINE, Question

ORIGINAL, WITH_MARGIN = "original Ernest", "original + 30 %"
LARGEST, THUMB = "always the largest", "1 GB per core"
PLAIN = "0.8, cheapest only"
ORACLE, SUREST = "oracle", "oracle of runs"
ORACLES = (ORACLE, SUREST)

MARGIN = 1.3

EQUAL = 1.01
"""What the original predicts to cost up to a per cent more than the cheapest costs the same."""

CONFIDENCES = (0.5, 0.8, 0.95)
PLAIN_CONFIDENCE = 0.8

GIGABYTES_PER_CORE = 1.0

Answer = tuple[int, float | None]
"""The position of the chosen option, and the probability that it was given to keep to the limit."""

Rule = Callable[[Outlook, Sequence[Question]], list[Answer]]


def ours(confidence: float) -> str:
    """The name of the package's rule at a confidence."""
    return f"ours, {confidence:g}"


def all_rules() -> Mapping[str, Rule]:
    """The rules by name, in the order in which they are shown."""
    return {
        ORIGINAL: _original(1.0),
        WITH_MARGIN: _original(MARGIN),
        LARGEST: _largest,
        THUMB: _rule_of_thumb,
        **{ours(confidence): _ours(confidence, _preferred) for confidence in CONFIDENCES},
        PLAIN: _ours(PLAIN_CONFIDENCE, _plainly_best),
        ORACLE: _oracle,
        SUREST: _surest,
    }


def _original(margin: float) -> Rule:
    """The best of the options that are predicted to keep to the limit, the times taken longer by a margin."""

    def decide(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
        seconds = margin * outlook.original_seconds
        return [(_best(outlook, question, seconds), None) for question in questions]

    return decide


def _oracle(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
    """The best of the options that keep to the limit by the medians of their runs."""
    return [(_best(outlook, question, outlook.situation.seconds, equal=1.0), None) for question in questions]


def _surest(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
    """The option most of whose single runs keep to the limit, of such the best: nobody keeps more runs."""
    options = outlook.situation.options
    answers: list[Answer] = []
    for question in questions:
        kept = [
            float(np.mean([question.keeps(option, seconds) for seconds in option.repetitions]))
            for option in options
        ]
        value = question.value(outlook.situation).tolist()
        answers.append((min(range(len(options)), key=lambda row: (-kept[row], value[row])), None))
    return answers


def _best(outlook: Outlook, question: Question, seconds: FloatArray, *, equal: float = EQUAL) -> int:
    """The best option if runs took so long; where none keeps to the limit, the one nearest to it.

    Of options that are equally good the one that is better otherwise: where all work is taken to spread
    perfectly, all numbers of machines cost the same, and only the larger ones are safe.
    """
    options = outlook.situation.options
    costs = np.array([option.cost_of(each) for option, each in zip(options, seconds.tolist(), strict=True)])
    kept = np.array(
        [
            question.is_met(seconds=each, cost=cost)
            for each, cost in zip(seconds.tolist(), costs.tolist(), strict=True)
        ]
    )
    wanted, limited = (costs, seconds) if question.kind == DEADLINE else (seconds, costs)
    if not kept.any():
        return int(limited.argmin())
    equally_good = kept & (wanted <= equal * wanted[kept].min())
    return int(np.where(equally_good, limited, np.inf).argmin())


def _largest(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
    """What has the highest price for an hour: the most machines, of the dearest type."""
    prices = [option.machines * option.billing.price_per_hour for option in outlook.situation.options]
    return [(int(np.argmax(prices)), None)] * len(questions)


def _rule_of_thumb(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
    """A core for each gigabyte of the input, on the cheapest type; the next larger number that is offered.

    Where nobody knows the size of the input, the fewest machines.
    """
    situation = outlook.situation
    prices = np.array([option.billing.price_per_hour / option.cores for option in situation.options])
    of_type = np.flatnonzero(prices == prices.min())
    machines = [situation.options[row].machines for row in of_type]
    cores = (situation.gigabytes or 0.0) / GIGABYTES_PER_CORE
    wanted = math.ceil(cores / situation.options[of_type[0]].cores)
    enough = [count for count in machines if count >= wanted]
    chosen = machines.index(min(enough) if enough else max(machines))
    return [(int(of_type[chosen]), None)] * len(questions)


Preference = Callable[[Goal, Alternative], tuple[float, ...]]


def _preferred(goal: Goal, alternative: Alternative) -> tuple[float, ...]:
    """As the package has it."""
    return goal.preference(alternative)


def _plainly_best(goal: Goal, alternative: Alternative) -> tuple[float, ...]:
    """By the predicted dollars or seconds alone, however much surer another one is for little more."""
    return goal.preference(replace(alternative, probability=None))


def _ours(confidence: float, prefer: Preference) -> Rule:
    """As the package chooses (`decision.deciding`); where nothing is sure enough the most probable option."""

    def decide(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
        goals = [Goal(question.goal(confidence)) for question in questions]
        options = outlook.situation.options
        limits = np.array(
            [[goal.limit_seconds(option.billing, option.machines) for option in options] for goal in goals]
        )
        answers: list[Answer] = []
        for goal, probabilities in zip(goals, outlook.probabilities(limits).tolist(), strict=True):
            alternatives = _alternatives(outlook, goal, probabilities)
            sure = [each for each in alternatives if each.feasible]
            chosen = (
                min(sure, key=lambda each: prefer(goal, each)) if sure else most_probable(alternatives, goal)
            )
            answers.append((alternatives.index(chosen), chosen.probability))
        return answers

    return decide


def _alternatives(outlook: Outlook, goal: Goal, probabilities: Sequence[float]) -> list[Alternative]:
    return [
        Alternative(
            machines=option.machines,
            instance_type=option.instance_type,
            seconds=seconds,
            cost=option.cost_of(seconds),
            feasible=goal.is_kept(probability),
            probability=probability,
        )
        for option, seconds, probability in zip(
            outlook.situation.options, outlook.seconds.tolist(), probabilities, strict=True
        )
    ]
