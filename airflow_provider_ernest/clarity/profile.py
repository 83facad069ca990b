"""Where the time of a run went, put together of all analyses of its event log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from airflow_provider_ernest.clarity.advice import bound_by, headline_of
from airflow_provider_ernest.clarity.monotasks import ResourceUse, resource_use
from airflow_provider_ernest.eventlog.tables import EventLog, StageRow
from airflow_provider_ernest.eventlog.tasks import FloatColumn, TaskColumns
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.privacy import call_site, without_credentials
from airflow_provider_ernest.run_profile import (
    CORE,
    DISK,
    GRAPHX,
    MLLIB,
    NETWORK,
    SQL,
    STREAMING,
    Capacity,
    PhaseSeconds,
    RunProfile,
    StageProfile,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.clarity.blocked_time import BlockedTime, StageWaiting
    from airflow_provider_ernest.clarity.replay_plan import Plan, PlannedStage
    from airflow_provider_ernest.clarity.what_if import Change


# ---------------------------------------------------------------------------
# The stages of a run, one by one, from the tables of its event log.


MOST_QUANTILES = 21
"""Of a stage's task seconds: each twentieth, and all of them where there are no more."""

FEW_QUANTILES = 5
SHORT_SHARE = 0.01
"""Stages that take a smaller share of the run are told by so few: a job of many stages has most of these."""

LITTLE_SHARE = 0.01
"""Of a stage's tasks' time: what they waited less for, its replay without that is not worth its place."""

DIGITS = 4
"""Spark tells milliseconds: more digits are none."""


def longest_stages(
    log: EventLog, plan: Plan, blocked: BlockedTime, *, most: int
) -> tuple[tuple[StageProfile, ...], int, float]:
    """The stages that took longest in the order in which they began, how many more there were, and theirs.

    Args:
        log: of the run.
        plan: of the log.
        blocked: what its tasks waited for.
        most: so many at most.

    Returns:
        The stages, the number of those left out, and the seconds of the tasks of these.
    """
    from airflow_provider_ernest.clarity.replay import warm_up_of

    warm_up = warm_up_of(log, plan)
    short = SHORT_SHARE * (log.ended_at - log.ready_at)
    numbered = sorted(enumerate(plan.stages), key=lambda entry: -_wall_seconds(entry[1], log))
    kept = [
        _profile(
            log,
            stage,
            blocked.stages.get(stage.key),
            own_seconds=warm_up.own_seconds[stage.tasks],
            warmup_seconds=warm_up.excess_seconds[place],
            quantiles=MOST_QUANTILES if _wall_seconds(stage, log) >= short else FEW_QUANTILES,
        )
        for place, stage in numbered[:most]
    ]
    left_out = [stage for _, stage in numbered[most:]]
    seconds = sum(_sum(log.task_columns.seconds[stage.tasks]) for stage in left_out)
    kept.sort(key=lambda stage: (stage.began_seconds, stage.stage_id, stage.attempt))
    return tuple(kept), len(left_out), round(seconds, DIGITS)


def _profile(
    log: EventLog,
    stage: PlannedStage,
    waiting: StageWaiting | None,
    *,
    own_seconds: FloatColumn,
    warmup_seconds: float,
    quantiles: int,
) -> StageProfile:
    row, tasks = stage.row, log.task_columns.only(stage.tasks)
    counted = tasks.only(tasks.succeeded)
    own_seconds = own_seconds[tasks.succeeded]
    began_at, ended_at = _span(stage, log)
    return StageProfile(
        stage_id=row.stage_id,
        attempt=row.attempt,
        name=call_site(row.name),
        parents=row.parents,
        job_id=row.job_id,
        tasks=len(counted),
        failed_tasks=len(tasks) - len(counted),
        began_seconds=round(began_at - log.ready_at, DIGITS),
        ended_seconds=round(ended_at - log.ready_at, DIGITS),
        task_seconds=_sum(tasks.seconds),
        quantiles_seconds=_quantiles(own_seconds, quantiles),
        mean_seconds=round(float(own_seconds.mean()), DIGITS) if len(own_seconds) else 0.0,
        warmup_seconds=round(warmup_seconds, DIGITS),
        reads_input=_reads_input(counted),
        input_bytes=int(counted.input_bytes.sum()),
        output_bytes=int(counted.output_bytes.sum()),
        shuffle_remote_bytes=int(counted.shuffle_remote_bytes.sum()),
        shuffle_local_bytes=int(counted.shuffle_local_bytes.sum()),
        shuffle_written_bytes=int(counted.shuffle_written_bytes.sum()),
        spilled_bytes=int(counted.disk_spilled_bytes.sum()),
        blocked_seconds=_rounded_without_zeros(waiting.blocked_seconds) if waiting else {},
        seconds_without=_seconds_without(waiting, tasks) if waiting else {},
    )


