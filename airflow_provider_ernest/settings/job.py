"""The job, its input, what is known of it, and the cluster of somebody else that it may be trained on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import (
    NOTHING,
    Count,
    Number,
    OptionalCount,
    OptionalNumber,
    checked,
    count,
    has_template,
    is_template,
    line,
    listed_texts,
    mapping,
    not_negative,
    number,
    one_of,
    optional,
    positive,
    price,
    setting,
    settings,
    truth,
    whole_number,
)

_ADDRESS_OR_PATH = re.compile(r"/|[A-Za-z][\w+.-]*:/")

FILES, FIRST_ROWS, ARGUMENT = SAMPLINGS = ("files", "first_rows", "argument")
"""How a sample of the input is taken; see `spark.input`."""


def _conf(parameter: str, value: Any) -> Mapping[str, Any]:
    """Spark properties, each a text or what renders to one."""
    for name, each in mapping(parameter, value).items():
        if not isinstance(each, str | int | float) and not is_template(each):
            raise InvalidParameterError(
                f"{parameter}[{name!r}]",
                each,
                "is not a string",
                remedy="Write Spark's properties in quotes.",
            )
    return {**value}


def _event_log_folder(parameter: str, value: Any) -> str:
    if not _ADDRESS_OR_PATH.match(line(parameter, value)):
        raise InvalidParameterError(
            parameter,
            value,
            "is neither an address nor an absolute path",
            remedy="Write hdfs://HOST/FOLDER, s3a://BUCKET/FOLDER or /SHARED/FOLDER, for example.",
        )
    return str(value)


def _web_url(parameter: str, value: Any) -> str:
    if not line(parameter, value).startswith(("http://", "https://")):
        raise InvalidParameterError(
            parameter, value, "is not an http address", remedy="Write http://HOST:8080, for example."
        )
    return str(value)


@settings
class SparkJob:
    """The application to size: the same one, with the same arguments, as in production."""

    name: str = setting(line, "names the job in the model store; models are kept per job and type of machine")
    application: str | None = setting(
        line, "path of the JAR or .py file; needed for sample runs only", default=None
    )
    application_args: Sequence[str] = setting(
        listed_texts,
        "its arguments. {{ sample.input }}, {{ sample.scale }}, {{ sample.executors }}, "
        "{{ sample.partitions }} and {{ sample.iterations }} stand for what the sample run at hand reads",
        default=(),
        keeps_templates=True,
    )
    conf: Mapping[str, str] = setting(
        _conf,
        "Spark properties of samples and production alike; production takes them by "
        "`ErnestTaskGroup.job_conf`. None but the sizes of executors and driver goes into XComs. The DAG "
        "file is no place for a secret either: write a template, such as {{ conn.lake.password }}, or leave "
        "it to the Spark connection, the machines' role or the cluster's own configuration",
        default_factory=dict,
        keeps_templates=True,
    )
    submit_options: Mapping[str, Any] = setting(
        mapping,
        "further arguments of `SparkSubmitHook`: java_class, jars, py_files, packages, ...",
        default_factory=dict,
        keeps_templates=True,
    )
    iterations: OptionalCount = setting(
        count, "iterations of the production run, for iterative jobs", default=None
    )
    sample_iterations: OptionalCount = setting(
        count, "iterations to train with (the paper: 5 % of them)", default=None
    )

    def __post_init__(self) -> None:
        """Refuse what could not be submitted, or not be predicted."""
        checked(self)
        if self.iterations not in NOTHING and self.sample_iterations in NOTHING:
            raise InvalidParameterError(
                "iterations",
                self.iterations,
                "cannot be predicted from sample runs with an unknown number of iterations",
                remedy="Give sample_iterations, too: the number that {{ sample.iterations }} stands for.",
            )

    @property
    def required_application(self) -> str:
        """The application; an `InvalidParameterError` where none is named, and so none can be submitted."""
        if self.application is None:
            raise InvalidParameterError(
                "application",
                None,
                "is needed for sample runs",
                remedy="Give SparkJob(application=...), or learn from history alone, without a cluster.",
            )
        return self.application


@settings
class SampledInput:
    """The production input and the way to take samples of it."""

    path: str = setting(line, "file or folder that scale 1.0 stands for")
    partitions: OptionalCount = setting(
        count,
        "partitions of the whole input (file blocks or files): the unit of sampling; default: its number of "
        "files",
        default=None,
    )
    sampling: str = setting(
        one_of(SAMPLINGS), '"files", "first_rows" or "argument"; see `spark.input`', default=FILES
    )
    header: bool = setting(truth, 'each file begins with a header line ("first_rows" only)', default=False)
    seed: Count = setting(whole_number, "the same seed takes the same samples", default=0)


@settings
class ConnectedCluster:
    """A cluster that somebody else starts and ends, for the sample runs; see `ExistingClusterOperator`."""

    kind: ClassVar[str] = "existing"

    spark_conn_id: str = setting(line, "the Airflow connection of its master")
    executors: OptionalCount = setting(
        count,
        "how many executors it can give at least; default: one for each worker of a standalone master. YARN "
        "and Kubernetes do not tell it: there production gets no more, and a goal that allows more is "
        "refused by the decision. A task group must know it beforehand, and `executor_cores`",
        default=None,
        formerly="machines",
    )
    executor_cores: OptionalCount = setting(
        count,
        "cores of an executor; default: those of the smallest worker of a standalone master",
        default=None,
        formerly="cores_per_machine",
    )
    executor_memory_megabytes: OptionalCount = setting(
        count,
        "heap of an executor; default: what the smallest worker of a standalone master offers. YARN and "
        "Kubernetes do not tell it, and add a tenth to it, at least 384 MB",
        default=None,
        formerly="memory_megabytes_per_machine",
    )
    executors_per_machine: OptionalCount = setting(
        count,
        "how many executors a machine holds, where a decision shall tell the number of machines, too; "
        "default: 1 of a standalone master, else unknown",
        default=None,
    )
    instance_type: str | None = setting(
        line,
        "name of what its executors run on, under which the model is stored; default: `spark_conn_id`",
        default=None,
    )
    web_url: str | None = setting(
        _web_url,
        "http address of a standalone master's page; default: port 8080 of its host is tried",
        default=None,
    )
    node_cores: OptionalCount = setting(
        count,
        "cores of the largest container that a node, or the queue, grants; default: not checked",
        default=None,
    )
    node_memory_megabytes: OptionalCount = setting(
        count,
        "its memory, likewise (YARN: yarn.scheduler.maximum-allocation-mb); the heap of an executor and what "
        "Spark adds to it must fit",
        default=None,
    )
    price_per_hour: OptionalNumber = setting(
        price, "dollars for one executor and hour; or give one of the other prices", default=None
    )
    price_per_machine_hour: OptionalNumber = setting(
        price, "dollars for one machine and hour, of which each executor bears its part", default=None
    )
    price_per_core_hour: OptionalNumber = setting(
        price,
        "dollars for one core and hour, as serverless services, Dataproc and Kubernetes' accounting bill; "
        "with price_per_gigabyte_hour",
        default=None,
    )
    price_per_gigabyte_hour: OptionalNumber = setting(
        price, "dollars for one GB of memory and hour, of an executor's heap and what is added", default=None
    )
    python: str | None = setting(
        line, "of PySpark's workers; default: what each machine finds by itself", default=None
    )
    driver_host: str | None = setting(
        line, "address at which its machines reach the Airflow worker; default: it is found", default=None
    )
    event_log_uri: str | None = setting(
        _event_log_folder,
        "existing folder for event logs that drivers on the cluster write and the Airflow worker reads "
        "(hdfs://..., s3a://..., a shared folder); needed in deploy mode cluster only",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse executors that no node can hold, and prices that say the same in two ways."""
        read = checked(self)
        cores, node_cores = read.get("executor_cores"), read.get("node_cores")
        if cores and node_cores and cores > node_cores:
            raise InvalidParameterError(
                "executor_cores", cores, f"is more than a node grants (node_cores={node_cores})"
            )
        heap, node_memory = read.get("executor_memory_megabytes"), read.get("node_memory_megabytes")
        if heap and node_memory and with_overhead(heap) > node_memory:
            raise InvalidParameterError(
                "executor_memory_megabytes",
                heap,
                f"is {with_overhead(heap)} MB with what Spark adds, more than a node grants "
                f"(node_memory_megabytes={node_memory})",
            )
        given = [name for name in _PRICES if read.get(name) is not None]
        ways = {_PRICES[name] for name in given}
        if len(ways) > 1:
            raise InvalidParameterError(
                given[0], getattr(self, given[0]), f"is a price beside {given[1]}", remedy="Give one of them."
            )
        missing = next((name for way in ways for name in _NEEDED[way] if getattr(self, name) is None), "")
        if missing:
            raise InvalidParameterError(
                given[0], getattr(self, given[0]), f"says what an executor costs only with {missing}"
            )

    @property
    def type_name(self) -> str:
        """The name of what its executors run on, under which models are stored."""
        return self.instance_type or self.spark_conn_id

    @property
    def least(self) -> tuple[str, OptionalCount]:
        """The fewest executors that it gives, behind the name of the field that tells it."""
        return "executors", self.executors

    @property
    def has_price(self) -> bool:
        """Whether a price of any kind is stated, be it as a template."""
        return any(getattr(self, name) is not None for name in _PRICES)

    @property
    def executor_price_per_hour(self) -> OptionalNumber:
        """Dollars for one executor and hour, by whichever price is stated; None where none is.

        None also where it is to be computed from what is still a template.
        """
        if self.price_per_hour is not None or not self.has_price:
            return self.price_per_hour
        way = next(_PRICES[name] for name in _PRICES if getattr(self, name) is not None)
        parts = [getattr(self, name) for name in ("price_per_machine_hour", *_NEEDED[way])]
        if has_template(parts):
            return None
        if way == "machine":
            return parts[0] / parts[1]
        per_core, per_gigabyte, cores, heap = parts[1:]
        return per_core * cores + per_gigabyte * with_overhead(heap) / 1024


