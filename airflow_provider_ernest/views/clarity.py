"""Why a job takes as long as it does, from its runs' event logs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import (
    PRODUCTION,
    SAMPLE,
    BottleneckReport,
    ProfileRecord,
    RunComparison,
    RunProfile,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.learning.conditions import code_differences
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views import loaded
from airflow_provider_ernest.views.profile_words import cautions

log = logging.getLogger(__name__)

MOST_STRAGGLERS = 50
"""Number of the worst stragglers that are listed."""

MOST_REPORTS = 100
"""Number of newest reports searched for the model's: each is a file of the store."""

MOST_PROFILES = 30
"""Number of newest profiles searched for a production run's, and for the last good one's before."""


class ExplainedRun(RunProfile):
    """A run and where its time went, with the task instance that ran it."""

    purpose: str
    recorded_at: str
    origin: Origin | None
    history_url: str | None


def explained_run(
    profile: RunProfile,
    link: loaded.ApplicationLink,
    record: ProfileRecord | None = None,
    report: BottleneckReport | None = None,
) -> ExplainedRun:
    """A run from its profile, with its record if it is stored, and its report if it has one."""
    warnings = [*cautions(profile), *(report.warnings if report else ()), *profile.warnings]
    told: dict[str, Any] = {
        **vars(profile),
        "stragglers": profile.stragglers[:MOST_STRAGGLERS],
        # Both may give the same warning.
        "warnings": tuple(dict.fromkeys(warnings)),
    }
    return ExplainedRun(
        **told,
        purpose=record.purpose if record else SAMPLE,
        recorded_at=record.at if record else "",
        origin=record.origin if record else None,
        history_url=link(profile.application_id),
    )


@dataclass(frozen=True, kw_only=True)
class Clarity:
    """Why a job takes as long as it does.

    Attributes:
        sample: the run that the newest report of the model goes by.
        reported_by: the task that made this report.
        production: the newest production run with a profile.
        comparison: of this run with the last good one before it, or of two event logs; null where there is
            no such run, or its profile is of an earlier version.
    """

    sample: ExplainedRun | None
    reported_by: Origin | None
    production: ExplainedRun | None
    comparison: RunComparison | None = None


def clarity_page(
    store: ModelStore, model: Model, *, readable: loaded.Readable, link: loaded.ApplicationLink
) -> Clarity:
    """Return what explains the run time of the model's job, by reports and profiles of readable DAGs.

    The caller must make sure that the reader may see the model. Raises StoreError.
    """
    reports = store.newest_first(BottleneckReport, model.job, model.instance_type, limit=MOST_REPORTS)
    report = report_of_models(reports, {model.id, model.base_model_id or model.id}, readable)
    record = _profile_of(store, report, readable) if report else None
    profiles = store.newest_first(ProfileRecord, model.job, model.instance_type, limit=MOST_PROFILES)
    of_production = (
        each for each in profiles if each.purpose == PRODUCTION and loaded.visible_records([each], readable)
    )
    production = next(of_production, None)
    return Clarity(
        sample=explained_run(record.profile, link, record, report) if record else None,
        reported_by=report.origin if record and report else None,
        production=explained_run(production.profile, link, production) if production else None,
        comparison=_since_last_good(of_production, production) if production else None,
    )


def _since_last_good(before: Iterator[ProfileRecord], newest: ProfileRecord) -> RunComparison | None:
    """The newest production run beside the last one before it that counts; None if there is none."""
    for record in before:
        if record.profile.not_counted or record.profile.application_id == newest.profile.application_id:
            continue
        # Loads the mathematics, which pages without two runs need not.
        from airflow_provider_ernest.clarity.comparison import compare_runs

        code = code_differences(record.artifact_sha256, newest.artifact_sha256)
        try:
            return compare_runs(record.profile, newest.profile, changes=[each.reason for each in code])
        except InvalidDocumentError:
            return None
    return None


def report_of_models(
    reports: Iterable[BottleneckReport], model_ids: set[str], readable: loaded.Readable
) -> BottleneckReport | None:
    """The first visible report of any of the models; None if there is none."""
    wanted = (
        each for each in reports if each.model_id in model_ids and loaded.visible_records([each], readable)
    )
    return next(wanted, None)


def _profile_of(
    store: ModelStore, report: BottleneckReport, readable: loaded.Readable
) -> ProfileRecord | None:
    """The visible profile of the run that the report goes by; None if it is gone or hidden."""
    for profile_id in report.profile_ids[:1]:
        try:
            record = store.load(ProfileRecord, report.job, report.instance_type, profile_id)
            return next(iter(loaded.visible_records([record], readable)), None)
        except StoreError as error:
            # Production's profile is shown all the same.
            if not loaded.is_gone(error):
                log.warning("The profile of report %s cannot be read", report.id, exc_info=True)
    return None
