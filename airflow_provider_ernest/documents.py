"""The JSON documents that pass between the tasks of an Ernest DAG and into the model store.

Each is a frozen dataclass whose fields are keyword-only: (scale, machines) pairs can be swapped
without anyone noticing, names cannot. ``to_dict`` gives what XCom and the store hold,
``from_dict`` reads it back and refuses what does not fit. All times are in seconds, all prices in
US dollars unless the name says otherwise; None stands for what is not known.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self, TypedDict

from airflow_provider_ernest.billing import HOUR_SECONDS, BilledCost, Billing
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError
from airflow_provider_ernest.json_document import Document, not_negative, positive
from airflow_provider_ernest.numbers import number_not_negative, positive_number
from airflow_provider_ernest.run_profile import Advice, ResourceLimit, RunProfile, StragglerCause
from airflow_provider_ernest.words import counted, duration, duration_range, machines, percentage

Interval = tuple[float, float]
"""Seconds: the lower and the upper end."""


@dataclass(frozen=True, kw_only=True)
class Origin(Document):
    """The task instance of Airflow that made something.

    Attributes:
        map_index: -1 where the task is not mapped.
        try_number: 1 for the first attempt.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    try_number: int = 1


Key = tuple[str, str]
"""The kind and the id of a record."""


@dataclass(frozen=True, kw_only=True)
class Stored(Document):
    """What a model store keeps in a file of its own, for good: nothing that was written is changed again.

    Its JSON also says its ``kind``, by which a document of another kind is refused.

    Attributes:
        id: unique among those that lie beside it; sorts by time, see `new_id`.
        at: when it was made, ISO 8601 with UTC offset.
    """

    kind: ClassVar[str]
    words: ClassVar[str]
    """The kind for people."""

    id: str
    at: str

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number and its kind."""
        return {"kind": self.kind, **super().to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document, see `Document.from_dict`."""
        if isinstance(data, dict) and "kind" in data:
            if data["kind"] != cls.kind:
                raise InvalidDocumentError(
                    f"This is no {cls.__name__} document: its kind is {data['kind']!r}."
                )
            data = {name: value for name, value in data.items() if name != "kind"}
        return super().from_dict(data)


