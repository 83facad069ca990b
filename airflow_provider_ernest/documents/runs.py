"""Runs as documents: those to be made, those that were made for a model, and past runs of a job."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ernest.documents.base import Document, Origin, not_negative, positive
from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.words import counted, data_amount


class InputFingerprint(Document):
    """The shape of an input, without its content."""

    partitions: int | None = None  # that Spark reads of it
    total_bytes: int | None = None  # of all its files
    columns: int | None = None  # of a record: columns, features or fields
    format: str | None = None  # the files' suffix, in lower case and without its dot

    @property
    def bytes_per_partition(self) -> float | None:
        """Mean size of a partition."""
        if not self.partitions or not self.total_bytes:
            return None
        return self.total_bytes / self.partitions


class RunConditions(Document):
    """What, beside the code, the run times of a job depend on."""

    spark: str | None = None  # Spark's version, such as "4.2.0", or a service's release, such as "emr-7.5.0"
    # digests of Spark properties, arguments and further options, by name. Only digests, for values may be
    # anything, and nothing of those whose names tell of a secret
    settings: dict[str, str] | None = None
    input: InputFingerprint | None = None
    executor_cores: int | None = None


class Experiment(Document):
    """One sample run to be made: so many executors on such a share of the input."""

    index: int  # its position in the design; names the run and seeds its sample
    executors: int
    scale: float  # the share of the target input to read; 0.05 is 5 %
    partitions: int  # the number of input partitions that this share amounts to
    weight: float = 0.0  # lambda of the relaxed design, summed over repetitions; 0 where rounding added it
    cost: float = 0.0  # what the run is expected to cost, in the design's cost unit
    iterations: int | None = None  # iterations to train with, for iterative jobs

    def __post_init__(self) -> None:
        """Refuse runs that read nothing or use no executor."""
        positive(executors=self.executors, scale=self.scale, partitions=self.partitions)


class CandidateRange(Document):
    """The candidates of a design on one number of executors."""

    executors: int
    lowest_scale: float  # the smallest share of the input among them
    highest_scale: float  # the largest
    candidates: int


class Design(Document):
    """The experiments chosen, and how good the choice is."""

    experiments: tuple[Experiment, ...]
    terms: tuple[str, ...]  # names of the model terms that the design is optimal for
    criterion: str  # that was minimised; "decision" of runs in rounds, chosen by what they do to the decision
    efficiency: float  # criterion of the relaxed optimum over that of the whole runs, 0..1
    cost: float
    budget: float
    cost_unit: str  # what cost and budget are measured in
    candidates: int  # how many (executors, scale) points were considered
    weighting: str = "absolute"  # of the errors it is for: in seconds, or "relative" to the run's time
    candidate_ranges: tuple[CandidateRange, ...] = ()  # where these points lie, by number of executors
    past_runs: int = 0  # how many past runs of the job it has counted, at no cost
    # why no runs are to be made, or why some are although there are past ones; empty without these. Of runs
    # that are chosen in rounds: why the last of them are made, or why no more are
    reason: str = ""


class RunMetrics(Document):
    """What Spark's event log says of one run; sums over all tasks where nothing else is said."""

    tasks: int  # that succeeded, repeated ones once; the sums are over these
    slots: int  # tasks that can run at once, cores summed over the executors (over ``spark.task.cpus``)
    executor_run_seconds: float  # time that tasks spent running
    garbage_collection_seconds: float  # part of it spent in garbage collection
    input_bytes: int  # bytes read from input (cached blocks included)
    shuffle_read_bytes: int  # bytes fetched by shuffles
    spilled_bytes: int  # bytes written to disk for want of execution memory (sorting, aggregation, joins)
    idle_seconds: float | None = None  # without a task, once all executors were there: what the driver took
    peak_execution_memory_bytes: int | None = None  # the largest that a single task used
    peak_stage_tasks: int | None = None  # tasks of the stage in which one used that
    storage_memory_bytes: int | None = None  # of all executors, for cached data; execution shares it
    # memory that all the data that the job asked Spark to cache would take; 0 where it asked for none, None
    # without block updates in the log. This and the next two are of the moment at which most was wanted
    cache_wanted_bytes: int | None = None
    cached_bytes: int | None = None  # of it really in memory
    cached_on_disk_bytes: int | None = None  # instead; serialised, so often fewer than in memory
    cache_falls_to_disk: bool | None = None  # whether what finds no room is put on disk, and not made again
    # run seconds of the stages that first made what is cached; the first task of each slot, which warms it
    # up, counts as the others did on average
    cache_filling_seconds: float | None = None
    cache_reading_seconds: float | None = None  # run seconds of the stages that read nothing else
    cache_reads: float | None = None  # how often those went through all of it
    cache_partitions: int | None = None  # in which the cached data was made
    # of the reads those that did not find their partition, 0..1; None where the bytes that tasks read do not
    # tell it, as where partitions fall to disk
    cache_missed_share: float | None = None
    cache_missed_seconds: float | None = None  # run seconds of the tasks that did not, and made theirs again
    # tasks that could run at once in the stages in which most of the run time goes; the median of the stages
    # weighted by their run seconds
    dominant_stage_tasks: int | None = None
    barrier_tasks: int | None = None  # that must run at once, or Spark refuses their stage; None without any

    @property
    def cache_share(self) -> float | None:
        """Share of the wanted cache that lay in memory, 0..1; None where nothing was wanted or is known."""
        if not self.cache_wanted_bytes or self.cached_bytes is None:
            return None
        return min(1.0, self.cached_bytes / self.cache_wanted_bytes)


