"""The JSON documents of what comes of the observations: models with their errors, and decisions.

Like all documents they are frozen, keyword-only and in seconds and dollars; see `documents`.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.model.amdahl.sums import AmdahlState
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.billing import BilledCost, Billing
from airflow_provider_ernest.model.documents import (
    Configuration,
    Design,
    Document,
    Observation,
    Origin,
    RunConditions,
)
from airflow_provider_ernest.model.training_cluster import TrainingCluster


@dataclass(frozen=True, kw_only=True)
class FittedTerm(Document):
    """One term of a model.

    Attributes:
        name: the formula, in machines and scale.
        meaning: what the time that it explains is spent on.
        coefficient: seconds per unit of the term; the mean where terms are averaged over.
        probability: that the job has this term at all; 1 where the terms were given.
    """

    name: str
    meaning: str
    coefficient: float
    probability: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Fold(Document):
    """One fold of the leave-one-out cross-validation: an observation predicted from all the others."""

    index: int
    machines: int
    scale: float
    seconds: float
    predicted_seconds: float

    @property
    def error_percent(self) -> float:
        """Signed error: positive where the prediction is too high."""
        return 100.0 * (self.predicted_seconds - self.seconds) / self.seconds


@dataclass(frozen=True, kw_only=True)
class Validation(Document):
    """Leave-one-out cross-validation of a model (Ernest, section 3.3).

    Attributes:
        folds: one for each observation.
        residual_sum_of_squares: over the folds, in seconds squared.
        median_error_percent: median of the folds' absolute percentage errors.
        max_error_percent: the largest of them.
    """

    folds: tuple[Fold, ...]
    residual_sum_of_squares: float
    median_error_percent: float
    max_error_percent: float


@dataclass(frozen=True, kw_only=True)
class Model(Document):
    """A fitted model with everything that it came from.

    Attributes:
        model_id: unique; sorts by time of creation.
        job: the user's name of the job.
        instance_type: the type of machine it was trained on.
        created_at: ISO 8601 with UTC offset.
        method: "averaging", "relative" or "classic"; see `training.METHODS`.
        terms: with coefficients. With "relative" and "classic" a prediction is the sum of coefficient
            times term; with "averaging" it is reckoned anew from the observations.
        prior: what "averaging" believed before the observations.
        driver_share: the probability that one of the machines does no work.
        noise: relative standard deviation of a single run.
        validation: leave-one-out errors.
        observations: all that it was fitted to.
        startup_seconds: median start-up of the runs, not part of what the terms predict.
        artifact: path of the job's JAR or .py file.
        artifact_sha256: hash of its content.
        input_path: the target input that scale 1.0 stands for.
        trained_iterations: iterations of the sample runs, for iterative jobs.
        warnings: what a user should know before trusting it.
        origin: the task instance that fitted it; None outside Airflow.
        design: the design that its observations were planned by, None where there was none.
        cluster: the machines that they were made on, None where that is not known.
        conditions: what, beside the code, the run times depend on, as it was then.
        base_model_id: the model of sample runs alone that this one goes on from; None for such a one.
        learned_from: ids of the production runs that it has learned from.
        amdahl: the extended Amdahl model's running sums over all runs, a second opinion.
    """

    model_id: str
    job: str
    instance_type: str
    created_at: str
    terms: tuple[FittedTerm, ...]
    validation: Validation
    observations: tuple[Observation, ...]
    method: str = "relative"
    prior: AveragingPrior | None = None
    driver_share: float = 0.0
    noise: float = 0.0
    startup_seconds: float = 0.0
    artifact: str | None = None
    artifact_sha256: str | None = None
    input_path: str | None = None
    trained_iterations: int | None = None
    warnings: tuple[str, ...] = ()
    origin: Origin | None = None
    design: Design | None = None
    cluster: TrainingCluster | None = None
    conditions: RunConditions | None = None
    base_model_id: str | None = None
    learned_from: tuple[str, ...] = ()
    amdahl: AmdahlState | None = None

    def __hash__(self) -> int:
        """By its id alone: there may be a thousand observations, and what is fitted is kept by model."""
        return hash(self.model_id)


@dataclass(frozen=True, kw_only=True)
class Alternative(Document):
    """A configuration that was considered.

    Attributes:
        seconds: predicted, start-up included.
        cost: predicted, in dollars.
        likely_seconds: the seconds that the run lies between with 80 % probability, start-up included.
        nearly_certain_seconds: the same with 95 %.
        feasible: whether it meets the goal, with the probability that was asked for.
        extrapolates: why the observations do not support it, empty where they do.
        probability: that the run keeps to the goal's limits; None where there were none.
        is_pareto: whether no other one is both faster and cheaper.
        memory_shortage: why its machines cannot hold the data in memory, empty where they can or where
            nothing is known.
        composition: the machines of each type where it is a mix of several; `machines` is their sum and
            `instance_type` names them all. Empty for machines of one type.
    """

    machines: int
    instance_type: str
    seconds: float
    cost: float
    feasible: bool
    likely_seconds: tuple[float, float] | None = None
    nearly_certain_seconds: tuple[float, float] | None = None
    extrapolates: str = ""
    probability: float | None = None
    is_pareto: bool = False
    memory_shortage: str = ""
    composition: tuple[Configuration, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Decision(Document):
    """The configuration chosen, why, and what else was possible.

    Attributes:
        config: the configuration to run the production job with.
        predicted_seconds: from submission to end: `run_seconds` + `startup_seconds`.
        run_seconds: the part from the moment that all machines are there; what the model's terms predict.
        startup_seconds: the part before.
        likely_seconds: what `predicted_seconds` lies between with 80 % probability.
        nearly_certain_seconds: the same with 95 %.
        predicted_cost: in dollars, all that is billed.
        error_percent: median leave-one-out error of the model: the error to expect.
        max_error_percent: the largest leave-one-out error.
        goal: the goal in words.
        price_per_hour: dollars for one machine and hour, on average over a mix of types; None where a
            fallback was taken without one.
        alternatives: all configurations considered, by type and number of machines.
        model_id: the model that the prediction comes from.
        fallback_reason: why no configuration was chosen that keeps to the goal, but the stated fallback or
            the most probable one.
        warnings: what a user should know, extrapolation among it.
        probability: that the run keeps to the goal's limits; None without limits or a prediction.
        confidence: the probability that was asked for; None without limits.
        billing: how the chosen machines are paid for.
        cost_parts: `predicted_cost` by what it is paid for.
        composition: the machines of each type where a mix of several was chosen.
    """

    config: Configuration
    goal: str
    price_per_hour: float | None = None
    predicted_seconds: float | None = None
    run_seconds: float | None = None
    startup_seconds: float | None = None
    likely_seconds: tuple[float, float] | None = None
    nearly_certain_seconds: tuple[float, float] | None = None
    predicted_cost: float | None = None
    error_percent: float | None = None
    max_error_percent: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    model_id: str | None = None
    fallback_reason: str | None = None
    warnings: tuple[str, ...] = ()
    probability: float | None = None
    confidence: float | None = None
    billing: Billing | None = None
    cost_parts: BilledCost | None = None
    composition: tuple[Configuration, ...] = ()

    def is_for(self, alternative: Alternative) -> bool:
        """Whether it chose this alternative."""
        chosen = (self.config.machines, self.config.instance_type)
        return (alternative.machines, alternative.instance_type) == chosen
