"""Where the time of a run went: all analyses of its event log in one profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from airflow_provider_ernest.clarity.advice import TRUSTED_ERROR_PERCENT, advise, bound_by, headline_of
from airflow_provider_ernest.clarity.blocked_time import (
    BlockedTime,
    Stragglers,
    blocked_time,
    find_stragglers,
)
from airflow_provider_ernest.clarity.dynamic_allocation import properties_of_allocation
from airflow_provider_ernest.clarity.monotasks import (
    Change,
    IdealTimes,
    ResourceUse,
    Spans,
    achieved_capacity,
    executor_cores,
    ideal_times,
    quotient,
    resource_use,
    what_ifs,
)
from airflow_provider_ernest.clarity.replay import WarmUp, replay_sizes, warm_up_of
from airflow_provider_ernest.clarity.replay_dynamic import executor_startup_seconds, steps_of
from airflow_provider_ernest.clarity.replay_plan import Plan, PlannedStage, most_at_once, plan_of
from airflow_provider_ernest.documents.profiles import (
    CORE,
    DISK,
    GRAPHX,
    MLLIB,
    NETWORK,
    SQL,
    STREAMING,
    UNMEASURED,
    Capacity,
    PhaseSeconds,
    RunProfile,
    StageProfile,
)
from airflow_provider_ernest.eventlog.run_facts import losses_of, why_not_counted
from airflow_provider_ernest.eventlog.tables import (
    EventLog,
    FloatColumn,
    StageKey,
    TaskColumns,
    busy_seconds,
)
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.learning.conditions import plain_settings
from airflow_provider_ernest.privacy import call_site, without_credentials
from airflow_provider_ernest.words import signed_percentage

MOST_STAGES = 60  # so many stages, the longest, have their own profile

# Of a stage's task seconds; few for stages that take less than this share of the run, as most of many do.
_MOST_QUANTILES, _FEW_QUANTILES, _SHORT_SHARE = 21, 5, 0.01

_SUMMED = (
    *("input_bytes", "input_records", "output_bytes", "result_bytes"),
    *("shuffle_remote_bytes", "shuffle_local_bytes", "shuffle_written_bytes"),
)
_DIGITS = 4  # Spark's times are milliseconds
_LATE_SHARE = 0.05  # an executor that joined later than after this share of the run is reported

# Of a job's task time makes it one of MLlib or GraphX, which prepare their data by queries and RDDs.
_LIBRARY_SHARE = 0.2

_OF_LIBRARY = {"ml": MLLIB, "mllib": MLLIB, "graphx": GRAPHX, "streaming": STREAMING}


def profile_run(
    log: EventLog,
    *,
    scale: float = 1.0,
    iterations: int | None = None,
    capacity: Capacity | None = None,
    executor_counts: Sequence[int] | None = None,
    changes: Sequence[Change] | None = None,
    event_log: str | None = None,
) -> RunProfile:
    """Analyse a run; the scale is the share of the target input that it read.

    By default the capacity of one of its machines is what its own tasks achieved, it is replayed on
    `sizes_around` its own number of executors, and with the changes that are worth asking about (`what_ifs`).

    Raises:
        EventLogError: no task ended, or nothing happened after the executors had come.
    """
    if not log.clean_seconds > 0:
        raise EventLogError(
            f"The event log of {log.application_id} has nothing after its machines had come.",
            remedy="Give the log of an application that ran tasks on its machines.",
        )
    plan, use = plan_of(log), resource_use(log)
    blocked = blocked_time(log, plan=plan)
    as_it_was = blocked.replayed
    if capacity is None:
        capacity = achieved_capacity(log, use)
    else:
        # A task may take several cores, and executors may leave some idle.
        capacity = replace(capacity, cores=executor_cores(log))
    ideal = ideal_times(log, capacity, use)
    found = find_stragglers(log, as_it_was=as_it_was)
    counts = executor_counts or sizes_around(max(1, log.most_executors))
    able = [count for count in counts if _can_hold_barriers(log, count)]
    profile = RunProfile(
        **_facts(log),
        scale=scale,
        iterations=iterations,
        event_log=None if event_log is None else without_credentials(event_log),
        replayed_seconds=as_it_was.seconds,
        limits=blocked.limits,
        unmeasured_seconds=sum(use.seconds([UNMEASURED]).tolist()),
        **_stages(log, plan, blocked, use, ideal, found),
        stragglers=found.worst,
        straggler_causes=found.causes,
        capacity=capacity,
        ideal_seconds=ideal.seconds_of_run(),
        what_ifs=what_ifs(log, capacity, changes, use=use, as_it_was=as_it_was),
        sizes=replay_sizes(log, able, as_it_was=as_it_was) if able else (),
        phases=optex_phases(log, use),
        category=category_of(log),
    )
    profile = replace(profile, bottleneck=bound_by(profile, ideal.bottlenecks_of_run()))
    return replace(
        profile,
        headline=headline_of(profile),
        advice=advise(profile),
        warnings=tuple(_doubts(log, profile, is_every_size_able=len(able) == len(counts))),
    )


def sizes_around(executors: int) -> tuple[int, ...]:
    """Powers of two up to four times as many executors, and the number itself."""
    powers = (2**power for power in range((4 * executors).bit_length()))
    return tuple(sorted({executors, *powers}))


def _can_hold_barriers(log: EventLog, executors: int) -> bool:
    """Whether all tasks of a barrier stage find slots on so many executors, or Spark refuses it."""
    return executors * _slots(log) >= log.barrier_tasks * max(1, log.most_executors)


def _slots(log: EventLog) -> int:
    return log.slots if log.slots > 0 else most_at_once(log.task_columns)


def _facts(log: EventLog) -> dict[str, Any]:
    """What the profile has of the log itself."""
    tasks = log.task_columns
    began = (tasks.launched_at - log.ready_at).clip(0.0)
    finished = (tasks.finished_at - log.ready_at).clip(0.0)
    verdict, startup = why_not_counted(log), executor_startup_seconds(log)
    return {
        "application_id": log.application_id,
        "not_counted": "" if verdict is None or verdict.is_other_kind else verdict.reason,
        "steps": steps_of(log),
        "allocation": properties_of_allocation(log.properties),
        "settings": plain_settings(log.properties),
        "executor_startup_seconds": None if startup is None else _rounded(startup),
        "losses": losses_of(log),
        "name": call_site(log.name),
        "spark": log.spark,
        "executors": max(1, log.most_executors),
        "slots": _slots(log),
        "seconds": log.clean_seconds,
        "startup_seconds": max(0.0, log.ready_at - log.started_at),
        "driver_seconds": max(0.0, log.ended_at - log.ready_at - busy_seconds(began, finished)),
        "tasks": int(tasks.succeeded.sum()),
        "failed_tasks": int((~tasks.succeeded).sum()),
    }


def _doubts(log: EventLog, profile: RunProfile, *, is_every_size_able: bool) -> Iterator[str]:
    if not is_every_size_able:
        yield (
            f"All {log.barrier_tasks} tasks of a barrier stage must run at once: sizes with fewer slots, on "
            "which Spark refuses it, are left out."
        )
    if abs(profile.replay_error_percent) > TRUSTED_ERROR_PERCENT:
        yield (
            f"The replay of the run as it was is {signed_percentage(profile.replay_error_percent)} off: do "
            "not trust what could be won, nor the predictions for other machines."
        )
    if not log.executors:
        yield "The log has no executors: the run counts as one on a single machine."
    late = sum(executor.added_at - log.ready_at > _LATE_SHARE * profile.seconds for executor in log.executors)
    if late:
        yield (
            f"{late} of the {len(log.executors)} machines joined when work was under way, as under dynamic "
            "allocation: the run time is not that of so many machines."
        )
    yield from (f"Event log: {warning[:1].lower()}{warning[1:]}" for warning in log.warnings)


def _stages(
    log: EventLog, plan: Plan, blocked: BlockedTime, use: ResourceUse, ideal: IdealTimes, found: Stragglers
) -> dict[str, Any]:
    """The longest stages by their start, and the number and time of the others."""
    warm_up = warm_up_of(log, plan)
    needed, bottlenecks, own = ideal.seconds(), ideal.bottlenecks(), _own_seconds(log)
    unmeasured = dict(zip(use.stages, use.seconds([UNMEASURED]).tolist(), strict=True))
    spans = [_span(stage, log) for stage in plan.stages]
    longest = sorted(range(len(spans)), key=lambda place: spans[place][0] - spans[place][1])
    kept = []
    for place in longest[:MOST_STAGES]:
        key = plan.stages[place].row.key
        kept.append(
            replace(
                _stage_profile(log, plan.stages[place], blocked, warm_up, span=spans[place]),
                warmup_seconds=_rounded(warm_up.excess_seconds[place]),
                ideal_seconds={name: _rounded(value) for name, value in needed.get(key, {}).items()},
                bottleneck=bottlenecks.get(key, ""),
                unmeasured_seconds=_rounded(unmeasured.get(key, 0.0)),
                stragglers=found.by_stage.get(key, 0),
                own_seconds=_rounded(own.get(key, 0.0)),
            )
        )
    left_out = [plan.stages[place].tasks for place in longest[MOST_STAGES:]]
    seconds = sum(_rounded(log.task_columns.seconds[tasks].sum()) for tasks in left_out)
    return {
        "stages": tuple(sorted(kept, key=lambda stage: (stage.began_seconds, stage.stage_id, stage.attempt))),
        "stages_left_out": len(left_out),
        "left_out_seconds": round(seconds, _DIGITS),
    }


def _stage_profile(
    log: EventLog, stage: PlannedStage, blocked: BlockedTime, warm_up: WarmUp, *, span: tuple[float, float]
) -> StageProfile:
    row, tasks = stage.row, log.task_columns.only(stage.tasks)
    counted, own_seconds = tasks.only(tasks.succeeded), warm_up.own_seconds[stage.tasks][tasks.succeeded]
    is_short = span[1] - span[0] < _SHORT_SHARE * log.clean_seconds
    waited = {name: float(column[stage.tasks].sum()) for name, column in blocked.seconds.items()}
    sums: dict[str, Any] = {name: int(getattr(counted, name).sum()) for name in _SUMMED}
    return StageProfile(
        stage_id=row.stage_id,
        attempt=row.attempt,
        name=call_site(row.name),
        parents=row.parents,
        job_id=row.job_id,
        tasks=len(counted),
        failed_tasks=len(tasks) - len(counted),
        began_seconds=_rounded(span[0] - log.ready_at),
        ended_seconds=_rounded(span[1] - log.ready_at),
        task_seconds=_rounded(tasks.seconds.sum()),
        quantiles_seconds=_quantiles(own_seconds, _FEW_QUANTILES if is_short else _MOST_QUANTILES),
        mean_seconds=_rounded(own_seconds.mean()) if len(own_seconds) else 0.0,
        # And nothing of earlier stages: more input would make more such tasks.
        reads_input=sums["input_bytes"] > 0 and not int(counted.shuffle_read_bytes.sum()),
        **sums,
        spilled_bytes=int(counted.disk_spilled_bytes.sum()),
        blocked_seconds={name: rounded for name, value in waited.items() if (rounded := _rounded(value))},
        is_barrier=row.is_barrier,
        fills_cache=row.fills_cache,
    )


def _span(stage: PlannedStage, log: EventLog) -> tuple[float, float]:
    """From its first task's launch, or its submission if it has none, to its end; since the epoch."""
    submitted_at = float(stage.row.submitted_at or log.started_at)
    began_at = float(log.task_columns.launched_at[stage.tasks].min()) if len(stage.tasks) else submitted_at
    return began_at, max(began_at, float(stage.row.completed_at or began_at))


