"""The trials: what was known of a job before its samples, which samples are made, and what is predicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import MachineSeconds
from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.documents.models import BELIEFS, AveragingPrior, TermBelief
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.numbers import FloatArray
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.terms import DICTIONARY
from benchmarks.replay_prior.jobs import PARTITIONS, Job, Step
from benchmarks.replay_prior.replayed import Replayed, profile_of, with_error
from benchmarks.replay_prior.spark_run import run

TARGET_MACHINES = (24, 48)
TRUE_RUNS = 5
"""Of production, whose mean is what is to be predicted."""

BUDGET_SHARE = 1.0
"""Of the machine seconds of production on the fewer machines, that the samples may really cost. These jobs
are so short that what no run does without is much of it."""

BUDGETS = np.geomspace(10.0, 5_000.0, 40)
"""That designs are asked for with, each in its own unit, until what they really cost is right."""

MOST_RUNS = 8

EARLIER: Mapping[str, tuple[float, int, bool]] = {
    "half the input, 8 machines": (0.5, 8, False),
    "all the input, 12 machines": (1.0, 12, False),
    "another job of its kind": (0.5, 8, True),
}
"""The earlier run: its scale, its machines, and whether it is only like the job."""

AS_NOW, GUESSED, REPLAYED_WEIGHTS, REPLAYED_COSTS, REPLAYED_BOTH = (
    "as now",
    "as now, with a guess of the seconds",
    "replayed seconds as weights",
    "replayed seconds as costs",
    "replayed seconds as weights and costs",
)
WAYS: Mapping[str, Mapping[str, bool]] = {
    REPLAYED_WEIGHTS: {"is_weight": True},
    REPLAYED_COSTS: {"is_cost": True},
    REPLAYED_BOTH: {"is_weight": True, "is_cost": True},
}
GUESSED_OVERHEAD = 5.0

ALONE = "-"
MODEL, TERM_PRIOR, BOTH, REPLAY, REPLAY_FITTED, OWN_REPLAY, OWN_BOTH = (
    "model",
    "model, terms' prior by replay",
    "model and replay by their errors",
    "replay of the earlier run",
    "the same, times what samples took",
    "replay of the samples",
    "model and replay of the samples, by their errors",
)

LEAST_REPLAY_ERROR = 0.1
"""Standard deviation of the logarithm of what is replayed at ten times the samples' input, at least."""