def _span(stage: PlannedStage, log: EventLog) -> tuple[float, float]:
    """From its first task's launch, or its submission where it has none, to its end; since the epoch."""
    submitted_at = float(stage.row.submitted_at or log.started_at)
    began_at = float(log.task_columns.launched_at[stage.tasks].min()) if len(stage.tasks) else submitted_at
    return began_at, max(began_at, float(stage.row.completed_at or began_at))


def _wall_seconds(stage: PlannedStage, log: EventLog) -> float:
    began_at, ended_at = _span(stage, log)
    return ended_at - began_at


def _reads_input(tasks: TaskColumns) -> bool:
    """Whether they read input, and nothing of earlier stages: more input would make more such tasks."""
    shuffled = tasks.shuffle_remote_bytes.sum() + tasks.shuffle_local_bytes.sum()
    return bool(tasks.input_bytes.sum() > 0 and shuffled == 0)


def _quantiles(seconds: FloatColumn, most: int) -> tuple[float, ...]:
    """Evenly spaced, from the shortest to the longest."""
    import numpy as np

    if not len(seconds):
        return ()
    shares = np.linspace(0.0, 1.0, min(len(seconds), most))
    return tuple(round(float(value), DIGITS) for value in np.quantile(seconds, shares))


def _seconds_without(waiting: StageWaiting, tasks: TaskColumns) -> dict[str, float]:
    least = LITTLE_SHARE * float(tasks.seconds.sum())
    return {
        name: round(seconds, DIGITS)
        for name, seconds in waiting.seconds_without.items()
        if waiting.blocked_seconds[name] > least
    }


def _sum(seconds: FloatColumn) -> float:
    return round(float(seconds.sum()), DIGITS)


def _rounded_without_zeros(seconds: dict[str, float]) -> dict[str, float]:
    """What there is of them."""
    return {name: rounded for name, value in seconds.items() if (rounded := round(value, DIGITS))}


# ---------------------------------------------------------------------------
# The analyses that a run's profile is put together of, each of which gives some of its fields.


MOST_STAGES = 60
"""So many have a profile of their own: those that took longest."""