class ExecutorBounds(Document):
    """How many executors a run has under dynamic allocation (``spark.dynamicAllocation.*Executors``)."""

    minimum: int
    initial: int
    maximum: int

    def __post_init__(self) -> None:
        """Refuse bounds that contradict each other."""
        not_negative(minimum=self.minimum)
        positive(maximum=self.maximum)
        if not self.minimum <= self.initial <= self.maximum:
            raise InvalidDocumentError(
                f"There cannot be {self.initial} initial executors of {self.minimum} to {self.maximum}."
            )

    def __str__(self) -> str:
        if self.minimum == self.maximum:
            return f"{self.maximum} executors all the time"
        return f"{self.minimum} to {self.maximum} executors, {self.initial} at first"


class ReplayedSize(Document):
    """Clean seconds of a run, replayed on another number of executors."""

    executors: int
    seconds: float
    # standard deviation of log(seconds) to be expected, for a run whose executors came and went; else 0
    error: float = 0.0


class Observation(Document):
    """An experiment that was run."""

    index: int  # index of the experiment in its design
    executors: int  # that really worked
    scale: float  # the share of the input that was really read
    seconds: float  # from the moment that all executors were there to the application's end
    startup_seconds: float = 0.0  # from submission to that moment, without `waited_seconds`
    waited_seconds: float = 0.0  # time spent waiting for executors that other runs still held
    instance_type: str = "local"
    row_width: float = 1.0  # data (bytes, features) in a row, as a multiple of the whole input's rows
    iterations: int | None = None  # iterations the job ran, for iterative jobs
    application_id: str | None = None
    event_log: str | None = None
    hosts: tuple[str, ...] = ()
    metrics: RunMetrics | None = None  # what the event log tells of the run
    origin: Origin | None = None  # the task instance that observed it; None outside Airflow
    from_history: bool = False  # a past run: it cost nothing, and only its event log or record tells of it
    # how many a machine held; None where a shared cluster placed them as it liked
    executors_per_machine: int | None = 1
    # standard deviation of log(seconds) beside that of all runs: those of a run whose executors came and went
    # are replayed on this number of them
    replay_error: float = 0.0

    @property
    def configuration(self) -> tuple[int, float, float]:
        """What repetitions of a run have in common: executors, scale and the width of rows."""
        return self.executors, self.scale, self.row_width

    def __post_init__(self) -> None:
        """Refuse NaN, negative and zero measurements: no model may be fitted to them."""
        positive(executors=self.executors, scale=self.scale, seconds=self.seconds, row_width=self.row_width)
        not_negative(
            startup_seconds=self.startup_seconds,
            waited_seconds=self.waited_seconds,
            replay_error=self.replay_error,
        )


