"""Everything about a model except its predictions, which change with each question."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.models import (
    FittedTerm,
    Model,
    ModelMark,
    TrainingCluster,
    training_dollars,
)
from airflow_provider_ernest.documents.runs import (
    CandidateRange,
    Design,
    Experiment,
    InputFingerprint,
    Observation,
    RunConditions,
)
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.learning.freshness import Lineage, State
from airflow_provider_ernest.prediction.calibration import calibration_of
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE
from airflow_provider_ernest.settings.goal import CONFIDENCE, OBJECTIVES
from airflow_provider_ernest.store.catalogue import (
    DECISION,
    MARK,
    MODEL,
    PRODUCTION_RUN,
    CatalogueEntry,
    entry_of,
)
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import (
    ApplicationLink,
    OtherType,
    Readable,
    known_price,
    load_decision,
    load_mark,
    load_production,
    newest_of,
    no_link,
    other_types,
    price_of_cluster,
    read_each,
    visible_of_job,
    visible_records,
)
from airflow_provider_ernest.views.outcomes import (
    Money,
    Outcome,
    ShownDecision,
    baseline_of,
    decisions_by_id,
    entries_by_place,
    money,
    outcome_of,
    shown_decision,
)
from airflow_provider_ernest.views.prediction_request import (
    MOST_RUNS,
    PredictionRequest,
    in_bounds,
    machines_in_bounds,
)
from airflow_provider_ernest.views.standing import Badge, badges_of
from airflow_provider_ernest.views.view import view_of

log = logging.getLogger(__name__)

MOST_DECISIONS = 50
MOST_MARKS = 50
MOST_SETTINGS = 200
"""Number of setting names shown; their count is always shown."""

MOST_PRODUCTION_RUNS = 200
"""Number shown at once: each is a file of the store."""


@dataclass(frozen=True, kw_only=True)
class ModelledRun:
    """An observation, and what the model says of it by all the others.

    Attributes:
        seconds: without start-up.
        cost: in dollars; null where no price is known.
        from_history: a past run that nobody made for the model: it cost nothing.
    """

    index: int
    machines: int
    scale: float
    seconds: float
    startup_seconds: float
    waited_seconds: float
    cost: float | None
    iterations: int | None
    application_id: str | None
    event_log: str | None
    hosts: tuple[str, ...]
    history_url: str | None
    origin: Origin | None
    from_history: bool
    is_production: bool
    predicted_seconds: float | None
    error_percent: float | None


def cost_of(run: Observation, price_per_hour: float | None) -> float | None:
    """Dollars for its machines from submission to end, without the wait for them; 0 for past runs."""
    if run.from_history:
        return 0.0
    if price_per_hour is None:
        return None
    return run.machines * price_per_hour * (run.seconds + run.startup_seconds) / 3600.0


def modelled_runs(
    model: Model, *, price_per_hour: float | None, link: ApplicationLink, readable: Readable
) -> tuple[ModelledRun, ...]:
    """The runs of a model, each with what the others predict of it.

    Only those who may read a production run's DAG see which run the model has learned from.
    """
    may_read = cache(readable)
    # By all that is known of a run, for runs of several designs may share an index.
    folds = {(fold.index, fold.machines, fold.scale, fold.seconds): fold for fold in model.validation.folds}
    samples = len(model.observations) - len(model.learned_from)
    modelled = []
    for place, run in enumerate(model.observations):
        fold = folds.get((run.index, run.machines, run.scale, run.seconds))
        shown = run
        if run.origin is not None and not may_read(run.origin.dag_id):
            shown = replace(run, origin=None, application_id=None, event_log=None, hosts=())
        modelled.append(
            view_of(
                ModelledRun,
                shown,
                cost=cost_of(run, price_per_hour),
                history_url=link(shown.application_id),
                # The production runs that a model has learned from come after its sample runs.
                is_production=place >= samples,
                predicted_seconds=fold.predicted_seconds if fold else None,
                error_percent=fold.error_percent if fold else None,
            )
        )
    return tuple(modelled)


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """An experiment of a design, and what came of it.

    Attributes:
        weight: lambda of the relaxed optimal design.
    """

    index: int
    machines: int
    scale: float
    partitions: int
    weight: float
    expected_cost: float
    observed: bool
    seconds: float | None
    paid: float | None


@dataclass(frozen=True, kw_only=True)
class DesignFacts:
    """A design with what came of each experiment.

    Attributes:
        efficiency: criterion of the relaxed optimum over that of the whole runs, 0..1.
        weighting: which errors it is for, "relative" to the run's time or "absolute" in seconds.
        past_runs: how many past runs of the job it has counted, at no cost.
        reason: why no runs were to be made, or why some were although there were past ones.
    """

    terms: tuple[str, ...]
    criterion: str
    efficiency: float
    cost: float
    budget: float
    cost_unit: str
    candidates: int
    weighting: str
    candidate_ranges: tuple[CandidateRange, ...]
    experiments: tuple[PlannedRun, ...]
    past_runs: int
    reason: str


def design_facts(
    design: Design, observations: Sequence[Observation], *, price_per_hour: float | None
) -> DesignFacts:
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
            view_of(
                PlannedRun,
                each,
                expected_cost=each.cost,
                observed=made is not None,
                seconds=made.seconds if made else None,
                paid=cost_of(made, price_per_hour) if made else None,
            )
        )
    return view_of(DesignFacts, design, experiments=tuple(planned))


def _difference(planned: Experiment, run: Observation) -> float:
    return abs(run.scale / planned.scale - 1.0) + abs(run.machines / planned.machines - 1.0)


def decisions_of(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: Readable
) -> list[DecisionRecord]:
    """The newest decisions for the model's type, and others that considered it, newest first."""
    chosen = [each for each in of_job if each.instance_type == model.instance_type]
    others = [each for each in of_job if each.instance_type != model.instance_type]
    versions = {model.id, *(each.id for each in chosen if each.kind == MODEL)}
    records = _read(store, chosen, readable)
    try:
        others_chosen = _read(store, others, readable)
    except StoreError:
        # Decisions on other types must not break the page of this model.
        log.warning("Decisions of %r on other types cannot be read", model.job, exc_info=True)
    else:
        records += [record for record in others_chosen if versions.intersection(record.model_ids)]
    return sorted(records, key=lambda record: record.id, reverse=True)[:MOST_DECISIONS]