_PRICES = {
    "price_per_hour": "executor",
    "price_per_machine_hour": "machine",
    "price_per_core_hour": "core",
    "price_per_gigabyte_hour": "core",
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "executor": (),
    "machine": ("executors_per_machine",),
    "core": ("price_per_core_hour", "price_per_gigabyte_hour", "executor_cores", "executor_memory_megabytes"),
}


DEFAULT_FACTOR = 0.1
LEAST_OVERHEAD_MEGABYTES = 384
"""What Spark adds to an executor's heap unless properties say otherwise: this share, at least so much."""


def with_overhead(heap_megabytes: int) -> int:
    """The memory of an executor's container by Spark's defaults."""
    return heap_megabytes + max(int(heap_megabytes * DEFAULT_FACTOR), LEAST_OVERHEAD_MEGABYTES)


# What is known before any sample run: stored models, and past runs by their event logs.

SHAPE_TOLERANCE = 0.25
"""A partition may be larger or smaller by so much and still count as of the same size."""

MOST_GROWTH = 4.0
"""Beyond so many times the input that a model was trained for, its predictions are too far from its runs."""


def _growth(parameter: str, value: Any) -> float:
    if number(parameter, value) < 1:
        raise InvalidParameterError(parameter, value, "is not a number of at least 1")
    return number(parameter, value)


