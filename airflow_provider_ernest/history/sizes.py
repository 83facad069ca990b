"""What a job takes on other numbers of machines, from runs that were made before anybody asked.

There are two sources, and each says how sure it is. A **model** of the past runs, where these are of several
sizes and inputs. And the **replay** of the job's typical run (`clarity.replay_scaled`), which a single log is
enough for: it is scaled so that it meets the median of today's runs where these were made, and its error
grows with the distance from there, by as much as is usual, and as the job's own runs on other numbers of
machines show. Where there are both, the replay is scaled so that it meets the model wherever runs were made,
and elsewhere a prediction is half the one and half the other: where they agree, so does it; where they do
not, its interval has both, and no limit is kept surely that one of them breaks.

What is told is what the next run takes, its start-up included: whatever slows a run slows its start-up, too
(in all jobs of the corpus of docs/evidence/benchmarks.md both were longer in the same runs), and its input
differs from what is usual by as much as that of the past runs did.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from airflow_provider_ernest.clarity.replay_scaled import replay_scaled
from airflow_provider_ernest.decision.offers import LIKELY, Forecast, Offer, OfferForecast
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.documents.surveys import BOTH, MODEL, REPLAY
from airflow_provider_ernest.history.observations import input_spread, reads_now
from airflow_provider_ernest.numbers import FloatArray
from airflow_provider_ernest.prediction.predict import extrapolation, memory_shortage, predict_seconds
from airflow_provider_ernest.prediction.regimes import foresee
from airflow_provider_ernest.prediction.regression import Widening, two_sided
from airflow_provider_ernest.words import duration, duration_range, machines

LATEST_RUNS = 20
"""So many tell how a job runs today."""

FURTHEST = 4
"""So many times today's machines, and so many times fewer, are asked about: beyond, nothing tells of them."""

MOST_SIZES = 16

USUAL_NOISE = 0.1
"""Standard deviation of log(seconds) among runs of one size and input: identical runs of Spark differ by 2 to
7 per cent, those of production, days apart, by more; with 0.07, intervals of 80 % from one or two real runs
held 57 % of the next (docs/evidence/benchmarks.md)."""
NOISE_RUNS = 3.0
"""So many runs the usual noise counts for."""

REPLAY_SPREAD = 0.6
"""Standard deviation of log(seconds) of a replay for each doubling or halving of the machines, of the time in
which tasks run: many times what was measured on quiet ones (docs/explanation/clarity.md). Where machines
share a CPU or a network it is more, as in the corpus of docs/evidence/benchmarks.md."""
REPLAY_DOUBLINGS = 2.0
"""So many doublings that figure counts for, beside those that the job's own runs show."""

_LIKELY_DEVIATIONS = float(ndtri(two_sided(LIKELY)[1]))

SCALE_STEP = 1.05
"""Inputs that differ by less are replayed as one."""

SAME_INPUT = 1.5
"""Runs whose input differs by more are not compared with a replay."""


@dataclass(frozen=True, kw_only=True)
class Today:
    """How a job runs now: the size that most of its latest runs had, and those of them that had it.

    Attributes:
        paid_machines: that were there on average, the median: fewer than `machines` where they come and go.
        seconds: clean, the median with today's input.
        startup_seconds: the median.
        unpaid_seconds: of these; a queue's, before the first machine came.
        input_bytes: see `observations.reads_now`; 0 where the logs tell of none.
        noise: standard deviation of log(seconds) of single runs of one input.
        input_noise: that which their different inputs add; 0 where today's input is stated.
        runs: oldest first.
    """

    machines: int
    paid_machines: float
    cores_per_machine: int
    instance_type: str | None
    seconds: float
    startup_seconds: float
    unpaid_seconds: float
    input_bytes: int
    noise: float
    input_noise: float
    runs: tuple[PastRun, ...]

    def scale(self, run: PastRun) -> float:
        """What share of today's input a run read; 1 where that is not known."""
        return run.input_bytes / self.input_bytes if self.input_bytes and run.input_bytes else 1.0

    def paid_seconds(self, seconds: float) -> float:
        """How long machines are paid for in a run that takes so long, its start-up included."""
        return max(0.0, seconds - self.unpaid_seconds)

    def is_alike(self, run: PastRun) -> bool:
        """Whether it had machines of the same kind."""
        return (run.instance_type, run.cores_per_machine) == (self.instance_type, self.cores_per_machine)


