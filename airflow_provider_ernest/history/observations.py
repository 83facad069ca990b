"""Event logs as past runs of a job, and these as observations that cost nothing: which count, and why not.

`past_run` tells what one log says of its run: what it took, on what, and whether it ended well (see
`eventlog.run_facts`). `observations_of` then says which runs tell of the run at hand.

A run counts where nothing that its time depends on is known to be otherwise today: the main file, Spark's
version, the properties, the type of the machines, their cores and their memory. What is not known of the run
at hand is taken to be as in the newest past run; what neither tells is not compared, and `History.notes` say
so. The code itself is one of these: event logs do not tell its hash. Runs that differ in the cores of their
executors alone count on as many cores of today's, if cross-validation says that they help.

Scale. A log tells how many bytes a run read from outside, which need not be the size of its input: a query
reads some columns of it, an iterative job without a cache reads it many times, a schema is found by reading
it once more. But such runs read in proportion, so runs are compared with each other: scale 1.0 is what the
latest runs read. Only where the size of today's input lies within what the runs read do these count as
sizes of the input, and scale 1.0 is the input as it is today.

Rows. As much data in fewer, wider rows is another amount of work. Where all logs tell the records that were
read, runs say how wide their rows were, compared with those of the latest runs; see `Observation.row_width`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations, islice
from statistics import fmean, median
from typing import Any

import msgspec
import numpy as np

from airflow_provider_ernest.clarity.replay_dynamic import replayed_at_fixed_sizes
from airflow_provider_ernest.decision.forms import HEAP, megabytes, own_sizes
from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.runs import Observation, PastRun, RunConditions, amount_read
from airflow_provider_ernest.eventlog.run_facts import (
    DATABRICKS_CLUSTER,
    JOB_CLUSTER,
    Sizes,
    run_metrics,
    why_not_counted,
)
from airflow_provider_ernest.eventlog.tables import DRIVER, EventLog
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.history.jobs import comparable, recurring
from airflow_provider_ernest.learning.conditions import (
    changed,
    code_differences,
    differences,
    settings_that_count,
)
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.predict import new_predictor
from airflow_provider_ernest.prediction.training import leave_one_out
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.words import counted, data_amount, plain

MOST_RUNS = 50  # so many past runs are counted unless another number is stated: a fit takes longer with more
LATEST_RUNS = 10  # so many tell what a job reads now, and along which trend
SAME_SIZE = 0.1  # by so much what runs read may miss the size of the input, and still be taken for it
SAME_MEMORY = 0.25  # by so much memory may differ and still count as the same

SCALE_STEP = 1.05
"""Inputs that differ by less are of one size: runs of them are repetitions, which tell how runs scatter."""

SAME_ROWS = 1.1
"""Rows whose widths differ by less count as the same: what a value takes differs from day to day."""

_FILES = (".py", ".jar", ".R", ".zip", ".egg")

_SPARK = re.compile(r"(?:spark-)?(\d+\.\d+)(?:\.\d+)*(?:[-\s].*)?")
"""A version of Spark, "3.5.1", "3.5.1-amzn-0", "spark-3.5.1-bin-hadoop3"; not emr-7.5.0."""


@dataclass(frozen=True, kw_only=True)
class TodaysRun:
    """The run that past ones are to tell of. What is None is taken to be as in the newest of them."""

    input_bytes: int | None = None  # size of the files that scale 1.0 stands for
    instance_type: str | None = None
    executor_cores: int | None = None
    executor_memory_megabytes: int | None = None  # of one, with all beside its heap
    spark: str | None = None  # Spark's version
    settings: Mapping[str, str] | None = None  # Spark's properties as the user states them
    main: str | None = None  # the application's main class, or the name of its file
    code_changed_at: datetime | None = None  # when the application's file was last changed
    holds_since: datetime | None = None  # runs that began before are of another job by all that is known
    tells_nothing: bool = False  # it is as the newest run in all, so that nothing is left to be compared


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A past run that does not count, and why, as a clause such as "Spark was 3.3.2 and is 4.0.0"."""

    run: PastRun
    reason: str