@dataclass(frozen=True, kw_only=True)
class Record(Stored):
    """What is kept of a job on a type of machine.

    Attributes:
        job: the user's name of the job.
        instance_type: the machines' type.
        origin: the task instance that made it; None outside Airflow.
    """

    job: str
    instance_type: str
    origin: Origin | None = None

    @property
    def key(self) -> Key:
        """What other records refer to it by."""
        return self.kind, self.id

    @property
    def references(self) -> tuple[Key, ...]:
        """The records without which this one cannot be understood."""
        return ()

    @property
    def event_logs(self) -> tuple[str, ...]:
        """Where the event logs lie that it names."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Configuration(Document):
    """How many machines, of which type."""

    machines: int
    instance_type: str = "local"

    def __post_init__(self) -> None:
        """Refuse an empty cluster."""
        positive(machines=self.machines)


@dataclass(frozen=True, kw_only=True)
class InputFingerprint(Document):
    """The shape of an input, without its content.

    Attributes:
        partitions: that Spark reads of it.
        total_bytes: of all its files.
        columns: of a record: columns, features or fields.
        format: the files' suffix, in lower case and without its dot.
    """

    partitions: int | None = None
    total_bytes: int | None = None
    columns: int | None = None
    format: str | None = None

    @property
    def bytes_per_partition(self) -> float | None:
        """Mean size of a partition."""
        if not self.partitions or not self.total_bytes:
            return None
        return self.total_bytes / self.partitions


@dataclass(frozen=True, kw_only=True)
class RunConditions(Document):
    """What, beside the code, the run times of a job depend on.

    Attributes:
        spark: Spark's version, such as "4.2.0", or a service's release, such as "emr-7.5.0".
        settings: digests of Spark properties, arguments and further options, by name. Only digests, for
            values may be anything, and nothing of those whose names tell of a secret.
        input: the shape of the input.
        cores_per_machine: cores of a machine.
    """

    spark: str | None = None
    settings: dict[str, str] | None = None
    input: InputFingerprint | None = None
    cores_per_machine: int | None = None


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
        positive(machines=self.machines, scale=self.scale, partitions=self.partitions)


@dataclass(frozen=True, kw_only=True)
class CandidateRange(Document):
    """The candidates of a design on one number of machines.

    Attributes:
        machines: the number of machines.
        lowest_scale: the smallest share of the input among them.
        highest_scale: the largest.
        candidates: how many there are.
    """

    machines: int
    lowest_scale: float
    highest_scale: float
    candidates: int


@dataclass(frozen=True, kw_only=True)
class Design(Document):
    """The experiments chosen, and how good the choice is.

    Attributes:
        experiments: the runs to make.
        terms: names of the model terms that the design is optimal for.
        criterion: the optimality criterion that was minimised; "decision" of runs in rounds, which are chosen
            by what they do to the decision.
        efficiency: criterion of the relaxed optimum over that of the whole runs, 0..1.
        cost: the sum of the runs' expected costs.
        budget: the bound on that sum.
        cost_unit: what cost and budget are measured in.
        candidates: how many (machines, scale) points were considered.
        weighting: which errors the design is for, "relative" to the run's time or "absolute" in seconds.
        candidate_ranges: where these points lie, by number of machines.
        past_runs: how many past runs of the job it has counted, at no cost.
        reason: why no runs are to be made, or why some are although there are past ones; empty without these.
            Of runs that are chosen in rounds: why the last of them are made, or why no more are.
    """

    experiments: tuple[Experiment, ...]
    terms: tuple[str, ...]
    criterion: str
    efficiency: float
    cost: float
    budget: float
    cost_unit: str
    candidates: int
    weighting: str = "absolute"
    candidate_ranges: tuple[CandidateRange, ...] = ()
    past_runs: int = 0
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RunMetrics(Document):
    """What Spark's event log says of one run; sums over all tasks where nothing else is said.

    Attributes:
        tasks: that succeeded, repeated ones once; the sums are over these.
        slots: tasks that can run at once, cores summed over the executors (over ``spark.task.cpus``).
        executor_run_seconds: time that tasks spent running.
        garbage_collection_seconds: part of it spent in garbage collection.
        idle_seconds: in which no task ran, from all executors being there to the end: what the driver took.
        input_bytes: bytes read from input (cached blocks included).
        shuffle_read_bytes: bytes fetched by shuffles.
        spilled_bytes: bytes written to disk for want of execution memory (sorting, aggregation, joins).
        peak_execution_memory_bytes: the largest that a single task used.
        peak_stage_tasks: tasks of the stage in which one used that.
        storage_memory_bytes: memory of all executors that cached data may take; execution shares it.
        cache_wanted_bytes: memory that all the data that the job asked Spark to cache would take; 0 where
            it asked for none, None without block updates in the log. This and the next two are of the moment
            at which most was wanted.
        cached_bytes: of it really in memory.
        cached_on_disk_bytes: bytes put on disk instead (serialised, so often fewer than in memory).
        cache_falls_to_disk: whether cached data that finds no room is put on disk, and not made again.
        cache_filling_seconds: run seconds of the stages that first made what is cached; the first task of
            each slot, which warms it up, counts as the others did on average.
        cache_reading_seconds: run seconds of the stages that read nothing else.
        cache_reads: how often those went through all of it.
        cache_partitions: in which the cached data was made.
        cache_missed_share: of the reads those that did not find their partition, 0..1; None where the bytes
            that tasks read do not tell it, as where partitions fall to disk.
        cache_missed_seconds: run seconds of the tasks that did not, and made theirs again.
        dominant_stage_tasks: tasks that could run at once in the stages in which most of the run time
            goes; the median of the stages weighted by their run seconds.
        barrier_tasks: that must run at once, or Spark refuses their stage; None where no stage is of that
            kind.
    """

    tasks: int
    slots: int
    executor_run_seconds: float
    garbage_collection_seconds: float
    input_bytes: int
    shuffle_read_bytes: int
    spilled_bytes: int
    idle_seconds: float | None = None
    peak_execution_memory_bytes: int | None = None
    peak_stage_tasks: int | None = None
    storage_memory_bytes: int | None = None
    cache_wanted_bytes: int | None = None
    cached_bytes: int | None = None
    cached_on_disk_bytes: int | None = None
    cache_falls_to_disk: bool | None = None
    cache_filling_seconds: float | None = None
    cache_reading_seconds: float | None = None
    cache_reads: float | None = None
    cache_partitions: int | None = None
    cache_missed_share: float | None = None
    cache_missed_seconds: float | None = None
    dominant_stage_tasks: int | None = None
    barrier_tasks: int | None = None

    @property
    def cache_share(self) -> float | None:
        """Share of the wanted cache that lay in memory, 0..1; None where nothing was wanted or is known."""
        if not self.cache_wanted_bytes or self.cached_bytes is None:
            return None
        return min(1.0, self.cached_bytes / self.cache_wanted_bytes)


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
        row_width: the data (bytes, features) in a row of its input, as a multiple of the whole input's rows.
        iterations: iterations the job ran, for iterative jobs.
        application_id: Spark's id of the run.
        event_log: where its event log lies.
        hosts: the machines' addresses.
        metrics: what the event log tells of the run.
        origin: the task instance that observed it; None outside Airflow.
        from_history: it is a past run that nobody made for the model, so that it cost nothing; what is known
            of it is what its event log, or its record, tells.
    """

    index: int
    machines: int
    scale: float
    seconds: float
    startup_seconds: float = 0.0
    waited_seconds: float = 0.0
    instance_type: str = "local"
    row_width: float = 1.0
    iterations: int | None = None
    application_id: str | None = None
    event_log: str | None = None
    hosts: tuple[str, ...] = ()
    metrics: RunMetrics | None = None
    origin: Origin | None = None
    from_history: bool = False

    @property
    def configuration(self) -> tuple[int, float, float]:
        """What repetitions of a run have in common: machines, scale and the width of rows."""
        return self.machines, self.scale, self.row_width

    def __post_init__(self) -> None:
        """Refuse NaN, negative and zero measurements: no model may be fitted to them."""
        positive(machines=self.machines, scale=self.scale, seconds=self.seconds, row_width=self.row_width)
        not_negative(startup_seconds=self.startup_seconds, waited_seconds=self.waited_seconds)


