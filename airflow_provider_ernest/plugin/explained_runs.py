"""A run and where its time went, as the page of a model shows it."""

from __future__ import annotations

from typing import Any, TypeAlias

from airflow_provider_ernest.model.bottlenecks import SAMPLE, BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.run_profile import RunProfile, StageProfile
from airflow_provider_ernest.plugin.sample_runs import ApplicationLink

ExplainedRun: TypeAlias = dict[str, Any]

MOST_STRAGGLERS = 50
"""So many of the worst are told one by one."""

OF_THE_RUN = (
    "event_log",
    "spark",
    "slots",
    "iterations",
    "seconds",
    "startup_seconds",
    "driver_seconds",
    "tasks",
    "failed_tasks",
    "replayed_seconds",
    "replay_error_percent",
    "unmeasured_seconds",
    "phases",
    "stages_left_out",
    "left_out_seconds",
    "capacity",
)
"""What only the profile of a run tells of it, and nothing else stands for."""

OF_BOTH = ("headline", "bottleneck", "category", "limits", "straggler_causes", "advice")
"""What the report of a run tells, too: it knows the other runs of the training."""

OF_A_STAGE = (
    "stage_id",
    "attempt",
    "name",
    "job_id",
    "tasks",
    "failed_tasks",
    "began_seconds",
    "seconds",
    "task_seconds",
    "input_bytes",
    "output_bytes",
    "shuffle_remote_bytes",
    "shuffle_written_bytes",
    "spilled_bytes",
    "blocked_seconds",
    "unmeasured_seconds",
    "ideal_seconds",
    "bottleneck",
    "stragglers",
)


def explained_run(
    record: ProfileRecord, report: BottleneckReport | None, link: ApplicationLink
) -> ExplainedRun:
    """A run by its profile.

    Args:
        record: of the run.
        report: that goes by the run, whose words count; None where none does.
        link: see `sample_runs.application_link`.
    """
    profile = record.profile
    warnings = [*(report.warnings if report else ()), *profile.warnings]
    return {
        "purpose": record.purpose,
        "recorded_at": record.recorded_at,
        "origin": record.origin,
        "application_id": profile.application_id,
        "history_url": link(profile.application_id),
        "machines": profile.machines,
        "scale": profile.scale,
        **{name: getattr(profile, name) for name in OF_THE_RUN},
        **{name: getattr(report or profile, name) for name in OF_BOTH},
        **_parts(profile),
        # Both may tell of the same.
        "warnings": list(dict.fromkeys(warnings)),
        "has_profile": True,
    }


def of_report_alone(report: BottleneckReport, link: ApplicationLink) -> ExplainedRun:
    """The same where the profile of the run is not kept any more, or not to be seen: the report's words."""
    return {
        "purpose": SAMPLE,
        "recorded_at": report.reported_at,
        "origin": None,
        "application_id": report.application_id,
        "history_url": link(report.application_id),
        "machines": report.machines,
        "scale": report.scale,
        **dict.fromkeys(OF_THE_RUN),
        **{name: getattr(report, name) for name in OF_BOTH},
        **{"ideal_seconds": {}, "stages": [], "stragglers": [], "what_ifs": [], "sizes": []},
        "warnings": report.warnings,
        "has_profile": False,
    }


def _parts(profile: RunProfile) -> dict[str, Any]:
    return {
        "ideal_seconds": profile.ideal_seconds,
        "stages": [_stage(stage) for stage in profile.stages],
        "stragglers": profile.stragglers[:MOST_STRAGGLERS],
        "what_ifs": profile.what_ifs,
        "sizes": profile.sizes,
    }


def _stage(stage: StageProfile) -> dict[str, Any]:
    return {name: getattr(stage, name) for name in OF_A_STAGE}