@settings
class Reuse:
    """How long a stored model is good for, where nothing that it depends on has changed.

    The application must have the same content, Spark, the job's settings and the machines must be the same,
    and a record and a partition of the input as large; more data is no difference.
    """

    max_age_days: OptionalNumber = setting(
        positive,
        "train anew so many days after; default: no limit, since production runs tell when a model no longer "
        "holds",
        default=None,
    )
    shape_tolerance: Number = setting(
        not_negative,
        "by how much a partition of the input may have grown or shrunk; 0.25 is 25 %",
        default=SHAPE_TOLERANCE,
    )
    max_growth: Number = setting(
        _growth, "to how many times its size the input may have grown", default=MOST_GROWTH
    )
    accept_unknown_application: bool = setting(
        truth, "take an application that the Airflow worker cannot read for unchanged", default=False
    )
    wait_for_training_seconds: Number = setting(
        not_negative,
        "how long a training that another run of the job has begun is waited for, to take its model; "
        "0 to train beside it",
        default=7200.0,
    )


@settings
class ExpectedInput:
    """What the next run of production reads, where its past runs are all there is; by one of the fields.

    Without it the input is forecast from what the past runs read: trend, weekday, end of the month.

    .. code-block:: python

        ExpectedInput(size_bytes="{{ ti.xcom_pull('count')['bytes'] }}")
        ExpectedInput(records="{{ (triggering_asset_events.values() | first | last).extra.records }}")
        ExpectedInput(path="s3a://lake/clicks/date={{ ds }}")
        ExpectedInput(delta_table="s3://lake/clicks")
    """

    size_bytes: OptionalNumber = setting(
        positive, "a number of bytes, such as what another task or an asset's event tells", default=None
    )
    records: OptionalNumber = setting(positive, "a number of records, likewise", default=None)
    path: str | None = setting(
        line, "a file or folder, wherever fsspec reads: the sizes of its files count", default=None
    )
    delta_table: str | None = setting(
        line, "address of a Delta table, whose metadata tell it; needs the library deltalake", default=None
    )
    iceberg_table: str | None = setting(
        line,
        "name of an Iceberg table with that of its catalog before it, as pyiceberg is configured to find it, "
        "such as lake.web.clicks; needs the library pyiceberg",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse none and several."""
        checked(self)
        stated = [each for each in vars(self).values() if each not in NOTHING]
        if len(stated) != 1:
            names = ", ".join(vars(self))
            raise InvalidParameterError(
                f"({names})",
                tuple(vars(self).values()),
                "is no input" if not stated else "is several inputs",
                remedy="Give exactly one of them.",
            )


def _job_pattern(parameter: str, value: Any) -> str:
    try:
        re.compile(line(parameter, value))
    except re.error as error:
        raise InvalidParameterError(
            parameter, value, f"is not a regular expression: {error}", remedy="Use Python's syntax."
        ) from error
    return str(value)


@settings
class EventLogs:
    """Where past runs of the job are known from, as observations that cost nothing.

    .. code-block:: python

        EventLogs("s3a://bucket/spark-events", job="nightly report")  # Spark's event logs
        EventLogs()  # the production runs that Ernest has recorded
    """

    place: str | None = setting(
        line,
        "folder of Spark's event logs, a glob or one log, local or wherever fsspec reads; default: none, "
        "only what production runs have left in the model store",
        default=None,
        kw_only=False,
    )
    job: str | None = setting(
        line,
        "the job as its logs name it: the application's name, without dates, numbers and run ids as "
        "`ernest history` shows it; default: the name of the `SparkJob`",
        default=None,
    )
    job_pattern: str | None = setting(
        _job_pattern,
        "regular expression that is found in the application's names of the job's runs and of no others; "
        "instead of `job`",
        default=None,
    )
    most_runs: Count = setting(
        count, "so many past runs count: of each number of executors and input the newest first", default=50
    )
    max_age_days: OptionalNumber = setting(
        optional(positive), "older runs do not count, and their logs are not read", default=90.0
    )
    instance_type: str | None = setting(
        line,
        "type of the machines that past runs had, where their logs do not tell; default: not known, and so "
        "not compared",
        default=None,
    )
    processes: Count = setting(count, "that read logs at the same time on the Airflow worker", default=2)

    def __post_init__(self) -> None:
        """Refuse what names no runs."""
        read = checked(self)
        if read.get("job") is not None and read.get("job_pattern") is not None:
            raise InvalidParameterError(
                "(job, job_pattern)", (self.job, self.job_pattern), "is two jobs", remedy="Give one of them."
            )

    @property
    def since(self) -> datetime | None:
        """From when on runs count, as of now; None for all. Known once no template is left."""
        return None if self.max_age_days is None else datetime.now(UTC) - timedelta(days=self.max_age_days)