def _own_seconds(log: EventLog) -> dict[StageKey, float]:
    """The clean time by stages: each moment is shared equally by those that ran tasks then."""
    tasks = log.task_columns
    keys, stage = tasks.by_stage
    began = (tasks.launched_at - log.ready_at).clip(0.0, log.clean_seconds)
    finished = (tasks.finished_at - log.ready_at).clip(0.0, log.clean_seconds)
    # The times in which a stage ran any task, those of all stages one after another.
    starts, ends, of_stage = [np.empty(0)], [np.empty(0)], [np.empty(0, dtype=int)]
    order = np.lexsort((began, stage))
    for place, rows in enumerate(np.split(order, np.cumsum(np.bincount(stage, minlength=1)))[: len(keys)]):
        until = np.maximum.accumulate(finished[rows])
        is_first = np.append(True, began[rows][1:] > until[:-1])
        starts.append(began[rows][is_first])
        ends.append(until[np.append(is_first[1:], True)])
        of_stage.append(np.full(int(is_first.sum()), place))
    start, end = np.concatenate(starts), np.concatenate(ends)
    spans = Spans(start, end)
    running = np.rint(spans.running(np.ones(len(start))))
    shared = np.append(0.0, np.cumsum(spans.lengths / np.maximum(1.0, running)))
    edges = np.append(spans.starts, end.max(initial=0.0))
    own = np.interp(end, edges, shared) - np.interp(start, edges, shared)
    seconds = np.bincount(np.concatenate(of_stage), weights=own, minlength=len(keys))
    return dict(zip(keys, seconds.tolist(), strict=True))


