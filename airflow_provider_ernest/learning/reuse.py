"""Whether a stored model holds for the run at hand, so that no sample runs need to be made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import attrgetter

from airflow_provider_ernest.documents.base import Origin, moment_of, time_of
from airflow_provider_ernest.documents.models import AGE, Model, ModelMark
from airflow_provider_ernest.documents.runs import RunConditions
from airflow_provider_ernest.exceptions import InadequateModelError, InvalidParameterError, StoreError
from airflow_provider_ernest.learning.conditions import (
    Difference,
    code_differences,
    differences,
    growth,
    is_other_code,
    not_compared,
    sentence_of,
)
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, SEEN_DIRECTLY, Lineage, State
from airflow_provider_ernest.prediction.terms import check_terms
from airflow_provider_ernest.prediction.training import check_adequacy
from airflow_provider_ernest.settings import Reuse
from airflow_provider_ernest.store.catalogue import MODEL, CatalogueEntry, entry_of
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.words import plain

SAME_SIZE = 0.01  # a growth of less is not mentioned

MOST_MODELS = 20
"""So many earlier lineages are looked at: after a change back, an older model holds for the job again."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a model is reused, and why."""

    is_reused: bool
    reason: str  # a sentence
    # Of `documents.models.ModelMark`, where the model no longer holds for the job; else empty.
    cause: str = ""
    growth: float = 1.0  # today's input by that which it was trained for


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run at hand: of which job, by which code, and which models are good enough for it."""

    job: str
    artifact_sha256: str | None  # None where the application's hash cannot be taken
    reuse: Reuse
    max_error_percent: float | None  # without it any error is accepted
    origin: Origin


def judge(model: Model, run: Run, *, conditions: RunConditions, state: State) -> Verdict:
    """Judge a model by what the run at hand will run, on what and under which conditions.

    The state is that of the model by what was recorded since, see `freshness.Lineage`.
    """
    named = f"The model of {_trained_at(model):%Y-%m-%d %H:%M} UTC ({model.id})"
    found = _objection(model, run, conditions, state)
    if found is not None:
        return Verdict(is_reused=False, reason=f"{named} is not reused. {found.reason}", cause=found.cause)
    times = growth(model.conditions, conditions)
    sentences = [f"{named} is reused: nothing that it depends on has changed."]
    if abs(times - 1.0) > SAME_SIZE:
        sentences.append(f"The input is {plain(times)} times as large as then.")
    if unknown := not_compared(model.conditions, conditions):
        sentences.append(f"Not known, and so not compared: {', '.join(unknown)}.")
    return Verdict(is_reused=True, reason=" ".join(sentences), growth=times)


def _objection(model: Model, run: Run, conditions: RunConditions, state: State) -> Difference | None:
    """Why the model is not reused, as sentences; None where it is."""
    reuse = run.reuse
    try:
        check_terms([term.name for term in model.terms])
    except InvalidParameterError as error:
        return Difference("", str(error))
    if not (run.artifact_sha256 and model.artifact_sha256) and not reuse.accept_unknown_application:
        return Difference(
            "",
            "The application may have changed: its hash cannot be taken. Set accept_unknown_application of "
            "Reuse to take it for the same.",
        )
    tolerated = {"shape_tolerance": reuse.shape_tolerance, "max_growth": reuse.max_growth}
    changed = code_differences(model.artifact_sha256, run.artifact_sha256)
    changed += differences(model.conditions, conditions, **tolerated)
    if changed:
        return Difference(changed[0].cause, sentence_of(changed))
    if state.name == DRIFTING or (state.name != FRESH and state.cause not in SEEN_DIRECTLY):
        return Difference(state.cause, state.reason)
    # When the sample runs were made: those of the model that it has learned on from.
    sampled_at = (moment_of(model.base_model_id) if model.base_model_id else None) or _trained_at(model)
    age = datetime.now(UTC) - sampled_at
    if reuse.max_age_days is not None and age > timedelta(days=reuse.max_age_days):
        return Difference(AGE, f"Its sample runs are older than the {reuse.max_age_days:g} days allowed.")
    try:
        if run.max_error_percent is not None:
            check_adequacy(model, max_error_percent=run.max_error_percent)
    except InadequateModelError as error:
        return Difference("", error.message)
    return None


def _trained_at(model: Model) -> datetime:
    at = time_of(model.at)
    return at.astimezone(UTC) if at else datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found for a type of machine."""

    model: Model | None  # to be reused; None where a training is needed
    verdict: Verdict  # on that one, or on the newest
    mark: ModelMark | None = None  # of the newest that no longer holds, if its lineage does not bear it yet


def find_stored(store: ModelStore, run: Run, *, conditions: Mapping[str, RunConditions]) -> dict[str, Found]:
    """Look for models that hold for a run, by type of machine."""
    of_job = store.catalogue.entries(run.job)
    return {
        instance_type: _find(store, run, instance_type, now, of_job)
        for instance_type, now in conditions.items()
    }


def none_found(types: Iterable[str], reason: str) -> dict[str, Found]:
    """No model for any of the types of machines, and why."""
    return {name: Found(model=None, verdict=Verdict(is_reused=False, reason=reason)) for name in types}


def _find(
    store: ModelStore,
    run: Run,
    instance_type: str,
    conditions: RunConditions,
    of_job: Sequence[CatalogueEntry],
) -> Found:
    newest: tuple[Model, Lineage, Verdict] | None = None
    for model in _candidates(store, run, instance_type, of_job):
        lineage = Lineage(entry_of(model), of_job)
        # What is compared here anew must not cover what is not.
        state = lineage.state(passed_over=SEEN_DIRECTLY)
        verdict = judge(model, run, conditions=conditions, state=state)
        if verdict.is_reused:
            # One that is newer, and does not fit, is of another version of the job; both may be needed again.
            return Found(model=model, verdict=verdict)
        newest = newest or (model, lineage, verdict)
    if newest is None:
        return Found(model=None, verdict=Verdict(is_reused=False, reason="There is no model yet."))
    model, lineage, verdict = newest
    if model.origin is not None and model.origin.dag_id != run.origin.dag_id:
        # It may well hold for that one's job: two jobs that are called alike make no model stale.
        told = (
            f"{verdict.reason} DAG {model.origin.dag_id} trained it: if its job is another, give each a name "
            "of its own (SparkJob.name)."
        )
        return Found(model=None, verdict=replace(verdict, reason=told))
    mark = lineage.new_mark(
        cause=verdict.cause, reason=verdict.reason, artifact_sha256=run.artifact_sha256, origin=run.origin
    )
    return Found(model=None, verdict=verdict, mark=mark)


def _candidates(
    store: ModelStore, run: Run, instance_type: str, of_job: Sequence[CatalogueEntry]
) -> Iterator[Model]:
    """The newest model, and then that of each earlier lineage, newest first; read as asked for."""
    # Each production run may add a model to its lineage, so that the newest may all be of one.
    models = [entry for entry in of_job if entry.kind == MODEL and entry.instance_type == instance_type]
    of_lineages = {entry.base_model_id or entry.id: entry for entry in sorted(models, key=attrgetter("id"))}
    newest = sorted(of_lineages.values(), key=attrgetter("id"), reverse=True)
    others = (each for each in newest[1:] if not is_other_code(each.artifact_sha256, run.artifact_sha256))
    for entry in [*newest[:1], *islice(others, MOST_MODELS)]:
        try:
            yield store.load(Model, run.job, instance_type, entry.id)
        except StoreError:  # such as one that was removed meanwhile
            continue