def sizes_around(machines: int) -> tuple[int, ...]:
    """Powers of two up to four times as many machines, and the number itself."""
    powers = (2**power for power in range((4 * machines).bit_length()))
    return tuple(sorted({machines, *powers}))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What is asked of a run."""

    log: EventLog
    given_capacity: Capacity | None
    machine_counts: Sequence[int] | None
    changes: Sequence[Change] | None


class Run(_Asked):
    """The same with what several analyses need, which is made once."""

    @cached_property
    def plan(self) -> Plan:
        """What is replayed."""
        from airflow_provider_ernest.clarity.replay_plan import plan_of

        return plan_of(self.log)

    @cached_property
    def blocked(self) -> BlockedTime:
        """What its tasks waited for."""
        from airflow_provider_ernest.clarity.blocked_time import blocked_time

        return blocked_time(self.log, plan=self.plan)

    @cached_property
    def use(self) -> ResourceUse:
        """What its tasks did with their time."""
        return resource_use(self.log)

    @cached_property
    def capacity(self) -> Capacity:
        """Of one of its machines, as given or as its tasks achieved it, with the cores that they used."""
        from airflow_provider_ernest.clarity.monotasks import achieved_capacity, cores_per_machine

        if self.given_capacity is None:
            return achieved_capacity(self.log, self.use)
        # A task may take several cores, and executors may leave some alone.
        return replace(self.given_capacity, cores=cores_per_machine(self.log))


Part = Callable[[Run, RunProfile], dict[str, Any]]


def _stages(run: Run, profile: RunProfile) -> dict[str, Any]:
    stages, left_out, seconds = longest_stages(run.log, run.plan, run.blocked, most=MOST_STAGES)
    return {"stages": stages, "stages_left_out": left_out, "left_out_seconds": seconds}


def _bottleneck(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.clarity import monotasks

    unmeasured = sum(monotasks.unmeasured_seconds(run.log, run.use).values())
    most_used = monotasks.bottlenecks_of_run(run.log, run.capacity, run.use)
    bound = replace(profile, bottleneck=bound_by(profile, most_used))
    share = unmeasured / max(1e-9, float(run.log.task_columns.seconds.sum()))
    return {
        "bottleneck": bound.bottleneck,
        "headline": headline_of(bound, unmeasured_share=share),
        "unmeasured_seconds": unmeasured,
    }


def _ideal(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.clarity import monotasks

    seconds = monotasks.ideal_seconds(run.log, run.capacity, run.use)
    bottlenecks = monotasks.bottlenecks(run.log, run.capacity, run.use)
    unmeasured = monotasks.unmeasured_seconds(run.log, run.use)
    return {
        "capacity": run.capacity,
        "ideal_seconds": monotasks.ideal_seconds_of_run(run.log, run.capacity, run.use),
        "stages": tuple(
            replace(
                stage,
                ideal_seconds=_rounded(seconds.get((stage.stage_id, stage.attempt), {})),
                bottleneck=bottlenecks.get((stage.stage_id, stage.attempt), ""),
                unmeasured_seconds=round(unmeasured.get((stage.stage_id, stage.attempt), 0.0), DIGITS),
            )
            for stage in profile.stages
        ),
    }


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {resource: round(value, DIGITS) for resource, value in seconds.items()}


def _stragglers(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.clarity.stragglers import find_stragglers

    found = find_stragglers(run.log, as_it_was=run.blocked.replayed)
    return {
        "stragglers": found.worst,
        "straggler_causes": found.causes,
        "stages": tuple(
            replace(stage, stragglers=found.by_stage.get((stage.stage_id, stage.attempt), 0))
            for stage in profile.stages
        ),
    }


def _what_ifs(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.clarity.what_if import default_what_ifs, what_ifs

    if run.changes is None:
        told = default_what_ifs(run.log, run.capacity, use=run.use, as_it_was=run.blocked.replayed)
    else:
        told = what_ifs(run.log, run.capacity, run.changes, run.use, as_it_was=run.blocked.replayed)
    return {"what_ifs": told}


def _sizes(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.clarity.replay import replay_sizes

    counts = run.machine_counts or sizes_around(profile.machines)
    return {"sizes": replay_sizes(run.log, counts, as_it_was=run.blocked.replayed)}


def _phases(run: Run, profile: RunProfile) -> dict[str, Any]:
    return {"phases": optex_phases(run.log, run.use)}


def _category(run: Run, profile: RunProfile) -> dict[str, Any]:
    return {"category": category_of(run.log)}


def _advice(run: Run, profile: RunProfile) -> dict[str, Any]:
    from airflow_provider_ernest.clarity.advice import advise

    return {"advice": advise(profile)}


PARTS: tuple[tuple[str, Part], ...] = (
    ("What the run is bound by", _bottleneck),
    ("What its stages did", _stages),
    ("What its machines' resources need at least", _ideal),
    ("Which tasks held it up", _stragglers),
    ("What other machines would make of it", _what_ifs),
    ("What other numbers of machines would make of it", _sizes),
    ("How long its phases took", _phases),
    ("What kind of job it is", _category),
    ("What to change", _advice),
)
"""In the order in which they build on one another: what could not be had, and what finds it out."""


# ---------------------------------------------------------------------------


TRUSTED_ERROR_PERCENT = 10.0
"""A replay that is further off the run itself is not to be trusted with what never was."""

LATE_SHARE = 0.05
"""Machines may join when work is under way; where more of the run than this lacked one, that is told."""


def profile_run(
    log: EventLog,
    *,
    scale: float = 1.0,
    iterations: int | None = None,
    capacity: Capacity | None = None,
    machine_counts: Sequence[int] | None = None,
    changes: Sequence[Change] | None = None,
    event_log: str | None = None,
) -> RunProfile:
    """Analyse a run.

    An analysis that fails on an odd log becomes a warning of the profile, and the others go on; only the
    replay of the run as it was must work.

    Args:
        log: of the run.
        scale: the share of the target input that it read.
        iterations: of an iterative job.
        capacity: of one of its machines; what its own tasks achieved where it is None.
        machine_counts: to replay it on; `sizes_around` its own by default.
        changes: of the machines, to predict it on; `default_what_ifs` where None.
        event_log: where the log lies.

    Raises:
        EventLogError: no task ended, or nothing happened after the machines had come.
    """
    run = Run(log=log, given_capacity=capacity, machine_counts=machine_counts, changes=changes)
    profile = replace(
        _outline(run),
        scale=scale,
        iterations=iterations,
        event_log=None if event_log is None else without_credentials(event_log),
    )
    warnings = list(_doubts(run, profile))
    for what, part in PARTS:
        try:
            profile = replace(profile, **part(run, profile))
        # A log is whatever an application wrote: what it makes one analysis stumble over costs no other.
        except Exception as error:
            warnings.append(f"{what} is not known: {type(error).__name__}: {error}")
    return replace(profile, warnings=(*profile.warnings, *warnings))


def _outline(run: Run) -> RunProfile:
    """What every log tells that can be replayed at all."""
    from airflow_provider_ernest.clarity.replay_plan import most_at_once

    log = run.log
    seconds, startup_seconds = log.ended_at - log.ready_at, max(0.0, log.ready_at - log.started_at)
    if not seconds > 0:
        raise EventLogError(
            f"The event log of {log.application_id} tells of nothing after its machines had come.",
            remedy="Give the log of an application that ran tasks on its machines.",
        )
    return RunProfile(
        application_id=log.application_id,
        name=call_site(log.name),
        spark=log.spark,
        machines=max(1, len(log.machines)),
        slots=log.slots if log.slots > 0 else most_at_once(log.task_columns),
        seconds=seconds,
        startup_seconds=startup_seconds,
        replayed_seconds=run.blocked.replayed.seconds,
        limits=run.blocked.limits,
        driver_seconds=_seconds_without_tasks(log),
        tasks=int(log.task_columns.succeeded.sum()),
        failed_tasks=int((~log.task_columns.succeeded).sum()),
        phases=PhaseSeconds(
            initialisation_seconds=startup_seconds,
            preparation_seconds=0.0,
            variable_sharing_seconds=0.0,
            computation_seconds=seconds,
            communication_seconds=0.0,
        ),
    )


def _seconds_without_tasks(log: EventLog) -> float:
    from airflow_provider_ernest.clarity.replay import busy_seconds

    began = (log.task_columns.launched_at - log.ready_at).clip(0.0)
    finished = (log.task_columns.finished_at - log.ready_at).clip(0.0)
    return max(0.0, log.ended_at - log.ready_at - busy_seconds(began, finished))


def _doubts(run: Run, profile: RunProfile) -> Iterator[str]:
    """Why the profile may not be trusted."""
    log = run.log
    if abs(profile.replay_error_percent) > TRUSTED_ERROR_PERCENT:
        yield (
            f"The replay of the run as it was is {profile.replay_error_percent:+.0f} % off: what could be "
            "won, and what other machines would make of it, is not to be trusted."
        )
    if not log.machines:
        yield "The log tells of no machine: the run counts as one on a single machine."
    late = sum(executor.added_at - log.ready_at > LATE_SHARE * profile.seconds for executor in log.machines)
    if late:
        yield (
            f"{late} of the {len(log.machines)} machines joined when work was under way, as under dynamic "
            "allocation: the seconds are not those of so many machines."
        )
    yield from (f"Event log: {warning[:1].lower()}{warning[1:]}" for warning in log.warnings)


# ---------------------------------------------------------------------------
# The wall-clock time of a run by OptEx's phases (Sidhanta et al. 2016, section 3), from its event log.
#
# Each moment from the application's start to its end belongs to one phase, or is shared out between two:
#
# initialisation    from the start until the last machine had registered, or, where that was earlier,
# until the first job was submitted or the first task launched
# variable sharing  moments without a running task, within a query, as far as its broadcasts took time:
# built and sent by the driver. Their collection runs tasks, and counts as those do
# preparation       all other moments without a running task: the driver plans, schedules, waits for
# machines, works on results, and closes the application
# communication     of the moments with running tasks, the share of these tasks' time that they spent
# fetching from other machines, writing for later stages, and handing over results
# computation       the rest of the moments with running tasks
#
# The paper measures its phases by hand, by jobs of which each has all of them. What a log does not tell is
# the time of broadcasts that the application makes itself (`SparkContext.broadcast`): it counts as
# preparation on the driver, and as computation in the tasks that fetch them.


@dataclass(frozen=True, kw_only=True)
class _Work:
    """When tasks ran after the initialisation; each column of shape (spans,).

    Attributes:
        began: of each span in which the same tasks ran.
        ended: of it.
        running: how many did; 0 where none.
        communicating: the share of their time that was communication, 0..1.
    """

    began: FloatColumn
    ended: FloatColumn
    running: FloatColumn
    communicating: FloatColumn


def optex_phases(log: EventLog, use: ResourceUse | None = None) -> PhaseSeconds:
    """The seconds of a run by phase; they add up to the application's time.

    Args:
        log: the run.
        use: of it, where it is at hand.
    """
    use = use or resource_use(log)
    ready = _initialised_at(log)
    work = _work_after(log, ready, use)
    lasted = work.ended - work.began
    busy = work.running > 0
    communication = float(np.sum(lasted[busy] * work.communicating[busy]))
    sharing = _sharing_seconds(log, work)
    idle = float(lasted[~busy].sum())
    return PhaseSeconds(
        initialisation_seconds=ready - log.started_at,
        preparation_seconds=max(0.0, idle - sharing),
        variable_sharing_seconds=sharing,
        computation_seconds=max(0.0, float(lasted[busy].sum()) - communication),
        communication_seconds=communication,
    )


def _initialised_at(log: EventLog) -> float:
    """When the initialisation ended."""
    first = [job.submitted_at for job in log.jobs]
    if len(log.task_columns):
        first.append(float(log.task_columns.launched_at.min()))
    until = min([log.ready_at, log.ended_at, *first])
    return max(log.started_at, until)


def _work_after(log: EventLog, ready: float, use: ResourceUse) -> _Work:
    """What ran from then until the end of the application."""
    tasks = log.task_columns
    began = np.clip(tasks.launched_at, ready, log.ended_at)
    ended = np.clip(tasks.finished_at, began, log.ended_at)
    edges = np.concatenate([[ready], began, ended, [log.ended_at]])
    order = np.argsort(edges, kind="stable")
    lengths = np.diff(edges[order])

    def sum_running(each: FloatColumn) -> FloatColumn:
        summed = np.cumsum(np.concatenate([[0.0], each, -each, [0.0]])[order])[:-1]
        positive: FloatColumn = np.maximum(summed, 0.0)
        return positive

    running = np.rint(sum_running(np.ones(len(tasks))))
    talking = sum_running(_communication_share(tasks, use))
    some = lengths > 0
    shares = np.divide(talking, running, out=np.zeros_like(talking), where=running > 0)
    starts = edges[order][:-1]
    return _Work(
        began=starts[some],
        ended=starts[some] + lengths[some],
        running=running[some],
        communicating=np.minimum(1.0, shares[some]),
    )


def _communication_share(tasks: TaskColumns, use: ResourceUse) -> FloatColumn:
    """The share of each task's time that was communication, shape (tasks,)."""
    seconds = (
        use.parts[NETWORK]
        + use.parts[DISK]
        + tasks.result_serialisation_seconds
        + tasks.getting_result_seconds
    )
    lasted = tasks.seconds
    shares = np.divide(seconds, lasted, out=np.zeros_like(lasted), where=lasted > 0)
    within: FloatColumn = np.clip(shares, 0.0, 1.0)
    return within


