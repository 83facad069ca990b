"""The rules that decide: what users do, the original, the method of this package, and an oracle.

All see the same training runs of each job, and none of those that are decided about. A rule is asked all
questions of a kind in one situation at once, and answers with the positions of the options that it chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from airflow_provider_ernest.decision.deciding import most_probable
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.accuracy.methods import ORIGINAL as ORIGINAL_ERNEST
from benchmarks.accuracy.methods import AnyMethod, Forecast, PooledAveraging, pool
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.situations import DEADLINE, Question, Situation

SHORTEST_SECONDS = 1e-9
"""No run is as short: the probability is 0 where nothing is allowed."""


class ProbableForecast(Forecast, Protocol):
    """A forecast that tells probabilities."""

    def probability_within(
        self, *, executors: FloatArray, scale: FloatArray, limits: FloatArray
    ) -> FloatArray:
        """Of single runs to take no longer than so many seconds, shape (n,)."""


class Forecasts:
    """The fitted methods, one of each for every job; the jobs are one deployment.

    `startup_seconds` come on top of every run. `method` is None for the one that learns from all jobs, and
    takes the runs for samples of one input, as those that a DAG decides by.
    """

    def __init__(
        self,
        samples: Sequence[Runs],
        *,
        startup_seconds: float = 0.0,
        method: AnyMethod | None = None,
    ) -> None:
        pooled = pool(method or PooledAveraging(of_one_input=True), samples)
        self._original = [ORIGINAL_ERNEST.fit(runs) for runs in samples]
        self._ours = [cast(ProbableForecast, pooled.fit(runs)) for runs in samples]
        self._startup_seconds = startup_seconds

    def outlook(self, situation: Situation) -> Outlook:
        """What is predicted of the options of a situation."""
        original, ours = np.empty((2, len(situation.options)))
        for job, rows in situation.by_model():
            executors, scale = situation.columns(rows)
            original[rows] = self._original[job].predict(executors=executors, scale=scale)
            ours[rows] = self._ours[job].predict(executors=executors, scale=scale)
        return Outlook(
            situation=situation,
            original_seconds=self._startup_seconds + original,
            seconds=self._startup_seconds + ours,
            forecasts=self._ours,
            startup_seconds=self._startup_seconds,
        )


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """Predictions of the n options of a situation.

    Attributes:
        original_seconds: by the original, shape (n,).
        seconds: by ours, medians, shape (n,).
        forecasts: ours, by the positions that the options name, without the start-up.
    """

    situation: Situation
    original_seconds: FloatArray
    seconds: FloatArray
    forecasts: Sequence[ProbableForecast]
    startup_seconds: float = 0.0

    def probabilities(self, limits: FloatArray) -> FloatArray:
        """Of the options to take no longer than the limits of q questions, both of shape (q, n)."""
        result = np.empty(limits.shape)
        for job, rows in self.situation.by_model():
            executors, scale = self.situation.columns(rows)
            asked = np.maximum(limits[:, rows] - self.startup_seconds, SHORTEST_SECONDS)
            probabilities = self.forecasts[job].probability_within(
                executors=np.tile(executors, len(asked)),
                scale=np.tile(scale, len(asked)),
                limits=asked.ravel(),
            )
            result[:, rows] = probabilities.reshape(asked.shape)
        return result


ORIGINAL, WITH_MARGIN = "original Ernest", "original + 30 %"
LARGEST, ORACLE = "always the largest", "oracle"

MARGIN = 1.3

EQUAL = 1.01
"""What the original predicts to cost up to a per cent more than the cheapest costs the same."""

CONFIDENCES = (0.5, 0.8, 0.95)

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
        **{ours(confidence): _ours(confidence) for confidence in CONFIDENCES},
        ORACLE: _oracle,
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
    prices = [option.executors * option.billing.price_per_hour for option in outlook.situation.options]
    return [(int(np.argmax(prices)), None)] * len(questions)


def _ours(confidence: float) -> Rule:
    """As the package chooses (`decision.deciding`); where nothing is sure enough the most probable option."""

    def decide(outlook: Outlook, questions: Sequence[Question]) -> list[Answer]:
        goals = [Goal(question.goal(confidence)) for question in questions]
        options = outlook.situation.options
        limits = np.array(
            [[goal.limit_seconds(option.billing, option.executors) for option in options] for goal in goals]
        )
        answers: list[Answer] = []
        for goal, probabilities in zip(goals, outlook.probabilities(limits).tolist(), strict=True):
            alternatives = _alternatives(outlook, goal, probabilities)
            sure = [each for each in alternatives if each.feasible]
            chosen = min(sure, key=goal.preference) if sure else most_probable(alternatives, goal)
            answers.append((alternatives.index(chosen), chosen.probability))
        return answers

    return decide


def _alternatives(outlook: Outlook, goal: Goal, probabilities: Sequence[float]) -> list[Alternative]:
    return [
        Alternative(
            executors=option.executors,
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
