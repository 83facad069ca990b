"""What a model learns from production runs, and what they say against it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import AmdahlState, Model, ModelMark
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.learning.conditions import differences, is_other_code
from airflow_provider_ernest.learning.freshness import (
    DRIFTING,
    STALE,
    Lineage,
    cause_of,
    evidence_of,
    trusted,
)
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import fitted as fitted_predictor
from airflow_provider_ernest.prediction.predict import predict_seconds, standardised_errors
from airflow_provider_ernest.prediction.prior import with_production, without_production
from airflow_provider_ernest.prediction.training import train, warnings_about
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.store.catalogue import MODEL, entry_of, key_of
from airflow_provider_ernest.store.store import ModelStore

MOST_RUNS_READ = 100  # so many of a job's newest production runs are read: twice what a model remembers

MOST_RUNS = 50
"""The newest production runs are remembered: a job changes slowly, and a fit takes longer with more."""

MOST_REPEATED = 3
"""Runs of one configuration, where a method counts each run for itself: it would know of nothing else."""

LEAST_SHARE_OF_RUN = 0.5
"""Where a run's start-up was not measured and would be more than the rest, the rest is unknown."""

FEWEST_STARTUPS = 3  # so many production runs tell of production's start-up better than the sample runs do


@dataclass(frozen=True)
class Lesson:
    """What came of a production run for the model that predicted it: a sentence for the log, or a mark."""

    told: str = ""
    mark: ModelMark | None = None


def lesson_of(store: ModelStore, production: ProductionRun, decision: DecisionRecord) -> Lesson:
    """Let the newest model of the lineage that predicted a run learn from it, or mark it.

    What was learned is saved as a new model beside it. A lineage is marked once for each cause.
    """
    lineage = _lineage(store, production)
    if lineage is None:
        return Lesson("Nothing is learned from this run: no model of its machines is in the store.")
    state = lineage.state()
    if state.name == STALE:
        return Lesson(mark=_mark(lineage, production, state.cause, state.reason))
    newest = lineage.model
    model = store.load(Model, newest.job, newest.instance_type, newest.id)
    found = store.newest(ProductionRun, newest.job, newest.instance_type, limit=MOST_RUNS_READ)
    runs = [run for run in found if run.model_id in lineage.ids]
    if state.name == DRIFTING:
        cause, sentence = cause_of(model, runs)
        return Lesson(mark=_mark(lineage, production, cause, f"{lineage.evidence.sentence} {sentence}"))
    if model.basis is not None:
        return Lesson(f"The model {model.id} is made anew of the job's history before its next run.")
    iterations = {}
    if model.trained_iterations is not None:
        news = [run for run in runs if run.id not in model.learned_from]
        iterations = _iterations(store, decision, news)
    learned = learn(model, runs, iterations=iterations)
    if learned is None:
        return Lesson(f"The model {model.id} learns nothing from this run.")
    learned = replace(learned, origin=production.origin)
    store.save(learned)
    samples = len(learned.observations) - len(learned.learned_from)
    return Lesson(
        f"The model has learned: it goes on as {learned.id}, from {samples} sample runs and "
        f"{len(learned.learned_from)} production runs."
    )


def _lineage(store: ModelStore, production: ProductionRun) -> Lineage | None:
    """The lineage that predicted the run, by its newest model; None where it is of another type, or gone."""
    # The run itself, too, should it not be stored yet.
    entries = (*store.catalogue.entries(production.job), entry_of(production))
    of_job = list({key_of(entry): entry for entry in entries}.values())
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


def _mark(lineage: Lineage, production: ProductionRun, cause: str, reason: str) -> ModelMark | None:
    return lineage.new_mark(
        cause=cause, reason=reason, artifact_sha256=production.artifact_sha256, origin=production.origin
    )


def _iterations(store: ModelStore, decision: DecisionRecord, runs: list[ProductionRun]) -> dict[str, int]:
    """The iterations of production runs, by their ids, as their decisions tell them."""
    found = {decision.id: decision.iterations}
    if {run.decision_id for run in runs if run.decision_id} - found.keys():
        for each in store.newest(DecisionRecord, decision.job, decision.instance_type, limit=MOST_RUNS_READ):
            found[each.id] = each.iterations
    of_runs = {run.id: found.get(run.decision_id or "") for run in runs}
    return {name: made for name, made in of_runs.items() if made is not None}


# A model that goes on learning.


def learn(
    model: Model, runs: Sequence[ProductionRun], *, iterations: Mapping[str, int] | None = None
) -> Model | None:
    """The model as the production runs change it; None where they say nothing that it does not know.

    Each run that it may learn from counts as an observation beside the sample runs. Runs of the same
    configuration count together by their median, as in training. It may learn from runs of the same code,
    under the same conditions and on its type of machine, as far as that is known. Nothing is learned where
    the runs tell of drift, nor from the last ones while a drift may just have begun (see `drift.trusted`):
    that would hide it.

    The model is the newest of its lineage, the runs all that this predicted, oldest first; of an iterative
    job nothing is learned without the runs' iterations, by their ids.

    Raises:
        FitError: the observations cannot be of one model.
    """
    alike = [run for run in runs if _is_alike(model, run)]
    if evidence_of(alike).is_drift:
        return None
    unknown = _news(model, alike[: trusted(alike)])
    observed = ((run.id, _observed(model, run, iterations or {})) for run in unknown)
    news = [(name, observation) for name, observation in observed if observation is not None]
    if not news:
        return None
    # The sample runs, and the production runs that follow them with their ids.
    split = len(model.observations) - len(model.learned_from)
    samples = model.observations[:split]
    known = list(zip(model.learned_from, model.observations[split:], strict=True))
    index = 1 + max(run.index for run in model.observations)
    numbered = ((name, replace(run, index=index + position)) for position, (name, run) in enumerate(news))
    remembered = _remembered([*known, *numbered], model.method)
    fitted = _refitted(model, samples, [run for _, run in known], [run for _, run in remembered])
    errors = standardised_errors(
        model,
        executors=[run.executors for _, run in news],
        scale=[run.scale for _, run in news],
        seconds=[run.seconds for _, run in news],
    ).tolist()
    return replace(
        fitted,
        base_model_id=model.base_model_id or model.id,
        learned_from=tuple(name for name, _ in remembered),
        amdahl=with_runs(model.amdahl, (run for _, run in news), begun_with=model.observations),
        standardised_errors=(*model.standardised_errors, *errors)[-MOST_RUNS:],
    )