@dataclass(frozen=True, kw_only=True)
class History:
    """What past runs tell of the run at hand."""

    observations: tuple[Observation, ...] = ()  # of the runs that count, oldest first, numbered from 0
    runs: tuple[PastRun, ...] = ()  # the same runs as their logs tell them, in the same order
    left_out: tuple[LeftOut, ...] = ()
    input_bytes: int = 0  # what a run reads that scale 1.0 stands for; 0 where no log tells of any input
    notes: tuple[str, ...] = ()  # sentences: what scale 1.0 stands for, and what could not be compared

    @property
    def reasons(self) -> dict[str, int]:
        """Why runs were left out, with how many there were, the most frequent first."""
        return dict(Counter(each.reason for each in self.left_out).most_common())


def observations_of(
    runs: Sequence[PastRun], today: TodaysRun | None = None, *, most_runs: int = MOST_RUNS
) -> History:
    """What the past runs of a job tell of the run at hand, and which of them tell nothing.

    Args:
        runs: of one job, each once as `jobs.by_job` gives them, in any order.
        today: the run at hand; None for one like the newest.
        most_runs: that count: of each configuration the newest first.
    """
    today = today or TodaysRun()
    newest_first = sorted(comparable(runs), key=_began, reverse=True)
    ended_well = [run for run in newest_first if is_good(run)]
    like = _completed(today, ended_well)
    left_out = [
        LeftOut(run=run, reason=run.failure or ("it took no time" if run.executors else "no executor worked"))
        for run in newest_first
        if not is_good(run)
    ]
    alike: list[PastRun] = []
    other_cores: list[PastRun] = []
    for run in ended_well:
        reasons = [*_too_old(run, today.holds_since), *_differences(run, like)]
        if reasons:
            left_out.append(LeftOut(run=run, reason="; ".join(reasons)))
            as_today = _on_cores_of_today(run, like)
            if len(reasons) == 1 and as_today and not any(_differences(as_today, like)):
                other_cores.append(as_today)
        else:
            alike.append(run)
    alike = [each for run in alike for each in _at_fixed_sizes(run)]
    whole, size_notes = _whole_input(alike, today.input_bytes)
    if other_cores and _help(other_cores, alike, whole):
        helping = {run.application_id for run in other_cores}
        alike = sorted([*alike, *other_cores], key=_began, reverse=True)
        left_out = [each for each in left_out if each.run.application_id not in helping]
        size_notes.append(
            f"{counted(len(other_cores), 'run')} on executors of other cores count as runs on as many cores "
            "of today's: cross-validation says that they help."
        )
    if whole:
        left_out += [LeftOut(run=run, reason="it read no input") for run in alike if not run.input_bytes]
        alike = [run for run in alike if run.input_bytes]
    scales = _scales(alike, whole)
    widths = _row_widths(alike)
    chosen = _newest_of_each(alike, scales, most_runs)
    left_out += [
        LeftOut(run=run, reason=f"newer runs, or runs of other sizes, fill the {most_runs} that count")
        for place, run in enumerate(alike)
        if place not in chosen
    ]
    counted_runs = sorted(chosen, key=lambda place: _began(alike[place]))
    runs_that_count = [alike[place] for place in counted_runs]
    return History(
        observations=tuple(
            observation_of(
                alike[place],
                scale=scales[place],
                row_width=widths[place],
                index=index,
                instance_type=like.instance_type,
            )
            for index, place in enumerate(counted_runs)
        ),
        runs=tuple(runs_that_count),
        left_out=tuple(left_out),
        input_bytes=round(whole),
        notes=(*size_notes, *(() if today.tells_nothing else _not_compared(runs_that_count, like, today))),
    )


def observation_of(
    run: PastRun,
    *,
    scale: float,
    row_width: float = 1.0,
    index: int = 0,
    instance_type: str | None = None,
) -> Observation:
    """A past run that ended well as an observation; scale and row width are relative to today's input.

    One whose executors came and went is told of by one of its `_at_fixed_sizes`.
    """
    return Observation(
        index=index,
        executors=run.executors,
        scale=scale,
        row_width=row_width,
        seconds=run.seconds,
        startup_seconds=run.startup_seconds,
        instance_type=instance_type or run.instance_type or "local",
        application_id=run.application_id,
        event_log=run.event_log or None,
        metrics=run.metrics,
        from_history=True,
        executors_per_machine=run.executors_per_machine,
        replay_error=run.replayed[0].error if run.replayed else 0.0,
    )


