"""Two runs side by side: which parts of the one took longer than those of the other, by how much, and why.

A run's time is its start-up, the time in which no task ran, and what is each stage's own of the rest: a
moment is shared equally by the stages that ran tasks then. So the differences of the parts add up to that of
the runs.

Stages are paired by their call sites without line numbers, by what they read, how much, and by their order
(stages of a query run side by side, and begin now in this order, now in that). One without a partner is gone
or new.

Why a pair differs: a stage's own seconds are, exactly, the data that it read, times its tasks' seconds for an
amount of data, over the tasks that could run at once, over the share of these slots that it kept busy. The
logarithms of the four ratios add up to that of the times. Those that had a large part in it are named, the
largest first, each with what the log tells of its reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from airflow_provider_ernest.documents.profiles import (
    BLOCKING,
    DISK,
    DRIVER,
    NETWORK,
    PYTHON_WORKER,
    SHORT_STAGES,
    STAGE,
    START_UP,
    UNMEASURED,
    ComparedPart,
    RunComparison,
    RunProfile,
    StageProfile,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.learning.conditions import is_plain
from airflow_provider_ernest.words import as_percent, count, counted, data_amount, duration, plain

A_QUERY = "a query"
"""Name of stages that Spark's own threads asked for."""

_LEAST_SECONDS, _LEAST_SHARE = 0.5, 0.01  # smaller differences, of the longer run, are not explained
_SAME = 0.02  # so little apart, of the longer, two runs took as long
_NAMED_SHARE = 0.2  # a ratio is named that has at least this part in the difference of a stage
_LEAST_RATIO = math.log(1.03)  # of what a stage reads, and of times; smaller ones are not named
_OTHER_TASKS = _OTHER_SKEW = math.log(1.25)  # of numbers of tasks, and of the longest task over the median
_SPILLED_SHARE = 0.05  # of what a stage reads
_SKEW_SHARE = 0.25  # of a stage's difference, that its longest task is further from the median
_TOLD_SHARE, _MOST_TOLD = 0.85, 3  # the headline names parts until they are so much of the sum, or so many
_MOST_NAMES, _MOST_WAITS = 8, 2  # settings, and what tasks waited for, that are named

# What speaks against two stages being the same work, in logarithms of the ratio of what they read.
_OTHER_WORK, _OTHER_PLACE, _OTHER_SITE, _NEVER = 3.0, 0.1, 9.0, 1e6
_OF_QUERY, _LINE = "$anonfun$", re.compile(r":\d+$")

_WAITING = {
    NETWORK: "waiting for the network",
    DISK: "waiting for disks",
    PYTHON_WORKER: "waiting for Python workers",
    UNMEASURED: "waiting that Spark does not measure",
}
_NAMES = {SHORT_STAGES: "shorter stages", DRIVER: "no task ran", START_UP: "start-up"}


def compare_runs(earlier: RunProfile, later: RunProfile, *, changes: Sequence[str] = ()) -> RunComparison:
    """Compare two runs by their profiles; `changes` are further ones that are known, such as of the code.

    Raises:
        InvalidDocumentError: a profile was made before stages told their own seconds.
    """
    runs = (earlier, later)
    for run in runs:
        if any(stage.own_seconds is None for stage in run.stages):
            raise InvalidDocumentError(
                f"The profile of {run.application_id} does not tell the stages' own seconds.",
                remedy="It was made by an earlier version: analyze the event log again.",
            )
    before, after = map(_whole, runs)
    worth = max(_LEAST_SECONDS, _LEAST_SHARE * max(before, after))
    pairs = _paired(earlier, later)
    parts = [_stage_part(runs, pair, worth) for pair in pairs] + _other_parts(earlier, later)
    parts.sort(key=lambda part: -abs(part.difference_seconds))
    return RunComparison(
        earlier=earlier.application_id,
        later=later.application_id,
        earlier_seconds=before,
        later_seconds=after,
        difference_seconds=after - before,
        headline=_headline(earlier, later, parts, worth),
        changes=(*changes, *_changes(earlier, later)),
        parts=tuple(part for part in parts if part.earlier_seconds or part.later_seconds),
        cautions=tuple(_cautions(runs, pairs)),
    )


_Pair = tuple[StageProfile | None, StageProfile | None]


def _paired(earlier: RunProfile, later: RunProfile) -> list[_Pair]:
    """Each stage once, with its partner in the other run or None."""
    from scipy.optimize import linear_sum_assignment

    mine, others = _placed(earlier), _placed(later)
    costs = np.array([[_unlike(*one, *other) for other in others] for one in mine])
    costs = costs.reshape(len(mine), len(others))
    pairs: list[_Pair] = [
        (mine[row][0], others[column][0])
        for row, column in zip(*linear_sum_assignment(costs), strict=True)
        if costs[row, column] < _NEVER
    ]
    paired = {id(stage) for pair in pairs for stage in pair}
    pairs += [(stage, None) for stage, _ in mine if id(stage) not in paired]
    return pairs + [(None, stage) for stage, _ in others if id(stage) not in paired]


