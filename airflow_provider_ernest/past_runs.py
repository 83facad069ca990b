"""What Spark's event logs tell of runs that were made before anybody asked: a job's history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ernest.documents import RunMetrics
from airflow_provider_ernest.json_document import Document, not_negative
from airflow_provider_ernest.words import counted, data_amount


@dataclass(frozen=True, kw_only=True)
class PastRun(Document):
    """A run of a recurring job, as its event log tells it.

    Attributes:
        job: the recurring job's name: the application's without dates, numbers and run ids.
        application_id: Spark's id of the run.
        event_log: where its event log lies, without credentials.
        started_at: moment in UTC, ISO 8601.
        machines: distinct ones that worked; 0 where none did before it failed.
        cores_per_machine: that its executors had on one of them.
        seconds: clean time, from all machines being there to the application's end.
        startup_seconds: from the application's start to that moment.
        instance_type: of its machines; None where the log does not tell.
        memory_megabytes_per_machine: of its executors on one machine; None where the log does not tell.
        input_bytes: read from outside, cached blocks left out; 0 for nothing. Among runs that are compared
            (`history.jobs.comparable`) it is the records where Spark counts no bytes, as of JDBC.
        input_records: read likewise; 0 where the log tells of none.
        failure: why it does not count as a run of the job, in words; empty where it ended well.
        spark: Spark's version.
        main: main class or file, where the log tells.
        main_folder: name of the folder in which that file lies.
        has_end: whether the log tells the end; what the driver did after the last event is not known else.
        settings: Spark's properties that may change a run's time, as `conditions.settings_that_count` has
            them.
        mean_machines: that were there on average where machines came and went, as under dynamic allocation;
            None where all were.
        machine_seconds: that its machines were there, each from when it had come; None where that is not
            told.
        metrics: what else the log tells; None of a run that failed.
    """

    job: str
    application_id: str
    event_log: str
    started_at: str
    machines: int
    cores_per_machine: int
    seconds: float
    startup_seconds: float = 0.0
    instance_type: str | None = None
    memory_megabytes_per_machine: int | None = None
    input_bytes: int = 0
    input_records: int = 0
    failure: str = ""
    spark: str | None = None
    main: str | None = None
    main_folder: str | None = None
    has_end: bool = True
    settings: tuple[tuple[str, str], ...] = ()
    mean_machines: float | None = None
    machine_seconds: float | None = None
    metrics: RunMetrics | None = None

    @property
    def paid_machines(self) -> float:
        """How many were there on average."""
        return self.machines if self.mean_machines is None else self.mean_machines

    @property
    def paid_machine_seconds(self) -> float:
        """What it is billed for: its machines while they were there, and no waiting for the first of them."""
        if self.machine_seconds is not None:
            return self.machine_seconds
        return self.paid_machines * (self.startup_seconds + self.seconds)

    @property
    def unpaid_seconds(self) -> float:
        """Of its start-up, what nobody pays for; see `paid_machine_seconds`."""
        if not self.paid_machines:
            return 0.0
        paid = self.paid_machine_seconds / self.paid_machines
        return min(self.startup_seconds, max(0.0, self.startup_seconds + self.seconds - paid))

    @property
    def tells_bytes(self) -> bool:
        """Whether `input_bytes` are bytes, and not the records in their place."""
        return self.input_bytes != self.input_records

    def __post_init__(self) -> None:
        """Refuse NaN and negative measurements."""
        not_negative(
            machines=self.machines,
            cores_per_machine=self.cores_per_machine,
            seconds=self.seconds,
            startup_seconds=self.startup_seconds,
            input_bytes=self.input_bytes,
            input_records=self.input_records,
        )


def amount_read(amount: float, runs: Iterable[PastRun]) -> str:
    """What such runs read, in words: 12.3 MB, or 16,000 records where no bytes are counted."""
    return data_amount(amount) if any(run.tells_bytes for run in runs) else counted(round(amount), "record")
