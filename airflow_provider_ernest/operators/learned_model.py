"""What follows from a production run: its model learns from it, or is marked where it no longer holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.life.freshness import (
    DRIFTING,
    FRESH,
    State,
    evidence_against,
    lineage_of,
    state_of,
)
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ProductionRun
from airflow_provider_ernest.model.storage.catalogue_entry import MODEL, CatalogueEntry, entry_of
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.marking import keep_marks, new_mark
from airflow_provider_ernest.operators.recording import record_in_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.model.results import Model

MOST_RUNS_READ = 100
"""So many of a job's newest production runs are read: twice what a model remembers."""


def follow_up(
    production: ProductionRun,
    record: DecisionRecord,
    *,
    learns: bool,
    on_stale: Any,
    store: str | None,
    context: Context,
    log: Any,
) -> None:
    """Test the model that predicted a run, and let it learn from it or mark it. Nothing of it fails the task.

    The newest model of the same lineage learns: a new one is saved beside it, which the next run of the DAG
    finds. Where the runs speak against the lineage, it is marked, once for each cause, and who wants to know
    is told; a marked model is not found, so that the next run makes the sample runs again.

    Args:
        production: that was recorded just now.
        record: of the decision that it ran by.
        learns: whether the model is to learn.
        on_stale: callables or Airflow notifiers, see `stale_messages.tell_stale`.
        store: root of the model store; None for the configured one.
        context: of the task that recorded the run.
        log: the logger that all of it is told to.
    """
    if production.model_id is None or record.decision.composition:
        return
    marks: list[ModelMark] = []

    def follow() -> None:
        lineage = _lineage(ModelStore(store_root(store)), production)
        if lineage is None:
            log.info("Nothing is learned from this run: no model of its machines is in the store.")
        elif lineage.state.name != FRESH:
            marks.extend(_marks(lineage, production))
        elif learns:
            _learn(lineage, production, record, log)

    record_in_time(follow, what="What the model learns from this run", log=log)
    keep_marks(marks, store=store, callbacks=on_stale, context=context, log=log)


@dataclass(frozen=True, kw_only=True)
class _Lineage:
    """The models that have learned from one another, and what speaks against them.

    Attributes:
        store: where they are.
        newest: the newest of them.
        members: the ids of all.
        state: of the newest.
        of_job: all that the catalogue lists of the job.
    """

    store: ModelStore
    newest: CatalogueEntry
    members: frozenset[str]
    state: State
    of_job: Sequence[CatalogueEntry]

    def model(self) -> Model:
        return self.store.load(self.newest.job, self.newest.instance_type, self.newest.id)

    def runs(self) -> list[ProductionRun]:
        """The newest runs that they predicted, oldest first."""
        found = self.store.productions(self.newest.job, self.newest.instance_type, limit=MOST_RUNS_READ)
        return [run for run in found if run.model_id in self.members]


def _lineage(store: ModelStore, production: ProductionRun) -> _Lineage | None:
    """The lineage of the model that predicted the run; None where it is of another type, or gone."""
    # The run itself, too, should the catalogue not list it yet.
    entries = {entry.key: entry for entry in (*store.catalogue.entries(), entry_of(production))}
    of_job = [entry for entry in entries.values() if entry.job == production.job]
    models = [
        entry for entry in of_job if entry.kind == MODEL and entry.instance_type == production.instance_type
    ]
    predicting = next((entry for entry in models if entry.id == production.model_id), None)
    if predicting is None:
        return None
    members = lineage_of(predicting, of_job)
    newest = max((entry for entry in models if entry.id in members), key=lambda entry: entry.id)
    return _Lineage(
        store=store,
        newest=newest,
        members=members,
        state=state_of(newest, others=of_job),
        of_job=of_job,
    )


def _learn(lineage: _Lineage, production: ProductionRun, record: DecisionRecord, log: Any) -> None:
    from airflow_provider_ernest.model.life.learning import learn

    model, runs = lineage.model(), lineage.runs()
    iterations = {}
    if model.trained_iterations is not None:
        news = [run for run in runs if run.production_id not in model.learned_from]
        iterations = _iterations(lineage.store, record, news)
    learned = learn(model, runs, iterations=iterations)
    if learned is None:
        log.info("The model %s learns nothing from this run.", model.model_id)
        return
    learned = lineage.store.newest_of_its_job(replace(learned, origin=production.origin))
    lineage.store.save(learned)
    log.info(
        "The model has learned: it goes on as %s, from %d sample runs and %d production runs.",
        learned.model_id,
        len(learned.observations) - len(learned.learned_from),
        len(learned.learned_from),
    )


def _iterations(store: ModelStore, record: DecisionRecord, runs: Sequence[ProductionRun]) -> dict[str, int]:
    """The iterations of production runs, by their ids: their decisions tell."""
    found = {record.decision_id: record.iterations}
    wanted = {run.decision_id for run in runs if run.decision_id} - found.keys()
    if wanted:
        for each in store.decisions(record.job, record.instance_type, limit=MOST_RUNS_READ):
            found[each.decision_id] = each.iterations
    told = {run.production_id: found.get(run.decision_id or "") for run in runs}
    return {name: made for name, made in told.items() if made is not None}


def _marks(lineage: _Lineage, production: ProductionRun) -> list[ModelMark]:
    """The mark of the newest model, unless its lineage has one of that cause already."""
    cause, reason = _cause(lineage, production)
    mark = new_mark(
        lineage.newest,
        lineage.of_job,
        cause=cause,
        reason=reason,
        artifact_sha256=production.artifact_sha256,
        origin=production.origin,
    )
    return [] if mark is None else [mark]


def _cause(lineage: _Lineage, production: ProductionRun) -> tuple[str, str]:
    from airflow_provider_ernest.model.life.drift_cause import cause_of

    if lineage.state.name != DRIFTING:
        return lineage.state.cause, lineage.state.reason
    cause, sentence = cause_of(lineage.model(), lineage.runs())
    evidence = evidence_against(lineage.newest, others=lineage.of_job)
    return cause, f"{evidence.sentence} {sentence}"
