"""Poses the questions to the rules, and sums up what their decisions came to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from benchmarks.accuracy.evaluation import text
from benchmarks.decisions.rules import CONFIDENCES, ORACLE, Answer, Outlook, Rule, all_rules, ours
from benchmarks.decisions.situations import DEADLINE, LIMITS, Option, Question, questions


@dataclass(frozen=True, kw_only=True)
class Decided:
    """One decision and what it came to.

    Attributes:
        best: the option that the oracle chose.
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


def decide(
    outlooks: Sequence[Outlook],
    kind: str,
    *,
    count: int = LIMITS,
    reach: float = 1.0,
    rules: Mapping[str, Rule] | None = None,
) -> list[Decided]:
    """Every rule's answer to `count` questions of a kind in each situation; see `questions`."""
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


def summarise(decisions: Iterable[Decided]) -> dict[str, float]:
    """The figures of one rule, in per cent; NaN where there is nothing to say.

    Kept is the share that keeps to the limit by the median of the runs, single runs that of all runs of the
    chosen options; regret is the mean over all decisions, or over those that keep to the limit; said is the
    mean of what the rule said of single runs.
    """
    every = list(decisions)
    columns = {
        "kept": [each.kept for each in every],
        "single runs": [kept for each in every for kept in each.runs_kept],
        "regret": [each.regret for each in every],
        "of kept": [each.regret for each in every if each.kept],
        "said": [each.probability for each in every if each.probability is not None],
    }
    return {name: 100.0 * float(pd.Series(values, dtype=float).mean()) for name, values in columns.items()}


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


OURS = tuple(ours(confidence) for confidence in CONFIDENCES)

SAID_FROM = (0.0, 0.2, 0.5, 0.8, 0.95)
"""Decisions are held against what was said of them in groups, by the least of each."""

WORST = 5
"""How many of our dearest decisions are shown, and at most how many misses."""


def table(decided: Sequence[Decided]) -> str:
    """What the rules came to, together and by job."""
    jobs = sorted({each.job for each in decided})
    rows = {}
    for rule in dict.fromkeys(each.rule for each in decided):
        own = [each for each in decided if each.rule == rule]
        rows[rule] = {"decisions": float(len(own)), **summarise(own)}
        for job in jobs if len(jobs) > 1 else ():
            of_job = summarise(each for each in own if each.job == job)
            rows[rule] |= {f"{job}: kept": of_job["kept"], f"{job}: regret": of_job["regret"]}
    return text(pd.DataFrame(rows).T)


def probabilities_table(decided: Mapping[str, Sequence[Decided]]) -> str:
    """What was said of single runs beside how many kept to their limit, in all and by what was said.

    Args:
        decided: by title, with limits that are not chosen by what can be kept.
    """
    rows = {}
    for title, of_title in decided.items():
        for rule in dict.fromkeys(each.rule for each in of_title):
            own = [each for each in of_title if each.rule == rule]
            row: dict[str, float] = {}
            for least, end in zip((0.0, *SAID_FROM), (math.inf, *SAID_FROM[1:], math.inf), strict=True):
                group = [each for each in own if least <= (each.probability or 0.0) < end]
                figures = summarise(group)
                name = "all" if not row else f"from {least:g}"
                row[f"{name}: said"], row["kept" + " " * len(row)] = figures["said"], figures["single runs"]
                row["n" + " " * len(row)] = len(group)
            rows[title, rule] = row
    return text(pd.DataFrame(rows).T)


def unfavourable(tables: Mapping[str, Sequence[Decided]]) -> Iterator[str]:
    """Where another rule keeps as much as ours at less regret; our misses, and our dearest decisions."""
    yield "== what speaks against ours =="
    for title, decided in tables.items():
        for job in sorted({each.job for each in decided}):
            yield from _better_than_ours(f"  {title}, {job}", [each for each in decided if each.job == job])
    for title, decided in tables.items():
        surest = [each for each in decided if each.rule == OURS[-1]]
        misses = [each for each in surest if not each.kept]
        dearest = sorted((e for e in surest if e.kept), key=lambda each: -each.regret)[:WORST]
        yield f"  {title}, {OURS[-1]}: {len(misses)} missed; these, and the dearest of the others:"
        yield from (f"    {_told(each)}" for each in (*misses[:WORST], *dearest))


def _better_than_ours(title: str, decided: Sequence[Decided]) -> Iterator[str]:
    """The other rules that keep at least as much as one of ours at less regret."""
    rules = dict.fromkeys(each.rule for each in decided)
    found = {rule: summarise(each for each in decided if each.rule == rule) for rule in rules}
    for rule in found.keys() - {*OURS, ORACLE}:
        for name in OURS:
            other, own = found[rule], found[name]
            if other["kept"] >= own["kept"] and other["regret"] < own["regret"]:
                yield (
                    f"{title}: {rule} keeps {other['kept']:.1f} % at {other['regret']:.1f} % regret, "
                    f"{name} {own['kept']:.1f} % at {own['regret']:.1f} %"
                )


def _told(decided: Decided) -> str:
    question, chosen, best = decided.question, decided.chosen, decided.best
    limit = f"{question.limit:.0f} s" if question.kind == DEADLINE else f"{question.limit:.4f} $"
    return (
        f"{decided.job}, {decided.setting}, {limit}: {chosen.executors} x {chosen.instance_type} "
        f"({chosen.seconds:.0f} s) instead of {best.executors} x {best.instance_type} "
        f"({best.seconds:.0f} s), {100 * decided.regret:+.0f} %"
    )
