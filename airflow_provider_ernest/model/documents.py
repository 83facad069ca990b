"""The JSON documents that pass between the tasks of an Ernest DAG and into the model store.

Each is a frozen dataclass whose fields are keyword-only: (scale, machines) pairs can be swapped
without anyone noticing, names cannot. ``to_dict`` gives what XCom and the store hold,
``from_dict`` reads it back and refuses what does not fit. All times are in seconds, all prices in
US dollars unless the name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

# What speaks Spark knows the documents that can be had here, and nothing else of the model.
from airflow_provider_ernest.model import run_profile as run_profile
from airflow_provider_ernest.model.document import Document as Document
from airflow_provider_ernest.model.document import not_negative as not_negative
from airflow_provider_ernest.model.document import positive as positive


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
    """The shape of an input, told without its content. None for what is not known.

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
        """Mean size of a partition; None where it is not known."""
        if not self.partitions or not self.total_bytes:
            return None
        return self.total_bytes / self.partitions


@dataclass(frozen=True, kw_only=True)
class RunConditions(Document):
    """What, beside the code, the run times of a job depend on. None for what is not known.

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
        criterion: the optimality criterion that was minimised; see `model.criteria`.
        efficiency: criterion of the relaxed optimum over that of the whole runs, 0..1.
        cost: the sum of the runs' expected costs.
        budget: the bound on that sum.
        cost_unit: what cost and budget are measured in.
        candidates: how many (machines, scale) points were considered.
        weighting: which errors the design is for, "relative" to the run's time or "absolute" in seconds.
        candidate_ranges: where these points lie, by number of machines; empty in designs made by an
            earlier version of this package.
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


@dataclass(frozen=True, kw_only=True)
class RunMetrics(Document):
    """What Spark's event log says of one run; sums over all tasks where nothing else is said.

    None where the log does not tell: logs read by an earlier version of this package, and, for the
    cache, logs without block updates.

    Attributes:
        tasks: that succeeded, repeated ones once; the sums are over these.
        slots: tasks that can run at once, cores summed over the executors (over ``spark.task.cpus``).
        executor_run_seconds: time that tasks spent running.
        garbage_collection_seconds: part of it spent in garbage collection.
        input_bytes: bytes read from input (cached blocks included).
        shuffle_read_bytes: bytes fetched by shuffles.
        spilled_bytes: bytes written to disk for want of execution memory (sorting, aggregation, joins).
        peak_execution_memory_bytes: the largest that a single task used.
        storage_memory_bytes: memory of all executors that cached data may take; execution shares it.
        cache_wanted_bytes: memory that all the data that the job asked Spark to cache would take; 0 where
            it asked for none. This and the next two are of the moment at which most was wanted.
        cached_bytes: of it really in memory.
        cached_on_disk_bytes: bytes put on disk instead (serialised, so often fewer than in memory).
        dominant_stage_tasks: tasks that could run at once in the stages in which most of the run time
            goes; the median of the stages weighted by their run seconds.
    """

    tasks: int
    slots: int
    executor_run_seconds: float
    garbage_collection_seconds: float
    input_bytes: int
    shuffle_read_bytes: int
    spilled_bytes: int
    peak_execution_memory_bytes: int | None = None
    storage_memory_bytes: int | None = None
    cache_wanted_bytes: int | None = None
    cached_bytes: int | None = None
    cached_on_disk_bytes: int | None = None
    dominant_stage_tasks: int | None = None

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
        iterations: iterations the job ran, for iterative jobs.
        application_id: Spark's id of the run.
        event_log: where its event log lies.
        hosts: the machines' addresses.
        metrics: what the event log tells of the run.
        origin: the task instance that observed it; None outside Airflow.
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
    origin: Origin | None = None

    def __post_init__(self) -> None:
        """Refuse NaN, negative and zero measurements: no model may be fitted to them."""
        positive(machines=self.machines, scale=self.scale, seconds=self.seconds)
        not_negative(startup_seconds=self.startup_seconds, waited_seconds=self.waited_seconds)
