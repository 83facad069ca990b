"""What a job takes on other numbers of executors, from runs that were made before anybody asked.

There are two sources, and each says how sure it is. A **model** of the past runs, where these are of several
sizes and inputs. And the **replay** of the job's typical run (`clarity.replay_scaled`), which a single log is
enough for: it is scaled so that it meets the median of today's runs where these were made, and its error
grows with the distance from there, by as much as is usual, and as the job's own runs on other numbers of
executors show. Where there are both, the replay is scaled so that it meets the model wherever runs were made,
and elsewhere a prediction is half the one and half the other: where they do not agree, its interval holds
both.

Predictions are of the next run, its start-up included: whatever slows a run slows its start-up, too (as in
all jobs of the corpus of docs/evidence/benchmarks.md), and its input differs from what is usual by as much as
that of the past runs did.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median

import numpy as np
from scipy.special import stdtrit

import airflow_provider_ernest.words as words
from airflow_provider_ernest.clarity.replay_dynamic import bounds_to_try
from airflow_provider_ernest.clarity.replay_scaled import replay_allocations, replay_scaled
from airflow_provider_ernest.decision.offers import LIKELY, LIKELY_DEVIATIONS, replayed_seconds
from airflow_provider_ernest.documents.models import HistoryBasis, Model, Replays
from airflow_provider_ernest.documents.profiles import ReplayedAllocation, RunProfile
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.history.observations import (
    MOST_RUNS,
    SCALE_STEP,
    History,
    TodaysRun,
    input_spread,
    is_good,
    observations_of,
    reads_now,
)
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.prediction.regression import two_sided

LATEST_RUNS = 20  # so many tell how a job runs today

FURTHEST = 4
"""So many times today's executors, and so many times fewer, are asked about: beyond, nothing tells."""

MOST_SIZES = 16

USUAL_NOISE = 0.1
"""Standard deviation of log(seconds) among runs of one size and input: identical runs of Spark differ by 2 to
7 %, those of production, days apart, by more; with 0.07, intervals of 80 % from one or two real runs held
57 % of the next (docs/evidence/benchmarks.md)."""
NOISE_RUNS = 3.0  # the usual noise counts as much as so many runs

REPLAY_SPREAD = 0.6
"""Standard deviation of log(seconds) of a replay for each doubling or halving of the executors, of the time
in which tasks run: many times what was measured on quiet ones (docs/explanation/clarity.md). Where executors
share a CPU or a network it is more, as in the corpus of docs/evidence/benchmarks.md."""
REPLAY_DOUBLINGS = 2.0  # that figure counts as much as so many doublings that the job's own runs show
SAME_INPUT = 1.5  # runs whose input differs by more are not compared with a replay


@dataclass(frozen=True, kw_only=True)
class Today:
    """How a job runs now: the size that most of its latest runs had, and those of them that had it."""

    executors: int
    # that were there on average, the median: fewer than `executors` where they come and go
    paid_executors: float
    executor_cores: int
    instance_type: str | None
    seconds: float  # clean, the median with today's input, with all executors all the time
    slowdown: float  # by so many times it takes longer, for they come and go; 1 where they do not
    startup_seconds: float  # the median
    unpaid_seconds: float  # of these; a queue's, before the first executor came
    input_bytes: int  # see `observations.reads_now`; 0 where the logs tell of none
    input_slope: float  # how log(seconds) grows with log(input)
    input_spread: float  # standard deviation of log(input) of the next run around today's
    runs: tuple[PastRun, ...]  # oldest first

    @property
    def input_noise(self) -> float:
        """Standard deviation of log(seconds) by different inputs."""
        return self.input_slope * self.input_spread

    @property
    def executors_per_machine(self) -> int | None:
        """As in `PastRun`, of the latest run."""
        return self.runs[-1].executors_per_machine

    def in_words(self, executors: int) -> str:
        """So many of them: 6 machines, or 6 executors where a cluster places them as it likes."""
        return words.executors(executors, executors_per_machine=self.executors_per_machine)

    def scale(self, run: PastRun) -> float:
        """What share of today's input a run read; 1 where that is not known."""
        return run.input_bytes / self.input_bytes if self.input_bytes and run.input_bytes else 1.0

    def paid_seconds(self, seconds: float) -> float:
        """How long executors are paid for in a run that takes so long, its start-up included."""
        return max(0.0, seconds - self.unpaid_seconds)

    def is_alike(self, run: PastRun) -> bool:
        """Whether it had executors of the same kind."""
        return (run.instance_type, run.executor_cores) == (self.instance_type, self.executor_cores)