@dataclass(frozen=True, kw_only=True)
class TrainedMachine(Document):
    """A machine of the cluster that the sample runs were made on, or one that was tried and let go.

    Attributes:
        host: its address.
        instance_id: the cloud's name of it.
        memory_gigabytes_per_second: bandwidth of its memory; None where it was not measured.
        network_gigabytes_per_second: bandwidth between it and the others.
        score: by what it was ranked among them, higher is better.
        culled_because: why it was let go before the runs; empty where it was kept.
        price_per_hour: dollars; None where it is not known.
        is_master: whether it ran the master only, and so no part of any run.
    """

    host: str
    instance_id: str | None = None
    memory_gigabytes_per_second: float | None = None
    network_gigabytes_per_second: float | None = None
    score: float | None = None
    culled_because: str = ""
    price_per_hour: float | None = None
    is_master: bool = False


@dataclass(frozen=True, kw_only=True)
class TrainingCluster(Document):
    """The cluster that the sample runs were made on.

    Attributes:
        kind: what kind of cluster, such as "local" or "ec2".
        name: its name there.
        instance_type: the machines' type.
        cores_per_machine: the cores that each machine offers.
        price_per_hour: dollars for one worker and hour; None where it is not known.
        machines: those kept and those culled, and the master where it is a machine of its own.
        memory_megabytes_per_machine: that each offers to executors; None where it is not known.
        master_price_per_hour: dollars for the machine of its master and hour; 0 where it has none of its own,
            None where it has one whose price is not known.
        market: in which its machines are bought, of which there may be several; None where it is not known.
    """

    kind: str
    name: str
    instance_type: str
    cores_per_machine: int
    price_per_hour: float | None = None
    machines: tuple[TrainedMachine, ...] = ()
    memory_megabytes_per_machine: int | None = None
    master_price_per_hour: float | None = None
    market: str | None = None

    @property
    def kept_machines(self) -> list[TrainedMachine]:
        """The workers that the sample runs were made on."""
        return [machine for machine in self.machines if not machine.culled_because and not machine.is_master]


@dataclass(frozen=True, kw_only=True)
class AmdahlState(Document):
    """All that `ExtendedAmdahl` remembers; its size depends on the degree alone.

    Attributes:
        degree: k, of the polynomial.
        base_processors: the lowest processor count seen; the polynomial is of the times on it.
        unit_exponent: predictor values are kept in units of 2**unit_exponent, so that the largest is
            between 0.5 and 1 and no power of it grows.
        power_sums: the sums of u^j over the points on `base_processors`, j = 0..2k; X^T X has them.
        time_sums: the sums of u^j * seconds, j = 0..k; this is X^T y.
        distinct_x: up to k + 1 different predictor values of these points.
        highest_processors: p of the highest point, the one with the most processors and of those with
            the largest predictor value.
        highest_x: x of it.
        highest_points: how many points lay there.
        highest_mean_seconds: the mean of their times.
    """

    degree: int
    base_processors: int = 0
    unit_exponent: int = 0
    power_sums: tuple[float, ...]
    time_sums: tuple[float, ...]
    distinct_x: tuple[float, ...] = ()
    highest_processors: int = 0
    highest_x: float = 0.0
    highest_points: int = 0
    highest_mean_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse sums of another degree, and NaN."""
        if self.degree < 0:
            raise InvalidParameterError("degree", self.degree, "is negative")
        for name, length in (("power_sums", 2 * self.degree + 1), ("time_sums", self.degree + 1)):
            sums = getattr(self, name)
            if len(sums) != length:
                raise InvalidParameterError(name, sums, f"must have {length} values for degree {self.degree}")
            for index, value in enumerate(sums):
                number_not_negative(f"{name}[{index}]", value)
        for name in ("highest_x", "highest_mean_seconds"):
            number_not_negative(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class TermBelief(Document):
    """What is believed of one term before any run.

    Attributes:
        name: the term's.
        probability: that it is part of a job's model.
        largest_seconds: about its largest coefficient (the standard deviation of a half-normal
            distribution), where that is a matter of the cluster and not of the job's length; as many times
            more in runs longer than `LONG_RUN_SECONDS` as they are longer.
    """

    name: str
    probability: float
    largest_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse certainty: no run could then say otherwise."""
        if not 0 < self.probability < 1:
            raise InvalidParameterError(
                f"probability of {self.name!r}",
                self.probability,
                "is not between 0 and 1",
                remedy="To leave a term out, do not name it among the terms.",
            )
        if self.largest_seconds is not None and not self.largest_seconds > 0:
            raise InvalidParameterError("largest_seconds", self.largest_seconds, "is not above 0")