def _quantiles(seconds: FloatColumn, most: int) -> tuple[float, ...]:
    if not len(seconds):
        return ()
    shares = np.linspace(0.0, 1.0, min(len(seconds), most))
    return tuple(_rounded(value) for value in np.quantile(seconds, shares))


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS)


def optex_phases(log: EventLog, use: ResourceUse | None = None) -> PhaseSeconds:
    """The seconds of a run by phase (Sidhanta et al. 2016, section 3); they add up to the application's time.

    * initialisation: from the start until the last executor had registered or, if earlier, until the first
    job was
      submitted or the first task launched
    * variable sharing: the time without running tasks in which the driver built and sent the broadcasts of a
    query.
      Their collection runs tasks, and counts as those do
    * preparation: all other time without running tasks: the driver plans, schedules, waits for executors,
    works on
      results, and closes the application
    * communication: of the time with running tasks, the share that they spent fetching from other machines,
      writing for later stages, and handing over results
    * computation: the rest of the time with running tasks

    A log does not tell the time of broadcasts that the application makes itself (`SparkContext.broadcast`):
    it counts as preparation on the driver, and as computation in the tasks that fetch them.
    """
    tasks, use = log.task_columns, use or resource_use(log)
    first = float(tasks.launched_at.min(initial=np.inf))
    until = min([log.ready_at, log.ended_at, first, *(job.submitted_at for job in log.jobs)])
    ready = max(log.started_at, until)
    began = np.clip(tasks.launched_at, ready, log.ended_at)
    finished = np.clip(tasks.finished_at, began, log.ended_at)
    # With the whole time as one more interval, in which nothing runs.
    spans = Spans(np.append(ready, began), np.append(log.ended_at, finished))
    some = spans.lengths > 0
    starts = spans.starts[some]
    ends = starts + spans.lengths[some]
    running = np.rint(spans.running(np.append(0.0, np.ones(len(tasks))))[some]).clip(0.0)
    communicating = spans.running(np.append(0.0, _communication_share(tasks, use)))[some].clip(0.0)
    lasted, busy = ends - starts, running > 0
    shares = np.minimum(1.0, communicating[busy] / running[busy])
    communication = float(np.sum(lasted[busy] * shares))
    sharing = _sharing_seconds(log, starts[~busy], ends[~busy])
    return PhaseSeconds(
        initialisation_seconds=ready - log.started_at,
        preparation_seconds=max(0.0, float(lasted[~busy].sum()) - sharing),
        variable_sharing_seconds=sharing,
        computation_seconds=max(0.0, float(lasted[busy].sum()) - communication),
        communication_seconds=communication,
    )