class PastRun(Document):
    """A run of a recurring job, as its event log tells it."""

    job: str  # the recurring job's name: the application's without dates, numbers and run ids
    application_id: str
    event_log: str  # where its event log lies, without credentials
    started_at: str  # moment in UTC, ISO 8601
    executors: int  # the most that worked at once; 0 where none did before it failed
    executor_cores: int  # of one
    seconds: float  # clean time, from all executors being there to the application's end
    startup_seconds: float = 0.0  # from the application's start to that moment
    instance_type: str | None = None  # of the machines that it ran on; None where the log does not tell
    # of one, with all beside its heap: overhead, off the heap, of Python; None where the log does not tell
    executor_memory_megabytes: int | None = None
    hosts: int = 0  # distinct ones that its executors were on; 0 where the log does not tell (Kubernetes)
    # 1 where each executor had a machine of its own, and people speak of machines; None where a shared
    # cluster placed them as it liked
    executors_per_machine: int | None = 1
    # read from outside, cached blocks left out; 0 for nothing. Among runs that are compared
    # (`history.jobs.comparable`) it is the records where Spark counts no bytes, as of JDBC
    input_bytes: int = 0
    input_records: int = 0  # read likewise; 0 where the log tells of none
    failure: str = ""  # why it does not count as a run of the job, in words; empty where it ended well
    spark: str | None = None
    main: str | None = None  # main class or file, where the log tells
    main_folder: str | None = None  # name of the folder in which that file lies
    has_end: bool = True  # whether the log tells it; else what the driver did after the last event is unknown
    # Spark's properties that may change a run's time, as `conditions.settings_that_count` has them
    settings: tuple[tuple[str, str], ...] = ()
    # those that say how large its executors and its driver were, as `decision.forms.own_sizes` has them
    sizes: tuple[tuple[str, str], ...] = ()
    mean_executors: float | None = None  # where they came and went, as under dynamic allocation
    executor_seconds: float | None = None  # that its executors were there, each from when it had come
    # on fixed numbers of executors, where dynamic allocation changed them: what it counts as
    replayed: tuple[ReplayedSize, ...] = ()
    metrics: RunMetrics | None = None  # what else the log tells; None of a run that failed

    @property
    def fixed_seconds(self) -> float:
        """Clean time with all of its executors all the time: replayed where these came and went."""
        at_most = (size.seconds for size in self.replayed if size.executors == self.executors)
        return next(at_most, self.seconds)

    @property
    def paid_executors(self) -> float:
        """How many were there on average."""
        return self.executors if self.mean_executors is None else self.mean_executors

    @property
    def paid_executor_seconds(self) -> float:
        """What it is billed for: its executors while they were there; not waiting for the first of them."""
        if self.executor_seconds is not None:
            return self.executor_seconds
        return self.paid_executors * (self.startup_seconds + self.seconds)

    @property
    def unpaid_seconds(self) -> float:
        """Of its start-up, what nobody pays for; see `paid_executor_seconds`."""
        if not self.paid_executors:
            return 0.0
        paid = self.paid_executor_seconds / self.paid_executors
        return min(self.startup_seconds, max(0.0, self.startup_seconds + self.seconds - paid))

    @property
    def tells_bytes(self) -> bool:
        """Whether `input_bytes` are bytes, and not the records in their place."""
        return self.input_bytes != self.input_records

    def __post_init__(self) -> None:
        """Refuse NaN and negative measurements."""
        not_negative(
            executors=self.executors,
            executor_cores=self.executor_cores,
            seconds=self.seconds,
            startup_seconds=self.startup_seconds,
            input_bytes=self.input_bytes,
            input_records=self.input_records,
        )


def amount_read(amount: float, runs: Iterable[PastRun]) -> str:
    """What such runs read, in words: 12.3 MB, or 16,000 records where no bytes are counted."""
    return data_amount(amount) if any(run.tells_bytes for run in runs) else counted(round(amount), "record")
