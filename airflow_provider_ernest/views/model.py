"""Everything about a model except its predictions, which change with each question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.models import (
    FittedTerm,
    Model,
    ModelMark,
    TrainingCluster,
    sample_runs,
    training_dollars,
)
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation, RunConditions
from airflow_provider_ernest.learning.freshness import Lineage, State
from airflow_provider_ernest.prediction.calibration import calibration_of
from airflow_provider_ernest.store.catalogue import (
    DECISION,
    MARK,
    MODEL,
    PRODUCTION_RUN,
    CatalogueEntry,
    entry_of,
)
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views import loaded, outcomes
from airflow_provider_ernest.views.prediction_request import PredictionRequest, request_of
from airflow_provider_ernest.views.survey import lateness
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import counted, dollars, duration, unit

MOST_DECISIONS = 50
MOST_MARKS = 50
MOST_PRODUCTION_RUNS = 200
"""Number of newest ones shown: each is a file of the store."""


class ModelledRun(Observation):
    """An observation, and what the model says of it by all the others.

    Attributes:
        cost: in dollars; null where no price is known, 0 for past runs.
    """

    cost: float | None
    history_url: str | None
    is_production: bool
    predicted_seconds: float | None
    error_percent: float | None


def cost_of(run: Observation, price_per_hour: float | None) -> float | None:
    """Dollars for its machines from submission to end, without the wait for them; 0 for past runs."""
    if run.from_history:
        return 0.0
    if price_per_hour is None:
        return None
    return run.executors * price_per_hour * (run.seconds + run.startup_seconds) / 3600.0


def modelled_runs(
    model: Model, *, price_per_hour: float | None, link: loaded.ApplicationLink, readable: loaded.Readable
) -> tuple[ModelledRun, ...]:
    """The runs of a model, each with what the others predict of it.

    Only those who may read a production run's DAG see which run the model has learned from.
    """
    may_read = cache(readable)
    # By all that is known of a run, for runs of several designs may share an index.
    folds = {(fold.index, fold.executors, fold.scale, fold.seconds): fold for fold in model.validation.folds}
    samples = len(model.observations) - len(model.learned_from)
    modelled = []
    for place, run in enumerate(model.observations):
        fold = folds.get((run.index, run.executors, run.scale, run.seconds))
        shown = replace(run, metrics=None)
        if run.origin is not None and not may_read(run.origin.dag_id):
            shown = replace(shown, origin=None, application_id=None, event_log=None, hosts=())
        modelled.append(
            ModelledRun(
                **vars(shown),
                cost=cost_of(run, price_per_hour),
                history_url=link(shown.application_id),
                # The production runs that a model has learned from come after its sample runs.
                is_production=place >= samples,
                predicted_seconds=fold.predicted_seconds if fold else None,
                error_percent=fold.error_percent if fold else None,
            )
        )
    return tuple(modelled)


class PlannedRun(Experiment):
    """An experiment of a design, and the seconds and dollars of its run."""

    observed: bool
    seconds: float | None
    paid: float | None


class ShownDesign(Design):
    """A design with what came of each experiment."""

    experiments: tuple[PlannedRun, ...]


def shown_design(
    design: Design, observations: Sequence[Observation], *, price_per_hour: float | None
) -> ShownDesign:
    """The design with the result of each experiment.

    The run of an experiment is the most similar one with its index: runs of an earlier design may have the
    same index, and a run may have had fewer machines or read slightly more than planned.
    """
    unclaimed: dict[int, list[Observation]] = {}
    for run in observations:
        unclaimed.setdefault(run.index, []).append(run)
    planned = []
    for each in design.experiments:
        runs = unclaimed.get(each.index, [])
        made = min(runs, key=partial(_difference, each), default=None)
        if made is not None:
            runs.remove(made)
        planned.append(
            PlannedRun(
                **vars(each),
                observed=made is not None,
                seconds=made.seconds if made else None,
                paid=cost_of(made, price_per_hour) if made else None,
            )
        )
    return ShownDesign(**{**vars(design), "experiments": tuple(planned)})


def _difference(planned: Experiment, run: Observation) -> float:
    return abs(run.scale / planned.scale - 1.0) + abs(run.executors / planned.executors - 1.0)


def decisions_of(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: loaded.Readable
) -> list[DecisionRecord]:
    """Of the job's newest decisions those for the model's type, or that considered it, newest first."""
    of_type = (each for each in of_job if each.instance_type == model.instance_type)
    versions = {model.id, *(each.id for each in of_type if each.kind == MODEL)}
    newest = loaded.newest_of(of_job, DECISION, MOST_DECISIONS)
    records = loaded.visible_records(loaded.read_each(loaded.load_decision, store, newest), readable)
    return [
        record
        for record in records
        if record.instance_type == model.instance_type or versions.intersection(record.model_ids)
    ]


@dataclass(frozen=True, kw_only=True)
class Version:
    """One of the models of a job on a type of machine."""

    model_id: str
    created_at: str
    median_error_percent: float | None
    max_error_percent: float | None
    artifact_sha256: str | None
    observations: int
    learned_from: int


def production_runs(
    store: ModelStore,
    of_type: Sequence[CatalogueEntry],
    of_job: Sequence[CatalogueEntry],
    *,
    readable: loaded.Readable,
    link: loaded.ApplicationLink,
) -> tuple[outcomes.Outcome, ...]:
    """The newest production runs among visible entries of a job on a type, newest first."""
    newest = loaded.newest_of(of_type, PRODUCTION_RUN, MOST_PRODUCTION_RUNS)
    decisions = outcomes.decisions_by_id(of_job)
    runs = loaded.visible_records(loaded.read_each(loaded.load_production, store, newest), readable)
    return tuple(outcomes.outcome_of(run, decisions, link) for run in runs)


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """A model.

    Attributes:
        unit: what its sizes count: machine, or executor on a shared cluster.
        noise: relative standard deviation of a single run.
        calibration: by what production runs made intervals wider or narrower, in words; empty where nothing.
    """

    job: str
    instance_type: str
    unit: str
    model_id: str
    created_at: str
    method: str
    artifact: str | None
    artifact_sha256: str | None
    input_path: str | None
    trained_iterations: int | None
    noise: float
    calibration: str
    driver_share: float
    startup_seconds: float
    learned_from: int
    warnings: tuple[str, ...]
    origin: Origin | None
    terms: tuple[FittedTerm, ...]
    median_error_percent: float
    max_error_percent: float
    residual_sum_of_squares: float


@dataclass(frozen=True, kw_only=True)
class ModelPage:
    """A model and all that is known of it.

    Attributes:
        retrain: what a new training does and costs, in words; null where the reader may not start it.
        late: when today's size stops keeping the deadline, by the newest survey; empty where nothing tells.
        versions: newest first.
        marks: newest first, at most 50, of the versions that learn on from each other.
        production_runs: newest first, at most 200, of all versions.
        money: of the job on the type.
        conditions: what, beside the code, it was trained under; of settings only the names.
        decisions: newest first, of the job's newest 50: for this type, or by a choice among several.
        other_types: those that the job has models of.
    """

    model: ModelFacts
    state: State
    retrain: str | None
    late: str
    badges: tuple[outcomes.Badge, ...]
    is_newest: bool
    observations: tuple[ModelledRun, ...]
    design: ShownDesign | None
    cluster: TrainingCluster | None
    versions: tuple[Version, ...]
    marks: tuple[ModelMark, ...]
    conditions: RunConditions | None
    production_runs: tuple[outcomes.Outcome, ...]
    production_total: int
    money: outcomes.Money
    decisions: tuple[outcomes.ShownDecision, ...]
    other_types: tuple[str, ...]
    defaults: PredictionRequest


def model_page(
    store: ModelStore,
    model: Model,
    entries: Sequence[CatalogueEntry],
    *,
    readable: loaded.Readable,
    may_trigger: Callable[[str], bool] = lambda _: False,
    link: loaded.ApplicationLink = loaded.no_link,
) -> ModelPage:
    """Return what the page of a model shows, by what readable DAGs made; raises StoreError.

    The caller must make sure that the reader may see the model. The entries are the whole catalogue, or the
    job's part; without any the store is not asked for anything.
    """
    of_job = loaded.visible_of_job(entries, model.job, readable)
    of_type = [each for each in of_job if each.instance_type == model.instance_type]
    lineage = Lineage(entry_of(model), of_job)
    state = lineage.state()
    marks = loaded.newest_of((each for each in of_type if each.model_id in lineage.ids), MARK, MOST_MARKS)
    versions = _versions(model, of_type)
    decisions = decisions_of(store, model, of_job, readable)
    others = loaded.other_types(store, model, of_job, readable)
    trained = [model, *(other.model for other in others if other.model is not None)]
    price = loaded.known_price(model, decisions)
    # What the sample runs were paid at; production's price may differ.
    paid = loaded.price_of_cluster(model) or price
    return ModelPage(
        model=_facts(model),
        state=state,
        retrain=_retraining(model) if model.origin and may_trigger(model.origin.dag_id) else None,
        late=_late(store, model.job) if entries else "",
        badges=outcomes.badges_of(entry_of(model), state),
        is_newest=versions[0].model_id == model.id,
        observations=modelled_runs(model, price_per_hour=paid, link=link, readable=readable),
        design=shown_design(model.design, model.observations, price_per_hour=paid) if model.design else None,
        cluster=model.cluster,
        versions=versions,
        marks=tuple(loaded.visible_records(loaded.read_each(loaded.load_mark, store, marks), readable)),
        conditions=_without_values(model.conditions),
        production_runs=production_runs(store, of_type, of_job, readable=readable, link=link),
        production_total=sum(each.kind == PRODUCTION_RUN for each in of_type),
        money=outcomes.money(
            outcomes.entries_by_place(of_job).get((model.job, model.instance_type), ()),
            outcomes.baseline_of(of_job),
        ),
        decisions=tuple(outcomes.shown_decision(record.decision, record) for record in decisions),
        other_types=tuple(other.entry.instance_type for other in others),
        defaults=request_of(
            decisions[0] if decisions else None,
            model=model,
            price=price,
            training_dollars=sum(filter(None, map(training_dollars, trained))) or None,
        ),
    )


def _retraining(model: Model) -> str:
    """What a run that is told to retrain does, and what the last training took."""
    samples = sample_runs(model)
    if not samples:
        return "Its run reads the past runs anew, fits a new model, and goes on to production."
    cost = training_dollars(model)
    took = duration(sum(run.startup_seconds + run.seconds for run in samples))
    paid = took if cost is None else f"{dollars(cost)} and {took}"
    return (
        f"Its run makes sample runs anew and a new model, then goes on to production. The last "
        f"{counted(len(samples), 'sample run')} took {paid}."
    )


def _late(store: ModelStore, job: str) -> str:
    survey = store.newest_survey()
    of_job = next((each for each in survey.jobs if each.job == job), None) if survey else None
    return lateness(of_job, survey.at) if survey and of_job else ""


def _without_values(conditions: RunConditions | None) -> RunConditions | None:
    if conditions is None or conditions.settings is None:
        return conditions
    return replace(conditions, settings=dict.fromkeys(sorted(conditions.settings), ""))


def _facts(model: Model) -> ModelFacts:
    validation = model.validation
    return view_of(
        ModelFacts,
        model,
        model_id=model.id,
        created_at=model.at,
        unit=unit(model.executors_per_machine),
        calibration=calibration_of(model).sentence,
        learned_from=len(model.learned_from),
        median_error_percent=validation.median_error_percent,
        max_error_percent=validation.max_error_percent,
        residual_sum_of_squares=validation.residual_sum_of_squares,
    )


def _versions(model: Model, of_type: Sequence[CatalogueEntry]) -> tuple[Version, ...]:
    """The models of the job on the type, newest first, including this one."""
    versions = {entry.id: entry for entry in of_type if entry.kind == MODEL}
    versions.setdefault(model.id, entry_of(model))
    return tuple(
        view_of(Version, entry, model_id=entry.id, created_at=entry.at)
        for entry in sorted(versions.values(), key=lambda entry: entry.id, reverse=True)
    )