BELIEFS: tuple[TermBelief, ...] = (
    TermBelief(name="1", probability=0.9),
    TermBelief(name="scale/machines", probability=0.95),
    TermBelief(name="scale", probability=0.15),
    TermBelief(name="scale/sqrt(machines)", probability=0.03),
    TermBelief(name="log(machines)", probability=0.5, largest_seconds=2.0),
    TermBelief(name="machines", probability=0.5, largest_seconds=0.1),
)

LONG_RUN_SECONDS = 300.0
"""From here on `largest_seconds` is a share of the observed runs' time (their geometric mean): long jobs do
more of everything, and all their seconds times ten give predictions times ten. Below, seconds are what they
are: a machine is not scheduled the sooner for a shorter job."""


@dataclass(frozen=True, kw_only=True)
class AveragingPrior(Document):
    """What is believed of a job before any of its runs: the prior of the averaging of terms.

    The numbers say what is known of Spark jobs in general: fixed and spreading work are nearly always
    there, a machine costs tenths of a second and not minutes. They were chosen with public traces at hand
    (docs/evidence/accuracy.md) and are round on purpose: none is fitted to the last digit. Probabilities
    and weights need not be normalised where they stand in a tuple.

    Attributes:
        beliefs: what is believed of the terms, by name.
        other_probability: the probability of terms not named there.
        largest_share: about the largest share of a run's time that one term explains (the standard
            deviation of a half-normal distribution).
        least_fixed_seconds: of a run whatever machines and data, as the runs' logs tell it.
        driver_share: the probability that one of the machines counted does no work because the driver
            or the application master has it. 0 where the machines are Spark's registered executors.
        noise: relative standard deviations of a run's time that are considered.
        noise_weights: how much each is believed.
        noise_seconds: standard deviation of a run's time besides, of whatever length it is.
        discrepancy: relative standard deviations of a smooth deviation of the job from all terms.
        discrepancy_weights: how much each is believed.
        machines_octaves: doublings of the machines over which such a deviation changes.
        scale_octaves: doublings of the scale over which it changes.
        own_deviation: the share of its variance that each number of machines has of its own.
        row_shares: shares of the work on a row that may grow with the data in it: 0 where only the number
            of rows counts, 1 where all data counts alike.
        row_share_weights: how much each is believed.
        row_discrepancy: by how much rows of twice the data may be more or less work than any share says.
        memory_cut: the probabilities that the runs with the most, and with the two most, data per
            machine were in another regime (short of memory).
        disturbed_run: the probability that a conspicuous run was disturbed.
        disturbed_spread: the relative standard deviation of runs in another regime or disturbed.
        plateau: the probability that from some number beyond the observed ones more machines do not help; how
            far beyond is in `prediction.unseen`.
        plateau_observed: the probability that they already did not within the observed ones.
        other_shape: the probability that inputs beyond the observed ones consist of other rows, likewise. 0
            where all are samples of one input, or where it is told what they consist of.
        other_shape_spread: the standard deviation of log(seconds) between inputs of different shapes.
    """

    beliefs: tuple[TermBelief, ...] = BELIEFS
    other_probability: float = 0.15
    largest_share: float = 0.5
    least_fixed_seconds: float = 0.0
    driver_share: float = 0.5
    noise: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.16)
    noise_weights: tuple[float, ...] = (1.0, 2.0, 2.0, 1.0, 0.5)
    noise_seconds: float = 0.0
    discrepancy: tuple[float, ...] = (0.0, 0.05, 0.15, 0.4)
    discrepancy_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    machines_octaves: float = 2.0
    scale_octaves: float = 4.0
    own_deviation: float = 0.0
    row_shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    row_share_weights: tuple[float, ...] = (1.0, 2.0, 3.0, 2.0, 1.0)
    row_discrepancy: float = 0.1
    memory_cut: tuple[float, ...] = (0.07, 0.03)
    disturbed_run: float = 0.025
    disturbed_spread: float = 0.7
    plateau: float = 0.2
    plateau_observed: float = 0.1
    other_shape: float = 0.6
    other_shape_spread: float = 0.6

    def __post_init__(self) -> None:
        """Refuse what is no probability, what is no width and levels without weights."""
        if not 0 <= self.driver_share <= 1:
            raise InvalidParameterError(
                "driver_share", self.driver_share, "is no probability", remedy="Give 0 to 1."
            )
        if not 0 < self.other_probability < 1:
            raise InvalidParameterError("other_probability", self.other_probability, "is not between 0 and 1")
        if not all(0 <= probability < 1 for probability in self.memory_cut):
            raise InvalidParameterError("memory_cut", self.memory_cut, "is not at least 0 and below 1")
        number_not_negative("least_fixed_seconds", self.least_fixed_seconds)
        number_not_negative("noise_seconds", self.noise_seconds)
        for name in ("disturbed_run", "own_deviation", "plateau", "plateau_observed", "other_shape"):
            if not 0 <= getattr(self, name) < 1:
                raise InvalidParameterError(name, getattr(self, name), "is not at least 0 and below 1")
        for name in (
            "largest_share",
            "machines_octaves",
            "scale_octaves",
            "disturbed_spread",
            "other_shape_spread",
        ):
            positive_number(name, getattr(self, name))
        for name in ("noise", "discrepancy"):
            self._check_levels(name)
        if min(self.noise) <= 0:
            raise InvalidParameterError("noise", self.noise, "must be above 0: no run time is exact")

    def _check_levels(self, name: str) -> None:
        levels, weights = getattr(self, name), getattr(self, f"{name}_weights")
        if len(levels) != len(weights) or not levels:
            raise InvalidParameterError(
                f"{name}_weights", weights, f"has {len(weights)} values for {len(levels)} levels"
            )
        if not all(math.isfinite(level) and level >= 0 for level in levels):
            raise InvalidParameterError(name, levels, "must be finite and of at least 0")
        if not all(math.isfinite(weight) and weight > 0 for weight in weights):
            raise InvalidParameterError(f"{name}_weights", weights, "must be finite and above 0")

    def belief_in(self, term: str) -> TermBelief:
        """What is believed of the term."""
        known = {belief.name: belief for belief in self.beliefs}
        return known.get(term) or TermBelief(name=term, probability=self.other_probability)


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
class Model(Record):
    """A fitted model with everything that it came from.

    Attributes:
        method: "averaging", "relative" or "classic"; see `training.METHODS`.
        terms: with coefficients. With "relative" and "classic" a prediction is the sum of coefficient
            times term; with "averaging" it is computed anew from the observations.
        prior: what "averaging" believed before the observations.
        driver_share: the probability that one of the machines does no work.
        noise: relative standard deviation of a single run, of one as long as the observed.
        validation: leave-one-out errors.
        observations: all that it was fitted to.
        startup_seconds: median start-up of the runs, not part of what the terms predict.
        artifact: path of the job's JAR or .py file.
        artifact_sha256: hash of its content.
        input_path: the target input that scale 1.0 stands for.
        trained_iterations: iterations of the sample runs, for iterative jobs.
        warnings: what a user should know before trusting it.
        design: the design that its observations were planned by, None where there was none.
        cluster: the machines that they were made on.
        conditions: what, beside the code, the run times depend on, as it was then.
        base_model_id: the model of sample runs alone that this one goes on from; None for such a one.
        learned_from: ids of the production runs that it has learned from.
        amdahl: the extended Amdahl model's running sums over all runs, a second opinion.
        standardised_errors: how far the newest production runs, oldest first, lay from what was predicted of
            them before they were learned from: on the logarithm, in standard deviations of intervals as they
            were without what this says of them (see `prediction.calibration`).
    """

    kind = words = "model"

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
    design: Design | None = None
    cluster: TrainingCluster | None = None
    conditions: RunConditions | None = None
    base_model_id: str | None = None
    learned_from: tuple[str, ...] = ()
    amdahl: AmdahlState | None = None
    standardised_errors: tuple[float, ...] = ()

    def __hash__(self) -> int:
        """By its id alone: there may be a thousand observations, and what is fitted is kept by model."""
        return hash(self.id)

    @property
    def lineage(self) -> str:
        """The id of the model of sample runs alone that it goes on from, or its own."""
        return self.base_model_id or self.id

    @property
    def references(self) -> tuple[Key, ...]:
        """The model that it goes on from."""
        return _keys(Model, self.base_model_id)

    @property
    def event_logs(self) -> tuple[str, ...]:
        """Those of its observations."""
        return _known(*(run.event_log for run in self.observations))


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
    likely_seconds: Interval | None = None
    nearly_certain_seconds: Interval | None = None
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
        goal: in words.
        price_per_hour: dollars for one machine and hour, on average over a mix of types; None where a
            fallback was taken without one.
        predicted_seconds: from submission to end: `run_seconds` + `startup_seconds`.
        run_seconds: the part from the moment that all machines are there; what the model's terms predict.
        startup_seconds: the part before.
        likely_seconds: what `predicted_seconds` lies between with 80 % probability.
        nearly_certain_seconds: the same with 95 %.
        predicted_cost: in dollars, all that is billed.
        error_percent: median leave-one-out error of the model: the error to expect.
        max_error_percent: the largest leave-one-out error.
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
        worth: what a best value costs more than the cheapest (within a budget the fastest) that is sure
            enough, and what that buys; empty where nothing.
    """

    config: Configuration
    goal: str
    price_per_hour: float | None = None
    predicted_seconds: float | None = None
    run_seconds: float | None = None
    startup_seconds: float | None = None
    likely_seconds: Interval | None = None
    nearly_certain_seconds: Interval | None = None
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
    worth: str = ""

    @property
    def predicted_run_cost(self) -> float | None:
        """Of `predicted_cost` what the run itself costs: without its part of the training, paid before."""
        if self.predicted_cost is None:
            return None
        return self.predicted_cost - (self.cost_parts.training if self.cost_parts else 0.0)

    def is_for(self, alternative: Alternative) -> bool:
        """Whether it chose this alternative."""
        chosen = (self.config.machines, self.config.instance_type)
        return (alternative.machines, alternative.instance_type) == chosen


@dataclass(frozen=True, kw_only=True)
class Reachable(Document):
    """A limit that can be kept as surely as was asked, and on what.

    Attributes:
        limit: seconds or dollars: the least that can be asked for, rounded up to three digits, and from one
            hour on to whole minutes, so that nothing is lost where people read and type it.
        machines: that keep to it.
        instance_type: of these.
    """

    is_part: ClassVar[bool] = True

    limit: float
    machines: int
    instance_type: str


@dataclass(frozen=True, kw_only=True)
class Refusal(Document):
    """A goal that nothing keeps: what a task pushes that decides on nothing then.

    Attributes:
        goal: in words.
        reason: why it is out of reach, with the nearest that is not.
        remedy: what to change.
        alternatives: all configurations considered.
        nearest: of these the one that keeps to the goal most probably; None where none can be taken.
        earliest_deadline: the shortest deadline that can be kept; None where there was none, or none can.
        least_budget: the smallest budget that can be kept, likewise.
        model_id: the model that predicts the nearest.
        scale, iterations, deadline_seconds, budget_dollars, confidence, objective, min_machines,
            max_machines: what was asked, as in `DecisionRecord`.
        billing: how the nearest is paid for.
    """

    goal: str
    reason: str
    remedy: str
    scale: float
    min_machines: int
    max_machines: int
    confidence: float
    alternatives: tuple[Alternative, ...] = ()
    nearest: Alternative | None = None
    earliest_deadline: Reachable | None = None
    least_budget: Reachable | None = None
    model_id: str | None = None
    iterations: int | None = None
    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    objective: str | None = None
    billing: Billing | None = None


@dataclass(frozen=True, kw_only=True)
class DecisionRecord(Record):
    """A decision with what it was asked for.

    Attributes:
        decision: what was decided; `instance_type` is the type that was chosen.
        scale: the share of the model's target input that production reads.
        model_id: the model that decided; None where a fallback was taken without one.
        iterations: of production, for iterative jobs.
        deadline_seconds: what the run may take, from the launch of its machines, or from submission where
            they are there already, to its end; None where there was no deadline.
        budget_dollars: what it may cost; None where there was no budget.
        min_machines: the fewest machines that were allowed.
        max_machines: the most.
        artifact_sha256: hash of the JAR or .py file that production was to run.
        confidence: the probability with which the goal was to be kept.
        objective: what was to be best, in words.
        allowed_machines: the numbers of machines, where not all between fewest and most were allowed.
        model_ids: of all models considered, one for each type of machine.
        reuse: why the model was an earlier run's; empty where it was trained for this decision.
    """

    kind = words = "decision"

    decision: Decision
    scale: float
    min_machines: int
    max_machines: int
    model_id: str | None = None
    iterations: int | None = None
    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    artifact_sha256: str | None = None
    confidence: float | None = None
    objective: str | None = None
    allowed_machines: tuple[int, ...] = ()
    model_ids: tuple[str, ...] = ()
    reuse: str = ""

    @property
    def latest_seconds(self) -> float | None:
        """The longest run, from submission to end, that keeps the deadline; None without one.

        At least 0: a deadline that passes while the machines boot is kept by no run.
        """
        if self.deadline_seconds is None:
            return None
        billing = self.decision.billing
        return max(0.0, self.deadline_seconds - (billing.boot_seconds if billing else 0.0))

    @property
    def references(self) -> tuple[Key, ...]:
        """The models that it was made by."""
        return _keys(Model, self.model_id, self.decision.model_id, *self.model_ids)


@dataclass(frozen=True, kw_only=True)
class ClusterBandwidth(Document):
    """What a probe measured of a cluster that ran a job: the median machine's. None for what it did not."""

    memory_gigabytes_per_second: float | None = None
    network_gigabytes_per_second: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProductionRun(Record):
    """A production run as it went, beside what was predicted of it.

    Attributes:
        machines: the machines that it ran on.
        scale: the share of the model's target input that it read.
        seconds: from submission to end, start-up included: what `predicted_seconds` predicts.
        run_seconds: the part from the moment that all machines were there.
        startup_seconds: the part before.
        predicted_seconds: what the decision said; None where there was no prediction.
        likely_seconds: what `seconds` was to lie between with 80 % probability.
        nearly_certain_seconds: the same with 95 %.
        cost: in dollars; None where no price is known.
        model_id: the model that predicted.
        decision_id: the decision that it ran by.
        artifact_sha256: hash of the JAR or .py file that ran.
        application_id: Spark's id of the run.
        event_log: where its event log lies.
        conditions: what, beside the code, it ran under.
        bandwidth: of the machines that it ran on.
    """

    kind = "production"
    words = "production run"

    machines: int
    scale: float
    seconds: float
    run_seconds: float | None = None
    startup_seconds: float | None = None
    predicted_seconds: float | None = None
    likely_seconds: Interval | None = None
    nearly_certain_seconds: Interval | None = None
    cost: float | None = None
    model_id: str | None = None
    decision_id: str | None = None
    artifact_sha256: str | None = None
    application_id: str | None = None
    event_log: str | None = None
    conditions: RunConditions | None = None
    bandwidth: ClusterBandwidth | None = None

    def __post_init__(self) -> None:
        """Refuse what was not measured: models are judged by these runs."""
        positive(machines=self.machines, scale=self.scale, seconds=self.seconds)
        measured = {"run_seconds": self.run_seconds, "startup_seconds": self.startup_seconds}
        not_negative(**{name: value for name, value in measured.items() if value is not None})

    @property
    def error_percent(self) -> float | None:
        """Signed error: positive where the prediction was too high; None where there was none."""
        if self.predicted_seconds is None:
            return None
        return 100.0 * (self.predicted_seconds - self.seconds) / self.seconds

    @property
    def is_unlikely(self) -> bool:
        """Whether it took less or more time than was likely (80 %); False where nothing was predicted."""
        return _is_outside(self.seconds, self.likely_seconds)

    @property
    def is_unusual(self) -> bool:
        """Whether it took less or more time than was nearly certain; False where nothing was predicted."""
        return _is_outside(self.seconds, self.nearly_certain_seconds)

    @property
    def references(self) -> tuple[Key, ...]:
        """The decision that it ran by and the model that predicted it."""
        return _keys(DecisionRecord, self.decision_id) + _keys(Model, self.model_id)

    @property
    def event_logs(self) -> tuple[str, ...]:
        """Its own."""
        return _known(self.event_log)


