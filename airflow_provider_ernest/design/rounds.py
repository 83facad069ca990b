"""Sample runs in rounds, until the next one is not worth what it costs.

The first round makes the model identifiable, as cheaply as can be. From then on a run is chosen for what it
does to the decision: with the draws of the predictor's posterior it is played through what the run may come
to, what would be believed then, and which executors would be chosen (preposterior analysis; Raiffa and
Schlaifer, Applied Statistical Decision Theory, 1961). What production is expected to save by the better
choice, over its expected runs, is what the run is worth. A run that changes no choice is worth nothing,
however much it tells of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.decision.deciding import AS_PROBABLE
from airflow_provider_ernest.decision.goals import HOPELESS, TOLERANCE, Goal
from airflow_provider_ernest.design.candidates import Candidates, were_made
from airflow_provider_ernest.design.known import no_runs
from airflow_provider_ernest.design.problem import Targets, require_varied
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError
from airflow_provider_ernest.prediction.averaging import DRAWS, Posterior, TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray, number_not_negative, whole_number
from airflow_provider_ernest.prediction.predict import observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.regimes import effective_executors
from airflow_provider_ernest.prediction.terms import DICTIONARY, Runs, check_terms
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.bounds import IN_ROUNDS
from airflow_provider_ernest.settings.goal import BALANCED, BEST_VALUE
from airflow_provider_ernest.words import counted, dollars, number, percentage, plain

FEWEST_RUNS = 3  # of different configurations: fixed and spreading work go through any two
MOST_RUNS = 12

EXPECTED_RUNS = 1
"""Production runs by which a sample run must pay for itself, where nobody says how many: as in `Billing`."""

LARGER = 4.0
"""The larger sample of the first round reads so many times what the smallest reads, for each of its executors
beyond the fewest as much again."""

WIDER = 4  # the widest run of the first round has so many times the fewest executors, or all that are billed
OUTCOMES = 31
"""Of a run, as probable as one another, that are played through to choose among the runs. What the chosen one
is worth is told by one outcome of each draw: of many rough estimates the largest is too large."""

AHEAD = 3  # runs that are looked ahead: what one alone cannot change, two or three may
MOST_EXECUTORS, MOST_SCALES = 6, 10
"""Numbers of executors, and of scales for each, that are played through: the others are between them."""

MISSED = 1.0
"""Production runs that a missed limit costs besides: a run that comes too late has bought nothing."""

LONG_RUN_SECONDS = 1e6  # at this length the increments in which machines are billed do not matter
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
    best = _Play(fitted.posterior_, rounds, usable, observed, ratio).best(min(AHEAD, most_left))
    needed = ""
    if not best.is_worth and len(observed) < least:
        needed = "more runs are asked for"
    elif not best.is_worth and max_error_percent is not None:
        needed = _inaccuracy(observed, terms, prior, max_error_percent)
    return rounds.proposal(best, needed=needed, most=whole_number("most", most))


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
class _Offer:
    """The further runs that are worth most, or of those that are not worth their cost the nearest to it."""

    positions: Sequence[int]  # among the candidates
    gain: float  # what production is expected to save by them together
    costs: Sequence[float]  # of each
    is_worth: bool  # they are expected to save more than they cost


@dataclass(frozen=True)
class _Rounds:
    """What runs there are, what they are for, and what is paid for them."""

    candidates: Candidates
    goal: Goal
    price_per_hour: float | None
    billed_machines: float
    iterations: int | None
    first_index: int

    def __post_init__(self) -> None:
        number_not_negative("billed_machines", self.billed_machines)

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

    def rates(self, executors: FloatArray) -> FloatArray:
        """What so many executors cost a second, shape (n,)."""
        billing, long = self.billing, LONG_RUN_SECONDS
        costs = [billing.cost(executors=count, seconds=long).of_the_run for count in executors.tolist()]
        return np.asarray(np.array(costs) / (long + billing.boot_seconds), dtype=np.float64)

    def proposal(self, best: _Offer, *, needed: str, most: int) -> Proposal:
        """The first of the runs; where they are not worth it none, unless a reason says why one is needed."""
        gain, cost = best.gain, float(sum(best.costs))
        told = f"{counted(len(best.positions), 'more run')} would cost {self._amount(cost)} and probably "
        if gain > 0:
            production = counted(self.expected_runs, "production run")
            told += f"save {self._amount(gain)} over {production}."
        else:
            told += "not change the decision."
        if needed:
            told += f" It is made nevertheless: {needed}."
        if not best.is_worth and not needed:
            return Proposal(experiments=(), reason=f"Stop: {told}", gain=gain, cost=cost, unit=self.unit)
        experiments = self.experiments(best.positions[:most], best.costs[:most])
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


class _Play:
    """What k draws of the posterior say of q production configurations and of n runs that may be made."""

    def __init__(
        self,
        posterior: Posterior,
        rounds: _Rounds,
        usable: IntArray,
        observed: Sequence[Observation],
        iteration_ratio: float,
    ) -> None:
        goal, startup = rounds.goal, float(np.median([run.startup_seconds for run in observed]))

        def asked(executors: FloatArray, scale: FloatArray, ratio: float = 1.0) -> Runs:
            workers = effective_executors(observed, executors=executors, scale=scale)
            return Runs(executors=executors, scale=scale, workers=workers, iteration_ratio=ratio)

        allowed_executors = goal.stated.executors
        executors = np.array(allowed_executors, dtype=np.float64)
        means, spreads = posterior.log_seconds(
            asked(executors, np.full_like(executors, goal.scale), iteration_ratio)
        )
        limits = [goal.limit_seconds(rounds.billing, count) for count in allowed_executors]
        allowed = np.maximum(np.array(limits) - startup, HOPELESS)
        kept = ndtr((np.log(allowed) - means) / spreads) if goal.has_limits else np.ones_like(means)
        seconds = rounds.billing.boot_seconds + startup + np.exp(means)
        self.rounds, self.draws = rounds, posterior.draws
        self.kept: FloatArray = kept  # the probability that production keeps to its limits, (k, q)
        costs: FloatArray = rounds.rates(executors) * seconds
        self.costs_of_production = costs  # (k, q)
        # What is to be little of production, and the same with what a missed limit costs, (k, q).
        self.figures = seconds if goal.is_time else costs * seconds if goal.objective == BALANCED else costs
        self.losses = self.figures * (1.0 + MISSED * (1.0 - kept))
        self.positions = _thinned(rounds.candidates, usable)  # of the runs among the candidates, (n,)
        own = rounds.candidates.executors[self.positions].astype(np.float64)
        # Of the logarithms of the runs' seconds, (k, n).
        self.run_means, self.run_spreads = posterior.log_seconds(
            asked(own, rounds.candidates.scale[self.positions])
        )
        billed = np.maximum(own, rounds.billed_machines)
        # What the runs are expected to cost, (n,).
        self.costs = rounds.rates(billed) * (startup + np.exp(posterior.mean(self.run_means)))

    def best(self, ahead: int) -> _Offer:
        """At most `ahead` runs that are worth most beyond their cost, or the one that comes nearest."""
        weights = self.draws.weights
        now = int(self._choices(weights[None])[0])
        stake = float(np.exp(weights @ np.log(self.costs_of_production[:, now]))) * self.rounds.expected_runs
        generator = np.random.default_rng(0)  # the same runs always give the same proposal
        few, every = self._truths(OUTCOMES), self._truths(DRAWS)
        by_few, by_every = self._before(few), self._before(every)
        chosen: list[int] = []
        offers: list[tuple[float, float, list[int]]] = []
        for _ in range(ahead):
            normal = self._normal(few, generator)
            after = [self._updated(by_few, run, few, normal) for run in range(len(self.positions))]
            gains = stake * np.array([self._saved(now, few, each) for each in after])
            spent = float(self.costs[chosen].sum())
            run = int(np.argmax(gains - spent - self.costs))
            by_few, by_every = after[run], self._updated(by_every, run, every, self._normal(every, generator))
            chosen, gain = [*chosen, run], stake * self._saved(now, every, by_every)
            offers.append((gain - spent - float(self.costs[run]), gain, chosen))
        surplus, gain, runs = max(offers, key=lambda offer: offer[0])
        is_worth = surplus > 0
        if not is_worth:
            _, gain, runs = offers[0]
        return _Offer(
            positions=self.positions[runs].tolist(),
            gain=gain,
            costs=self.costs[runs].tolist(),
            is_worth=is_worth,
        )

    def _updated(self, log_weights: FloatArray, run: int, truths: IntArray, normal: FloatArray) -> FloatArray:
        """Log weights of the draws after each outcome of a run, shape (outcomes, k)."""
        means, spreads = self.run_means[:, run], self.run_spreads[:, run]
        outcomes = means[truths] + spreads[truths] * normal
        return np.asarray(
            log_weights - 0.5 * ((outcomes[:, None] - means) / spreads) ** 2 - np.log(spreads),
            dtype=np.float64,
        )

    def _saved(self, now: int, truths: IntArray, log_weights: FloatArray) -> float:
        """The share of production that is saved by choosing anew by each row of weights, if its truth is."""
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        chosen = self._choices(weights / weights.sum(axis=1, keepdims=True))
        before, then = self.losses[truths, now], self.losses[truths, chosen]
        return float(np.average(1.0 - then / before, weights=self.draws.weights[truths]))

    def _choices(self, weights: FloatArray) -> IntArray:
        """The configuration that `decision.deciding` would choose by each row of weights, shape (s,)."""
        goal = self.rounds.goal
        figures = np.exp(weights @ np.log(self.figures))
        kept = np.maximum(weights @ self.kept, HOPELESS)
        # The best of those that are sure enough, otherwise of those that are about as probable as any.
        is_sure = kept >= goal.confidence - TOLERANCE
        highest = kept.max(axis=1, keepdims=True)
        allowed = np.where(is_sure.any(axis=1, keepdims=True), is_sure, kept >= highest * (1 - AS_PROBABLE))
        wanted = figures / kept if goal.objective == BEST_VALUE else figures
        return np.asarray(np.where(allowed, wanted, np.inf).argmin(axis=1), dtype=np.int64)

    def _truths(self, places: int) -> IntArray:
        """The draws of so many places, each of which is taken for the truth in turn."""
        even = np.asarray((np.arange(places) + 0.5) / places * DRAWS, dtype=np.int64)
        return np.flatnonzero(np.isin(self.draws.places, even))

    def _before(self, truths: IntArray) -> FloatArray:
        """Log weights of the draws before any run, for each truth, shape (outcomes, k)."""
        # What a draw makes happen must not be explained by that draw: it is one of many, not the truth.
        is_itself = self.draws.places[truths, None] == self.draws.places
        return np.where(is_itself, -np.inf, np.log(np.maximum(self.draws.weights, HOPELESS)))

    def _normal(self, truths: IntArray, generator: np.random.Generator) -> FloatArray:
        """Deviates of the truths' places, as probable as one another, in any order, shape (outcomes,)."""
        places, place_of_truth = np.unique(self.draws.places[truths], return_inverse=True)
        even = (generator.permutation(len(places)) + 0.5) / len(places)
        return np.asarray(ndtri(even)[place_of_truth], dtype=np.float64)


def _thinned(candidates: Candidates, usable: IntArray) -> IntArray:
    """Few of many candidates, spread over executors and scales."""
    executors, kept = candidates.executors[usable], []
    for count in _spread(np.unique(executors), MOST_EXECUTORS):
        of_count = usable[executors == count]
        in_order = of_count[np.argsort(candidates.scale[of_count], kind="stable")]
        kept.append(_spread(in_order, MOST_SCALES))
    return np.concatenate(kept)


def _spread(values: IntArray, most: int) -> IntArray:
    """So many of sorted values, the first and the last among them."""
    if len(values) <= most:
        return values
    return values[np.unique(np.rint(np.linspace(0, len(values) - 1, most)).astype(np.int64))]
