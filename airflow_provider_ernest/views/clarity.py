"""Why a job takes as long as it does: what its runs' event logs tell, and a second opinion by replay."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from airflow_provider_ernest.documents import PRODUCTION, SAMPLE, BottleneckReport, Model, ProfileRecord
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.run_profile import RunProfile, StageProfile
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import (
    Readable,
    is_gone,
    load_profile,
    newest_models,
    newest_profile_for,
    visible_entries,
    visible_records,
)
from airflow_provider_ernest.views.sample_runs import ApplicationLink

# ---------------------------------------------------------------------------
# A run and where its time went, as the page of a model shows it.


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


# ---------------------------------------------------------------------------


log = logging.getLogger(__name__)

MOST_REPORTS = 100
"""So many of the newest are looked through for one of a model's: each is a file of the store."""

RECENT_REPORTS = 10
"""So many for one of the newest model of another type of machine."""

MOST_PROFILES = 30
"""So many of the newest are looked through for a production run's."""


def clarity_page(
    store: ModelStore,
    model: Model,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
    link: ApplicationLink,
) -> dict[str, Any]:
    """What is known of why the model's job takes as long as it does.

    Args:
        store: where reports and profiles lie.
        model: one that the reader may see; that is for the caller to make sure.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read. Reports and profiles of others are as if they were not there.
        link: see `sample_runs.application_link`.

    Returns:
        For `JsonAnswer`.

    Raises:
        StoreError: the store cannot be read.
    """
    report = _newest_report(store, model, readable)
    return {
        "report": _told_report(report),
        "sample": _sample(store, report, readable, link),
        "production": _production(store, model, readable, link),
        "replays": _replays(store, model, report, entries, readable),
    }


def _newest_report(store: ModelStore, model: Model, readable: Readable) -> BottleneckReport | None:
    """The newest that stands beside the model, or beside the one of sample runs that it goes on from."""
    lineage = {model.model_id, model.base_model_id or model.model_id}
    reports = store.bottlenecks(model.job, model.instance_type, limit=MOST_REPORTS)
    return _newest_of_models(reports, lineage, readable)


def _newest_of_models(
    reports: Iterable[BottleneckReport], model_ids: set[str], readable: Readable
) -> BottleneckReport | None:
    wanted = visible_records((each for each in reports if each.model_id in model_ids), readable)
    return max(wanted, key=lambda each: each.report_id, default=None)


def _told_report(report: BottleneckReport | None) -> dict[str, Any] | None:
    if report is None:
        return None
    return {
        "report_id": report.report_id,
        "reported_at": report.reported_at,
        "model_id": report.model_id,
        "profiles": len(report.profile_ids),
        "origin": report.origin,
    }


def _sample(
    store: ModelStore, report: BottleneckReport | None, readable: Readable, link: ApplicationLink
) -> ExplainedRun | None:
    """The run that the report goes by."""
    if report is None:
        return None
    record = _profile_of(store, report)
    if record is None or not visible_records([record], readable):
        return of_report_alone(report, link)
    return explained_run(record, report, link)


def _profile_of(store: ModelStore, report: BottleneckReport) -> ProfileRecord | None:
    if not report.profile_ids:
        return None
    try:
        return load_profile(store, report.job, report.instance_type, report.profile_ids[0])
    except StoreError as error:
        # What the report says by itself is shown all the same.
        if not is_gone(error):
            log.warning("The profile of report %s cannot be read", report.report_id, exc_info=True)
        return None


def _production(
    store: ModelStore, model: Model, readable: Readable, link: ApplicationLink
) -> ExplainedRun | None:
    """The newest production run of which there is a profile."""
    record = newest_profile_for(
        PRODUCTION, store, model.job, model.instance_type, readable=readable, limit=MOST_PROFILES
    )
    return None if record is None else explained_run(record, None, link)


def _replays(
    store: ModelStore,
    model: Model,
    report: BottleneckReport | None,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> list[dict[str, Any]]:
    """What replay says of the model's type of machine, and by the newest models of the job of the others."""
    told = [_told_replay(report)]
    of_job = visible_entries((entry for entry in entries if entry.job == model.job), readable)
    for entry in newest_models(of_job).values():
        if entry.instance_type != model.instance_type:
            told.append(_told_replay(_report_of_other_type(store, entry, readable)))
    return [each for each in told if each is not None]


def _report_of_other_type(
    store: ModelStore, entry: CatalogueEntry, readable: Readable
) -> BottleneckReport | None:
    try:
        reports = store.bottlenecks(entry.job, entry.instance_type, limit=RECENT_REPORTS)
    except StoreError:
        # The page of a model must not fail for another.
        log.warning("Reports of %r on %s cannot be read", entry.job, entry.instance_type, exc_info=True)
        return None
    return _newest_of_models(reports, {entry.id, entry.base_model_id or entry.id}, readable)


def _told_replay(report: BottleneckReport | None) -> dict[str, Any] | None:
    if report is None or report.replay is None:
        return None
    replay = report.replay
    return {
        "instance_type": report.instance_type,
        "model_id": report.model_id,
        "scale": replay.scale,
        "iterations": replay.iterations,
        "from_application_id": replay.from_application_id,
        "from_scale": replay.from_scale,
        "error_percent": replay.error_percent,
        "problem": replay.problem,
        "sizes": [{**msgspec.to_builtins(size), "disagrees": size.disagrees} for size in replay.sizes],
    }