def _communication_share(tasks: TaskColumns, use: ResourceUse) -> FloatColumn:
    seconds = (
        use.parts[NETWORK]
        + use.parts[DISK]
        + tasks.result_serialisation_seconds
        + tasks.getting_result_seconds
    )
    return np.asarray(np.clip(quotient(seconds, tasks.seconds, default=0.0), 0.0, 1.0))


def _sharing_seconds(log: EventLog, began: FloatColumn, ended: FloatColumn) -> float:
    """The time without tasks that went to broadcasts; a moment counts for its first query."""
    total, from_here = 0.0, -np.inf
    for query in sorted(log.sql_executions, key=lambda query: query.started_at):
        if query.broadcast_seconds > 0:
            start = max(query.started_at, from_here)
            end = log.ended_at if query.ended_at is None else query.ended_at
            within = np.minimum(ended, end) - np.maximum(began, start)
            total += min(query.broadcast_seconds, float(np.maximum(0.0, within).sum()))
            from_here = max(from_here, end)
    return total


def category_of(log: EventLog) -> str:
    """The category of the job (OptEx, section 4): `STREAMING`, `GRAPHX`, `MLLIB`, `SQL` or `CORE`.

    The call site of a stage shows Spark's library that asked for it, in Scala, Java or Python: that of a
    regression is ``treeAggregate at RDDLossFunction.scala:61``, with ``org.apache.spark.ml`` in its stack
    trace. Queries have their own events. The rest are plain RDDs, also a job that learns in its own
    functions: the log does not show what those do.
    """
    if log.is_streaming:
        return STREAMING
    queried = {job.job_id for job in log.jobs if job.sql_execution_id is not None}
    category = {
        row.key: _OF_LIBRARY.get(row.library, SQL if row.job_id in queried else CORE) for row in log.stages
    }
    stages, stage_of = log.task_columns.by_stage
    lasted = np.bincount(stage_of, weights=np.maximum(0.0, log.task_columns.seconds), minlength=len(stages))
    seconds = dict.fromkeys((STREAMING, GRAPHX, MLLIB, SQL, CORE), 0.0)
    for stage, of_stage in zip(stages, lasted.tolist(), strict=True):
        seconds[category.get(stage, CORE)] += of_stage
    total = sum(seconds.values())
    for library in (STREAMING, GRAPHX, MLLIB):
        if seconds[library] > 0 and seconds[library] >= _LIBRARY_SHARE * total:
            return library
    if total == 0:
        return SQL if log.sql_executions else CORE
    return SQL if seconds[SQL] >= seconds[CORE] else CORE
