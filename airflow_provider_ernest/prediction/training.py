"""From observations to a model that can be stored, judged and chosen by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from statistics import median
from typing import Required, TypedDict, Unpack

import numpy as np

from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.models import (
    NOT_VALIDATED,
    AveragingPrior,
    FittedTerm,
    Fold,
    HistoryBasis,
    Model,
    TrainingCluster,
    Validation,
)
from airflow_provider_ernest.documents.runs import Design, Observation, RunConditions
from airflow_provider_ernest.exceptions import (
    ErnestError,
    FitError,
    InadequateModelError,
    InvalidParameterError,
    TooFewObservationsError,
)
from airflow_provider_ernest.prediction.averaging import TermAveraging, contradiction, wrong_points
from airflow_provider_ernest.prediction.evidence import points_of
from airflow_provider_ernest.prediction.numbers import positive_number
from airflow_provider_ernest.prediction.predict import (
    Predictor,
    check_method,
    default_terms,
    new_predictor,
    observed_columns,
)
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.regimes import effective_executors, foresee
from airflow_provider_ernest.prediction.regression import undetermined_terms
from airflow_provider_ernest.prediction.terms import (
    DICTIONARY,
    ERNEST,
    RunColumns,
    basis,
    check_terms,
    term_named,
)
from airflow_provider_ernest.settings.bounds import AVERAGING, RELATIVE
from airflow_provider_ernest.words import as_percent, duration, duration_range, input_share, percentage, plain
from airflow_provider_ernest.words import executors as executors_in_words


class Kept(TypedDict, total=False):
    """What a model keeps of where it comes from, as `documents.models.Model` describes it."""

    job: Required[str]
    instance_type: str
    artifact: str | None
    artifact_sha256: str | None
    input_path: str | None
    origin: Origin | None
    design: Design | None
    basis: HistoryBasis | None
    cluster: TrainingCluster | None
    conditions: RunConditions | None


def train(
    observations: Sequence[Observation],
    *,
    method: str = AVERAGING,
    terms: Sequence[str] | None = None,
    prior: AveragingPrior | None = None,
    warnings: Sequence[str] = (),
    **kept: Unpack[Kept],
) -> Model:
    """Fit and cross-validate a model.

    Args:
        observations: runs of the job on one type of machine, all with the same iterations.
        method: one of `settings.bounds.METHODS`.
        terms: names of the terms; None for the method's own.
        prior: for "averaging": what is believed before the runs; see `prior_for`.
        warnings: what is to be known of the runs before the model is trusted.
        kept: what the model keeps beside it; `job` at least, and "local" for a type that is not told. With a
            design that makes no runs, past runs were found to tell enough, even if all had the same
            executors. With a basis past runs are all there is: what they cannot tell is no error, and the
            basis says so.

    Raises:
        FitError: the observations are too few, cannot be of one model, do not determine the terms, or
            contradict each other.
        InvalidParameterError: a term or the method is unknown.
    """
    names = check_terms(default_terms(method) if terms is None else terms)
    iterations = _one_of(observations, "iterations")
    _one_of(observations, "instance_type")
    prior = prior_for(observations, prior) if method == AVERAGING else None
    if (basis := kept.get("basis")) is not None:
        return _of_history(observations, basis, names=names, prior=prior, warnings=warnings, kept=kept)
    predictor = new_predictor(method, terms=names, prior=prior)
    design = kept.get("design")
    is_of_past_runs = method == AVERAGING and design is not None and not design.experiments
    if is_of_past_runs and len({run.executors for run in observations}) == 1:
        predictor.fit_undetermined(**observed_columns(observations))
    else:
        predictor.fit(**observed_columns(observations))
    if method != AVERAGING:
        _check_agreement(observations, names)
    average = predictor if isinstance(predictor, TermAveraging) else None
    apart = [] if average is None else list(compress(observations, average.apart_))
    details: Kept = {"instance_type": "local", **kept}
    return Model(
        **details,
        **new_stamp(),
        method=method,
        terms=fitted_terms(predictor, names),
        prior=prior,
        driver_share=average.driver_share_ if average else 0.0,
        noise=average.noise_ if average else 0.0,
        validation=leave_one_out(
            lambda: new_predictor(method, terms=names, prior=prior), observations, apart=apart
        ),
        observations=tuple(observations),
        startup_seconds=median(run.startup_seconds for run in observations),
        trained_iterations=iterations,
        warnings=(*warnings, *warnings_about(predictor, names, observations)),
    )


def fit_past_runs(
    observations: Sequence[Observation], *, terms: Sequence[str], prior: AveragingPrior | None
) -> tuple[TermAveraging | None, str]:
    """The average over terms that fits past runs, and why it does not tell of other sizes; empty if it does.

    Runs of one size, or too few, still tell of runs of that size with more or less input. None where no
    average fits the runs.
    """
    predictor, columns = TermAveraging(terms=terms, prior=prior), observed_columns(observations)
    first = observations[0]
    if all(run.executors == first.executors for run in observations):  # as fitting would say, at length
        size = executors_in_words(first.executors, executors_per_machine=first.executors_per_machine)
        why_not = f"all runs had {size}."
    else:
        try:
            return predictor.fit(**columns), ""
        except TooFewObservationsError as error:
            why_not = error.message
        except ErnestError as error:
            return None, error.message
    return predictor.fit_undetermined(**columns), why_not


def _of_history(
    observations: Sequence[Observation],
    basis: HistoryBasis,
    *,
    names: tuple[str, ...],
    prior: AveragingPrior | None,
    warnings: Sequence[str],
    kept: Kept,
) -> Model:
    """The model of past runs alone, with terms as far as these tell them."""
    predictor, why_not = fit_past_runs(observations, terms=names, prior=prior)
    validation = NOT_VALIDATED
    if predictor is not None and len({run.configuration for run in observations}) > 1:
        apart = list(compress(observations, predictor.apart_))
        new = partial(TermAveraging, terms=names, prior=prior)
        validation = leave_one_out(new, observations, apart=apart)
    about = [f"The past runs make no model: {why_not}"]
    if predictor is not None:
        about = [*_about_different_work(observations), *_about_the_averaging(predictor, observations)]
    details: Kept = {"instance_type": "local", **kept}
    details["basis"] = replace(
        basis, is_modelled=predictor is not None, is_determined=predictor is not None and not why_not
    )
    return Model(
        **details,
        **new_stamp(),
        method=AVERAGING,
        terms=fitted_terms(predictor, names) if predictor else (),
        prior=prior,
        noise=predictor.noise_ if predictor else 0.0,
        validation=validation,
        observations=tuple(observations),
        startup_seconds=median(run.startup_seconds for run in observations),
        trained_iterations=_one_of(observations, "iterations"),
        warnings=(*warnings, *about),
    )


def _check_agreement(observations: Sequence[Observation], terms: tuple[str, ...]) -> None:
    """Refuse runs of which one is wrong: with given terms each counts, whatever the others say."""
    merged = points_of(**observed_columns(observations))
    # By all usual terms: that a few given ones describe no run well is the model's fault, not a run's.
    every = tuple(dict.fromkeys((*DICTIONARY, *terms)))
    wrong = wrong_points(merged, every, AveragingPrior(driver_share=0.0))
    if wrong.any():
        raise contradiction(merged, np.flatnonzero(wrong).tolist())


def fitted_terms(predictor: Predictor, names: Sequence[str]) -> tuple[FittedTerm, ...]:
    """The terms of a fitted predictor, with what it says of each."""
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


def leave_one_out(
    new_predictor: Callable[[], Predictor],
    observations: Sequence[Observation],
    *,
    apart: Sequence[Observation] = (),
) -> Validation:
    """Predict each observation from those of other configurations (Ernest, section 3.3).

    Repetitions of a run are left out together: otherwise they would predict each other. No run is predicted
    from those that are `apart`, since they contradict all others. Where the others alone do not determine
    the terms, the fold is predicted from one of the fits that are then possible. Its error is as a rule too
    large, so that no model looks better for having too few runs.

    Raises:
        TooFewObservationsError: there are fewer than two configurations.
    """
    configurations = list(dict.fromkeys(run.configuration for run in observations))
    if len(configurations) < 2:
        raise TooFewObservationsError(
            f"Observations of {len(configurations)} configurations cannot be cross-validated.",
            remedy="Observe runs of at least two configurations.",
        )
    folds = tuple(
        fold
        for configuration in configurations
        for fold in _folds(new_predictor(), configuration, observations, apart)
    )
    errors_percent = np.array([abs(fold.error_percent) for fold in folds])
    residuals = np.array([fold.predicted_seconds - fold.seconds for fold in folds])
    return Validation(
        folds=tuple(sorted(folds, key=lambda fold: fold.index)),
        residual_sum_of_squares=float(residuals @ residuals),
        median_error_percent=float(np.median(errors_percent)),
        max_error_percent=float(errors_percent.max()),
    )


def _folds(
    predictor: Predictor,
    configuration: tuple[int, float, float],
    observations: Sequence[Observation],
    apart: Sequence[Observation],
) -> Iterator[Fold]:
    left_out = [run for run in observations if run.configuration == configuration]
    rest = [run for run in observations if run.configuration != configuration and run not in apart]
    fitted = predictor.fit_undetermined(**observed_columns(rest, told_by=observations))
    first = left_out[0]
    workers = effective_executors(observations, executors=first.executors, scale=first.scale)
    asked = RunColumns(
        executors=first.executors, scale=first.scale, workers=workers, row_width=first.row_width
    )
    (seconds,) = fitted.predict(**asked)
    again = foresee(observations, executors=first.executors, scale=first.scale).again_seconds
    for run in left_out:
        yield Fold(
            index=run.index,
            executors=run.executors,
            scale=run.scale,
            seconds=run.seconds,
            predicted_seconds=float(seconds) + again,
        )


FEW_CONFIGURATIONS = 5
"""With fewer distinct configurations an interval rests on prior belief more than on runs."""

DIFFERENT_WORK = 1.25  # runs of one configuration whose times differ by this factor did not do the same work
MUCH_NOISE = 0.12  # relative; identical Spark runs differ by 2 to 7 per cent
PROBABLY_DISTURBED = PROBABLY_FLAT = 0.5


def check_adequacy(model: Model, *, max_error_percent: float) -> None:
    """Refuse a model whose median leave-one-out error is above the threshold by an InadequateModelError.

    The median is the error to expect of a prediction like those of the observed runs. The largest error is
    shown but does not decide: it is usually of the run at the edge of the design, which the others only
    extrapolate to.
    """
    threshold = positive_number("max_error_percent", max_error_percent)
    validation = model.validation
    if validation.median_error_percent is None or validation.median_error_percent <= threshold:
        return
    worst = max(validation.folds, key=lambda fold: abs(fold.error_percent))
    raise InadequateModelError(
        f"The leave-one-out error of the model of {model.job!r} on {model.instance_type} is "
        f"{percentage(validation.median_error_percent)}, above the threshold of {plain(threshold)} %; "
        f"the largest is {percentage(validation.max_error_percent)}, of run {worst.index} "
        f"({_configuration(worst)}).",
        remedy="Observe more runs or larger samples, look at the worst run for disturbances, add a term that "
        "describes the job better, or raise max_error_percent.",
    )


def warnings_about(
    predictor: Predictor, terms: Sequence[str], observations: Sequence[Observation]
) -> tuple[str, ...]:
    """What a user should know before trusting a predictor with these terms, fitted to these observations."""
    warnings = _about_the_design(observations)
    if isinstance(predictor, TermAveraging):
        warnings += _about_different_work(observations)
        return (*warnings, *_about_the_averaging(predictor, observations))
    warnings += _about_different_work(observations, "All of them count.")
    if len(observations) == len(terms):
        warnings.append(
            f"There are as many observations as terms ({len(terms)}): the model fits them whatever they are, "
            "and only the cross-validation error says something about it."
        )
    return tuple(warnings)


def _about_the_design(observations: Sequence[Observation]) -> list[str]:
    warnings = []
    scales = {run.scale for run in observations}
    if len(scales) == 1:
        warnings.append(
            f"All runs read the same share of the input ({input_share(scales.pop())}): how time grows with "
            "the data is derived from the sizes alone."
        )
    if len({run.executors for run in observations}) == 1:
        warnings.append(
            f"All runs were of one size, {observations[0].executors}: nothing is known of others."
        )
    return warnings


def _about_different_work(
    observations: Sequence[Observation], counts: str = "Their median counts."
) -> list[str]:
    """Inputs of the same size need not be the same work, and then scale does not tell the time."""
    found = defaultdict(list)
    for run in observations:
        found[run.configuration].append(run.seconds)
    return [
        f"Runs of size {executors} with {input_share(scale)} of the input took "
        f"{duration_range((min(times), max(times)))}: either they were disturbed, or inputs of one size "
        f"are not the same work, and then no model in executors and scale can be exact. {counts}"
        for (executors, scale, _), times in found.items()
        if max(times) > DIFFERENT_WORK * min(times)
    ]


def _about_the_averaging(predictor: TermAveraging, observations: Sequence[Observation]) -> list[str]:
    warnings = []
    configurations = len({run.configuration for run in observations})
    if configurations < FEW_CONFIGURATIONS:
        warnings.append(
            f"{configurations} configurations were observed: the intervals rest on what is usual for Spark "
            f"jobs more than on this one. Observe {FEW_CONFIGURATIONS} or more."
        )
    told = list(zip(observations, predictor.disturbed_, predictor.apart_, strict=True))
    warnings += [
        f"{_named(run)} does not fit the others: it was disturbed or short of memory (probability "
        f"{as_percent(probability)}), and counts accordingly less."
        for run, probability, apart in told
        if probability > PROBABLY_DISTURBED and not apart
    ]
    warnings += [
        f"{_named(run)} contradicts the others, which agree with each other: it is left out. Look at it: a "
        "run that ended early or was held up says nothing of the job."
        for run, _, apart in told
        if apart
    ]
    most_that_help, probability = predictor.kink_
    if probability > PROBABLY_FLAT:
        warnings.append(
            f"Beyond a size of {most_that_help:g} more executors helped by a fifth or less (probability "
            f"{as_percent(probability)}): how time goes on beyond the largest size, a run there tells."
        )
    if predictor.noise_ > MUCH_NOISE:
        warnings.append(
            f"The runs scatter by about {as_percent(predictor.noise_)} around every smooth model: the "
            "cluster was disturbed, or the work of an input is not told by its size. The intervals are as "
            "wide."
        )
    return warnings


def _named(run: Observation) -> str:
    return f"Run {run.index} ({_configuration(run)}, {duration(run.seconds)})"


def _configuration(run: Observation | Fold) -> str:
    return f"size {run.executors}, {input_share(run.scale)} of the input"


EXTENSIONS: tuple[str, ...] = (
    "sqrt(executors)",
    "scale*log2(1e9*scale)/executors",
    "scale^2/executors",
    "scale",
    "scale/sqrt(executors)",
)
"""The paper's further terms, and two that public Spark traces show."""

