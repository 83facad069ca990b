"""Poses the questions to the rules, and sums up what their decisions came to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.decisions.outlook import Outlook
from benchmarks.decisions.questions import LIMITS, Question, questions
from benchmarks.decisions.rules import ORACLE, Answer, Rule, all_rules
from benchmarks.decisions.situations import Option


@dataclass(frozen=True, kw_only=True)
class Decided:
    """One decision and what it came to.

    Attributes:
        rule: which rule decided.
        job, setting: where.
        question: what was asked.
        chosen: the option.
        best: the one that the oracle chose.
        kept: whether the chosen one keeps to the limit by the median of its runs.
        runs_kept: which of its single runs do.
        regret: what the median run costs (under a budget: takes) more than the oracle's, as a share of
            that; 0 where it is less, so that nobody earns by missing.
        probability: of a run to keep to the limit, as the rule had it; None where it says nothing.
    """

    rule: str
    job: str
    setting: str
    question: Question
    chosen: Option
    best: Option
    kept: bool
    runs_kept: tuple[bool, ...]
    regret: float
    probability: float | None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Some decisions of one rule, in per cent; None where there is nothing to say.

    Attributes:
        decisions: how many.
        kept: the share that keeps to the limit by the median of the runs.
        runs_kept: the share of single runs that do, of all runs of the chosen options.
        regret: mean over all decisions.
        regret_of_kept: mean over those that keep to the limit.
        probability: mean of what the rule said of single runs.
    """

    decisions: int
    kept: float | None
    runs_kept: float | None
    regret: float | None
    regret_of_kept: float | None
    probability: float | None


def decide(
    outlooks: Sequence[Outlook],
    kind: str,
    *,
    count: int = LIMITS,
    reach: float = 1.0,
    rules: Mapping[str, Rule] | None = None,
) -> list[Decided]:
    """Every rule's answer to every question.

    Args:
        outlooks: the situations with what is predicted of them.
        kind: of the questions.
        count: how many in each situation.
        reach: how far the questions go; see `questions`.
        rules: by default all.
    """
    decided = []
    for outlook in outlooks:
        asked = questions(outlook.situation, kind, count=count, reach=reach)
        answers = {name: rule(outlook, asked) for name, rule in (rules or all_rules()).items()}
        best = all_rules()[ORACLE](outlook, asked)
        decided += [
            _decided(name, outlook, question, answer, oracle[0])
            for name, given in answers.items()
            for question, answer, oracle in zip(asked, given, best, strict=True)
        ]
    return decided


def summarise(decisions: Iterable[Decided]) -> Summary:
    """Sum up the decisions of one rule."""
    every = list(decisions)
    return Summary(
        decisions=len(every),
        kept=_percent([each.kept for each in every]),
        runs_kept=_percent([kept for each in every for kept in each.runs_kept]),
        regret=_percent([each.regret for each in every]),
        regret_of_kept=_percent([each.regret for each in every if each.kept]),
        probability=_percent([each.probability for each in every if each.probability is not None]),
    )


def summarise_by_probability(decisions: Iterable[Decided], edges: Sequence[float]) -> list[Summary]:
    """One summary for what was said to have a probability from each edge on, up to the next."""
    every = list(decisions)
    ends = [*edges[1:], np.inf]
    return [
        summarise(each for each in every if each.probability is not None and least <= each.probability < end)
        for least, end in zip(edges, ends, strict=True)
    ]


def _decided(name: str, outlook: Outlook, question: Question, answer: Answer, best: int) -> Decided:
    situation = outlook.situation
    position, probability = answer
    chosen, value = situation.options[position], question.value(situation)
    return Decided(
        rule=name,
        job=situation.job,
        setting=situation.setting,
        question=question,
        chosen=chosen,
        best=situation.options[best],
        kept=question.keeps(chosen, chosen.seconds),
        runs_kept=tuple(question.keeps(chosen, seconds) for seconds in chosen.repetitions),
        regret=max(0.0, float(value[position] / value[best]) - 1.0),
        probability=probability,
    )


def _percent(values: Sequence[float]) -> float | None:
    return 100.0 * float(np.mean(values)) if values else None
