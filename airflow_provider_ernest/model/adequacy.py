"""Whether observations and the model fitted to them are good enough to be trusted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from airflow_provider_ernest.exceptions import InadequateModelError
from airflow_provider_ernest.model.averaging.predictor import TermAveraging
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import positive_number
from airflow_provider_ernest.model.predictors import Predictor
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.validation import undetermined_folds

FEW_CONFIGURATIONS = 5
"""With fewer distinct configurations an interval rests on prior belief more than on runs."""

DIFFERENT_WORK = 1.25
"""Runs of one configuration whose times differ by this factor did not do the same work."""

MUCH_NOISE = 0.12
"""Relative; identical Spark runs differ by 2 to 7 per cent."""

PROBABLY_DISTURBED = 0.5


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


def warnings_about(
    predictor: Predictor, terms: Sequence[str], observations: Sequence[Observation]
) -> tuple[str, ...]:
    """What a user should know before trusting a model of these observations.

    Args:
        predictor: fitted to the observations.
        terms: names of its terms.
        observations: at least one.
    """
    counts = "Their median counts." if isinstance(predictor, TermAveraging) else "All of them count."
    warnings = [*_about_the_design(observations), *_about_different_work(observations, counts)]
    if isinstance(predictor, TermAveraging):
        return (*warnings, *_about_the_averaging(predictor, observations))
    return (*warnings, *_about_the_terms(terms, observations))


def _about_the_design(observations: Sequence[Observation]) -> list[str]:
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
    return warnings


def _about_different_work(observations: Sequence[Observation], counts: str) -> list[str]:
    """Inputs of the same size need not be the same work, and then scale does not tell the time."""
    seconds = defaultdict(list)
    for run in observations:
        seconds[run.machines, run.scale].append(run.seconds)
    return [
        f"Runs on {machines} machines at scale {scale:g} took {min(times):.1f} to {max(times):.1f} s: either "
        "they were disturbed, or inputs of one size are not the same work, and then no model in machines and "
        f"scale can be exact. {counts}"
        for (machines, scale), times in seconds.items()
        if max(times) > DIFFERENT_WORK * min(times)
    ]


def _about_the_averaging(predictor: TermAveraging, observations: Sequence[Observation]) -> list[str]:
    warnings = []
    configurations = len({(run.machines, run.scale) for run in observations})
    if configurations < FEW_CONFIGURATIONS:
        warnings.append(
            f"{configurations} configurations were observed: the intervals rest on what is usual for Spark "
            f"jobs more than on this one. Observe {FEW_CONFIGURATIONS} or more."
        )
    warnings += [
        f"Run {run.index} ({run.machines} machines, scale {run.scale:g}, {run.seconds:.1f} s) does not fit "
        f"the others: it was disturbed or short of memory with a probability of {probability:.0%}, and "
        "counts accordingly less."
        for run, probability, apart in zip(observations, predictor.disturbed_, predictor.apart_, strict=True)
        if probability > PROBABLY_DISTURBED and not apart
    ]
    warnings += [
        f"Run {run.index} ({run.machines} machines, scale {run.scale:g}, {run.seconds:.4g} s) contradicts "
        "the others, which agree with each other: it is left out. Look at it: a run that ended early or was "
        "held up says nothing of the job."
        for run, apart in zip(observations, predictor.apart_, strict=True)
        if apart
    ]
    if predictor.noise_ > MUCH_NOISE:
        warnings.append(
            f"The runs scatter by about {predictor.noise_:.0%} around every smooth model: the cluster was "
            "disturbed, or the work of an input is not told by its size. The intervals are as wide."
        )
    return warnings


def _about_the_terms(terms: Sequence[str], observations: Sequence[Observation]) -> list[str]:
    if len(observations) == len(terms):
        return [
            f"There are as many observations as terms ({len(terms)}): the model fits them whatever they are, "
            "and only the cross-validation error says something about it."
        ]
    undetermined = undetermined_folds(terms, observations)
    if not undetermined:
        return []
    listed = "; ".join(
        f"run {run.index}: {run.machines} machines, scale {run.scale:g}" for run in undetermined
    )
    return [
        f"Without one of these runs the others do not determine the model, so its cross-validation error "
        f"says little ({listed})."
    ]