SPARE_RUNS = 1  # runs that must be left when one is left out, beyond the number of terms


def extend_terms(
    observations: Sequence[Observation],
    *,
    terms: Sequence[str] = ERNEST,
    extensions: Sequence[str] = EXTENSIONS,
    above_percent: float = 10.0,
    method: str = RELATIVE,
) -> tuple[str, ...]:
    """The terms, with those extensions that bring the median leave-one-out error below a threshold.

    One term after the other is added, each time the one that lowers the error most, until it is at most
    `above_percent`, none lowers it, or the runs determine no more. The paper adds terms when the error is
    high (Ernest, section 3.4); but on noisy runs a further term describes noise, so it must lower the error
    of runs that the fit has not seen. The method is "relative" or "classic".

    Raises:
        InvalidParameterError: a term or the method is unknown.
        TooFewObservationsError: there are fewer than two configurations.
    """
    if check_method(method) == AVERAGING:
        raise InvalidParameterError(
            "method", method, "weighs all its terms by itself", remedy="Name the extensions among its terms."
        )
    threshold = positive_number("above_percent", above_percent)
    chosen = check_terms(terms)
    left = [term for term in check_terms(extensions) if term not in chosen] if extensions else []

    def error_with(names: tuple[str, ...]) -> float:
        folds = leave_one_out(lambda: new_predictor(method, terms=names), observations).folds
        return float(np.median([abs(fold.error_percent) for fold in folds]))

    error = error_with(chosen)
    while error > threshold:
        possible = [term for term in left if _determined(observations, (*chosen, term))]
        errors = {term: error_with((*chosen, term)) for term in possible}
        best = min(errors, key=errors.__getitem__, default=None)
        if best is None or errors[best] >= error:
            break
        chosen, error = (*chosen, best), errors[best]
        left.remove(best)
    return chosen


def _determined(observations: Sequence[Observation], terms: tuple[str, ...]) -> bool:
    """Whether the terms stay determined when any one run is left out."""
    if len(observations) < len(terms) + 1 + SPARE_RUNS:
        return False
    rows = basis(
        terms, executors=[run.executors for run in observations], scale=[run.scale for run in observations]
    )
    return not undetermined_terms(rows, terms)