def _placed(run: RunProfile) -> list[tuple[StageProfile, int]]:
    """The stages, each with its place among those of its call site."""
    sites = [_site(stage) for stage in run.stages]
    return [(stage, sites[:at].count(sites[at])) for at, stage in enumerate(run.stages)]


def _site(stage: StageProfile) -> str:
    """Where the code asked for it, however many lines are above."""
    return _LINE.sub("", stage.name)


def _unlike(before: StageProfile, place: int, after: StageProfile, other_place: int) -> float:
    """How little two stages are the same work: what they read and how much, and when."""
    sites = {_site(before), _site(after)}
    # Spark, by its version and settings, asks for a query's stages in the thread of the program or its own.
    is_other_site = len(sites) > 1 and not any(_OF_QUERY in site for site in sites)
    if is_other_site or (before.attempt > 0) != (after.attempt > 0):
        return _NEVER
    kinds = {(each.reads_input, each.read_bytes > each.input_bytes) for each in (before, after)}
    was, now, unit = _amounts(_read(before), _read(after))
    size = abs(_log_ratio(was, now) if unit else _log_ratio(before.tasks, after.tasks))
    other = _OTHER_SITE * (len(sites) - 1) + _OTHER_WORK * (len(kinds) - 1)
    return other + min(_OTHER_WORK, size) + _OTHER_PLACE * abs(place - other_place)


def _whole(run: RunProfile) -> float:
    return run.startup_seconds + run.seconds


def _own(stage: StageProfile | None) -> float:
    return (stage.own_seconds or 0.0) if stage else 0.0


def _stage_part(runs: Sequence[RunProfile], pair: _Pair, worth: float) -> ComparedPart:
    """The part of a pair of stages, of which one may be missing."""
    (earlier, later), (before, after) = runs, pair
    shown, change = after or before, _own(after) - _own(before)
    assert shown is not None
    causes: tuple[str, ...] = ()
    if abs(change) >= worth and before and after:
        causes = tuple(_causes(before, after, _slots(earlier, before), _slots(later, after)))
    elif abs(change) >= worth:
        causes = (_alone(shown, *((earlier, later) if before else (later, earlier))),)
    return ComparedPart(
        kind=STAGE,
        name=A_QUERY if _OF_QUERY in shown.name else shown.name,
        earlier_seconds=_own(before),
        later_seconds=_own(after),
        difference_seconds=change,
        earlier_stage=before.stage_id if before else None,
        later_stage=after.stage_id if after else None,
        causes=causes,
    )


def _alone(stage: StageProfile, run: RunProfile, other: RunProfile) -> str:
    if stage.attempt:
        return f"Spark ran it again, as attempt {count(stage.attempt + 1)}"
    if other.stages_left_out and stage.seconds <= min(each.seconds for each in other.stages):
        return f"it is not among the {count(len(other.stages))} longest of {other.application_id}"
    return f"only {run.application_id} has it"


def _other_parts(earlier: RunProfile, later: RunProfile) -> list[ComparedPart]:
    """The parts that are no stage."""
    before, after = _beside_stages(earlier), _beside_stages(later)
    return [
        ComparedPart(
            kind=kind,
            name=name,
            earlier_seconds=before[kind],
            later_seconds=after[kind],
            difference_seconds=after[kind] - before[kind],
        )
        for kind, name in _NAMES.items()
    ]


def _beside_stages(run: RunProfile) -> dict[str, float]:
    """The seconds of a run that are no told stage's own."""
    rest = run.seconds - sum(map(_own, run.stages))
    short = rest - run.driver_seconds if run.stages_left_out else 0.0
    return {SHORT_STAGES: short, DRIVER: rest - short, START_UP: run.startup_seconds}


def _slots(run: RunProfile, stage: StageProfile) -> float:
    """The tasks that could run at once, on average over the time of the stage."""
    if not run.steps or stage.seconds <= 0:
        return float(run.slots)
    ends = [*(moment for moment, _ in run.steps[1:]), math.inf]
    there = sum(
        executors * max(0.0, min(until, stage.ended_seconds) - max(since, stage.began_seconds))
        for (since, executors), until in zip(run.steps, ends, strict=True)
    )
    return max(1.0, there / stage.seconds * run.slots / run.executors)


# Why a stage took another time.


