"""What fewer runs do to decisions about measured jobs: sample runs in rounds beside a design of all at once.

Of the configurations that a context may be trained on so many are taken as a plan asks for, each with the
median of its runs, by one job alone: nothing is known of others. Contexts with no more configurations than
the fewest runs are left out, for they leave no choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.design.problem import Targets
from airflow_provider_ernest.design.rounds import FEWEST_RUNS, next_runs
from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.operators.experiment_design import MOST_OF_A_ROUND
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.bounds import MOST_ROUNDS
from airflow_provider_ernest.settings.goal import BEST_VALUE, CONFIDENCE
from benchmarks.accuracy.methods import Averaging
from benchmarks.accuracy.runs import Runs
from benchmarks.accuracy.traces import Context
from benchmarks.decisions.evaluation import Decided, decide
from benchmarks.decisions.rules import Forecasts, all_rules, ours
from benchmarks.decisions.situations import DEADLINE, Question, Situation, of_one_type, questions
from benchmarks.decisions.training_share import MANY_RUNS

PARTITIONS = 1000
"""Of the whole input: they only name the scale."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How runs are planned.

    Attributes:
        expected_runs: production runs that share the cost of samples made in rounds; None for one design.
        runs: of one design, or the fewest in rounds; None for the default.
    """

    expected_runs: int | None = None
    runs: int | None = None


PLANS: Mapping[str, Plan] = {
    "one design": Plan(),
    "one of 4": Plan(runs=4),
    "rounds": Plan(expected_runs=1),
    f"for {MANY_RUNS} runs": Plan(expected_runs=MANY_RUNS),
    "rounds of 4": Plan(expected_runs=1, runs=4),
}


def decided_in_rounds(contexts: Sequence[Context], *, count: int) -> list[Decided]:
    """The decisions by each plan, named by it and by the mean number of its runs."""
    situations = of_one_type(contexts)
    result = []
    for name, plan in PLANS.items():
        decided, made = [], []
        for situation, context in zip(situations, contexts, strict=True):
            points = context.trained()
            if len(points) <= FEWEST_RUNS:
                continue
            runs_of: dict[tuple[int, ...], list[Question]] = defaultdict(list)
            for question in questions(situation, DEADLINE, count=count):
                runs_of[_chosen(plan, points, situation, question.limit)].append(question)
            for rows, asked in runs_of.items():
                decided += _decided(situation, points.at(np.array(rows)), asked, count)
                made += [len(rows)] * len(asked)
        result += [replace(each, rule=f"{name}: {np.mean(made):.1f}") for each in decided]
    return result


def _decided(situation: Situation, runs: Runs, asked: Sequence[Question], count: int) -> list[Decided]:
    """As `decide` does, of the questions that these runs were made for."""
    alone = replace(situation, options=tuple(replace(option, model=0) for option in situation.options))
    rule = ours(CONFIDENCE)
    outlook = Forecasts([runs], method=Averaging()).outlook(alone)
    every = decide([outlook], DEADLINE, count=count, rules={rule: all_rules()[rule]})
    return [each for each in every if each.question in asked]


def _chosen(plan: Plan, points: Runs, situation: Situation, deadline_seconds: float) -> tuple[int, ...]:
    """Positions of the points that the runs of a plan are."""
    candidates = Candidates(
        executors=points.executors.astype(np.int64),
        scale=points.scale,
        partitions=np.rint(points.scale * PARTITIONS).astype(np.int64),
    )
    executors = tuple(sorted({option.executors for option in situation.options}))
    scale = situation.options[0].scale
    if plan.expected_runs is None:
        design = plan_design(
            candidates=candidates,
            targets=Targets(executors=executors, scale=scale),
            min_runs=plan.runs,
            max_runs=plan.runs,
        )
        return tuple(_row(points, run) for run in design.experiments)
    goal = SizingGoal(
        deadline_seconds=deadline_seconds,
        objective=BEST_VALUE,
        allowed_executors=executors,
        scale=scale,
        billing=Billing(expected_runs=plan.expected_runs),
    )
    observations = points.observations()
    rows: list[int] = []
    for _ in range(MOST_ROUNDS):
        proposal = next_runs(
            candidates=candidates,
            goal=goal,
            observed=[observations[row] for row in rows],
            most=MOST_OF_A_ROUND,
            min_runs=plan.runs or FEWEST_RUNS,
            max_error_percent=goal.max_error_percent,
        )
        rows += [_row(points, run) for run in proposal.experiments]
        if not proposal.experiments:
            break
    return tuple(sorted(rows))


def _row(points: Runs, run: Experiment) -> int:
    return int(np.flatnonzero((points.executors == run.executors) & (points.scale == run.scale))[0])
