"""A model that goes on learning: fitted anew to its sample runs and to the production runs since."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.models import AmdahlState, Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.learning.conditions import differences, is_other_code
from airflow_provider_ernest.learning.drift import evidence_of, trusted
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import fitted as fitted_predictor
from airflow_provider_ernest.prediction.predict import predict_seconds, standardised_errors
from airflow_provider_ernest.prediction.prior import with_production, without_production
from airflow_provider_ernest.prediction.training import train, warnings_about
from airflow_provider_ernest.settings.bounds import AVERAGING

MOST_RUNS = 50
"""So many production runs are remembered, the newest: a job changes slowly, and a fit takes longer with
more."""

MOST_REPEATED = 3
"""Of one configuration where a method counts each run for itself: it would know of nothing else, and be as
sure."""

LEAST_SHARE_OF_RUN = 0.5
"""Where a run's start-up was not measured and would be more than the rest of its time, the rest is not
known."""

FEWEST_STARTUPS = 3
"""So many production runs tell of production's start-up better than the sample runs do."""


def learn(
    model: Model, runs: Sequence[ProductionRun], *, iterations: Mapping[str, int] | None = None
) -> Model | None:
    """The model as the production runs change it; None where they say nothing that it does not know.

    Each run that it may learn from counts as an observation beside the sample runs. Runs of the same
    configuration count together by their median, as in training, so that one run more at the usual
    configuration hardly changes what is said of others. It may learn from runs of the same code, under the
    same conditions and on its type of machine, as far as that is known. Nothing is learned where the runs
    tell of drift, nor from the last ones while a drift may just have begun (see `drift.trusted`): that would
    hide it.

    Args:
        model: the newest of its lineage.
        runs: that its lineage predicted, oldest first; others are passed over. Those that it has learned from
            already may be among them, and should: they belong to the evidence.
        iterations: by id of the production run, for an iterative job: without them nothing is learned from a
            run of such a job, whose model was trained with fewer.

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
    samples, known = _parts(model)
    index = 1 + max(run.index for run in model.observations)
    numbered = ((name, replace(run, index=index + position)) for position, (name, run) in enumerate(news))
    remembered = _remembered([*known, *numbered], model.method)
    fitted = _refitted(model, samples, [run for _, run in known], [run for _, run in remembered])
    errors = standardised_errors(
        model,
        machines=[run.machines for _, run in news],
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
    fitted = train(
        [*samples, *remembered],
        job=model.job,
        instance_type=model.instance_type,
        method=model.method,
        terms=[term.name for term in model.terms],
        prior=prior,
        artifact=model.artifact,
        artifact_sha256=model.artifact_sha256,
        input_path=model.input_path,
        origin=model.origin,
        design=model.design,
        cluster=model.cluster,
        conditions=model.conditions,
        warnings=_further_warnings(model),
    )
    return replace(fitted, startup_seconds=_startup_seconds(fitted, remembered))


def with_runs(
    state: AmdahlState | None, runs: Iterable[Observation], *, begun_with: Iterable[Observation] = ()
) -> AmdahlState:
    """The extended Amdahl model's sums with more runs in them.

    Args:
        state: the sums so far; None for none.
        runs: to add.
        begun_with: the runs to begin with where there are no sums.
    """
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
    seconds, startup = run.run_seconds, run.startup_seconds
    if seconds is None:
        startup = model.startup_seconds
        seconds = run.seconds - startup
        if seconds < LEAST_SHARE_OF_RUN * run.seconds:
            return None
    if model.trained_iterations is not None:
        made = iterations.get(run.id)
        if made is None:
            return None
        seconds *= _share_of_iterations(model, run, made)
    if not seconds > 0:
        return None
    return Observation(
        index=0,
        machines=run.machines,
        scale=run.scale,
        seconds=seconds,
        startup_seconds=model.startup_seconds if startup is None else startup,
        # As its observations name the type: a model may be stored under another name.
        instance_type=model.observations[0].instance_type,
        iterations=model.trained_iterations,
        application_id=run.application_id,
        event_log=run.event_log,
        origin=run.origin,
    )


def _share_of_iterations(model: Model, run: ProductionRun, iterations: int) -> float:
    """What share of its time the run would have taken with the iterations trained with, by the model."""
    trained = predict_seconds(model, machines=run.machines, scale=run.scale)
    made = predict_seconds(model, machines=run.machines, scale=run.scale, iterations=iterations)
    return float(trained[0] / made[0])


def _parts(model: Model) -> tuple[list[Observation], list[tuple[str, Observation]]]:
    """The sample runs, and the production runs that follow them with their ids."""
    learned = len(model.learned_from)
    split = len(model.observations) - learned
    return list(model.observations[:split]), list(
        zip(model.learned_from, model.observations[split:], strict=True)
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


def _further_warnings(model: Model) -> tuple[str, ...]:
    """The warnings that do not come of the model's observations: those come anew."""
    terms = [term.name for term in model.terms]
    own = warnings_about(fitted_predictor(model), terms, model.observations)
    return tuple(warning for warning in model.warnings if warning not in own)


def _startup_seconds(fitted: Model, production: Sequence[Observation]) -> float:
    """Production's own start-up, once it is known well enough; until then as all runs have it."""
    if len(production) < FEWEST_STARTUPS:
        return fitted.startup_seconds
    return median(run.startup_seconds for run in production)