def _at_fixed_sizes(run: PastRun) -> Iterator[PastRun]:
    """The run itself, or one for each size that it was replayed on, which share what they are wrong about."""
    if not run.replayed:
        yield run
    for size in run.replayed:
        size = replace(size, error=size.error * math.sqrt(len(run.replayed)))
        yield replace(run, executors=size.executors, seconds=size.seconds, replayed=(size,))


def _began(run: PastRun) -> datetime:
    return time_of(run.started_at) or datetime.min.replace(tzinfo=UTC)


def is_good(run: PastRun) -> bool:
    """Whether it ended well, and so tells how long the job takes."""
    return not run.failure and run.executors > 0 and run.seconds > 0


# Whether a run is one of the same thing.


def _completed(today: TodaysRun, newest_first: Sequence[PastRun]) -> TodaysRun:
    """The run at hand; what is not known of it is as in the newest past run that tells."""

    def told(name: str) -> Any:
        return next((value for run in newest_first if (value := getattr(run, name))), None)

    names = ("instance_type", "executor_cores", "executor_memory_megabytes", "spark", "main")
    missing = {name: told(name) for name in names if getattr(today, name) is None}
    newest = dict(next((run.settings for run in newest_first if run.settings), ()))
    return replace(
        today,
        **missing,
        # What the user states over what the cluster gives.
        settings={**newest, **settings_that_count(today.settings or {})},
    )


def _too_old(run: PastRun, holds_since: datetime | None, oldest: datetime | None = None) -> Iterator[str]:
    if oldest is not None and _began(run) < oldest:
        yield "it is older than max_age_days"
    if holds_since is not None and _began(run) < holds_since:
        yield f"it began before {holds_since:%Y-%m-%d}, when a model of the job no longer held"


def _differences(run: PastRun, like: TodaysRun) -> Iterator[str]:
    """What is known to have been different, as clauses."""
    if _is_other_main(run.main, like.main):
        yield "its main file or class is another"
    then, now = _release(run.spark), _release(like.spark)
    if then and now and then != now:
        yield f"Spark was {then} and is {now}"
    if run.instance_type and like.instance_type and run.instance_type != like.instance_type:
        yield f"its machines were {run.instance_type} and are {like.instance_type}"
    if run.executor_cores and like.executor_cores and run.executor_cores != like.executor_cores:
        yield f"an executor had {counted(run.executor_cores, 'core')} and has {like.executor_cores}"
    memory_then, memory_now = run.executor_memory_megabytes, like.executor_memory_megabytes
    if memory_then and memory_now and abs(math.log(memory_then / memory_now)) > math.log(1 + SAME_MEMORY):
        yield (
            f"an executor had {data_amount(memory_then * 1e6)} of memory and has "
            f"{data_amount(memory_now * 1e6)}"
        )
    # Values may tell anything, and stay where they are.
    if run.settings and like.settings and (apart := set(run.settings) ^ like.settings.items()):
        yield changed(name for name, _ in apart)


def _on_cores_of_today(run: PastRun, like: TodaysRun) -> PastRun | None:
    """A run on executors of other cores, as one on so many of today's as have these cores together."""
    # What is left out with today's cores is left out for something else.
    is_other = run.executor_cores != like.executor_cores
    if run.replayed or not is_other or not run.executor_cores or not like.executor_cores:
        return None
    executors, rest = divmod(run.executors * run.executor_cores, like.executor_cores)
    return replace(run, executors=executors, executor_cores=like.executor_cores) if not rest else None