def today_of(runs: Sequence[PastRun], *, input_bytes: int | None = None) -> Today:
    """How a job runs now.

    Args:
        runs: that ended well, at least one, oldest first.
        input_bytes: of today's input; what runs read now where None.
    """
    latest = runs[-LATEST_RUNS:]
    sizes = Counter(_size(run) for run in latest)
    # Of sizes as frequent the one that came last.
    most_used = max(sizes, key=lambda size: (sizes[size], max(_places(latest, size))))
    own = tuple(run for run in latest if _size(run) == most_used)
    machine_count, cores, instance_type = most_used
    spread = 0.0 if input_bytes else input_spread(latest)
    input_bytes = input_bytes or reads_now(latest)
    seconds, noise, slope = _typical_seconds(own, input_bytes)
    return Today(
        machines=machine_count,
        paid_machines=median(run.paid_machines for run in own),
        cores_per_machine=cores,
        instance_type=instance_type,
        seconds=seconds,
        startup_seconds=median(run.startup_seconds for run in own),
        unpaid_seconds=median(run.unpaid_seconds for run in own),
        input_bytes=input_bytes,
        noise=noise,
        input_noise=slope * spread,
        runs=own,
    )


def _size(run: PastRun) -> tuple[int, int, str | None]:
    return run.machines, run.cores_per_machine, run.instance_type


def _places(runs: Sequence[PastRun], size: tuple[int, int, str | None]) -> list[int]:
    return [place for place, run in enumerate(runs) if _size(run) == size]


def _typical_seconds(runs: Sequence[PastRun], input_bytes: int) -> tuple[float, float, float]:
    """What runs of one size take with such an input, and by how much they scatter around it.

    Returns:
        The median, the standard deviation of log(seconds) of a single run, and by how much log(seconds) grows
        with log(bytes).
    """
    logs, slope = np.log([run.seconds for run in runs]), 0.0
    if input_bytes and all(run.input_bytes for run in runs):
        inputs = np.log([run.input_bytes / input_bytes for run in runs])
        apart = inputs - inputs.mean()
        # Time grows with the input, and at most as fast; a tenth keeps tiny differences from telling much.
        slope = float(np.clip(apart @ logs / (apart @ apart + 0.01), 0.0, 1.0))
        logs = logs - slope * inputs
    return float(np.exp(np.median(logs))), _noise(logs), slope


def _noise(logs: FloatArray) -> float:
    """Standard deviation of a single further one, of which there are few; the usual one counts as some."""
    squared = NOISE_RUNS * USUAL_NOISE**2 + float(((logs - np.median(logs)) ** 2).sum())
    freedom = NOISE_RUNS + len(logs) - 1
    # The middle is not known exactly either, and tails of few are long: as wide as Student's t for 80 %.
    times = float(stdtrit(freedom, two_sided(LIKELY)[1])) / _LIKELY_DEVIATIONS
    return times * float(np.sqrt(squared / freedom * (1 + 1 / len(logs))))


