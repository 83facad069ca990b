"""Where the time of a stored run went, in lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.store_text import UNKNOWN, aligned, number

if TYPE_CHECKING:
    from airflow_provider_ernest.model.run_profile import RunProfile

MOST_STAGES = 20
"""So many stages are shown, those that took longest."""

LEAST_PERCENT = 0.5
"""Less is not worth a line."""


def profile_lines(profile: RunProfile) -> list[str]:
    """What the run was bound by, its phases and its longest stages."""
    return [
        profile.headline,
        *(f"{name}: {value}" for name, value in _facts(profile) if value),
        *_stages(profile),
        *(f"{advice.text} ({advice.figure})" for advice in profile.advice),
        *(f"warning: {warning}" for warning in profile.warnings),
    ]


def _facts(profile: RunProfile) -> Iterator[tuple[str, str]]:
    yield "Spark application", profile.application_id
    yield "event log", profile.event_log or ""
    yield "Spark", profile.spark or ""
    yield "category", profile.category
    yield "machines", f"{profile.machines}, {profile.slots} tasks at once"
    yield "scale", f"{profile.scale:g}"
    yield "took", f"{profile.seconds:.1f} s, after a start-up of {profile.startup_seconds:.1f} s"
    yield "no task ran in", f"{profile.driver_seconds:.1f} s of it"
    yield "replayed", f"{profile.replayed_seconds:.1f} s ({profile.replay_error_percent:+.1f} %)"
    for limit in profile.limits:
        if limit.improvement_percent >= LEAST_PERCENT:
            yield (
                f"without waiting for {limit.resource}",
                f"{limit.seconds_without:.1f} s, {limit.improvement_percent:.0f} % less at most",
            )
    for cause in profile.straggler_causes:
        yield f"stragglers by {cause.cause}", f"{cause.tasks}, {cause.seconds_without:.1f} s without them"
    for size in profile.sizes:
        yield f"replayed on {size.machines} machines", f"{size.seconds:.1f} s"
    for what_if in profile.what_ifs:
        yield what_if.change, f"{what_if.seconds:.1f} s ({what_if.change_percent:+.1f} %)"


def _stages(profile: RunProfile) -> list[str]:
    if not profile.stages:
        return []
    longest = sorted(profile.stages, key=lambda stage: stage.seconds, reverse=True)[:MOST_STAGES]
    shown = [stage for stage in profile.stages if stage in longest]
    lines = aligned(
        ("stage", "name", "began", "took", "tasks", "tasks' time", "bound by", "stragglers"),
        (
            (
                f"{stage.stage_id}.{stage.attempt}",
                stage.name,
                number(stage.began_seconds, "{:.1f} s"),
                number(stage.seconds, "{:.1f} s"),
                f"{stage.tasks:,}",
                number(stage.task_seconds, "{:.1f} s"),
                stage.bottleneck or UNKNOWN,
                f"{stage.stragglers:,}",
            )
            for stage in shown
        ),
        right="began, took, tasks, tasks' time, stragglers",
    )
    left_out = len(profile.stages) - len(shown) + profile.stages_left_out
    return lines + ([f"and {left_out:,} stages more"] if left_out else [])