def today_of(runs: Sequence[PastRun]) -> Today:
    """How a job runs now, by the runs that ended well, oldest first."""
    latest = runs[-LATEST_RUNS:]
    sizes = Counter(_size(run) for run in latest)
    # Of sizes as frequent the one that came last.
    last = {_size(run): place for place, run in enumerate(latest)}
    most_used = max(sizes, key=lambda size: (sizes[size], last[size]))
    own = tuple(run for run in latest if _size(run) == most_used)
    executor_count, cores, instance_type = most_used
    input_bytes = reads_now(latest)
    seconds, slope = _typical_seconds(own, input_bytes)
    return Today(
        executors=executor_count,
        paid_executors=median(run.paid_executors for run in own),
        executor_cores=cores,
        instance_type=instance_type,
        seconds=seconds,
        slowdown=median(run.seconds / run.fixed_seconds for run in own),
        startup_seconds=median(run.startup_seconds for run in own),
        unpaid_seconds=median(run.unpaid_seconds for run in own),
        input_bytes=input_bytes,
        input_slope=slope,
        input_spread=input_spread(latest),
        runs=own,
    )


MOST_PROFILED = 3  # sizes of which a run is profiled: one for each, today's first


def runs_to_profile(runs: Sequence[PastRun]) -> list[PastRun]:
    """Of a job's runs, oldest first, the typical one of each size: their logs are read again for a replay."""

    def typical(of_size: Sequence[PastRun], seconds: float) -> PastRun:  # of equal ones the latest
        return min(reversed(of_size), key=lambda run: abs(run.seconds - seconds))

    good = [run for run in runs if is_good(run)]
    if not good:
        return []
    today = today_of(good)
    chosen = [typical(today.runs, today.seconds)]
    sizes = Counter(run.executors for run in good if today.is_alike(run) and run.executors != today.executors)
    for count, _ in sizes.most_common(MOST_PROFILED - 1):
        alike = [run for run in good if today.is_alike(run) and run.executors == count][-LATEST_RUNS:]
        chosen.append(typical(alike, median(run.seconds for run in alike)))
    return chosen


def history_of(
    runs: Sequence[PastRun],
    today: Today,
    *,
    most_runs: int = MOST_RUNS,
    holds_since: datetime | None = None,
) -> History:
    """What the runs of a job, oldest first, tell of its next one, which is as those of today."""
    like = TodaysRun(
        input_bytes=today.input_bytes or None,
        instance_type=today.instance_type,
        executor_cores=today.executor_cores,
        holds_since=holds_since,
        tells_nothing=True,
    )
    return observations_of(runs, like, most_runs=most_runs)


# A model of past runs alone is asked about more sizes and inputs than a survey is.
FURTHEST_MODELLED, MOST_MODELLED, MODELLED_SCALES = 8, 24, (0.25, 0.5, 1.0, 2.0, 4.0)


def basis_of(runs: Sequence[PastRun], profiles: Sequence[RunProfile], today: Today) -> HistoryBasis:
    """What past runs, oldest first, tell beside the terms of a model of them, which is still to be fitted.

    Raises:
        ErnestError, ArithmeticError, ValueError: a profile cannot be replayed.
    """
    alike = [run for run in runs if is_good(run) and today.is_alike(run)]
    most = FURTHEST_MODELLED * max(run.executors for run in alike)
    spread = np.geomspace(1, most, MOST_MODELLED).round().astype(int).tolist()
    counts = sorted({*spread, *(run.executors for run in alike)})
    return HistoryBasis(
        executors=today.executors,
        is_modelled=False,
        is_determined=False,
        replays=replays_of(profiles, today, alike, counts=counts, scales=MODELLED_SCALES),
        input_noise=today.input_noise,
    )