def _causes(before: StageProfile, after: StageProfile, had: float, has: float) -> Iterator[str]:
    """Clauses; the stages had and have so many slots."""
    was, now, unit = _amounts(_read(before), _read(after))
    data = _log_ratio(was, now)
    work, whole = _log_ratio(before.task_seconds, after.task_seconds), _log_ratio(_own(before), _own(after))
    room = _log_ratio(has, had)
    factors = {"data": data, "pace": work - data, "room": room, "busy": whole - work - room}
    direction = math.copysign(1.0, whole)
    for name, factor in sorted(factors.items(), key=lambda each: -direction * each[1]):
        if direction * factor < max(_LEAST_RATIO, _NAMED_SHARE * abs(whole)):
            return
        if name == "data":
            yield _more_read(was, now, unit)
        elif name == "pace":
            took = f"its tasks took {_times(factor, 'long', 'longer', 'less time')}"
            reasons = ", ".join(_of_pace(before, after, data=math.exp(data)))
            yield f"{took}{' for as much data' if unit else ''}{': ' if reasons else ''}{reasons}"
        elif name == "room":
            yield f"{counted(round(has), 'task')} could run at once instead of {count(round(had))}"
        else:
            yield _of_idle_slots(before, after, had, has)


def _read(stage: StageProfile) -> tuple[int, int]:
    """The bytes that it read, and the records of a stage that reads nothing but the job's input; else 0."""
    return stage.read_bytes, stage.input_records if stage.reads_input else 0


def _amounts(before: tuple[int, int], after: tuple[int, int]) -> tuple[int, int, str]:
    """What of `_read` both know: the earlier, the later, and "records" or "bytes"; zeros if nothing."""
    # What Spark counts as bytes of input may be a file's end alone: records say more.
    for place, unit in ((1, "records"), (0, "bytes")):
        if before[place] and after[place]:
            return before[place], after[place], unit
    return 0, 0, ""


def _more_read(was: int, now: int, unit: str) -> str:
    amounts = f"{data_amount(now)} instead of {data_amount(was)}"
    if unit == "records":
        amounts = f"{counted(now, 'record')} instead of {count(was)}"
    return f"it read {_times(_log_ratio(was, now), 'much', 'more', 'less')}, {amounts}"


def _log_ratio(before: float, after: float) -> float:
    return math.log(max(after, 1e-3) / max(before, 1e-3))


def _times(factor: float, amount: str, more: str, less: str) -> str:
    """The logarithm of a ratio in words: 2.1 times as much, 15 % more, 30 % less."""
    ratio = math.exp(factor)
    if ratio >= 2:
        return f"{plain(round(ratio, 1))} times as {amount}"
    return f"{as_percent(abs(ratio - 1))} {more if ratio > 1 else less}"


def _of_pace(before: StageProfile, after: StageProfile, *, data: float) -> Iterator[str]:
    """Why tasks took longer, or less long, for as much data; it is so many times what it was."""
    change = after.task_seconds - data * before.task_seconds
    if not change:
        return
    direction = math.copysign(1.0, change)
    if min(direction * _log_ratio(each * before.tasks, after.tasks) for each in (1.0, data)) >= _OTHER_TASKS:
        yield f"{counted(after.tasks, 'task')} instead of {count(before.tasks)}"
    spilled = after.spilled_bytes - data * before.spilled_bytes
    if direction * spilled > _SPILLED_SHARE * max(after.read_bytes, before.read_bytes, 1):
        now, was = (data_amount(each.spilled_bytes) for each in (after, before))
        yield f"{now} spilled to disk instead of {was}"
    waits = [(kind, _waited(before, kind), _waited(after, kind)) for kind in (*BLOCKING, UNMEASURED)]
    shares = sorted((((now - data * was) / change, kind, was, now) for kind, was, now in waits), reverse=True)
    for share, kind, waited, waits_now in shares[:_MOST_WAITS]:
        if share >= _NAMED_SHARE:
            yield f"{duration(waits_now)} of {_WAITING.get(kind, kind)} instead of {duration(waited)}"


def _waited(stage: StageProfile, kind: str) -> float:
    return stage.unmeasured_seconds if kind == UNMEASURED else stage.blocked_seconds.get(kind, 0.0)


def _of_idle_slots(before: StageProfile, after: StageProfile, had: float, has: float) -> str:
    """Why more slots were idle beside its tasks, or fewer."""
    (longest, median), (now_longest, now_median) = map(_longest_and_median, (before, after))
    further = (now_longest - now_median) - (longest - median)
    is_other_skew = abs(_log_ratio(longest, now_longest) - _log_ratio(median, now_median)) >= _OTHER_SKEW
    if is_other_skew and further / (_own(after) - _own(before)) >= _SKEW_SHARE:
        median_words = f"the median {duration(now_median)} instead of {duration(median)}"
        return f"its longest task took {duration(now_longest)} instead of {duration(longest)}, {median_words}"
    if abs(_log_ratio(before.tasks, after.tasks)) >= _OTHER_TASKS:
        return f"it had {counted(after.tasks, 'task')} instead of {count(before.tasks)}"
    was, now = (
        as_percent(min(1.0, each.task_seconds / max(1e-3, _own(each) * slots)))
        for each, slots in ((before, had), (after, has))
    )
    return f"it kept {now} of the slots busy instead of {was}"


