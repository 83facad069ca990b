"""From observations to a model that can be stored, judged and chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median

import numpy as np

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.model.adequacy import warnings_about
from airflow_provider_ernest.model.averaging.contradiction import contradiction, wrong_points
from airflow_provider_ernest.model.averaging.predictor import TermAveraging
from airflow_provider_ernest.model.averaging.prior import AveragingPrior, prior_for
from airflow_provider_ernest.model.averaging.repetitions import merge_repetitions
from airflow_provider_ernest.model.documents import Design, Observation, Origin, RunConditions
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.predictors import (
    AVERAGING,
    Predictor,
    default_terms,
    new_predictor,
    observed_columns,
)
from airflow_provider_ernest.model.results import FittedTerm, Model
from airflow_provider_ernest.model.terms import DICTIONARY, check_terms, term_named
from airflow_provider_ernest.model.training_cluster import TrainingCluster
from airflow_provider_ernest.model.validation import leave_one_out


def train(
    observations: Sequence[Observation],
    *,
    job: str,
    instance_type: str = "local",
    method: str = AVERAGING,
    terms: Sequence[str] | None = None,
    prior: AveragingPrior | None = None,
    artifact: str | None = None,
    artifact_sha256: str | None = None,
    input_path: str | None = None,
    origin: Origin | None = None,
    design: Design | None = None,
    cluster: TrainingCluster | None = None,
    conditions: RunConditions | None = None,
    warnings: Sequence[str] = (),
) -> Model:
    """Fit and cross-validate a model.

    Args:
        observations: runs of the job on one type of machine, all with the same iterations.
        job: the user's name of the job.
        instance_type: the machines' type.
        method: one of `predictors.METHODS`.
        terms: names of the terms; None for the method's own.
        prior: for "averaging": what is believed before the runs, None for the default. Where all runs
            name their hosts, their machines are executors that worked, and the driver takes none.
        artifact: path of the job's JAR or .py file.
        artifact_sha256: hash of its content.
        input_path: the target input that scale 1.0 stands for.
        origin: the task instance that fits it.
        design: the design that the runs were planned by.
        cluster: the machines that they were made on.
        conditions: what, beside the code, their times depend on.
        warnings: what is to be known of them before the model is trusted.

    Raises:
        FitError: the observations cannot be of one model, do not determine the terms, or contradict each
            other.
        TooFewObservationsError: there are too few observations.
        InvalidParameterError: a term or the method is unknown.
    """
    names = check_terms(default_terms(method) if terms is None else terms)
    iterations = _one_of(observations, "iterations")
    _one_of(observations, "instance_type")
    prior = prior_for(observations, prior) if method == AVERAGING else None
    predictor = new_predictor(method, terms=names, prior=prior).fit(**observed_columns(observations))
    if method != AVERAGING:
        _check_agreement(observations, names)
    apart = _apart(predictor, observations)
    now = datetime.now(UTC)
    return Model(
        model_id=new_id(now),
        job=job,
        instance_type=instance_type,
        created_at=now.isoformat(),
        method=method,
        terms=_fitted_terms(predictor, names),
        prior=prior,
        driver_share=predictor.driver_share_ if isinstance(predictor, TermAveraging) else 0.0,
        noise=predictor.noise_ if isinstance(predictor, TermAveraging) else 0.0,
        validation=leave_one_out(
            lambda: new_predictor(method, terms=names, prior=prior), observations, apart=apart
        ),
        observations=tuple(observations),
        startup_seconds=median(run.startup_seconds for run in observations),
        artifact=artifact,
        artifact_sha256=artifact_sha256,
        input_path=input_path,
        trained_iterations=iterations,
        warnings=(*warnings, *warnings_about(predictor, names, observations)),
        origin=origin,
        design=design,
        cluster=cluster,
        conditions=conditions,
    )


def _check_agreement(observations: Sequence[Observation], terms: tuple[str, ...]) -> None:
    """Refuse runs of which one is wrong: with given terms each counts, whatever the others say."""
    columns = observed_columns(observations)
    merged = merge_repetitions(**{name: np.asarray(column, float) for name, column in columns.items()})
    # By all usual terms: that a few given ones describe no run well is the model's fault, not a run's.
    every = tuple(dict.fromkeys((*DICTIONARY, *terms)))
    wrong = wrong_points(merged, every, AveragingPrior(driver_share=0.0))
    if wrong.any():
        raise contradiction(merged, np.flatnonzero(wrong).tolist())


def _apart(predictor: Predictor, observations: Sequence[Observation]) -> list[Observation]:
    """The observations that contradict all others and were left out of the fit."""
    if not isinstance(predictor, TermAveraging):
        return []
    return [run for run, is_apart in zip(observations, predictor.apart_, strict=True) if is_apart]


def _fitted_terms(predictor: Predictor, names: Sequence[str]) -> tuple[FittedTerm, ...]:
    probabilities = predictor.probabilities_ if isinstance(predictor, TermAveraging) else np.ones(len(names))
    return tuple(
        FittedTerm(
            name=name,
            meaning=term_named(name).meaning,
            coefficient=float(coefficient),
            probability=float(probability),
        )
        for name, coefficient, probability in zip(names, predictor.coefficients_, probabilities, strict=True)
    )


def _one_of(observations: Sequence[Observation], field: str) -> int | None:
    """The value that all observations have in the field; None where there are no observations."""
    values = {getattr(run, field) for run in observations}
    if len(values) > 1:
        listed = ", ".join(sorted(str(value) for value in values))
        raise FitError(
            f"The observations differ in {field}: {listed}. One model cannot describe them.",
            remedy=f"Train one model for each {field}, or observe the runs anew.",
        )
    return values.pop() if values else None
