"""What the decisions are to reach, and whether they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.report import number
from benchmarks.decisions.evaluation import Decided, Summary, summarise
from benchmarks.decisions.grown_jobs import LARGER_INPUT, LONGER
from benchmarks.decisions.rules import LARGEST, ORIGINAL, WITH_MARGIN, ours
from benchmarks.decisions.training_share import (
    AIM,
    DEFAULT,
    IN_ROUNDS,
    IN_TWO_ON_TWO,
    TWO_AT_ONCE,
    Trained,
)

LEAST_KEPT = {0.95: 98.0}
"""Of deadlines that can be kept, by the median of the runs, in per cent, for a confidence."""

LEAST_RUNS_KEPT = {0.8: 95.0}
"""Of single runs."""

MOST_REGRET = {0.95: 15.0, 0.8: 10.0}
"""In cost, in per cent."""

MOST_POINTS_APART = 4.0
"""What is said of single runs and how many keep to their limit, in percentage points."""

OTHERS = (ORIGINAL, WITH_MARGIN, LARGEST)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One figure of ours beside the others'; None where there is no such figure.

    Attributes:
        figure: what is measured, in per cent.
        others: the figures of `OTHERS`.
        ours: ours.
        low, high: what ours is to lie between.
    """

    figure: str
    others: tuple[float | None, ...]
    ours: float | None
    low: float = 0.0
    high: float = 100.0

    @property
    def met(self) -> bool:
        """Whether the goal is met."""
        return self.ours is not None and self.low <= self.ours <= self.high


def goals_of(decided: Sequence[Decided]) -> list[Goal]:
    """The goals for deadlines, judged over all that can be kept by the median of some option's runs."""
    others = [summarise(each for each in decided if each.rule == rule) for rule in OTHERS]
    goals = []
    for confidence in sorted(MOST_REGRET):
        own = summarise(each for each in decided if each.rule == ours(confidence))
        at = f"at confidence {confidence:g}"
        if confidence in LEAST_KEPT:
            goals.append(
                Goal(
                    figure=f"deadlines kept, {at}",
                    others=tuple(each.kept for each in others),
                    ours=own.kept,
                    low=LEAST_KEPT[confidence],
                )
            )
        if confidence in LEAST_RUNS_KEPT:
            goals.append(
                Goal(
                    figure=f"single runs kept, {at}",
                    others=tuple(each.runs_kept for each in others),
                    ours=own.runs_kept,
                    low=LEAST_RUNS_KEPT[confidence],
                )
            )
        goals.append(_regret(at, own, others, MOST_REGRET[confidence]))
    return goals


def goals_of_probabilities(decided: Mapping[str, Sequence[Decided]]) -> list[Goal]:
    """Those of what is said at confidence 0.8, by title; the limits are not chosen by what can be kept."""
    return [
        Goal(
            figure=f"said against kept: {title}",
            others=(None,) * len(OTHERS),
            ours=_points_apart(summarise(each for each in of_title if each.rule == ours(0.8))),
            high=MOST_POINTS_APART,
        )
        for title, of_title in decided.items()
    ]


def _points_apart(own: Summary) -> float | None:
    if own.probability is None or own.runs_kept is None:
        return None
    return abs(own.probability - own.runs_kept)


def goals_of_training(trained: Sequence[Trained]) -> list[Goal]:
    """The bill of the training on a small cluster: by default, and in rounds also where all terms grow.

    Where a cluster is billed by what runs use, it is the share.
    """
    plans = {
        (LARGER_INPUT, DEFAULT): "training's bill",
        (LARGER_INPUT, IN_ROUNDS): "the same in rounds",
        (LONGER, IN_ROUNDS): "and with all terms longer",
        (LONGER, IN_TWO_ON_TWO): "that in 2 rounds on 2 machines",
        (LONGER, TWO_AT_ONCE): "that, 2 runs at once",
    }
    return [
        Goal(
            figure=f"{figure}, {each.production_seconds / 60:.0f} min",
            others=(None,) * len(OTHERS),
            ours=ours,
            high=AIM,
        )
        for of in plans
        for each in trained
        if (each.growth, each.plan) == of
        for figure, ours in (
            (plans[of], each.bill),
            *([("  by what runs use", each.share)] if each.growth == LONGER else []),
        )
    ]


def goals_table(goals: Sequence[Goal]) -> list[str]:
    """The table, line by line."""
    heads = "".join(f"  {name:>18s}" for name in OTHERS)
    return ["== goals ==", f"{'%':40s}{heads}    ours  goal", *(_line(goal) for goal in goals)]


def _line(goal: Goal) -> str:
    wanted = f"at least {goal.low:g}" if goal.low else f"at most {goal.high:g}"
    figures = "".join(f"  {number(figure, 18)}" for figure in goal.others)
    return (
        f"{goal.figure:40s}{figures}  {number(goal.ours, 6)}  {wanted:11s}  {'met' if goal.met else 'missed'}"
    )


def _regret(at: str, own: Summary, others: Sequence[Summary], most: float) -> Goal:
    return Goal(
        figure=f"regret in cost, {at}",
        others=tuple(each.regret for each in others),
        ours=own.regret,
        high=most,
    )
