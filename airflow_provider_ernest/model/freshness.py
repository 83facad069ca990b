"""Whether a model still speaks for the job as it is today, told from the catalogue alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_provider_ernest.model.catalogue_entry import MODEL, PRODUCTION_RUN, CatalogueEntry

FRESH, STALE, DRIFTING = "fresh", "stale", "drifting"

RECENT_RUNS = 5
UNUSUAL_RUNS = 3
"""Of a model that fits, one run in 20 is unusual: three of five by chance once in about 900 times."""

HASH_DIGITS = 12


@dataclass(frozen=True)
class State:
    """The state of a model.

    Attributes:
        name: `FRESH`, `STALE` or `DRIFTING`.
        reason: a sentence that says why, and one that says what to do; empty where it is fresh.
    """

    name: str
    reason: str = ""


def state_of(model: CatalogueEntry, *, others: Iterable[CatalogueEntry]) -> State:
    """The state of a model.

    It is stale where the newest model or production run since of the same job, on any type of machine,
    is of another JAR or .py file, and drifting where at least three of the last five production runs
    that it predicted took a time that it held for nearly impossible. What is not known speaks for it.

    Args:
        model: its entry in the catalogue.
        others: the entries of the same job, of all kinds; others are passed over.
    """
    of_job = [entry for entry in others if entry.job == model.job]
    newer = _newest_of_known_artifact(model, of_job)
    if newer is not None and model.artifact_sha256 and newer.artifact_sha256 != model.artifact_sha256:
        return State(STALE, _why_stale(model, newer))
    runs = [entry for entry in of_job if entry.kind == PRODUCTION_RUN and entry.model_id == model.id]
    recent = sorted(runs, key=_order)[-RECENT_RUNS:]
    unusual = sum(run.is_unusual for run in recent)
    if unusual >= UNUSUAL_RUNS:
        return State(
            DRIFTING,
            f"{unusual} of its last {len(recent)} production runs took a time that one in 20 should. "
            "Make the sample runs again: the data, the machines or the job have changed.",
        )
    return State(FRESH)


def _newest_of_known_artifact(
    model: CatalogueEntry, of_job: Iterable[CatalogueEntry]
) -> CatalogueEntry | None:
    """The last sign, after the model, of what the job's code is."""
    signs = [
        entry
        for entry in of_job
        if entry.kind in (MODEL, PRODUCTION_RUN)
        and entry.artifact_sha256
        and _moment(entry.at) > _moment(model.at)
    ]
    return max(signs, key=_order, default=None)


def _why_stale(model: CatalogueEntry, newer: CatalogueEntry) -> str:
    what = "a production run" if newer.kind == PRODUCTION_RUN else "a newer model"
    return (
        f"It was trained with the application {_short(model.artifact_sha256)}, and {what} of {newer.at} is "
        f"of {_short(newer.artifact_sha256)}. Make the sample runs again with the application as it is now."
    )


def _short(artifact_sha256: str | None) -> str:
    return (artifact_sha256 or "")[:HASH_DIGITS]


def _order(entry: CatalogueEntry) -> tuple[datetime, str]:
    return _moment(entry.at), entry.id


def _moment(at: str) -> datetime:
    """The time in the text; the beginning of time where it says none, so that it is never the newest."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
