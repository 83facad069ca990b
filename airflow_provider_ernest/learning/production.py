"""What a model learns from a production run, or what the run says against it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.learning.drift import cause_of
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, Lineage
from airflow_provider_ernest.learning.update import learn
from airflow_provider_ernest.store.catalogue import MODEL, entry_of
from airflow_provider_ernest.store.store import ModelStore

MOST_RUNS_READ = 100
"""So many of a job's newest production runs are read: twice what a model remembers."""


@dataclass(frozen=True)
class Lesson:
    """What came of a production run for the model that predicted it: a sentence for the log, or a mark."""

    told: str = ""
    mark: ModelMark | None = None


def lesson_of(
    store: ModelStore, production: ProductionRun, decision: DecisionRecord, *, may_learn: bool = True
) -> Lesson:
    """Let the newest model of the lineage that predicted a run learn from it, or mark it.

    What was learned is saved as a new model beside it. A lineage is marked once for each cause.

    Args:
        store: where the models are.
        production: the run.
        decision: that it ran by.
        may_learn: whether the model may learn, not only be marked.
    """
    lineage = _lineage(store, production)
    if lineage is None:
        return Lesson("Nothing is learned from this run: no model of its machines is in the store.")
    if lineage.state().name != FRESH:
        return Lesson(mark=_mark(store, lineage, production))
    return Lesson(_learned(store, lineage, production, decision) if may_learn else "")


def _model_and_runs(store: ModelStore, lineage: Lineage) -> tuple[Model, list[ProductionRun]]:
    """The newest model of a lineage, and the newest runs that it predicted, oldest first."""
    model = lineage.model
    found = store.newest(ProductionRun, model.job, model.instance_type, limit=MOST_RUNS_READ)
    runs = [run for run in found if run.model_id in lineage.ids]
    return store.load(Model, model.job, model.instance_type, model.id), runs


def _lineage(store: ModelStore, production: ProductionRun) -> Lineage | None:
    """The lineage that predicted the run, by its newest model; None where it is of another type, or gone."""
    # The run itself, too, should it not be stored yet.
    entries = (*store.catalogue.entries(production.job), entry_of(production))
    of_job = list({entry.key: entry for entry in entries}.values())
    models = {
        entry.id: entry
        for entry in of_job
        if entry.kind == MODEL and entry.instance_type == production.instance_type
    }
    predicting = models.get(production.model_id or "")
    if predicting is None:
        return None
    newest = max(models.keys() & Lineage(predicting, of_job).ids)
    return Lineage(models[newest], of_job)


def _mark(store: ModelStore, lineage: Lineage, production: ProductionRun) -> ModelMark | None:
    """The mark of the newest model; None where its lineage has one of that cause already."""
    state = lineage.state()
    cause, reason = state.cause, state.reason
    if state.name == DRIFTING:
        cause, sentence = cause_of(*_model_and_runs(store, lineage))
        reason = f"{lineage.evidence.sentence} {sentence}"
    return lineage.new_mark(
        cause=cause, reason=reason, artifact_sha256=production.artifact_sha256, origin=production.origin
    )


def _learned(store: ModelStore, lineage: Lineage, production: ProductionRun, decision: DecisionRecord) -> str:
    model, runs = _model_and_runs(store, lineage)
    iterations = {}
    if model.trained_iterations is not None:
        news = [run for run in runs if run.id not in model.learned_from]
        iterations = _iterations(store, decision, news)
    learned = learn(model, runs, iterations=iterations)
    if learned is None:
        return f"The model {model.id} learns nothing from this run."
    learned = store.newest_of_its_job(replace(learned, origin=production.origin))
    store.save(learned)
    samples = len(learned.observations) - len(learned.learned_from)
    return (
        f"The model has learned: it goes on as {learned.id}, from {samples} sample runs and "
        f"{len(learned.learned_from)} production runs."
    )


def _iterations(store: ModelStore, decision: DecisionRecord, runs: list[ProductionRun]) -> dict[str, int]:
    """The iterations of production runs, by their ids: their decisions tell."""
    found = {decision.id: decision.iterations}
    if {run.decision_id for run in runs if run.decision_id} - found.keys():
        for each in store.newest(DecisionRecord, decision.job, decision.instance_type, limit=MOST_RUNS_READ):
            found[each.id] = each.iterations
    of_runs = {run.id: found.get(run.decision_id or "") for run in runs}
    return {name: made for name, made in of_runs.items() if made is not None}