def sizes_to_ask(today: Today, used: Sequence[int]) -> tuple[int, ...]:
    """Numbers of machines around today's, closer together where they are few, with those that were used."""
    least, most = max(1, -(-today.machines // FURTHEST)), FURTHEST * today.machines
    spread = np.geomspace(least, most, MOST_SIZES).round().astype(int).tolist()
    near = (each for each in used if least <= each <= most)
    return tuple(sorted({*spread, today.machines, *near}))


@dataclass(frozen=True, kw_only=True)
class Replays:
    """A run replayed on other numbers of machines, at today's input.

    Attributes:
        from_machines: that the run was made on.
        application_id: Spark's id of it.
        seconds: clean, by number of machines; scaled so that it meets today's runs.
        met: numbers of machines at which it takes as long as runs did.
        noise: standard deviation of log(seconds) of a single run there.
        spread: that of the replay for each doubling from there.
    """

    from_machines: int
    application_id: str
    seconds: dict[int, float]
    met: tuple[int, ...]
    noise: float
    spread: float

    def log_spread(self, count: int) -> float:
        """Standard deviation of log(seconds) of a single run on so many machines."""
        doublings = min(abs(float(np.log2(count / each))) for each in self.met)
        return float(np.hypot(self.noise, self.spread * doublings))


def replays_of(
    profiles: Sequence[RunProfile], today: Today, runs: Sequence[PastRun], *, counts: Sequence[int]
) -> Replays | None:
    """Replay the run that stands for the job best.

    Args:
        profiles: of some of the job's runs.
        today: how it runs now.
        runs: of the job on machines of the same kind, that ended well.
        counts: numbers of machines.

    Returns:
        None where no profile tells of stages of a run on machines of today's kind.
    """
    by_id = {run.application_id: run for run in runs}
    known = [
        (replace(profile, scale=_step(today.scale(run))), run)
        for profile in profiles
        if (run := by_id.get(profile.application_id)) and any(stage.tasks for stage in profile.stages)
    ]
    if not known:
        return None
    source, run = min(known, key=lambda each: _distance(each[0], each[1], today))
    met = today.runs if run.machines == today.machines else (run,)
    # How much longer these took than the replay of their own input says.
    scales = [_step(today.scale(each)) for each in met]
    said = {scale: _replayed(source, {run.machines}, scale=scale)[run.machines] for scale in set(scales)}
    logs = np.log([each.seconds / said[scale] for each, scale in zip(met, scales, strict=True)])
    times, noise = float(np.exp(np.median(logs))), _noise(logs)
    replayed = _replayed(source, set(counts), scale=1.0)
    spread = _spread_per_doubling(source, times, noise, today, runs)
    own_error = abs(np.log(source.replayed_seconds / source.seconds))

    return Replays(
        from_machines=run.machines,
        application_id=source.application_id,
        seconds={count: times * replayed[count] for count in counts},
        met=(run.machines,),
        noise=noise,
        spread=float(np.hypot(spread, own_error)),
    )


def meeting(model: Model, replays: Replays) -> Replays:
    """Replays that take as long as a model says wherever runs were made; in between, they go over.

    It knows what more input does there, and what one size takes is then told in one way.

    Args:
        model: of the job's runs.
        replays: of the same job.
    """
    counts = sorted(replays.seconds)
    met = [count for count in counts if any(run.machines == count for run in model.observations)]
    if not met:
        return replays
    said = predict_seconds(model, machines=met)
    logs = np.log([float(each) / replays.seconds[count] for count, each in zip(met, said, strict=True)])
    times = np.exp(np.interp(np.log(counts), np.log(met), logs))
    return replace(
        replays,
        seconds={
            count: float(each) * replays.seconds[count] for count, each in zip(counts, times, strict=True)
        },
        met=tuple(met),
    )


def _step(scale: float) -> float:
    """A scale, rounded: inputs that differ by less are replayed as one."""
    return float(np.exp(round(np.log(scale) / np.log(SCALE_STEP)) * np.log(SCALE_STEP)))


def _distance(profile: RunProfile, run: PastRun, today: Today) -> tuple[float, float]:
    """First of today's size, then near today's input and time."""
    size = abs(np.log(run.machines / today.machines))
    return float(size), float(abs(np.log(profile.scale)) + abs(np.log(run.seconds / today.seconds)))


def _replayed(profile: RunProfile, counts: set[int], *, scale: float) -> dict[int, float]:
    opinion = replay_scaled(
        [profile],
        machines=sorted(counts),
        scale=scale,
        cores_per_machine=max(1, round(profile.slots / profile.machines)),
    )
    return {size.machines: size.replayed_seconds for size in opinion.sizes}


def _spread_per_doubling(
    source: RunProfile, times: float, noise: float, today: Today, runs: Sequence[PastRun]
) -> float:
    """How far a replay is off for each doubling of machines: as is usual, and as the other runs show."""
    # While no task runs, other machines change nothing.
    usual = REPLAY_SPREAD * (1.0 - min(1.0, source.driver_seconds / source.seconds))
    squares, doublings = REPLAY_DOUBLINGS * usual**2, REPLAY_DOUBLINGS
    for count, scale, seconds, repetitions in _elsewhere(source, today, runs):
        said = times * _replayed(source, {count}, scale=scale)[count]
        squares += max(0.0, np.log(said / seconds) ** 2 - noise**2 / repetitions)
        doublings += np.log2(count / source.machines) ** 2
    return float(np.sqrt(squares / doublings))


def _elsewhere(
    source: RunProfile, today: Today, runs: Sequence[PastRun]
) -> Iterator[tuple[int, float, float, int]]:
    """The job's latest runs on each other number of machines: machines, scale, clean seconds, how many."""
    found: defaultdict[int, list[PastRun]] = defaultdict(list)
    for run in runs:
        if run.machines != source.machines and 1 / SAME_INPUT <= today.scale(run) <= SAME_INPUT:
            found[run.machines].append(run)
    for count, alike in sorted(found.items()):
        latest = alike[-LATEST_RUNS:]
        scale = median(today.scale(run) for run in latest)
        yield count, scale, median(run.seconds for run in latest), len(latest)


@dataclass(frozen=True, kw_only=True)
class HistoryOffer(Offer):
    """Machines of the kind that a job ran on, and what its history says of them.

    Attributes:
        replays: None where nothing can be replayed.
        is_modelled: whether `model` was fitted; else it only holds the runs, and cannot predict.
        is_determined: whether it also tells of numbers of machines on which no run was made.
        run_startup_seconds: of a usual run. Forecasts include it, so that the model must have none.
        input_noise: standard deviation of log(seconds) that inputs which differ from run to run add.
    """

    replays: Replays | None = None
    is_modelled: bool = True
    is_determined: bool = True
    run_startup_seconds: float = 0.0
    input_noise: float = 0.0

    def forecast(self, *, scale: float, iterations: int | None = None) -> HistoryForecast:
        """What runs at today's input are predicted to take."""
        return HistoryForecast(self, scale=scale, iterations=iterations)

    def source(self, count: int) -> str:
        """Where the prediction for a number of machines comes from; see `documents.surveys`."""
        share = self.model_share(count)
        return MODEL if share == 1.0 else BOTH if share else REPLAY

    def model_share(self, count: int) -> float:
        """How much of a prediction is the model's: all where its runs were made, and half of it elsewhere.

        Of too few runs, or runs of one size, half where they were made, and nothing elsewhere.
        """
        if not self.is_modelled:
            return 0.0
        if self.replays is None:
            return 1.0
        is_observed = any(run.machines == count for run in self.model.observations)
        return 0.5 * (is_observed + self.is_determined)


class HistoryForecast(Forecast):
    """What the model and the replay of a job say together, each with its share, start-up included.

    Args:
        offer: n numbers of machines; it has a model or replays.
        scale: 1.0: replays are of today's input.
        iterations: none.
    """

    def __init__(self, offer: HistoryOffer, *, scale: float, iterations: int | None) -> None:
        self.offer = offer
        self._scale = scale
        counts = offer.counts
        self._shares = np.array([offer.model_share(count) for count in counts])
        self._model = OfferForecast(offer, scale=scale, iterations=iterations) if offer.is_modelled else None
        by_model = self._model.seconds if self._model else np.ones(len(counts))
        replays = offer.replays
        self._replayed: FloatArray = np.array(
            [replays.seconds[count] for count in counts] if replays else by_model, dtype=np.float64
        )
        self._spreads: FloatArray = np.ones(len(counts))
        if replays:
            foreseen = [foresee(offer.model.observations, machines=count, scale=scale) for count in counts]
            self._spreads = np.array(
                [
                    max(each.widening * replays.log_spread(count), each.least_log_spread)
                    for count, each in zip(counts, foreseen, strict=True)
                ]
            )
        self._spreads = np.hypot(self._spreads, offer.input_noise)
        self._widening = _with_input_noise(self._model, offer.input_noise) if self._model else None
        clean = np.exp(self._shares * np.log(by_model) + (1 - self._shares) * np.log(self._replayed))
        self.seconds = clean + offer.run_startup_seconds

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """See `Forecast`."""
        low, high = two_sided(level)
        return self._halved(low, self.seconds), self._halved(high, self.seconds)

    def probability_within(self, limits: FloatArray) -> FloatArray:
        """See `Forecast`."""
        with np.errstate(divide="ignore"):
            replayed = np.log(limits / self._times_with_startup(self._replayed) / self._replayed)
        by_replay = ndtr(replayed / self._spreads)
        if self._model is None or self._widening is None:
            return np.asarray(by_replay, dtype=np.float64)
        seconds = self._model.seconds
        by_model = self._widening.probability_within(
            seconds, limits / self._times_with_startup(seconds), self._model.probability_within
        )
        return np.asarray(self._shares * by_model + (1 - self._shares) * by_replay, dtype=np.float64)

    def _times_with_startup(self, seconds: FloatArray) -> FloatArray:
        """By so many times a run takes longer with its start-up: what slows the one slows the other."""
        return 1.0 + self.offer.run_startup_seconds / seconds

    def seconds_kept_within(self, confidence: float) -> FloatArray:
        """See `Forecast`; looked for from the prediction on, since an interval is looked for, too."""
        return self._halved(confidence, self.seconds)

    def extrapolates(self, machines: int) -> str:
        """See `Forecast`."""
        return extrapolation(self.offer.model, machines=machines, scale=self._scale)

    def memory_shortage(self, machines: int) -> str:
        """See `Forecast`."""
        return memory_shortage(self.offer.model, machines=machines, scale=self._scale)

    def disagreement(self) -> str:
        """Where model and replay say different things; empty where they do not, or there is only one."""
        if self._model is None or self.offer.replays is None or not self.offer.is_determined:
            return ""
        lows, highs = self._model.interval(LIKELY)
        reach = np.exp(_LIKELY_DEVIATIONS * self._spreads)
        apart = [
            (abs(float(np.log(said / seconds))), count, said, np.array([low, high]))
            for count, said, factor, seconds, low, high in zip(
                self.offer.counts, self._replayed, reach, self._model.seconds, lows, highs, strict=True
            )
            if said * factor < low or said / factor > high
        ]
        if not apart:
            return ""
        _, count, said, bounds = max(apart, key=lambda each: each[0])
        startup = self.offer.run_startup_seconds
        low, high = bounds + startup
        return (
            f"Model and replay disagree, most on {machines(count)}: the replay says "
            f"{duration(said + startup)}, the model {duration_range((low, high))}. "
            "One of them is wrong: the intervals hold both, and a run there tells which."
        )


def _with_input_noise(model: OfferForecast, noise: float) -> Widening:
    """What makes a model's intervals as wide as if that noise were added to them."""
    low, high = model.interval(LIKELY)
    spreads = np.log(high / low) / (2 * _LIKELY_DEVIATIONS)
    return Widening(factors=np.hypot(1.0, noise / spreads), least_log_spreads=np.zeros_like(spreads))