def _help(others: Sequence[PastRun], own: Sequence[PastRun], whole: float) -> bool:
    """Whether runs on other shapes make a model's errors on the runs of today's shape smaller."""

    def errors(runs: Sequence[PastRun]) -> float:
        scales, widths = _scales(runs, whole), _row_widths(runs)
        told = [
            replace(observation_of(run, scale=scale, row_width=width), index=index)
            for index, (run, scale, width) in enumerate(zip(runs, scales, widths, strict=True))
        ]
        folds = leave_one_out(partial(new_predictor, AVERAGING), told).folds
        return fmean(abs(math.log(fold.predicted_seconds / fold.seconds)) for fold in folds[: len(own)])

    if whole and not all(run.input_bytes for run in (*own, *others)):
        return False
    if len({run.executors for run in own}) < 2:
        return False
    return errors([*own, *others]) < errors(own)


def _release(spark: str | None) -> str | None:
    """The release of a version of Spark: "3.5" of "3.5.1-amzn-0"; None for any other text."""
    found = _SPARK.fullmatch(spark or "")
    return found.group(1) if found else None


def _is_other_main(then: str | None, now: str | None) -> bool:
    """Whether it is known to be another file, or another class: a file is not compared with a class."""
    if not then or not now or then.endswith(_FILES) != now.endswith(_FILES):
        return False
    return then.rstrip("/").rpartition("/")[2] != now.rstrip("/").rpartition("/")[2]


def _not_compared(runs: Sequence[PastRun], like: TodaysRun, today: TodaysRun) -> Iterator[str]:
    """Sentences about what may have been different, and nothing tells."""
    if not runs:
        return
    if today.code_changed_at is None:
        yield "Whether the past runs ran the application as it is now is not known."
    elif older := sum(_began(run) < today.code_changed_at for run in runs):
        yield (
            f"{older} of {counted(len(runs), 'past run')} began before the application's file was last "
            f"changed ({today.code_changed_at:%Y-%m-%d %H:%M} UTC): whether they ran this code is not known."
        )
    memory = [run.executor_memory_megabytes for run in runs]
    told: dict[str, list[Any]] = {
        "the type of the machines": [like.instance_type, *(run.instance_type for run in runs)],
        "their memory": [like.executor_memory_megabytes, *memory],
        "Spark's version": [_release(like.spark), *(_release(run.spark) for run in runs)],
        "Spark's properties": [run.settings for run in runs],
        "the main file": [like.main, *(run.main for run in runs)],
    }
    if unknown := [name for name, values in told.items() if not all(values)]:
        yield f"Not known of all past runs or of today's, and so not compared: {', '.join(unknown)}."


# How much a run read of what the run at hand will read.


def _whole_input(newest_first: Sequence[PastRun], input_bytes: int | None) -> tuple[float, list[str]]:
    """The bytes that scale 1.0 stands for, 0 where nothing tells, and sentences about them."""
    read = [run.input_bytes for run in newest_first if run.input_bytes]
    if not newest_first:
        return 0.0, []
    if not read:
        return 0.0, ["No log tells of any input: the past runs count as runs of all of today's."]
    latest = reads_now(newest_first[::-1])
    if not input_bytes:
        return latest, [f"Scale 1.0 is what the latest past runs read: {amount_read(latest, newest_first)}."]
    if not any(run.tells_bytes for run in newest_first):
        return latest, [
            "Spark counted no bytes that the past runs read: they are compared with each other by their "
            f"records, and today's input counts as of the size of the latest, "
            f"{amount_read(latest, newest_first)}."
        ]
    low, high = data_amount(min(read)), data_amount(max(read))
    between = low if low == high else f"{low} to {high}"
    if min(read) / (1 + SAME_SIZE) <= input_bytes <= max(read) * (1 + SAME_SIZE):
        return float(input_bytes), [
            f"Scale 1.0 is today's input, {data_amount(input_bytes)}; the past runs read "
            f"{between}, of such size."
        ]
    return latest, [
        f"The past runs read {between}, which is not the size of today's input "
        f"({data_amount(input_bytes)}; the latest read {plain(latest / input_bytes)} times as much): they "
        "are compared with each other, and today's input counts as of the size of the latest."
    ]