QUANTILE_90 = 1.2815515655446004
KNOWN_EXECUTORS = replace(AveragingPrior(), driver_share=0.0)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One prediction.

    Attributes:
        job: its name.
        earlier: what was known before; `ALONE` where nothing was.
        design: how the samples were chosen.
        prediction: by what it was predicted.
        spent: what the samples cost, as a share of what they might.
        runs: how many there were.
        errors_percent: signed, of the targets.
    """

    job: str
    earlier: str
    design: str
    prediction: str
    spent: float
    runs: int
    errors_percent: tuple[float, ...]


def outcomes(name: str, job: Job, *, draws: int, seed: int) -> Iterator[Outcome]:
    """All predictions for a job, each with the noise drawn so often."""
    trial = _Trial(name, job, seed)
    plain = trial.design(partial(_planned, trial.candidates))
    yield from trial.predictions(plain, AS_NOW, ALONE, None, draws)
    guessed = trial.design(partial(_guessed, trial.candidates, trial.seconds_on_one_machine))
    yield from trial.predictions(guessed, GUESSED, ALONE, None, draws)
    for earlier, (scale, machines, is_other) in EARLIER.items():
        generator = np.random.default_rng([seed, machines, is_other])
        before = _alike(job, generator) if is_other else job
        log = run(before, machines=machines, scale=scale, generator=generator)
        replayed = Replayed.of([profile_of(log, scale=scale)], TARGET_MACHINES)
        yield from trial.predictions(plain, AS_NOW, earlier, replayed, draws)
        for how, uses in WAYS.items():
            design = trial.design(partial(_planned, trial.candidates, replayed=replayed, **uses))
            yield from trial.predictions(design, how, earlier, replayed, draws)


def _planned(
    candidates: Candidates,
    budget: float,
    *,
    replayed: Replayed | None = None,
    is_weight: bool = False,
    is_cost: bool = False,
) -> Design:
    def machine_seconds(asked: Candidates) -> FloatArray:
        assert replayed is not None
        return np.asarray(
            asked.machines * replayed.seconds(machines=asked.machines.astype(float), scale=asked.scale)
        )

    return plan_design(
        candidates=candidates,
        targets=Targets(machines=TARGET_MACHINES),
        cost=machine_seconds if is_cost else "relative_time",
        budget=budget,
        expected_seconds=replayed.seconds if replayed is not None and is_weight else None,
        max_runs=MOST_RUNS,
    )


def _guessed(candidates: Candidates, seconds_on_one_machine: float, budget: float) -> Design:
    """By a user who knows what the whole input takes on one machine, and what a run takes at least."""
    return plan_design(
        candidates=candidates,
        targets=Targets(machines=TARGET_MACHINES),
        cost=MachineSeconds(
            full_seconds_on_one_machine=seconds_on_one_machine, run_overhead_seconds=GUESSED_OVERHEAD
        ),
        budget=budget,
        max_runs=MOST_RUNS,
    )


def _alike(job: Job, generator: np.random.Generator) -> Job:
    """Another job of the same stages: each takes another time, and so does the driver."""

    def factor() -> float:
        return float(np.exp(generator.uniform(math.log(0.4), math.log(2.5))))

    def changed(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            replace(step, seconds=step.seconds * factor(), fetch_seconds=step.fetch_seconds * factor())
            for step in steps
        )

    return replace(
        job,
        steps=changed(job.steps),
        repeated=changed(job.repeated),
        driver_seconds=job.driver_seconds * factor(),
        between_seconds=job.between_seconds * factor(),
    )


class _Trial:
    """A job with what its runs really take."""

    def __init__(self, name: str, job: Job, seed: int) -> None:
        self._name, self._job, self._seed = name, job, seed
        self.candidates = enumerate_candidates(
            max_machines=16, min_scale=0.01, max_scale=0.1, partitions=PARTITIONS, scale_steps=10
        )
        generator = np.random.default_rng([seed, 1])
        machine_seconds: list[float] = [
            machines * self._seconds(machines, scale, generator)
            for machines, scale in zip(
                self.candidates.machines.tolist(), self.candidates.scale.tolist(), strict=True
            )
        ]
        self._costs = dict(
            zip(
                zip(self.candidates.machines.tolist(), self.candidates.scale.tolist(), strict=True),
                machine_seconds,
                strict=True,
            )
        )
        self._truth = np.array(
            [
                np.mean([self._seconds(machines, 1.0, generator) for _ in range(TRUE_RUNS)])
                for machines in TARGET_MACHINES
            ]
        )
        self.seconds_on_one_machine = self._seconds(1, 1.0, generator)
        self._budget = BUDGET_SHARE * TARGET_MACHINES[0] * float(self._truth[0])

    def _seconds(self, machines: int, scale: float, generator: np.random.Generator) -> float:
        log = run(self._job, machines=machines, scale=scale, generator=generator)
        return float(log.ended_at - log.ready_at)

    def _spent(self, design: Design) -> float:
        return sum(self._costs[each.machines, each.scale] for each in design.experiments)

    def design(self, plan: Callable[[float], Design]) -> Design:
        """The design of the largest budget, in whatever unit, with which it really keeps to the true one."""
        made: list[Design] = []
        for budget in BUDGETS.tolist():
            try:
                made.append(plan(budget))
            except DesignError:
                continue
            if self._spent(made[-1]) > 2.0 * self._budget:
                break
        within = [design for design in made if self._spent(design) <= self._budget]
        if within:
            return max(within, key=self._spent)
        return min(made, key=self._spent)

    def predictions(
        self, design: Design, how: str, earlier: str, replayed: Replayed | None, draws: int
    ) -> Iterator[Outcome]:
        """What is predicted from the runs of a design, for each draw of their noise."""
        prior = None if replayed is None else _with_terms(replayed)
        for draw in range(draws):
            generator = np.random.default_rng([self._seed, 2, draw])
            logs = [
                run(self._job, machines=each.machines, scale=each.scale, generator=generator)
                for each in design.experiments
            ]
            samples = _Samples(
                machines=np.array([each.machines for each in design.experiments], dtype=np.float64),
                scale=np.array([each.scale for each in design.experiments]),
                seconds=np.array([log.ended_at - log.ready_at for log in logs]),
            )
            if replayed is None:
                profiles = [
                    profile_of(log, scale=each.scale)
                    for log, each in zip(logs, design.experiments, strict=True)
                ]
                predicted = _from_samples_alone(samples, *with_error(profiles, TARGET_MACHINES, 1.0))
            else:
                assert prior is not None
                predicted = _with_earlier(samples, replayed, prior)
                if how == AS_NOW:
                    # The same as where nothing was known before.
                    predicted.pop(MODEL)
                else:
                    predicted = {name: predicted[name] for name in (MODEL, TERM_PRIOR, BOTH)}
            for prediction, seconds in predicted.items():
                yield Outcome(
                    job=self._name,
                    earlier=earlier,
                    design=how,
                    prediction=prediction,
                    spent=self._spent(design) / self._budget,
                    runs=len(design.experiments),
                    errors_percent=tuple((100.0 * (seconds / self._truth - 1.0)).tolist()),
                )


@dataclass(frozen=True, kw_only=True)
class _Samples:
    """Runs that were made, as columns."""

    machines: FloatArray
    scale: FloatArray
    seconds: FloatArray

    def fitted(self, prior: AveragingPrior) -> tuple[FloatArray, FloatArray]:
        """Logarithms of the predictions for the targets, and their standard deviations."""
        averaging = TermAveraging(prior=prior).fit_undetermined(
            machines=self.machines, scale=self.scale, seconds=self.seconds
        )
        low, high = averaging.interval(machines=TARGET_MACHINES, scale=1.0, level=0.8)
        predicted = averaging.predict(machines=TARGET_MACHINES, scale=1.0)
        return np.log(predicted), np.log(high / low) / (2.0 * QUANTILE_90)


def _with_terms(replayed: Replayed) -> AveragingPrior:
    """Half of what is believed of the terms is by the replay."""
    probabilities = dict(
        zip(DICTIONARY, replayed.term_probabilities(TARGET_MACHINES, KNOWN_EXECUTORS), strict=True)
    )
    beliefs = tuple(_half(belief, probabilities) for belief in BELIEFS)
    return replace(KNOWN_EXECUTORS, beliefs=beliefs)


def _half(belief: TermBelief, probabilities: Mapping[str, float]) -> TermBelief:
    by_replay = probabilities.get(belief.name, belief.probability)
    mixed = 0.5 * (belief.probability + float(by_replay))
    return replace(belief, probability=min(0.98, max(0.02, mixed)))


def _from_samples_alone(samples: _Samples, own_replay: FloatArray, error: float) -> dict[str, FloatArray]:
    logs, errors = samples.fitted(KNOWN_EXECUTORS)
    return {
        MODEL: np.exp(logs),
        OWN_REPLAY: own_replay,
        OWN_BOTH: _weighed(logs, errors, np.log(own_replay), max(LEAST_REPLAY_ERROR, error)),
    }


def _with_earlier(samples: _Samples, replayed: Replayed, prior: AveragingPrior) -> dict[str, FloatArray]:
    logs, errors = samples.fitted(KNOWN_EXECUTORS)
    by_terms, _ = samples.fitted(prior)
    of_samples = replayed.seconds(machines=samples.machines, scale=samples.scale)
    ratios = np.log(samples.seconds / of_samples)
    fitted = np.log(replayed.of_targets) + ratios.mean()
    distance = max(LEAST_REPLAY_ERROR, float(np.sqrt(np.mean(ratios**2))))
    return {
        MODEL: np.exp(logs),
        TERM_PRIOR: np.exp(by_terms),
        BOTH: _weighed(logs, errors, np.log(replayed.of_targets), distance),
        REPLAY: replayed.of_targets,
        REPLAY_FITTED: np.exp(fitted),
    }


def _weighed(logs: FloatArray, errors: FloatArray, others: FloatArray, error: float) -> FloatArray:
    """The mean of two opinions' logarithms, each by its precision."""
    weights, weight = 1.0 / errors**2, 1.0 / error**2
    return np.asarray(np.exp((weights * logs + weight * others) / (weights + weight)))
