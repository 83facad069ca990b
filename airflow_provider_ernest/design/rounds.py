"""Sample runs in rounds, until the next one is not worth what it costs.

The first round makes the model identifiable, as cheaply as can be. From then on a run is chosen for what it
does to the decision, by the draws of the predictor's posterior: see `preposterior`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.design.candidates import Candidates, were_made
from airflow_provider_ernest.design.known import no_runs
from airflow_provider_ernest.design.preposterior import Play, Production, Worth, rates, spread
from airflow_provider_ernest.design.problem import Targets, require_varied
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError
from airflow_provider_ernest.prediction.averaging import Posterior, TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray, whole_number
from airflow_provider_ernest.prediction.predict import observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.regimes import effective_executors
from airflow_provider_ernest.prediction.terms import DICTIONARY, Runs, check_terms
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.bounds import IN_ROUNDS
from airflow_provider_ernest.words import counted, dollars, number, percentage, plain

FEWEST_RUNS = 3  # of different configurations: fixed and spreading work go through any two
MOST_RUNS = 12

EXPECTED_RUNS = 1
"""Production runs by which a sample run must pay for itself, where nobody says how many: as in `Billing`."""

LARGER = 4.0
"""The larger sample of the first round reads so many times what the smallest reads, for each of its executors
beyond the fewest as much again."""

WIDER = 4  # the widest run of the first round has so many times the fewest executors, or all that are billed
AHEAD = 3  # runs that are looked ahead: what one alone cannot change, two or three may
MOST_EXECUTORS, MOST_SCALES = 6, 10
"""Numbers of executors, and of scales for each, that are played through: the others are between them."""

MACHINE_SECONDS, DOLLARS = "machine-seconds", "dollars"


class Proposal(Document):
    """The next sample runs, or why no more are worth their cost."""

    experiments: tuple[Experiment, ...]  # none where it is time to stop
    reason: str  # why these, or why to stop, in words
    # what production is expected to save by them, or by the best that there are, over its expected runs; None
    # where that was not asked, such as in the first round
    gain: float | None = None
    cost: float | None = None  # expected; None where nothing tells
    unit: str = MACHINE_SECONDS  # of both; "dollars" where a price is known

    def as_design(
        self, *, candidates: Candidates, terms: Sequence[str], past_runs: int = 0, why: str = ""
    ) -> Design:
        """The design of the first round, chosen from candidates and with so many past runs counted."""
        design = no_runs(past_runs, terms=terms, criterion=IN_ROUNDS, reason="")
        return replace(
            self.added_to(design),
            candidates=len(candidates),
            candidate_ranges=candidates.ranges(),
            reason=f"{why} {self.reason}".strip(),
        )

    def added_to(self, design: Design) -> Design:
        """The design of all rounds, with this one."""
        experiments = (*design.experiments, *self.experiments)
        return replace(
            design,
            experiments=experiments,
            cost=sum(run.cost for run in experiments),
            cost_unit=self.unit,
            reason=self.reason,
        )


def next_runs(
    *,
    candidates: Candidates,
    goal: SizingGoal,
    observed: Sequence[Observation],
    price_per_hour: float | None = None,
    billed_machines: float = 0.0,
    terms: Sequence[str] = DICTIONARY,
    prior: AveragingPrior | None = None,
    most: int = 1,
    min_runs: int = FEWEST_RUNS,
    max_runs: int = MOST_RUNS,
    max_error_percent: float | None = None,
    iterations: int | None = None,
    production_iterations: int | None = None,
    first_index: int | None = None,
) -> Proposal:
    """The sample runs of the next round.

    A run is worth what it saves: by as much as the choice that will be made then is expected to be better
    than the one that would be made now. A run that misses its deadline has bought nothing, and costs as much
    again.

    Args:
        candidates: the runs to choose from.
        goal: of production, without templates; its `billing.expected_runs` (by default `EXPECTED_RUNS`) share
            what sample runs cost.
        observed: the runs already made, those of history among them.
        price_per_hour: dollars of an executor and hour; None to reckon in machine-seconds.
        billed_machines: that are paid for during a sample run, however few it uses; 0 for its own.
        terms: that the model may have.
        prior: what is believed before the runs; None for the default.
        most: the most runs of a round after the first.
        min_runs: the fewest runs, those already made included, before it may stop.
        max_runs: the most.
        max_error_percent: the median leave-one-out error above which one more run is made, whatever it is
            worth: the model would be refused, and with it all runs. None for any error.
        iterations: of the sample runs, for iterative jobs.
        production_iterations: of the production run.
        first_index: of the runs; by default the first that none of the observed has.

    Raises:
        InvalidParameterError: a number is invalid, or the goal has a budget and no price is known.
        DesignError: the candidates could not tell what the decision is among.
    """
    if first_index is None:
        first_index = 1 + max((run.index for run in observed), default=-1)
    rounds = _Rounds(candidates, Goal(goal), price_per_hour, billed_machines, iterations, first_index)
    most_left = whole_number("max_runs", max_runs) - len(observed)
    usable = np.flatnonzero(~were_made(candidates, observed))
    if most_left <= 0:
        return rounds.stop(f"{counted(len(observed), 'run')} were made, and max_runs is {max_runs}")
    if not usable.size:
        return rounds.stop("all candidates were run")
    if not _is_identified(observed, goal):
        require_varied(candidates, observed, Targets(executors=goal.executors, scale=goal.scale))
        first = [at for at in first_round(candidates, billed_machines) if at in usable]
        if first:
            return Proposal(
                experiments=rounds.experiments(first[:most_left], [0.0] * len(first[:most_left])),
                reason="They tell fixed work, work that spreads and the overhead of executors apart.",
                unit=rounds.unit,
            )
    if price_per_hour is None and rounds.goal.budget_dollars is not None:
        raise InvalidParameterError(
            "price_per_hour",
            None,
            "is missing, and whether a budget is kept cannot be told without",
            remedy="Give the dollars for one machine and hour.",
        )
    ratio = production_iterations / iterations if production_iterations and iterations else 1.0
    # What no sample can show says nothing of which one is worth its cost.
    believed = replace(prior_for(observed, prior), plateau=0.0, other_shape=0.0)
    fitted = TermAveraging(terms=check_terms(terms), prior=believed).fit_undetermined(
        **observed_columns(observed)
    )
    least = whole_number("min_runs", min_runs)
    positions = _thinned(candidates, usable)
    best = _play(fitted.posterior_, rounds, positions, observed, ratio).best(min(AHEAD, most_left))
    needed = ""
    if not best.is_worth and len(observed) < least:
        needed = "more runs are asked for"
    elif not best.is_worth and max_error_percent is not None:
        needed = _inaccuracy(observed, terms, prior, max_error_percent)
    return rounds.proposal(best, positions, needed=needed, most=whole_number("most", most))


def first_round(candidates: Candidates, billed_machines: float = 0.0) -> list[int]:
    """Indices of three cheap runs that tell fixed work, work and the overhead of executors apart.

    The smallest sample on the fewest executors, the same on a number between, and a larger one on more
    executors. Two numbers of executors cannot tell how the gain by more of them fades, and a larger sample on
    few not whether it does so with more data: of measured jobs' designs of three runs, these keep most
    deadlines (docs/evidence/decisions.md). Where there is no number between, the larger sample is on the
    fewest: in the benchmark of grown jobs that keeps more of them than one on the others.
    """
    counts = np.unique(candidates.executors)
    fewest = counts[0]
    within = counts[counts <= max(WIDER * fewest, billed_machines)]
    between, widest = within[1:-1], within[-1]
    if between.size:
        other, larger = between[np.abs(np.log(between**2 / (fewest * widest))).argmin()], widest
    else:
        other, larger = widest, fewest
    runs = [(larger, LARGER * larger / fewest), (fewest, 1.0), (other, 1.0)]
    return list(dict.fromkeys(_nearest(candidates, *run) for run in runs))


def _nearest(candidates: Candidates, executors: int, times: float) -> int:
    """Index of the run with this many executors and this multiple of the smallest input."""
    on_these = np.flatnonzero(candidates.executors == executors)
    scales = candidates.scale[on_these]
    return int(on_these[np.abs(np.log(scales / (times * scales.min()))).argmin()])


def _is_identified(observed: Sequence[Observation], goal: SizingGoal) -> bool:
    """Whether the runs made so far say anything of executors and of data; from then on runs are weighed."""
    configurations = {(run.executors, run.scale) for run in observed}
    scales = {run.scale for run in observed}
    is_of_data = len(scales) > 1 or scales == {goal.scale}
    return len(configurations) >= FEWEST_RUNS and len({run.executors for run in observed}) > 1 and is_of_data


def _inaccuracy(
    observed: Sequence[Observation], terms: Sequence[str], prior: AveragingPrior | None, most_percent: float
) -> str:
    """Why the model of the runs would be refused, to end a sentence; empty where it would not be."""
    try:
        error = train(observed, job="", terms=terms, prior=prior).validation.median_error_percent
    except FitError:
        return "the runs make no model yet"
    if error is None or error <= most_percent:
        return ""
    return f"the model's leave-one-out error is {percentage(error)}, above {plain(most_percent)} %"


@dataclass(frozen=True)
class _Rounds:
    """What runs there are, what they are for, and what is paid for them."""

    candidates: Candidates
    goal: Goal
    price_per_hour: float | None
    billed_machines: float
    iterations: int | None
    first_index: int

    @property
    def unit(self) -> str:
        return MACHINE_SECONDS if self.price_per_hour is None else DOLLARS

    @property
    def billing(self) -> Billing:
        """Without a price executors cost a unit a second, and nothing else is paid for."""
        billing = self.goal.stated.billing
        if self.price_per_hour is not None:
            return billing.completed(price_per_hour=self.price_per_hour, training_dollars=0.0)
        boot: float = billing.boot_seconds
        return Billing(boot_seconds=boot).completed(price_per_hour=3600.0, training_dollars=0.0)

    def proposal(self, best: Worth, positions: IntArray, *, needed: str, most: int) -> Proposal:
        """The first of the runs; where they are not worth it none, unless a reason says why one is needed."""
        gain, cost = best.gain, float(sum(best.costs))
        told = f"{counted(len(best.runs), 'more run')} would cost {self._amount(cost)} and probably "
        if gain > 0:
            production = counted(self.expected_runs, "production run")
            told += f"save {self._amount(gain)} over {production}."
        else:
            told += "not change the decision."
        if needed:
            told += f" It is made nevertheless: {needed}."
        if not best.is_worth and not needed:
            return Proposal(experiments=(), reason=f"Stop: {told}", gain=gain, cost=cost, unit=self.unit)
        experiments = self.experiments(positions[best.runs[:most]].tolist(), best.costs[:most])
        return Proposal(experiments=experiments, reason=told, gain=gain, cost=cost, unit=self.unit)

    def stop(self, reason: str) -> Proposal:
        return Proposal(experiments=(), reason=f"Stop: {reason}.", unit=self.unit)

    @property
    def expected_runs(self) -> int:
        return int(self.goal.stated.billing.expected_runs or EXPECTED_RUNS)

    def _amount(self, figure: float) -> str:
        return dollars(figure) if self.unit == DOLLARS else f"{number(figure)} {self.unit}"

    def experiments(self, positions: Sequence[int], costs: Sequence[float]) -> tuple[Experiment, ...]:
        numbered = enumerate(zip(positions, costs, strict=True), start=self.first_index)
        return tuple(
            self.candidates.experiment(at, index=index, cost=cost, iterations=self.iterations)
            for index, (at, cost) in numbered
        )


def _play(
    posterior: Posterior,
    rounds: _Rounds,
    positions: IntArray,
    observed: Sequence[Observation],
    iteration_ratio: float,
) -> Play:
    """What the posterior says of production and of the runs at these positions among the candidates."""
    goal, startup = rounds.goal, float(np.median([run.startup_seconds for run in observed]))

    def asked(executors: FloatArray, scale: FloatArray, ratio: float = 1.0) -> Runs:
        workers = effective_executors(observed, executors=executors, scale=scale)
        return Runs(executors=executors, scale=scale, workers=workers, iteration_ratio=ratio)

    executors = np.array(goal.stated.executors, dtype=np.float64)
    own = rounds.candidates.executors[positions].astype(np.float64)
    run_means, run_spreads = posterior.log_seconds(asked(own, rounds.candidates.scale[positions]))
    billed = np.maximum(own, rounds.billed_machines)
    return Play(
        goal=goal,
        weights=posterior.draws.weights,
        places=posterior.draws.places,
        production=Production.of(
            goal,
            rounds.billing,
            executors=executors,
            startup_seconds=startup,
            log_seconds=posterior.log_seconds(
                asked(executors, np.full_like(executors, goal.scale), iteration_ratio)
            ),
        ),
        run_means=run_means,
        run_spreads=run_spreads,
        # What the runs are expected to cost.
        costs=rates(rounds.billing, billed) * (startup + np.exp(posterior.mean(run_means))),
        expected_runs=rounds.expected_runs,
    )


def _thinned(candidates: Candidates, usable: IntArray) -> IntArray:
    """Few of many candidates, spread over executors and scales."""
    executors, kept = candidates.executors[usable], []
    for count in spread(np.unique(executors), MOST_EXECUTORS):
        of_count = usable[executors == count]
        in_order = of_count[np.argsort(candidates.scale[of_count], kind="stable")]
        kept.append(spread(in_order, MOST_SCALES))
    return np.concatenate(kept)