def reads_now(runs: Sequence[PastRun]) -> int:
    """What a job reads now, in bytes, by its runs, oldest first: 0 where no log tells."""
    # The latest run's place on a line through the logarithms (Theil, 1950), which few odd inputs change.
    logs = _along_the_trend(runs)
    return round(math.exp(np.median(logs))) if len(logs) else 0


def input_spread(runs: Sequence[PastRun]) -> float:
    """Standard deviation of log(bytes) around `reads_now` of the next run; 0 of fewer than three runs."""
    logs = _along_the_trend(runs)
    freedom = len(logs) - 2
    if freedom < 1:
        return 0.0
    return math.sqrt(((logs - np.median(logs)) ** 2).sum() / freedom * (1 + 1 / len(logs)))


def _along_the_trend(runs: Sequence[PastRun]) -> FloatArray:
    """log(bytes) that the latest runs would have read had they run when the last one did, shape (n,)."""
    logs = np.log([run.input_bytes for run in runs if run.input_bytes][-LATEST_RUNS:])
    slopes = [(logs[to] - logs[at]) / (to - at) for at, to in combinations(range(len(logs)), 2)]
    return np.asarray(logs + (median(slopes) if slopes else 0.0) * np.arange(len(logs))[::-1])


def _scales(runs: Sequence[PastRun], whole: float) -> list[float]:
    """The scale of each run; of those within a step all their mean, so that they count as of one size."""
    if not whole:
        return [1.0] * len(runs)
    exact = [run.input_bytes / whole for run in runs]
    steps = [round(math.log(scale) / math.log(SCALE_STEP)) for scale in exact]
    logs: defaultdict[int, list[float]] = defaultdict(list)
    for step, scale in zip(steps, exact, strict=True):
        logs[step].append(math.log(scale))
    return [float(f"{math.exp(fmean(logs[step])):.4g}") for step in steps]


def _row_widths(newest_first: Sequence[PastRun]) -> list[float]:
    """The data in a row that each run read, by that of the latest; 1 for all where a log is silent."""
    if not all(run.input_bytes and run.input_records for run in newest_first):
        return [1.0] * len(newest_first)
    logs = [math.log(run.input_bytes / run.input_records) for run in newest_first]
    latest = median(logs[:LATEST_RUNS]) if logs else 0.0
    step = math.log(SAME_ROWS)
    return [float(f"{math.exp(step * round((each - latest) / step)):.4g}") for each in logs]


def _newest_of_each(runs: Sequence[PastRun], scales: Sequence[float], most: int) -> set[int]:
    """The places of the runs that count: the newest of each configuration, then the one before, and so on."""
    rounds: list[tuple[int, int]] = []
    seen: Counter[tuple[int, float]] = Counter()
    for place, (run, scale) in enumerate(zip(runs, scales, strict=True)):
        rounds.append((seen[run.executors, scale], place))
        seen[run.executors, scale] += 1
    places = [place for _, place in sorted(rounds)]
    # A run that was replayed on several sizes counts once.
    applications = dict.fromkeys(runs[place].application_id for place in places)
    kept = set(islice(applications, most))
    return {place for place in places if runs[place].application_id in kept}


# Production runs that Ernest has recorded: of these the code's hash and what they ran under are known.