def _refitted(
    model: Model,
    samples: Sequence[Observation],
    known: Sequence[Observation],
    remembered: Sequence[Observation],
) -> Model:
    """The model, fitted to its sample runs and to the production runs remembered instead of those known."""
    past = [run for run in samples if run.from_history]
    before = model.prior and without_production(model.prior, [*past, *known])
    prior = before and with_production(before, [*past, *remembered])
    terms = [term.name for term in model.terms]
    # The warnings of the model's observations come anew.
    own = warnings_about(fitted_predictor(model), terms, model.observations)
    fitted = train(
        [*samples, *remembered],
        job=model.job,
        instance_type=model.instance_type,
        method=model.method,
        terms=terms,
        prior=prior,
        artifact=model.artifact,
        artifact_sha256=model.artifact_sha256,
        input_path=model.input_path,
        origin=model.origin,
        design=model.design,
        cluster=model.cluster,
        conditions=model.conditions,
        warnings=tuple(warning for warning in model.warnings if warning not in own),
    )
    # Production's own start-up, once it is known well enough; until then as all runs have it.
    if len(remembered) < FEWEST_STARTUPS:
        return fitted
    return replace(fitted, startup_seconds=median(run.startup_seconds for run in remembered))


def with_runs(
    state: AmdahlState | None, runs: Iterable[Observation], *, begun_with: Iterable[Observation] = ()
) -> AmdahlState:
    """The extended Amdahl model's sums with more runs in them; from `begun_with` on where there are none."""
    if state is None:
        online, added = ExtendedAmdahl(degree=1), [*begun_with, *runs]
    else:
        online, added = ExtendedAmdahl(degree=state.degree, state=state), [*runs]
    for run in added:
        online.update(run)
    return online.state


def _is_alike(model: Model, run: ProductionRun) -> bool:
    """Whether it is, as far as is known, a run of what the model was trained for."""
    if (run.job, run.instance_type) != (model.job, model.instance_type):
        return False
    if is_other_code(model.artifact_sha256, run.artifact_sha256):
        return False
    # More data is no difference here: the run itself shows what that takes.
    return not differences(model.conditions, run.conditions, max_growth=math.inf)


def _news(model: Model, runs: Sequence[ProductionRun]) -> list[ProductionRun]:
    """The runs that are not learned from yet; nothing of before what is remembered, which was forgotten."""
    known = set(model.learned_from)
    # Where repetitions are forgotten, too, all before the newest has been seen.
    forgets = len(known) >= MOST_RUNS or (known and model.method != AVERAGING)
    since = (min(known) if model.method == AVERAGING else max(known)) if forgets else ""
    news = [run for run in runs if run.id not in known and run.id > since]
    return news[-MOST_RUNS:]


def _observed(model: Model, run: ProductionRun, iterations: Mapping[str, int]) -> Observation | None:
    """The run as an observation; None where it does not tell how long the work itself took."""
    executors, seconds, startup = run.executors, run.run_seconds, run.startup_seconds
    if run.is_dynamic:
        if run.replayed is None:
            return None
        executors, seconds = run.replayed.executors, run.replayed.seconds
    if seconds is None:
        startup = model.startup_seconds
        seconds = run.seconds - startup
        if seconds < LEAST_SHARE_OF_RUN * run.seconds:
            return None
    if model.trained_iterations is not None:
        made = iterations.get(run.id)
        if made is None:
            return None
        # What share of its time the run would have taken with the iterations trained with, by the model.
        trained = predict_seconds(model, executors=executors, scale=run.scale)
        as_made = predict_seconds(model, executors=executors, scale=run.scale, iterations=made)
        seconds *= float(trained[0] / as_made[0])
    if not seconds > 0:
        return None
    return Observation(
        index=0,
        executors=executors,
        scale=run.scale,
        seconds=seconds,
        replay_error=run.replayed.error if run.replayed else 0.0,
        startup_seconds=model.startup_seconds if startup is None else startup,
        # As its observations name the type: a model may be stored under another name.
        instance_type=model.observations[0].instance_type,
        iterations=model.trained_iterations,
        application_id=run.application_id,
        event_log=run.event_log,
        origin=run.origin,
    )


def _remembered(learned: Sequence[tuple[str, Observation]], method: str) -> list[tuple[str, Observation]]:
    """The newest, in their order."""
    newest = list(learned)[-MOST_RUNS:]
    if method == AVERAGING:
        return newest
    kept: list[tuple[str, Observation]] = []
    times: defaultdict[tuple[int, float, float], int] = defaultdict(int)
    for name, run in reversed(newest):
        times[run.configuration] += 1
        if times[run.configuration] <= MOST_REPEATED:
            kept.append((name, run))
    return kept[::-1]