@dataclass(frozen=True, kw_only=True)
class ObservationRecord(Record):
    """A sample run as soon as it was observed, whatever becomes of the training it was made for.

    Attributes:
        artifact_sha256: hash of the code that ran.
        conditions: what, beside the code, it ran under.
    """

    kind = "observation"
    words = "sample run"

    observation: Observation
    artifact_sha256: str | None = None
    conditions: RunConditions | None = None

    @property
    def event_logs(self) -> tuple[str, ...]:
        """That of the run."""
        return _known(self.observation.event_log)


CODE, DATA, SETTINGS, CLUSTER, UNEXPLAINED, AGE = (
    "code",
    "data",
    "settings",
    "cluster",
    "unexplained",
    "age",
)
"""Why a model no longer holds for its job: another application, other data, another version of Spark or
other properties, slower machines, times that nothing known explains, or its age."""


@dataclass(frozen=True, kw_only=True)
class ModelMark(Record):
    """A note, beside a model, that it no longer holds for its job. Models themselves are never changed.

    Attributes:
        model_id: of the model.
        cause: `CODE`, `DATA`, `SETTINGS`, `CLUSTER`, `UNEXPLAINED` or `AGE`.
        reason: a sentence that says why, and one that says what to do.
        artifact_sha256: of the application that was seen instead, where that is the cause.
    """

    kind = words = "mark"

    model_id: str
    cause: str
    reason: str
    artifact_sha256: str | None = None

    @property
    def references(self) -> tuple[Key, ...]:
        """Its model."""
        return _keys(Model, self.model_id)