def with_recorded(
    history: History,
    records: Iterable[ProductionRun],
    *,
    artifact_sha256: str | None,
    conditions: RunConditions | None,
    most_runs: int = MOST_RUNS,
    oldest: datetime | None = None,
    holds_since: datetime | None = None,
) -> History:
    """A history with the production runs that were recorded of the job, but for those whose logs it has.

    The records are of the type of machine at hand, the hash and the conditions those of today's run. The
    newest are added, but none that began before `oldest` or `holds_since`.
    """
    known = {each.application_id for each in history.runs}
    known |= {each.run.application_id for each in history.left_out}
    added: list[tuple[PastRun, Observation]] = []
    left_out: list[LeftOut] = []
    for record in sorted(records, key=lambda record: record.id, reverse=True):
        if record.application_id is not None and record.application_id in known:
            continue
        run = _as_past_run(record)
        apart = [
            *code_differences(record.artifact_sha256, artifact_sha256),
            # More data is no difference: scale tells it.
            *differences(record.conditions, conditions, max_growth=math.inf),
        ]
        reasons = [*_too_old(run, holds_since, oldest), *(each.reason for each in apart)]
        scale = _recorded_scale(record, conditions)
        if record.is_dynamic and record.replayed is None:
            reasons.append("its executors came and went, and it could not be replayed")
        elif record.run_seconds is None or not record.run_seconds > 0:
            reasons.append("how much of its time was start-up is not known")
        if scale is None:
            reasons.append("how much it read is not known")
        if len(added) >= most_runs:
            reasons.append(f"{most_runs} newer runs count")
        if reasons or scale is None:
            left_out.append(LeftOut(run=run, reason="; ".join(reasons)))
        else:
            added.append((run, observation_of(run, scale=scale, instance_type=record.instance_type)))
    both = sorted(
        [*zip(history.runs, history.observations, strict=True), *added], key=lambda pair: _began(pair[0])
    )
    return replace(
        history,
        observations=tuple(replace(each, index=index) for index, (_, each) in enumerate(both)),
        runs=tuple(run for run, _ in both),
        left_out=(*history.left_out, *left_out),
    )


def _as_past_run(record: ProductionRun) -> PastRun:
    conditions = record.conditions or RunConditions()
    ended_at = time_of(record.at)
    began_at = ended_at - timedelta(seconds=record.seconds) if ended_at else None
    executors, seconds = record.executors, record.run_seconds or 0.0
    if record.replayed is not None:
        executors, seconds = record.replayed.executors, record.replayed.seconds
    return PastRun(
        job=record.job,
        application_id=record.application_id or record.id,
        event_log=record.event_log or "",
        started_at=began_at.isoformat() if began_at else record.at,
        executors=executors,
        executor_cores=conditions.executor_cores or 0,
        seconds=seconds,
        replayed=() if record.replayed is None else (record.replayed,),
        startup_seconds=record.startup_seconds or 0.0,
        instance_type=record.instance_type,
        spark=conditions.spark,
    )


def _recorded_scale(record: ProductionRun, now: RunConditions | None) -> float | None:
    """The share of today's input that a run read, by the sizes of the files; None where one is not known."""
    then = record.conditions.input if record.conditions else None
    today = now.input if now else None
    if then is None or today is None or not then.total_bytes or not today.total_bytes:
        return None
    return float(f"{then.total_bytes / today.total_bytes:.4g}")


# What an event log tells of its run.

_INSTANCE_TYPES = (
    "spark.databricks.clusterUsageTags.clusterNodeType",
    "spark.databricks.workerNodeTypeId",
    "spark.kubernetes.executor.node.selector.node.kubernetes.io/instance-type",
    "spark.kubernetes.node.selector.node.kubernetes.io/instance-type",
    "spark.kubernetes.executor.node.selector.beta.kubernetes.io/instance-type",
    "spark.kubernetes.node.selector.beta.kubernetes.io/instance-type",
    "spark.glue.workerType",
    "spark.glue.WORKER_TYPE",
)
_INSTANCE_TYPE = re.compile(r"[\w.-]{2,60}")

_STATED_NAMES = (
    "spark.databricks.clusterUsageTags.runName",
    "spark.databricks.job.runName",
    "spark.glue.JOB_NAME",
    "spark.glue.jobName",
    "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name",
    "spark.openlineage.parentJobName",
)
"""Properties by which a platform or a scheduler tells which job it runs."""