def _sharing_seconds(log: EventLog, work: _Work) -> float:
    """Time without tasks that the broadcasts of queries explain.

    A moment counts for one query only, the first of those that it lies in.
    """
    idle = work.running == 0
    began, ended = work.began[idle], work.ended[idle]
    total, from_here = 0.0, -np.inf
    for query in sorted(log.sql_executions, key=lambda query: query.started_at):
        if query.broadcast_seconds > 0:
            start = max(query.started_at, from_here)
            end = log.ended_at if query.ended_at is None else query.ended_at
            within = np.minimum(ended, end) - np.maximum(began, start)
            total += min(query.broadcast_seconds, float(np.maximum(0.0, within).sum()))
            from_here = max(from_here, end)
    return total


# ---------------------------------------------------------------------------
# What kind of job a run was (OptEx, section 4): by which of Spark's libraries its stages come of.
#
# A stage that a library of Spark asked for tells so by its call site, whether the job is Scala, Java or
# Python: that of a regression is ``treeAggregate at RDDLossFunction.scala:61``, and its stack trace, which
# the log has, names ``org.apache.spark.ml``. Queries are known by their own events. What is none of these is
# a job of plain RDDs. A job that does its own learning over RDDs, or in Python functions, is told from no
# other: the log does not show what the functions of the user do.