def with_replays_that_meet(model: Model) -> Model:
    """A model of past runs whose replays take as long as its terms say wherever runs were made."""
    basis = model.basis
    if basis is None or basis.replays is None or not basis.is_modelled:
        return model
    return replace(model, basis=replace(basis, replays=meeting(model, basis.replays)))


def _size(run: PastRun) -> tuple[int, int, str | None]:
    return run.executors, run.executor_cores, run.instance_type


def _typical_seconds(runs: Sequence[PastRun], input_bytes: int) -> tuple[float, float]:
    """The median that runs of one size take with such an input; how log(seconds) grows with log(bytes)."""
    logs, slope = np.log([run.fixed_seconds for run in runs]), 0.0
    if input_bytes and all(run.input_bytes for run in runs):
        inputs = np.log([run.input_bytes / input_bytes for run in runs])
        apart = inputs - inputs.mean()
        # Time grows with the input, and at most as fast; a tenth keeps tiny differences from telling much.
        slope = float(np.clip(apart @ logs / (apart @ apart + 0.01), 0.0, 1.0))
        logs = logs - slope * inputs
    return float(np.exp(np.median(logs))), slope


def _noise(logs: FloatArray) -> float:
    """Standard deviation of a single further one; the usual noise counts as `NOISE_RUNS`."""
    squared = NOISE_RUNS * USUAL_NOISE**2 + float(((logs - np.median(logs)) ** 2).sum())
    freedom = NOISE_RUNS + len(logs) - 1
    # The middle is not known exactly either, and tails of few are long: as wide as Student's t for 80 %.
    times = float(stdtrit(freedom, two_sided(LIKELY)[1])) / LIKELY_DEVIATIONS
    return times * float(np.sqrt(squared / freedom * (1 + 1 / len(logs))))