def _read(store: ModelStore, entries: Sequence[CatalogueEntry], readable: Readable) -> list[DecisionRecord]:
    # Selected by id, so that hidden ones are not even read.
    wanted = newest_of(entries, DECISION, MOST_DECISIONS)
    return visible_records(read_each(load_decision, store, wanted), readable)


def first_request(
    model: Model, newest: DecisionRecord | None, *, price: float | None, training_dollars: float | None
) -> PredictionRequest:
    """The first request: what the DAG asked last, else one derived from the runs.

    Values that a page cannot ask are left out or brought into bounds.
    """
    most_observed = max((run.machines for run in model.observations), default=1)
    least, most = machines_in_bounds(
        newest.min_machines if newest else 1, newest.max_machines if newest else 2 * most_observed
    )
    iterations = newest.iterations if newest else model.trained_iterations
    return PredictionRequest(
        scale=(in_bounds(newest.scale) if newest else None) or 1.0,
        iterations=iterations if iterations is not None and iterations >= 1 else None,
        **(_goal(newest) if newest else {}),
        price_per_hour=in_bounds(price),
        billing=_billed((newest.decision.billing if newest else None) or Billing(), training_dollars),
        min_machines=least,
        max_machines=most,
    )


def _goal(newest: DecisionRecord) -> dict[str, Any]:
    deadline, budget = in_bounds(newest.deadline_seconds), in_bounds(newest.budget_dollars)
    objective = newest.objective if newest.objective in OBJECTIVES else None
    confidence = newest.confidence
    return {
        "deadline_seconds": deadline,
        # Both at once need an objective, which may be a function that only the DAG knows.
        "budget_dollars": budget if deadline is None or objective else None,
        "objective": objective,
        "confidence": confidence if confidence is not None and 0 < confidence < 1 else CONFIDENCE,
    }