def past_run(log: EventLog, *, event_log: str) -> PastRun:
    """What an event log tells of its run; `jobs.JobNames` makes the recurring job's name of its `job`."""
    sizes = Sizes(log)
    not_counted = why_not_counted(log, sizes)
    workers = [each for each in log.executors if each.executor_id != DRIVER]
    # On Kubernetes an executor tells the address of its pod: nothing tells which of them shared a node.
    hosts = 0 if log.master.startswith("k8s") else len({each.host for each in workers})
    # A standalone master may find room for several on a machine; YARN and Kubernetes place them as they like.
    is_shared = log.master.startswith(("yarn", "k8s")) or log.most_executors > len(log.slots_by_worker)
    is_replayed = not not_counted and not sizes.are_steady  # under dynamic allocation, or it would not count
    return PastRun(
        job=_name(log),
        application_id=log.application_id,
        # As JSON can hold it: Linux allows names that are no text.
        event_log=without_credentials(event_log).encode(errors="backslashreplace").decode(),
        started_at=datetime.fromtimestamp(log.started_at, UTC).isoformat(),
        executors=sizes.most,
        # Where machines differ, a standalone master gives executors different ones.
        executor_cores=round(float(np.median([each.cores for each in workers]))) if workers else 0,
        hosts=hosts,
        executors_per_machine=None if is_shared else 1,
        seconds=max(0.0, log.clean_seconds),
        startup_seconds=max(0.0, log.ready_at - log.started_at),
        instance_type=next(filter(_INSTANCE_TYPE.fullmatch, _told(log, _INSTANCE_TYPES)), None),
        executor_memory_megabytes=_memory(log) if workers else None,
        input_bytes=_outside(log, log.task_columns.input_bytes),
        input_records=_outside(log, log.task_columns.input_records),
        failure="" if not_counted is None else not_counted.reason,
        spark=log.spark,
        main=log.main or None,
        main_folder=log.main_folder or None,
        has_end=log.is_complete,
        settings=tuple(sorted(settings_that_count(log.properties).items())),
        sizes=tuple(sorted(_sizes(log.properties).items())),
        mean_executors=None if sizes.are_steady else sizes.mean,
        executor_seconds=sizes.executor_seconds,
        replayed=replayed_at_fixed_sizes(log) if is_replayed else (),
        metrics=None if not_counted else run_metrics(log),
    )


_A_SIZE = re.compile(r"[\d.]+[a-zA-Z]{0,2}|true|false")


def _sizes(properties: Mapping[str, str]) -> dict[str, str]:
    """What says how large executors and driver were; Spark gives 1 GB of heap where nothing is said."""
    told = own_sizes({HEAP: "1g", **properties})
    return {name: value for name, value in told.items() if _A_SIZE.fullmatch(value)}


def _told(log: EventLog, names: Sequence[str]) -> Iterator[str]:
    return (log.properties.get(name, "") for name in names)


def _name(log: EventLog) -> str:
    names = (log.name, *_told(log, _STATED_NAMES))
    return next(filter(recurring, names), "") or _of_cluster(log.properties) or log.name


def _of_cluster(properties: Mapping[str, str]) -> str:
    """The job that Databricks started a cluster for, by its name or else by its number; empty for no job."""
    cluster = JOB_CLUSTER.fullmatch(properties.get(DATABRICKS_CLUSTER, ""))
    if cluster is None:
        return ""
    told = properties.get("spark.databricks.clusterUsageTags.clusterAllTags", "[]")
    try:
        tags = msgspec.json.decode(told, type=list[dict[str, Any]])
    except msgspec.MsgspecError:
        tags = []
    names = [str(tag.get("value")) for tag in tags if tag.get("key") == "RunName"]
    name = next(filter(recurring, names), f"Databricks job {cluster['job']}")
    # A job may have several clusters, each for some of its tasks.
    return f"{name} {cluster['key'] or ''}".strip()


def _memory(log: EventLog) -> int | None:
    """MiB of an executor: all that it is given, or as much as the log tells."""
    try:
        return log.executor_memory_megabytes or megabytes(
            "spark.executor.memory", log.properties["spark.executor.memory"]
        )
    except (KeyError, InvalidParameterError):
        return None


def _outside(log: EventLog, read: IntArray) -> int:
    """Of what tasks read, (tasks,), that from storage: Spark counts cached blocks as if read again."""
    cached = [stage.stage_id for stage in log.stages if stage.reads_cache]
    tasks = log.task_columns
    counted_rows = tasks.succeeded if not cached else tasks.succeeded & ~np.isin(tasks.stage_id, cached)
    return max(0, int(read[counted_rows].sum(dtype=float)))
