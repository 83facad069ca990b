"""The JSON documents that pass between the tasks of an Ernest DAG and into the model store.

Each is a frozen dataclass whose fields are keyword-only: (scale, machines) pairs can be swapped
without anyone noticing, names cannot. ``to_dict`` gives what XCom and the store hold,
``from_dict`` reads it back and refuses what does not fit. All times are in seconds, all prices in
US dollars unless the name says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from airflow_provider_ernest.exceptions import InvalidDocumentError

SCHEMA = 1


class Document:
    """Base of the documents: conversion to and from what JSON can hold."""

    schema: ClassVar[int] = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number."""
        import msgspec

        # By way of JSON, since its lists stay lists in XCom, where tuples become objects of Airflow's own.
        return {"schema": self.schema, **msgspec.json.decode(msgspec.json.encode(self))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document.

        Numbers may come as strings: Jinja makes strings of them when a DAG does not render native
        objects.

        Raises:
            InvalidDocumentError: the data does not have this document's form, or a newer schema.
        """
        import msgspec

        if not isinstance(data, dict):
            raise InvalidDocumentError(
                f"A {cls.__name__} document must be a mapping, not {type(data).__name__}: {data!r}."
            )
        schema = data.get("schema", SCHEMA)
        if schema != cls.schema:
            raise InvalidDocumentError(
                f"This {cls.__name__} document has schema {schema}; this version of the package reads "
                f"schema {cls.schema}.",
                remedy="Upgrade airflow-provider-ernest, or train the model again.",
            )
        try:
            return msgspec.convert(data, cls, strict=False)
        except msgspec.ValidationError as error:
            raise InvalidDocumentError(f"This is no {cls.__name__} document: {error}.") from error


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise InvalidDocumentError(problem)


def _positive(**values: float) -> None:
    for name, value in values.items():
        _require(math.isfinite(value) and value > 0, f"{name}={value!r} is not a finite number above 0.")


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        _require(
            math.isfinite(value) and value >= 0, f"{name}={value!r} is not a finite number of at least 0."
        )


@dataclass(frozen=True, kw_only=True)
class Configuration(Document):
    """How many machines, of which type."""

    machines: int
    instance_type: str = "local"

    def __post_init__(self) -> None:
        """Refuse an empty cluster."""
        _positive(machines=self.machines)


@dataclass(frozen=True, kw_only=True)
class Experiment(Document):
    """One sample run to be made: so many machines on such a share of the input.

    Attributes:
        index: its position in the design; names the run and seeds its sample.
        machines: the number of machines to run on.
        scale: the share of the target input to read; 0.05 is 5 %.
        partitions: the number of input partitions that this share amounts to.
        weight: lambda of the relaxed optimal design, summed over repetitions (0 where rounding added it).
        cost: what the run is expected to cost, in the design's cost unit.
        iterations: iterations to train with, for iterative jobs.
    """

    index: int
    machines: int
    scale: float
    partitions: int
    weight: float = 0.0
    cost: float = 0.0
    iterations: int | None = None

    def __post_init__(self) -> None:
        """Refuse runs that read nothing or use no machine."""
        _positive(machines=self.machines, scale=self.scale, partitions=self.partitions)


@dataclass(frozen=True, kw_only=True)
class Design(Document):
    """The experiments chosen, and how good the choice is.

    Attributes:
        experiments: the runs to make.
        terms: names of the model terms that the design is optimal for.
        criterion: the optimality criterion that was minimised, "A".
        efficiency: criterion of the relaxed optimum over that of the whole runs, 0..1.
        cost: the sum of the runs' expected costs.
        budget: the bound on that sum.
        cost_unit: what cost and budget are measured in.
        candidates: how many (machines, scale) points were considered.
    """

    experiments: tuple[Experiment, ...]
    terms: tuple[str, ...]
    criterion: str
    efficiency: float
    cost: float
    budget: float
    cost_unit: str
    candidates: int


@dataclass(frozen=True, kw_only=True)
class RunMetrics(Document):
    """What Spark's event log says of one run; sums over all tasks.

    Attributes:
        tasks: finished tasks.
        slots: tasks that can run at once, cores summed over the executors.
        executor_run_seconds: time that tasks spent running.
        garbage_collection_seconds: part of it spent in garbage collection.
        input_bytes: bytes read from input (cached blocks included).
        shuffle_read_bytes: bytes fetched by shuffles.
        spilled_bytes: bytes written to disk for want of memory.
    """

    tasks: int
    slots: int
    executor_run_seconds: float
    garbage_collection_seconds: float
    input_bytes: int
    shuffle_read_bytes: int
    spilled_bytes: int


@dataclass(frozen=True, kw_only=True)
class Observation(Document):
    """An experiment that was run.

    Attributes:
        index: index of the experiment in its design.
        machines: distinct machines that really worked.
        scale: the share of the input that was really read.
        seconds: from the moment that all machines were there to the application's end.
        startup_seconds: from submission to that moment, without `waited_seconds`.
        waited_seconds: time spent waiting for machines that other runs still held.
        instance_type: the machines' type.
        iterations: iterations the job ran, for iterative jobs.
        application_id: Spark's id of the run.
        event_log: where its event log lies.
        hosts: the machines' addresses.
        metrics: what the event log tells of the run.
    """

    index: int
    machines: int
    scale: float
    seconds: float
    startup_seconds: float = 0.0
    waited_seconds: float = 0.0
    instance_type: str = "local"
    iterations: int | None = None
    application_id: str | None = None
    event_log: str | None = None
    hosts: tuple[str, ...] = ()
    metrics: RunMetrics | None = None

    def __post_init__(self) -> None:
        """Refuse NaN, negative and zero measurements: no model may be fitted to them."""
        _positive(machines=self.machines, scale=self.scale, seconds=self.seconds)
        _not_negative(startup_seconds=self.startup_seconds, waited_seconds=self.waited_seconds)


@dataclass(frozen=True, kw_only=True)
class FittedTerm(Document):
    """One term of a model with its coefficient, seconds per unit of the term."""

    name: str
    meaning: str
    coefficient: float


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
        terms: with coefficients; a prediction is the sum of coefficient times term.
        weighting: "relative" (rows weighted by 1/seconds) or "absolute" (the original).
        validation: leave-one-out errors.
        observations: all that it was fitted to.
        startup_seconds: median start-up of the runs, not part of what the terms predict.
        artifact: path of the job's JAR or .py file.
        artifact_sha256: hash of its content.
        input_path: the target input that scale 1.0 stands for.
        trained_iterations: iterations of the sample runs, for iterative jobs.
        warnings: what a user should know before trusting it.
    """

    model_id: str
    job: str
    instance_type: str
    created_at: str
    terms: tuple[FittedTerm, ...]
    weighting: str
    validation: Validation
    observations: tuple[Observation, ...]
    startup_seconds: float = 0.0
    artifact: str | None = None
    artifact_sha256: str | None = None
    input_path: str | None = None
    trained_iterations: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Alternative(Document):
    """A configuration that was considered.

    Attributes:
        seconds: predicted, start-up included.
        cost: predicted, in dollars.
        feasible: whether it meets the goal.
        extrapolates: why the observations do not support it, empty where they do.
    """

    machines: int
    instance_type: str
    seconds: float
    cost: float
    feasible: bool
    extrapolates: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision(Document):
    """The configuration chosen, why, and what else was possible.

    Attributes:
        config: the configuration to run the production job with.
        predicted_seconds: from submission to end: `run_seconds` + `startup_seconds`.
        run_seconds: the part from the moment that all machines are there; what the model's terms predict.
        startup_seconds: the part before.
        predicted_cost: in dollars, by `price_per_hour` and the billing increment.
        error_percent: median leave-one-out error of the model: the error to expect.
        max_error_percent: the largest leave-one-out error.
        goal: the goal in words.
        price_per_hour: dollars for one machine and hour.
        alternatives: all configurations considered, by number of machines.
        model_id: the model that the prediction comes from.
        fallback_reason: why the stated fallback was taken instead of a choice by the model.
        warnings: what a user should know, extrapolation among it.
    """

    config: Configuration
    goal: str
    price_per_hour: float
    predicted_seconds: float | None = None
    run_seconds: float | None = None
    startup_seconds: float | None = None
    predicted_cost: float | None = None
    error_percent: float | None = None
    max_error_percent: float | None = None
    alternatives: tuple[Alternative, ...] = ()
    model_id: str | None = None
    fallback_reason: str | None = None
    warnings: tuple[str, ...] = ()
