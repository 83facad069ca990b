"""What a replay with executors that come and go tells; runs that had such, on fixed numbers of them.

The tasks are those of `replay` and `replay_scaled`, the rules those of `dynamic_allocation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from airflow_provider_ernest.clarity.dynamic_allocation import bounds_in, rules_of
from airflow_provider_ernest.clarity.replay import Replayed, is_of_one_size, replay, warm_up_of
from airflow_provider_ernest.clarity.replay_plan import plan_of
from airflow_provider_ernest.documents.profiles import ExecutorSteps, ReplayedAllocation
from airflow_provider_ernest.documents.runs import ExecutorBounds, ReplayedSize
from airflow_provider_ernest.eventlog.run_facts import Sizes, has_dynamic_allocation
from airflow_provider_ernest.eventlog.tables import DRIVER, EventLog, ExecutorRow

REPLAY_ERROR, ERROR_PER_DOUBLING = 0.05, 0.15
"""Standard deviation of log(seconds) of a replay at the size that a run had on average, and what each
doubling or halving from there adds: real runs were missed by 9 % (docs/measured/dynamic_allocation.txt), the
queries of TPC-H by 6 % on twice and 22 % on four times the executors (Mao et al., SIGCOMM 2019)."""

TICK = 0.001  # of Spark's clock, in seconds


def allocation_of(replayed: Replayed, bounds: ExecutorBounds) -> ReplayedAllocation:
    """What executors a replay had when: those that come while it ends, or afterwards, do not count.

    Clean time begins when the initial executors are there.
    """
    executors = replayed.allocation.executors if replayed.allocation else []
    # Without initial executors clean time begins with the first that come, as in an event log.
    began = max(0.0, min((each.came_at for each in executors), default=0.0))
    end = replayed.seconds - began
    spans = [(each.came_at - began, min(each.left_at - began, end)) for each in executors]
    spans = [(came, left) for came, left in spans if came < end]
    return ReplayedAllocation(
        bounds=bounds,
        seconds=end,
        executor_seconds=sum(left - came for came, left in spans),
        steps=_steps(spans, end),
    )


def _steps(spans: Sequence[tuple[float, float]], end: float) -> ExecutorSteps:
    """How many executors there were, by when each came and left; those that stay to the end leave later."""
    changes = sorted([(came, 1) for came, _ in spans] + [(left, -1) for _, left in spans if left < end])
    counts = accumulate(change for _, change in changes)
    return tuple(dict(zip((at for at, _ in changes), counts, strict=True)).items())  # the last of each moment


def steps_of(log: EventLog) -> ExecutorSteps:
    """How many executors a run had, in seconds of clean time; empty if all were there all the time."""
    if is_of_one_size(log):
        return ()
    spans = [
        (max(0.0, each.added_at - log.ready_at), (each.removed_at or math.inf) - log.ready_at)
        for each in log.executors
        if each.executor_id != DRIVER
    ]
    spans = [(round(came, 3), round(left, 3)) for came, left in spans if left > 0]
    return _steps(spans, log.clean_seconds)


def executor_startup_seconds(log: EventLog) -> float | None:
    """From asking for an executor to when it has come, the median; None if the log does not tell.

    Under dynamic allocation executors are asked for when the tasks of a stage have waited for long enough,
    and there are fewer than they need. Otherwise, when the application starts.
    """
    workers = [each for each in log.executors if each.executor_id != DRIVER]
    launched_at = log.task_columns.launched_at
    if not workers or not len(launched_at):
        return None
    found: list[float] = []
    if has_dynamic_allocation(log.properties):
        found = list(_waited_for_executors(log, workers))
    if not found:
        found = [at - log.started_at for each in workers if (at := each.added_at) <= launched_at.min()]
    return max(0.0, float(np.median(found))) if found else None


def _waited_for_executors(log: EventLog, workers: Sequence[ExecutorRow]) -> Iterator[float]:
    """How long after they were asked for the first executors came, for each stage that had to ask."""
    tasks, backlog = log.task_columns, rules_of(log.properties).backlog_seconds
    most = bounds_in(log.properties, most=len(workers)).maximum
    attempts, place = tasks.by_stage
    last_launch = np.full(len(attempts), -np.inf)
    np.maximum.at(last_launch, place, tasks.launched_at)
    rows = {stage.key: stage for stage in log.stages}
    asking = sorted(
        (submitted_at + backlog, rows[key].tasks)
        for key, last in zip(attempts, last_launch.tolist(), strict=True)
        if key in rows and (submitted_at := rows[key].submitted_at) and last > submitted_at + backlog
    )
    slots = max(1, round(float(np.median([log.slots_of(each) for each in workers]))))
    for (asked_at, count), (until, _) in pairwise([*asking, (math.inf, 0)]):
        here = sum(each.added_at <= asked_at < (each.removed_at or math.inf) for each in workers)
        came = min((each.added_at for each in workers if asked_at < each.added_at <= until), default=None)
        if here < min(most, math.ceil(count / slots)) and came is not None:
            yield came - asked_at


def thinned(counts: Sequence[int], most: int) -> list[int]:
    """At most so many of them from the fewest to the most, at about equal ratios, each once."""
    allowed = sorted(set(counts))
    if len(allowed) <= most:
        return allowed
    wanted = np.geomspace(allowed[0], allowed[-1], most).tolist()
    return sorted({min(allowed, key=lambda count: abs(count - each)) for each in wanted})


def bounds_to_try(counts: Sequence[int], *, most_maxima: int = 8) -> tuple[ExecutorBounds, ...]:
    """Bounds for a run that may have these numbers of executors: some maxima, each with some initial numbers.

    Of each initial number one keeps all of them, and one gives them back down to the fewest allowed.
    """
    maxima = thinned(counts, most_maxima)
    found = {
        (minimum, initial, maximum)
        for maximum in maxima
        for initial in {max(maxima[0], math.ceil(maximum * share)) for share in (0.0, 0.25, 0.5, 1.0)}
        for minimum in (maxima[0], initial)
    }
    return tuple(
        ExecutorBounds(minimum=minimum, initial=initial, maximum=maximum)
        for minimum, initial, maximum in sorted(found)
    )


def replayed_at_fixed_sizes(log: EventLog) -> tuple[ReplayedSize, ...]:
    """What a run whose executors came and went would have taken on fixed numbers of them, near those it had.

    These are the mean and the most that it had, and one in between; the error is a standard deviation of
    log(seconds): that of the replay of the run as it was, with more for each doubling from the mean.

    Raises:
        EventLogError: no task ended, so that there is nothing to replay.
    """
    plan = plan_of(log)
    as_it_was, warm_up, sizes = replay(log, plan=plan), warm_up_of(log, plan), Sizes(log)
    own_error = abs(math.log(max(as_it_was.seconds, TICK) / max(log.clean_seconds, TICK)))
    mean, most = max(1.0, sizes.mean), max(1, sizes.most)
    # All tasks of a barrier stage must run at once.
    least = math.ceil(log.barrier_tasks * most / max(1, log.slots))
    counts = {max(1, least, round(mean)), max(1, least, round(math.sqrt(mean * most))), most}
    return tuple(
        ReplayedSize(
            executors=count,
            seconds=replay(log, executors=count, plan=plan, warm_up=warm_up).seconds,
            error=math.hypot(REPLAY_ERROR, own_error, ERROR_PER_DOUBLING * math.log2(count / mean)),
        )
        for count in sorted(counts)
    )