def sizes_to_ask(today: Today, used: Sequence[int]) -> tuple[int, ...]:
    """Numbers of executors around today's, closer together where they are few, with those that were used."""
    least, most = max(1, -(-today.executors // FURTHEST)), FURTHEST * today.executors
    spread = np.geomspace(least, most, MOST_SIZES).round().astype(int).tolist()
    near = (each for each in used if least <= each <= most)
    return tuple(sorted({*spread, today.executors, *near}))


def replays_of(
    profiles: Sequence[RunProfile],
    today: Today,
    runs: Sequence[PastRun],
    *,
    counts: Sequence[int],
    scales: Sequence[float] = (1.0,),
) -> Replays | None:
    """Replay the run that stands for the job best; None where no profile tells of its stages.

    The runs are those on executors of the same kind that ended well. Scale 1.0 is today's input.
    """
    found = _typical(profiles, today, runs)
    if found is None:
        return None
    source, run = found
    met = today.runs if run.executors == today.executors else (run,)
    # How much longer these took than the replay of their own input says.
    own = [_step(today.scale(each)) for each in met]
    said = {scale: _replayed(source, {run.executors}, scale=scale)[run.executors] for scale in set(own)}
    logs = np.log([each.fixed_seconds / said[scale] for each, scale in zip(met, own, strict=True)])
    times, noise = float(np.exp(np.median(logs))), _noise(logs)
    replayed = [_replayed(source, set(counts), scale=scale) for scale in sorted(scales)]
    spread = _spread_per_doubling(source, times, noise, today, runs)
    own_error = abs(np.log(source.replayed_seconds / source.seconds))
    return Replays(
        executors=tuple(sorted(counts)),
        scales=tuple(sorted(scales)),
        seconds=tuple(tuple(times * of[count] for count in sorted(counts)) for of in replayed),
        met=(run.executors,),
        noise=noise,
        spread=float(np.hypot(spread, own_error)),
    )


MOST_MAXIMA = 5  # of bounds of dynamic allocation, among the sizes that are asked about


def allocations_of(
    profiles: Sequence[RunProfile], today: Today, runs: Sequence[PastRun], *, counts: Sequence[int]
) -> tuple[ReplayedAllocation, ...]:
    """The same run under dynamic allocation; empty where the job has none, or no profile tells."""
    found = _typical(profiles, today, runs)
    allocation: dict[str, str] = next((each.allocation for each in profiles if each.allocation), {})
    if found is None or not (allocation or any(run.replayed for run in today.runs)):
        return ()
    source = replace(found[0], allocation=allocation)
    return replay_allocations(
        [source],
        allowed=bounds_to_try(counts, most_maxima=MOST_MAXIMA),
        scale=1.0,
        executor_cores=_slots_per_executor(source),
    )


def _typical(
    profiles: Sequence[RunProfile], today: Today, runs: Sequence[PastRun]
) -> tuple[RunProfile, PastRun] | None:
    """The run that stands for the job best, of those that have a profile."""

    def distance(known: tuple[RunProfile, PastRun]) -> tuple[float, float]:
        """First of today's size, then near today's input and time."""
        profile, run = known
        size = abs(np.log(run.executors / today.executors))
        return float(size), float(abs(np.log(profile.scale)) + abs(np.log(run.fixed_seconds / today.seconds)))

    by_id = {run.application_id: run for run in runs}
    known = [
        (replace(profile, scale=_step(today.scale(run))), run)
        for profile in profiles
        if (run := by_id.get(profile.application_id)) and any(stage.tasks for stage in profile.stages)
    ]
    return min(known, key=distance, default=None)


def meeting(model: Model, replays: Replays) -> Replays:
    """Replays that take as long as a model says wherever runs were made, and go over in between."""
    counts = replays.executors
    met = sorted({run.executors for run in model.observations} & set(counts))
    if not met:
        return replays
    logs = np.log(predict_seconds(model, executors=met) / replayed_seconds(replays, met, scale=1.0))
    times = np.exp(np.interp(np.log(counts), np.log(met), logs))
    seconds = tuple(tuple((times * row).tolist()) for row in np.array(replays.seconds))
    return replace(replays, seconds=seconds, met=tuple(met))


def _step(scale: float) -> float:
    """A scale, rounded to a power of `SCALE_STEP`."""
    return float(np.exp(round(np.log(scale) / np.log(SCALE_STEP)) * np.log(SCALE_STEP)))


def _slots_per_executor(profile: RunProfile) -> int:
    return max(1, round(profile.slots / profile.executors))


def _replayed(profile: RunProfile, counts: set[int], *, scale: float) -> dict[int, float]:
    opinion = replay_scaled(
        [profile], executors=sorted(counts), scale=scale, executor_cores=_slots_per_executor(profile)
    )
    return {size.executors: size.replayed_seconds for size in opinion.sizes}


def _spread_per_doubling(
    source: RunProfile, times: float, noise: float, today: Today, runs: Sequence[PastRun]
) -> float:
    """How far a replay is off for each doubling of executors: as is usual, and as the other runs show."""
    elsewhere: defaultdict[int, list[PastRun]] = defaultdict(list)
    for run in runs:
        if run.executors != source.executors and 1 / SAME_INPUT <= today.scale(run) <= SAME_INPUT:
            elsewhere[run.executors].append(run)
    # While no task runs, other executors change nothing.
    usual = REPLAY_SPREAD * (1.0 - min(1.0, source.driver_seconds / source.seconds))
    squares, doublings = REPLAY_DOUBLINGS * usual**2, REPLAY_DOUBLINGS
    for count, alike in sorted(elsewhere.items()):
        latest = alike[-LATEST_RUNS:]
        scale = median(today.scale(run) for run in latest)
        said = times * _replayed(source, {count}, scale=scale)[count]
        seconds = median(run.fixed_seconds for run in latest)
        squares += max(0.0, np.log(said / seconds) ** 2 - noise**2 / len(latest))
        doublings += np.log2(count / source.executors) ** 2
    return float(np.sqrt(squares / doublings))