SAMPLE, PRODUCTION = "sample", "production"


@dataclass(frozen=True, kw_only=True)
class ProfileRecord(Record):
    """The profile of a run, as it is kept.

    Attributes:
        purpose: `SAMPLE` or `PRODUCTION`.
        profile: of the run.
        artifact_sha256: hash of the code that ran.
    """

    kind = "profile"
    words = "run profile"

    purpose: str
    profile: RunProfile
    artifact_sha256: str | None = None

    @property
    def event_logs(self) -> tuple[str, ...]:
        """The one that it was made of."""
        return _known(self.profile.event_log)


@dataclass(frozen=True, kw_only=True)
class TwoOpinions(Document):
    """What the model and the replay say of one number of machines; start-up included in both.

    Attributes:
        replayed_seconds: by the replay.
        model_seconds: by the model.
        likely_seconds: the model's interval of 80 %.
        nearly_certain_seconds: its interval of 95 %.
    """

    machines: int
    replayed_seconds: float
    model_seconds: float | None = None
    likely_seconds: Interval | None = None
    nearly_certain_seconds: Interval | None = None

    def __post_init__(self) -> None:
        """Refuse what is no cluster."""
        positive(machines=self.machines)

    @property
    def disagrees(self) -> bool:
        """Whether the replay is outside what is nearly certain by the model."""
        return _is_outside(self.replayed_seconds, self.nearly_certain_seconds)


