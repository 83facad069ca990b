"""Why a job takes as long as it does, from its runs' event logs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import (
    PRODUCTION,
    SAMPLE,
    Advice,
    BottleneckReport,
    Capacity,
    PhaseSeconds,
    ProfileRecord,
    ReplayedSize,
    ResourceLimit,
    RunProfile,
    Straggler,
    StragglerCause,
    WhatIf,
)
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import (
    ApplicationLink,
    Readable,
    is_gone,
    load_profile,
    newest_profile_for,
    visible_records,
)
from airflow_provider_ernest.views.profile_words import cautions
from airflow_provider_ernest.views.view import view_of

MOST_STRAGGLERS = 50
"""Number of the worst stragglers that are listed."""


@dataclass(frozen=True, kw_only=True)
class RunStage:
    """A stage of a run.

    Attributes:
        unmeasured_seconds: on what Spark does not measure, summed over tasks.
        ideal_seconds: that each resource needs at least.
        bottleneck: the resource that needs, or the waiting that takes, the longest; empty where not known.
    """

    stage_id: int
    attempt: int
    name: str
    job_id: int
    tasks: int
    failed_tasks: int
    began_seconds: float
    seconds: float
    task_seconds: float
    input_bytes: int
    output_bytes: int
    shuffle_remote_bytes: int
    shuffle_written_bytes: int
    spilled_bytes: int
    blocked_seconds: dict[str, float]
    unmeasured_seconds: float
    ideal_seconds: dict[str, float]
    bottleneck: str
    stragglers: int


@dataclass(frozen=True, kw_only=True)
class ExplainedRun:
    """A run and where its time went. Null or empty for what is not kept any more.

    Attributes:
        category: sql, streaming, mllib, graphx or core.
        seconds: without start-up.
        driver_seconds: in which no task ran.
        replayed_seconds: the same run as its replay gives it.
        unmeasured_seconds: that tasks neither computed nor waited for anything measured, summed over tasks.
        left_out_seconds: of their tasks.
        has_profile: whether more is known than the report says.
    """

    purpose: str
    recorded_at: str
    origin: Origin | None
    application_id: str
    history_url: str | None
    machines: int
    scale: float
    headline: str
    bottleneck: str
    category: str
    limits: tuple[ResourceLimit, ...]
    straggler_causes: tuple[StragglerCause, ...]
    advice: tuple[Advice, ...]
    warnings: tuple[str, ...]
    has_profile: bool
    event_log: str | None = None
    spark: str | None = None
    slots: int | None = None
    iterations: int | None = None
    seconds: float | None = None
    startup_seconds: float | None = None
    driver_seconds: float | None = None
    tasks: int | None = None
    failed_tasks: int | None = None
    replayed_seconds: float | None = None
    replay_error_percent: float | None = None
    unmeasured_seconds: float | None = None
    phases: PhaseSeconds | None = None
    stages: tuple[RunStage, ...] = ()
    stages_left_out: int | None = None
    left_out_seconds: float | None = None
    stragglers: tuple[Straggler, ...] = ()
    capacity: Capacity | None = None
    ideal_seconds: dict[str, float] = field(default_factory=dict)
    what_ifs: tuple[WhatIf, ...] = ()
    sizes: tuple[ReplayedSize, ...] = ()


log = logging.getLogger(__name__)

MOST_REPORTS = 100
"""Number of newest reports searched for the model's: each is a file of the store."""

MOST_PROFILES = 30
"""Number of newest profiles searched for a production run's."""

OF_BOTH = ("headline", "bottleneck", "category", "limits", "straggler_causes", "advice")
"""Fields that a run's report has too; it knows the other runs of the training, so it wins."""


def explained_run(
    profile: RunProfile,
    link: ApplicationLink,
    record: ProfileRecord | None = None,
    report: BottleneckReport | None = None,
) -> ExplainedRun:
    """A run from its profile, with its record if it is stored, and its report if it has one."""
    warnings = [*cautions(profile), *(report.warnings if report else ()), *profile.warnings]
    return view_of(
        ExplainedRun,
        profile,
        purpose=record.purpose if record else SAMPLE,
        recorded_at=record.at if record else "",
        origin=record.origin if record else None,
        history_url=link(profile.application_id),
        stages=tuple(view_of(RunStage, stage) for stage in profile.stages),
        stragglers=profile.stragglers[:MOST_STRAGGLERS],
        # Both may give the same warning.
        warnings=tuple(dict.fromkeys(warnings)),
        has_profile=True,
        **{name: getattr(report or profile, name) for name in OF_BOTH},
    )


@dataclass(frozen=True, kw_only=True)
class Clarity:
    """Why a job takes as long as it does.

    Attributes:
        sample: the run that the newest report of the model goes by.
        reported_by: the task that made this report.
        production: the newest production run with a profile.
    """

    sample: ExplainedRun | None
    reported_by: Origin | None
    production: ExplainedRun | None


def clarity_page(store: ModelStore, model: Model, *, readable: Readable, link: ApplicationLink) -> Clarity:
    """Return what explains the run time of the model's job, by reports and profiles of readable DAGs.

    The caller must make sure that the reader may see the model. Raises StoreError.
    """
    reports = store.newest_first(BottleneckReport, model.job, model.instance_type, limit=MOST_REPORTS)
    report = report_of_models(reports, {model.id, model.base_model_id or model.id}, readable)
    sample = None
    if report is not None:
        record = _profile_of(store, report)
        is_visible = record is not None and visible_records([record], readable)
        if record and is_visible:
            sample = explained_run(record.profile, link, record, report)
        else:
            sample = _of_report(report, link)
    production = newest_profile_for(PRODUCTION, store, model, readable, limit=MOST_PROFILES)
    return Clarity(
        sample=sample,
        reported_by=report.origin if report else None,
        production=explained_run(production.profile, link, production) if production else None,
    )


def report_of_models(
    reports: Iterable[BottleneckReport], model_ids: set[str], readable: Readable
) -> BottleneckReport | None:
    """The first visible report of any of the models; None if there is none."""
    wanted = (each for each in reports if each.model_id in model_ids and visible_records([each], readable))
    return next(wanted, None)


def _profile_of(store: ModelStore, report: BottleneckReport) -> ProfileRecord | None:
    """The profile of the run that the report goes by."""
    if not report.profile_ids:
        return None
    try:
        return load_profile(store, report.job, report.instance_type, report.profile_ids[0])
    except StoreError as error:
        # The report's own words are shown all the same.
        if not is_gone(error):
            log.warning("The profile of report %s cannot be read", report.id, exc_info=True)
        return None


def _of_report(report: BottleneckReport, link: ApplicationLink) -> ExplainedRun:
    """A run from its report alone, if its profile is gone or hidden."""
    return ExplainedRun(
        purpose=SAMPLE,
        recorded_at=report.at,
        origin=None,
        application_id=report.application_id,
        history_url=link(report.application_id),
        machines=report.machines,
        scale=report.scale,
        warnings=report.warnings,
        has_profile=False,
        **{name: getattr(report, name) for name in OF_BOTH},
    )
