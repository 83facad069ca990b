"""The figure that the cause of a straggler rests on, in words."""

from __future__ import annotations

import math

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.stragglers.causes import Measured

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def evidence(facts: Measured, row: int, cause: str, *, host: str) -> str:
    """Why the task is taken to have the cause.

    Args:
        facts: of the log.
        row: of the task in the log's table.
        cause: of it, as `causes.causes` tells it.
        host: that it ran on.
    """
    words = {
        run_profile.INPUT_SKEW: _skew,
        run_profile.FIRST_TASK: _first_task,
        run_profile.SLOW_FETCH: _fetch,
        run_profile.SLOW_DISK: _disk,
        run_profile.COLLECTION: _collection,
        run_profile.UNEXPLAINED: _unexplained,
    }
    if cause == run_profile.SLOW_HOST:
        slow = facts.slow_hosts[int(facts.host[row])]
        return (
            f"{host} took {slow.ratio:.1f} times as long as the other hosts for the same work "
            f"(median of {slow.tasks} tasks)"
        )
    return words[cause](facts, row)


def _skew(facts: Measured, row: int) -> str:
    ratio = float(facts.read_ratio[row])
    if not math.isfinite(ratio):
        return f"read {_size(facts.read_bytes[row])} where the median task of its stage read nothing"
    against = f"{_size(facts.read_bytes[row])} against {_size(facts.median_read_bytes[row])}"
    return f"read {ratio:.1f} times as much as the median task of its stage ({against})"


def _first_task(facts: Measured, row: int) -> str:
    return f"the first of its stage on its slot, which took {facts.first_seconds[row]:.1f} s longer"


def _fetch(facts: Measured, row: int) -> str:
    return f"waited {_against_median(facts, row, run_profile.NETWORK)} for shuffle data"


def _disk(facts: Measured, row: int) -> str:
    waited = facts.waiting[run_profile.DISK][row] - facts.median_waiting[run_profile.DISK][row]
    if facts.spilled_bytes[row] > 0 and 2.0 * waited < facts.seconds[row] - facts.median_seconds[row]:
        return f"spilled {_size(facts.spilled_bytes[row])} where the median task of its stage spilled nothing"
    return f"waited {_against_median(facts, row, run_profile.DISK)} to write shuffle data"


def _collection(facts: Measured, row: int) -> str:
    return f"its executor collected garbage for {_against_median(facts, row, run_profile.GARBAGE_COLLECTION)}"


def _unexplained(facts: Measured, row: int) -> str:
    most = max(facts.waiting, key=lambda name: float(facts.waiting[name][row]))
    seconds = float(facts.waiting[most][row])
    if seconds < 0.1 * float(facts.seconds[row]):
        return "no metric tells it from the other tasks"
    return f"no metric explains half of its excess; the largest is {most} with {seconds:.1f} s"


def _against_median(facts: Measured, row: int, waiting: str) -> str:
    return f"{facts.waiting[waiting][row]:.1f} s (median {facts.median_waiting[waiting][row]:.1f} s)"


def _size(count: float) -> str:
    power = min(len(_UNITS) - 1, int(math.log10(count) // 3)) if count >= 1 else 0
    return (
        f"{count / 1000**power:.0f} {_UNITS[power]}"
        if power == 0
        else f"{count / 1000**power:.1f} {_UNITS[power]}"
    )
