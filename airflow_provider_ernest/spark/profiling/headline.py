"""What a run is bound by, as a sentence with its figures."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ernest.model.documents import run_profile

DRIVER_SHARE = 0.5
"""A run of which no task runs for so much of its time is bound by its driver, whatever tasks wait for."""

WORTH_TELLING_SHARE = 0.2
"""So much of its time without a task, or unmeasured, is told, whatever else binds the run."""

LEAST_PERCENT = 5.0
"""Waiting that wins less is not what binds a run, even where its resource is used most."""

_WITHOUT = {
    run_profile.NETWORK: ("Network-bound", "from an infinitely fast network"),
    run_profile.DISK: ("Disk-bound", "from infinitely fast disks"),
    run_profile.GARBAGE_COLLECTION: ("Bound by garbage collection", "without it"),
    run_profile.SCHEDULER: ("Bound by the scheduler's delay", "without it"),
    run_profile.SERIALISATION: ("Bound by serialisation", "without it"),
}

_PYTHON = "Bound by Python workers, computing or waiting (Spark does not tell which)"

Limits = dict[str, run_profile.ResourceLimit]


def bound_by(profile: run_profile.RunProfile, most_used: Iterable[str]) -> str:
    """What binds the run.

    Args:
        profile: with its limits and the driver's time.
        most_used: what its stages are bound by in which most of the time goes, the most first.
    """
    if profile.driver_seconds >= DRIVER_SHARE * profile.seconds:
        return run_profile.DRIVER
    limits = _limits(profile)
    for resource in most_used:
        limit = limits.get(resource)
        if limit is None or limit.improvement_percent >= LEAST_PERCENT:
            return resource
    return run_profile.CPU


def headline_of(profile: run_profile.RunProfile, *, unmeasured_share: float = 0.0) -> str:
    """The sentence, such as "CPU-bound: at most 2 % from a faster network, 1 % from faster disks".

    Args:
        profile: of the run, with what binds it.
        unmeasured_share: of the tasks' time, that Spark does not measure.
    """
    return f"{_bound(profile)}{_unmeasured(profile, unmeasured_share)}{_idle(profile)}"


def _bound(profile: run_profile.RunProfile) -> str:
    limits = _limits(profile)
    limit = limits.get(profile.bottleneck)
    if profile.bottleneck in _WITHOUT and limit is not None:
        name, without = _WITHOUT[profile.bottleneck]
        return f"{name}: up to {_won(profile, limit)} {without}"
    if profile.bottleneck == run_profile.PYTHON_WORKER and limit is not None:
        return f"{_PYTHON}: at most {_won(profile, limit)} without their time"
    little = _little(limits)
    return f"{_unlimited(profile)}: {little}" if little else _unlimited(profile)


def _won(profile: run_profile.RunProfile, limit: run_profile.ResourceLimit) -> str:
    won = max(0.0, profile.replayed_seconds - limit.seconds_without)
    figures = f"{in_words(won)} of {in_words(profile.replayed_seconds)}"
    return f"{_percent(limit.improvement_percent)} ({figures})"


def _unmeasured(profile: run_profile.RunProfile, share: float) -> str:
    """What network and disks may have to do with in a run that computes, since it reads its input by them."""
    if profile.bottleneck != run_profile.CPU or share < WORTH_TELLING_SHARE:
        return ""
    went = f"{_percent(100 * share)} of its tasks' time went to, such as reading input or a busy host"
    return f"; Spark does not measure what {went}"


def _idle(profile: run_profile.RunProfile) -> str:
    if profile.bottleneck == run_profile.DRIVER:
        return ""
    if profile.driver_seconds < WORTH_TELLING_SHARE * profile.seconds:
        return ""
    return f"; no task ran for {in_words(profile.driver_seconds)} of {in_words(profile.seconds)}"


def _unlimited(profile: run_profile.RunProfile) -> str:
    """What no faster network and no faster disks help against."""
    if profile.bottleneck == run_profile.DRIVER:
        figures = f"{in_words(profile.driver_seconds)} of {in_words(profile.seconds)}"
        return f"Bound by the driver, with no task running for {figures}"
    if profile.bottleneck == run_profile.UNMEASURED:
        return "Bound by what Spark does not measure, such as reading input, a service or a busy host"
    return "CPU-bound"


def _little(limits: Limits) -> str:
    parts = []
    for resource, better in ((run_profile.NETWORK, "a faster network"), (run_profile.DISK, "faster disks")):
        limit = limits.get(resource)
        if limit is not None:
            won = limit.improvement_percent
            parts.append(f"{_percent(won)} from {better}" if won > 0 else f"nothing from {better}")
    told = ", ".join(parts)
    return f"at most {told}" if told and not told.startswith("nothing") else told


def _limits(profile: run_profile.RunProfile) -> Limits:
    return {limit.resource: limit for limit in profile.limits}


def _percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 1 else f"{max(0.1, value):.1f} %"


def in_words(value: float) -> str:
    """Whole ones, and tenths of few."""
    return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"