@dataclass(frozen=True, kw_only=True)
class ReplayOpinion(Document):
    """The job on other machines by replay of what its runs' event logs tell, beside the model.

    Attributes:
        scale: of the input that it is for.
        sizes: by ascending number of machines.
        iterations: that it is for.
        from_application_id: the run that was replayed.
        from_scale: what it had read.
        error_percent: median absolute error of the same replay for the job's other runs; None where there is
            no other.
        problem: why there are no sizes; empty where there are.
    """

    scale: float
    sizes: tuple[TwoOpinions, ...] = ()
    iterations: int | None = None
    from_application_id: str | None = None
    from_scale: float | None = None
    error_percent: float | None = None
    problem: str = ""

    @property
    def disagreement(self) -> str:
        """Where the two say different things, and what to do; empty where they do not."""
        apart = [
            (abs(size.replayed_seconds / size.model_seconds - 1), size.model_seconds, interval, size)
            for size in self.sizes
            if size.disagrees and size.model_seconds and (interval := size.nearly_certain_seconds)
        ]
        if not apart:
            return ""
        _, by_model, (low, high), worst = max(apart, key=lambda each: each[0])
        others = f", and on {counted(len(apart) - 1, 'other number')} of machines" if len(apart) > 1 else ""
        error = (
            f" For the job's other runs the replay was off by {percentage(self.error_percent)} (median)."
            if self.error_percent is not None
            else ""
        )
        return (
            f"The replay disagrees with the model: {duration(worst.replayed_seconds)} on "
            f"{machines(worst.machines)}, where the model says {duration(by_model)} (95 % of "
            f"runs: {duration_range((low, high))}){others}.{error} One of the two is wrong: watch the first "
            "production run."
        )