def _billed(known: Billing, training_dollars: float | None) -> Billing:
    """Billing besides the machines' hours; runs share the training only if that was stated."""
    shared, estimated = in_bounds(known.training_dollars), in_bounds(training_dollars)
    numbers: dict[str, Any] = {
        **{name: in_bounds(getattr(known, name)) or 0.0 for name in BESIDE_THE_PRICE},
        "increment_seconds": in_bounds(known.increment_seconds) or 1.0,
        "training_dollars": shared or (float(f"{estimated:.4g}") if estimated else None),
        "expected_runs": min(known.expected_runs or 1, MOST_RUNS) if shared else None,
    }
    return Billing(**numbers)


@dataclass(frozen=True, kw_only=True)
class Version:
    """One of the models of a job on a type of machine.

    Attributes:
        base_model_id: the version of sample runs alone that it learns on from; null where it is one.
    """

    model_id: str
    created_at: str
    median_error_percent: float | None
    max_error_percent: float | None
    artifact_sha256: str | None
    observations: int
    learned_from: int
    base_model_id: str | None


@dataclass(frozen=True, kw_only=True)
class ShownMark:
    """What was noted against a model.

    Attributes:
        cause: code, data, settings, cluster, unexplained or age.
    """

    mark_id: str
    marked_at: str
    job: str
    instance_type: str
    model_id: str
    cause: str
    reason: str
    artifact_sha256: str | None
    origin: Origin | None


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What, beside the code, a model was trained under. Null for what is not known.

    Attributes:
        settings: how many are compared.
    """

    spark: str | None
    settings: int | None
    setting_names: tuple[str, ...]
    cores_per_machine: int | None
    partitions: int | None
    total_bytes: int | None
    bytes_per_partition: float | None
    columns: int | None
    format: str | None


def conditions_in_numbers(conditions: RunConditions | None) -> Conditions | None:
    """The conditions of the training; None if unknown. Of settings only the names."""
    if conditions is None:
        return None
    settings = conditions.settings
    return view_of(
        Conditions,
        conditions.input or InputFingerprint(),
        spark=conditions.spark,
        settings=None if settings is None else len(settings),
        setting_names=tuple(sorted(settings or ())[:MOST_SETTINGS]),
        cores_per_machine=conditions.cores_per_machine,
    )


@dataclass(frozen=True, kw_only=True)
class ProductionRuns:
    """Some of the production runs of a job on a type of machine."""

    total: int
    offset: int
    runs: tuple[Outcome, ...]


def production_page(
    store: ModelStore,
    of_job: Sequence[CatalogueEntry],
    instance_type: str,
    *,
    readable: Readable,
    link: ApplicationLink,
    offset: int = 0,
    limit: int = MOST_PRODUCTION_RUNS,
) -> ProductionRuns:
    """Production runs on a type with their decisions, newest first, and their total."""
    # Selected by id, so that hidden ones are not even read.
    entries = [each for each in of_job if each.kind == PRODUCTION_RUN and each.instance_type == instance_type]
    wanted = sorted(entries, key=lambda each: each.id, reverse=True)[offset : offset + limit]
    runs = visible_records(read_each(load_production, store, wanted), readable)
    decisions = decisions_by_id(of_job)
    shown = tuple(outcome_of(run, decisions, link) for run in runs)
    return ProductionRuns(total=len(entries), offset=offset, runs=shown)


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """A model.

    Attributes:
        noise: relative standard deviation of a single run.
        calibration: by what production runs made intervals wider or narrower, in words; empty where nothing.
    """

    job: str
    instance_type: str
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
class ComparedType:
    """The newest model of the job on another type of machine."""

    instance_type: str
    model_id: str
    created_at: str
    price_per_hour: float | None


@dataclass(frozen=True, kw_only=True)
class ModelPage:
    """A model and all that is known of it.

    Attributes:
        versions: newest first.
        marks: newest first, at most 50, of the versions that learn on from each other.
        production_runs: newest first, at most 200, of all versions.
        money: of the job on the type.
        decisions: newest first, at most 50: for this type, or for another by a choice among several.
    """

    model: ModelFacts
    state: State
    badges: tuple[Badge, ...]
    is_newest: bool
    observations: tuple[ModelledRun, ...]
    design: DesignFacts | None
    cluster: TrainingCluster | None
    versions: tuple[Version, ...]
    marks: tuple[ShownMark, ...]
    conditions: Conditions | None
    production_runs: tuple[Outcome, ...]
    production_total: int
    money: Money
    decisions: tuple[ShownDecision, ...]
    other_types: tuple[ComparedType, ...]
    defaults: PredictionRequest


def model_page(
    store: ModelStore,
    model: Model,
    entries: Sequence[CatalogueEntry],
    *,
    readable: Readable,
    link: ApplicationLink = no_link,
) -> ModelPage:
    """Return what the page of a model shows, by what readable DAGs made; raises StoreError.

    Args:
        store: of the model.
        model: the caller must make sure that the reader may see it.
        entries: the whole catalogue, or the job's part.
        readable: whether a DAG may be read.
        link: to applications in Spark's history server.
    """
    of_job = visible_of_job(entries, model.job, readable)
    lineage = Lineage(entry_of(model), of_job)
    of_lineage = (
        each for each in of_job if each.instance_type == model.instance_type and each.model_id in lineage.ids
    )
    return _page(
        model,
        of_job,
        lineage,
        marks=visible_records(read_each(load_mark, store, newest_of(of_lineage, MARK, MOST_MARKS)), readable),
        decisions=decisions_of(store, model, of_job, readable),
        others=other_types(store, model, of_job, readable),
        production=production_page(store, of_job, model.instance_type, readable=readable, link=link),
        readable=readable,
        link=link,
    )


def model_page_alone(model: Model) -> ModelPage:
    """The page of a model without a store."""
    return _page(model, (), Lineage(entry_of(model), ()), readable=lambda _: True, link=no_link)


def _page(
    model: Model,
    of_job: Sequence[CatalogueEntry],
    lineage: Lineage,
    *,
    marks: Sequence[ModelMark] = (),
    decisions: Sequence[DecisionRecord] = (),
    others: Sequence[OtherType] = (),
    production: ProductionRuns = ProductionRuns(total=0, offset=0, runs=()),
    readable: Readable,
    link: ApplicationLink,
) -> ModelPage:
    versions = _versions(model, of_job)
    price = known_price(model, decisions)
    # What the sample runs were paid at; production's price may differ.
    paid = price_of_cluster(model) or price
    trained = [model, *(other.model for other in others if other.model is not None)]
    state = lineage.state()
    return ModelPage(
        model=_facts(model),
        state=state,
        badges=badges_of(entry_of(model), state),
        is_newest=versions[0].model_id == model.id,
        observations=modelled_runs(model, price_per_hour=paid, link=link, readable=readable),
        design=design_facts(model.design, model.observations, price_per_hour=paid) if model.design else None,
        cluster=model.cluster,
        versions=versions,
        marks=tuple(view_of(ShownMark, mark, mark_id=mark.id, marked_at=mark.at) for mark in marks),
        conditions=conditions_in_numbers(model.conditions),
        production_runs=production.runs,
        production_total=production.total,
        money=money(entries_by_place(of_job).get((model.job, model.instance_type), ()), baseline_of(of_job)),
        decisions=tuple(shown_decision(record.decision, record) for record in decisions),
        other_types=tuple(
            view_of(
                ComparedType,
                other.entry,
                model_id=other.entry.id,
                created_at=other.entry.at,
                price_per_hour=other.price_per_hour,
            )
            for other in others
        ),
        defaults=first_request(
            model,
            decisions[0] if decisions else None,
            price=price,
            training_dollars=sum(filter(None, map(training_dollars, trained))) or None,
        ),
    )


def _facts(model: Model) -> ModelFacts:
    validation = model.validation
    return view_of(
        ModelFacts,
        model,
        model_id=model.id,
        created_at=model.at,
        calibration=calibration_of(model).sentence,
        learned_from=len(model.learned_from),
        median_error_percent=validation.median_error_percent,
        max_error_percent=validation.max_error_percent,
        residual_sum_of_squares=validation.residual_sum_of_squares,
    )


def _versions(model: Model, of_job: Sequence[CatalogueEntry]) -> tuple[Version, ...]:
    """The models of the job on the type, newest first, including this one."""
    of_type = (each for each in of_job if each.instance_type == model.instance_type)
    versions = {entry.id: entry for entry in of_type if entry.kind == MODEL}
    versions.setdefault(model.id, entry_of(model))
    return tuple(
        view_of(Version, entry, model_id=entry.id, created_at=entry.at)
        for entry in sorted(versions.values(), key=lambda entry: entry.id, reverse=True)
    )