def _longest_and_median(stage: StageProfile) -> tuple[float, float]:
    seconds = stage.quantiles_seconds or (0.0,)
    return seconds[-1], seconds[(len(seconds) - 1) // 2]


# What is not as it was, and the whole in a sentence.


def _changes(before: RunProfile, after: RunProfile) -> Iterator[str]:
    if before.spark and after.spark and before.spark != after.spark:
        yield f"Spark is {after.spark} and was {before.spark}"
    if before.executors != after.executors:
        yield f"it ran on {counted(after.executors, 'executor')} instead of {count(before.executors)}"
    shapes = [round(run.slots / run.executors, 1) for run in (before, after)]
    if shapes[0] != shapes[1]:
        yield f"an executor runs {plain(shapes[1])} tasks at once instead of {plain(shapes[0])}"
    read = _amounts(_input_of(before), _input_of(after))
    if abs(_log_ratio(*read[:2])) >= _LEAST_RATIO:
        yield f"of its input {_more_read(*read)}"
    for run in (before, after):
        if lost := sum(len(loss.executors) for loss in run.losses):
            yield f"{run.application_id} lost {counted(lost, 'executor')}"
    names = sorted({name for name, _ in before.settings.items() ^ after.settings.items()})
    if before.settings and after.settings:
        yield from (_changed_setting(each, before.settings, after.settings) for each in names[:_MOST_NAMES])
        if more := names[_MOST_NAMES:]:
            yield f"{counted(len(more), 'further setting')} changed"


def _input_of(run: RunProfile) -> tuple[int, int]:
    """What `_read` tells, of all stages that read the job's input."""
    told = [_read(stage) for stage in run.stages if stage.reads_input]
    return sum(size for size, _ in told), sum(records for _, records in told)


def _changed_setting(name: str, before: dict[str, str], after: dict[str, str]) -> str:
    """With its values where these are no digests."""
    was, now = (told.get(name, "") if is_plain(told.get(name, "")) else "" for told in (before, after))
    if name not in after:
        return f"{name} is no longer set{f' (was {was})' if was else ''}"
    if name not in before:
        return f"{name} is set{f' ({now})' if now else ''}"
    return f"{name} is {now} and was {was}" if was and now else f"{name} has changed"


def _cautions(runs: Sequence[RunProfile], pairs: Sequence[_Pair]) -> Iterator[str]:
    shared = [sum(_own(pair[place]) for pair in pairs if None not in pair) for place in (0, 1)]
    every = [sum(map(_own, run.stages)) for run in runs]
    if all(2 * part < whole for part, whole in zip(shared, every, strict=True)):
        yield (
            "Most of their time is in stages that only one of the two has: they may be runs of different "
            "jobs, or of another program."
        )
    for run in runs:
        if run.not_counted:
            yield f"{run.application_id} does not count as a run of its job: {run.not_counted}."


def _headline(earlier: RunProfile, later: RunProfile, parts: Sequence[ComparedPart], worth: float) -> str:
    before, after = _whole(earlier), _whole(later)
    change = after - before
    if abs(change) < max(_LEAST_SECONDS, _SAME * max(before, after)):
        times = f"{duration(after)} and {duration(before)}"
        return f"{later.application_id} took as long as {earlier.application_id}: {times}."
    direction = math.copysign(1.0, change)
    told: list[str] = []
    rest = change
    for part in parts:
        is_enough = len(told) >= _MOST_TOLD or direction * rest <= (1.0 - _TOLD_SHARE) * abs(change)
        if direction * part.difference_seconds >= worth and not is_enough:
            told.append(_in_words(part))
            rest -= part.difference_seconds
    if told and abs(rest) >= worth:
        opposite = "" if direction * rest > 0 else "less " if change > 0 else "more "
        told.append(f"{duration(abs(rest))} {opposite}elsewhere")
    than = f"{'longer' if change > 0 else 'less'} than {earlier.application_id}"
    whole = f"{duration(after)} instead of {duration(before)}{': ' if told else ''}{'; '.join(told)}"
    return f"{later.application_id} took {duration(abs(change))} {than}, {whole}."


def _in_words(part: ComparedPart) -> str:
    article = {DRIVER: "while", START_UP: "in the"}.get(part.kind, "in")
    where = f"{article} {part.name}"
    if part.kind == STAGE:
        number = part.earlier_stage if part.later_stage is None else part.later_stage
        where = f"in stage {number}{' of' if part.name == A_QUERY else ','} {part.name}"
    because = f" ({part.causes[0]})" if part.causes else ""
    return f"{duration(abs(part.difference_seconds))} {where}{because}"
