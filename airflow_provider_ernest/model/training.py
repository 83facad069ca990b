"""From observations to a model that can be stored, judged and chosen by."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import median

from airflow_provider_ernest.exceptions import FitError, InadequateModelError
from airflow_provider_ernest.model.documents import FittedTerm, Model, Observation
from airflow_provider_ernest.model.parameters import positive_number
from airflow_provider_ernest.model.regression import ErnestRegression
from airflow_provider_ernest.model.terms import ERNEST, TERMS, check_terms
from airflow_provider_ernest.model.validation import leave_one_out, undetermined_folds


def train(
    observations: Sequence[Observation],
    *,
    job: str,
    instance_type: str = "local",
    terms: Sequence[str] = ERNEST,
    weighting: str = "relative",
    artifact: str | None = None,
    artifact_sha256: str | None = None,
    input_path: str | None = None,
) -> Model:
    """Fit and cross-validate a model.

    Args:
        observations: runs of the job on one type of machine, all with the same iterations.
        job: the user's name of the job.
        instance_type: the machines' type.
        terms: names of the terms.
        weighting: "relative" or "absolute"; see `ErnestRegression`.
        artifact: path of the job's JAR or .py file.
        artifact_sha256: hash of its content.
        input_path: the target input that scale 1.0 stands for.

    Raises:
        FitError: the observations cannot be of one model, or do not determine the terms.
        TooFewObservationsError: there are fewer observations than terms.
        InvalidParameterError: a term or the weighting is unknown.
    """
    terms = check_terms(terms)
    iterations = _one_of(observations, "iterations")
    _one_of(observations, "instance_type")
    regression = ErnestRegression(terms=terms, weighting=weighting).fit(
        machines=[run.machines for run in observations],
        scale=[run.scale for run in observations],
        seconds=[run.seconds for run in observations],
    )
    now = datetime.now(UTC)
    return Model(
        model_id=f"{now:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(4)}",
        job=job,
        instance_type=instance_type,
        created_at=now.isoformat(),
        terms=tuple(
            FittedTerm(name=name, meaning=TERMS[name].meaning, coefficient=float(coefficient))
            for name, coefficient in zip(terms, regression.coefficients_, strict=True)
        ),
        weighting=weighting,
        validation=leave_one_out(regression, observations),
        observations=tuple(observations),
        startup_seconds=median(run.startup_seconds for run in observations),
        artifact=artifact,
        artifact_sha256=artifact_sha256,
        input_path=input_path,
        trained_iterations=iterations,
        warnings=_warnings(terms, observations),
    )


def check_adequacy(model: Model, *, max_error_percent: float) -> None:
    """Refuse a model whose median leave-one-out error is above the threshold.

    The median is the error to expect of a prediction like those of the observed runs. The largest
    error is shown too, but does not decide: the run that it stems from is as a rule the one at the
    edge of the design, which the others can only extrapolate to.

    Raises:
        InadequateModelError: with both errors and what can be done.
    """
    threshold = positive_number("max_error_percent", max_error_percent)
    validation = model.validation
    if validation.median_error_percent <= threshold:
        return
    worst = max(validation.folds, key=lambda fold: abs(fold.error_percent))
    raise InadequateModelError(
        f"The leave-one-out error of the model of {model.job!r} on {model.instance_type} is "
        f"{validation.median_error_percent:.1f} % (median), above the threshold of {threshold:g} %; "
        f"the largest is {validation.max_error_percent:.1f} %, of run {worst.index} "
        f"({worst.machines} machines, scale {worst.scale:g}).",
        remedy="Observe more runs or larger samples, look at the worst run for disturbances, add a term that "
        "describes the job better, or raise max_error_percent.",
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


def _warnings(terms: Sequence[str], observations: Sequence[Observation]) -> tuple[str, ...]:
    """What a user should know before trusting a model of these observations."""
    warnings = []
    scales = {run.scale for run in observations}
    if len(scales) == 1:
        warnings.append(
            f"All runs read the same share of the input ({scales.pop():.4g}): how time grows with the data "
            "is derived from the machine counts alone."
        )
    if len({run.machines for run in observations}) == 1:
        warnings.append(
            f"All runs used {observations[0].machines} machines: nothing is known of other machine counts."
        )
    if len(observations) == len(terms):
        warnings.append(
            f"There are as many observations as terms ({len(terms)}): the model fits them whatever they are, "
            "and only the cross-validation error says something about it."
        )
    elif undetermined := undetermined_folds(terms, observations):
        listed = "; ".join(
            f"run {run.index}: {run.machines} machines, scale {run.scale:g}" for run in undetermined
        )
        warnings.append(
            f"Without one of these runs the others do not determine the model, so its cross-validation error "
            f"says little ({listed})."
        )
    return tuple(warnings)