@dataclass(frozen=True, kw_only=True)
class BottleneckReport(Record):
    """What binds a job, by the runs of one training.

    Attributes:
        profile_ids: of the runs' profiles in the store, the run first that the report goes by.
        application_id: Spark's id of that run.
        scale: that it read.
        machines: that it ran on.
        category: see `run_profile`.
        bottleneck: what it is bound by.
        headline: the same as a sentence, with its figure.
        limits: what could be won at most, the most first.
        straggler_causes: of its stragglers.
        advice: what to change.
        replay: the second opinion; None where nothing could be replayed.
        model_id: the model that the opinion stands beside.
        warnings: what is not known, or not to be trusted, and where the two opinions disagree.
    """

    kind = "bottlenecks"
    words = "bottleneck report"

    profile_ids: tuple[str, ...]
    application_id: str
    scale: float
    machines: int
    category: str
    bottleneck: str
    headline: str
    limits: tuple[ResourceLimit, ...] = ()
    straggler_causes: tuple[StragglerCause, ...] = ()
    advice: tuple[Advice, ...] = ()
    replay: ReplayOpinion | None = None
    model_id: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def references(self) -> tuple[Key, ...]:
        """The profiles that it was made of."""
        return _keys(ProfileRecord, *self.profile_ids)


RECORDS: tuple[type[Record], ...] = (
    Model,
    DecisionRecord,
    ProductionRun,
    ObservationRecord,
    ModelMark,
    ProfileRecord,
    BottleneckReport,
)
"""All that a store keeps, in the order in which people think of them."""


def _is_outside(seconds: float, interval: Interval | None) -> bool:
    return interval is not None and not interval[0] <= seconds <= interval[1]


def _keys(form: type[Record], *ids: str | None) -> tuple[Key, ...]:
    return tuple((form.kind, each) for each in _known(*ids))


def _known(*texts: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


_TIME = "%Y%m%dT%H%M%S.%fZ"


def new_id(now: datetime) -> str:
    """A name that nothing else has, and that sorts by time as text.

    Args:
        now: with its time zone; the name is in UTC.
    """
    return f"{now.astimezone(UTC):{_TIME}}-{secrets.token_hex(4)}"


class Stamp(TypedDict):
    """What tells a record from all others of its kind."""

    id: str
    at: str


def new_stamp(moment: datetime | None = None) -> Stamp:
    """The `id` and the `at` of a record that was made at a moment with its time zone; None for now."""
    moment = moment or datetime.now(UTC)
    return {"id": new_id(moment), "at": moment.isoformat()}


def new_id_after(moment: datetime) -> str | None:
    """A name that sorts right behind all that were given at a moment; None where no time follows on it."""
    try:
        return new_id(moment + timedelta(microseconds=1))
    except OverflowError:
        return None


def moment_of(name: str) -> datetime | None:
    """When something got its name from `new_id`; None of another name."""
    try:
        return datetime.strptime(name.partition("-")[0], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def time_of(at: str) -> datetime | None:
    """The time that a record says of itself, taken as UTC where it names no zone; None where it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def training_dollars(model: Model) -> float | None:
    """Dollars for the machines over the time of the sample runs; None where prices are not known.

    All machines of the cluster are paid for while any run is on, however many it uses; runs count one
    after the other. What the cluster took to form, and its culled machines, are left out: where the DAG run
    is still known to Airflow, its page has the bill to the second.
    """
    # Those that it has learned from in production come after them, and past runs cost nothing.
    samples = model.observations[: len(model.observations) - len(model.learned_from)]
    samples = tuple(run for run in samples if not run.from_history)
    if not samples:
        return 0.0
    if model.cluster is None:
        return None
    kept = [machine for machine in model.cluster.machines if not machine.culled_because]
    fallback = model.cluster.price_per_hour
    prices = [
        machine.price_per_hour if machine.price_per_hour is not None or machine.is_master else fallback
        for machine in kept
    ]
    if not prices or any(price is None for price in prices):
        return None
    seconds = sum(run.startup_seconds + run.seconds for run in samples)
    return sum(price for price in prices if price is not None) * seconds / HOUR_SECONDS