LIBRARY_SHARE = 0.2
"""MLlib and GraphX read and prepare their data by queries and RDDs: a job is theirs if at least this share of
its tasks' time is."""

_OF_LIBRARY = {"ml": MLLIB, "mllib": MLLIB, "graphx": GRAPHX, "streaming": STREAMING}


def category_of(log: EventLog) -> str:
    """The category of the job: `STREAMING`, `GRAPHX`, `MLLIB`, `SQL` or `CORE`."""
    if log.is_streaming:
        return STREAMING
    seconds = _seconds_by_category(log)
    total = sum(seconds.values())
    for category in (STREAMING, GRAPHX, MLLIB):
        if seconds[category] > 0 and seconds[category] >= LIBRARY_SHARE * total:
            return category
    if total == 0:
        return SQL if log.sql_executions else CORE
    return SQL if seconds[SQL] >= seconds[CORE] else CORE


def _seconds_by_category(log: EventLog) -> dict[str, float]:
    """The seconds of the tasks by the category of their stages."""
    queried = {job.job_id for job in log.jobs if job.sql_execution_id is not None}
    category = {
        (stage.stage_id, stage.attempt): _category_of_stage(stage, stage.job_id in queried)
        for stage in log.stages
    }
    seconds: dict[str, float] = defaultdict(float)
    tasks = log.task_columns
    columns = (tasks.stage_id.tolist(), tasks.stage_attempt.tolist(), tasks.seconds.tolist())
    for stage_id, attempt, lasted in zip(*columns, strict=True):
        seconds[category.get((stage_id, attempt), CORE)] += max(0.0, lasted)
    return seconds


def _category_of_stage(stage: StageRow, queried: bool) -> str:
    return _OF_LIBRARY.get(stage.library, SQL if queried else CORE)
