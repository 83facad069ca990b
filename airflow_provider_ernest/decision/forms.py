"""A decision in the forms that others take: Spark properties, EMR, EMR Serverless, Glue, Databricks.

Each form raises an `InvalidParameterError` where the executors or a mix of types do not fit it, and a
`MissingResourceError` where nothing tells the executors' cores or memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, floordiv
from typing import Any

from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError, MissingResourceError
from airflow_provider_ernest.settings.goal import DYNAMIC
from airflow_provider_ernest.settings.job import DEFAULT_FACTOR, LEAST_OVERHEAD_MEGABYTES
from airflow_provider_ernest.spark.sizing import sizing_conf

# The executors of a decision, and what each takes.

DAEMON_RESERVE_MEGABYTES = 1024


@dataclass(frozen=True, kw_only=True)
class ExecutorShape:
    """What one executor takes."""

    cores: int
    memory_megabytes: int | None = None  # heap, with room for a tenth more beside it; None where unknown
    # It fills the worker of a standalone master, which leaves the operating system 1 GB and nothing else.
    # False where YARN or Kubernetes granted the sample runs' executors just this.
    is_standalone: bool = False

    @property
    def room_megabytes(self) -> int | None:
        """All that an executor may take, overhead included; None where only what it took is known."""
        if self.memory_megabytes is None or not self.is_standalone:
            return None
        return int(self.memory_megabytes * 1.1)


@dataclass(frozen=True, kw_only=True)
class ExecutorGroup:
    """So many executors on a type of machine."""

    instance_type: str
    executors: int
    machines: int | None  # that hold them; None where a shared cluster places them as it likes
    shape: ExecutorShape | None = None  # of each executor; None where nothing tells it

    @property
    def known_shape(self) -> ExecutorShape:
        """The shape; a `MissingResourceError` where nothing tells it."""
        if self.shape is None:
            raise MissingResourceError(
                f"Nothing tells the cores and the memory of an executor on {self.instance_type!r}.",
                remedy="Pass the cluster of the sample runs to the FitModelOperator, which notes them, or "
                "state executor_cores.",
            )
        return self.shape


def groups_of(decision: Decision, shapes: Mapping[str, ExecutorShape]) -> tuple[ExecutorGroup, ...]:
    """The executors of a decision, by type of machine; the type with most of them first."""
    chosen = sorted(decision.composition or (decision.config,), key=lambda one: -one.executors)
    return tuple(
        ExecutorGroup(
            instance_type=one.instance_type,
            executors=one.executors,
            machines=one.machines,
            shape=shapes.get(one.instance_type),
        )
        for one in chosen
    )


def only_group(decision: Decision, shapes: Mapping[str, ExecutorShape], *, target: str) -> ExecutorGroup:
    """The executors of a decision for a target that takes one type only; a mix is refused."""
    groups = groups_of(decision, shapes)
    if len(groups) > 1:
        raise InvalidParameterError(
            "instance_type",
            " + ".join(f"{one.executors} {one.instance_type}" for one in groups),
            f"is a mix of types, and all workers of {target} are alike",
            remedy="Decide with allow_mixed=False.",
        )
    return groups[0]


# YARN and Kubernetes grant an executor a container of ``spark.executor.memory`` and
# ``spark.executor.memoryOverhead`` (a tenth of the heap, at least 384 MB), of ``spark.memory.offHeap.size``
# and ``spark.executor.pyspark.memory`` (Spark documentation, "Configuration", "Application Properties";
# "Running Spark on YARN"). Kubernetes kills what takes more. Sizes are in MiB, as in Spark.

HEAP = "spark.executor.memory"
OVERHEAD = "spark.executor.memoryOverhead"
FACTORS = (
    "spark.executor.memoryOverheadFactor",
    "spark.kubernetes.memoryOverheadFactor",
    "spark.emr-serverless.memoryOverheadFactor",
)
REQUESTED_CORES = "spark.kubernetes.executor.request.cores"
LIMITED_CORES = "spark.kubernetes.executor.limit.cores"
OWN_SIZES = (
    HEAP,
    OVERHEAD,
    *FACTORS,
    "spark.executor.pyspark.memory",
    "spark.memory.offHeap.enabled",
    "spark.memory.offHeap.size",
    "spark.driver.cores",
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    REQUESTED_CORES,
    LIMITED_CORES,
)
"""The job's own properties that a decision goes by. It sees none of the others: they may hold secrets, and
whoever may see the DAG can read the XComs of a decision."""

LEAST_HEAP_MEGABYTES = 450  # Spark reserves 300 MB and starts with no less than one and a half times as much

SLACK_MEGABYTES = 1024
"""Memory of a machine that is left to the application master, which is on one of them only."""

_SIZE = re.compile(r"(\d+)\s*(?:([kmgtp])b?)?", re.IGNORECASE)
_MEGABYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_ROUNDING = 1e-9


def own_sizes(conf: Mapping[str, Any]) -> dict[str, Any]:
    """The job's Spark properties that say how large its executors and its driver are."""
    return {name: conf[name] for name in OWN_SIZES if name in conf}


@dataclass(frozen=True, kw_only=True)
class ExecutorMemory:
    """What one executor takes."""

    heap_megabytes: int  # spark.executor.memory
    overhead_megabytes: int  # spark.executor.memoryOverhead
    further_megabytes: int = 0  # off the heap and of PySpark, by properties of their own

    @property
    def container_megabytes(self) -> int:
        """All together."""
        return self.heap_megabytes + self.overhead_megabytes + self.further_megabytes


def megabytes(name: str, text: str) -> int:
    """A size as Spark reads it, such as ``4g`` or ``512m``; a number alone is in MiB."""
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise InvalidParameterError(name, text, "is no size of memory", remedy="Write it as 4g or 4096m.")
    return int(int(size[1]) * _MEGABYTES[(size[2] or "m").lower()])


def overhead_factor(conf: Mapping[str, str]) -> float:
    """The share of the heap that lies beside it, as the job's properties say."""
    for name in FACTORS:
        if name in conf:
            try:
                factor = float(conf[name])
            except ValueError:
                factor = -1.0
            if not 0 <= factor < float("inf"):
                raise InvalidParameterError(name, conf[name], "is not a finite number of at least 0")
            return factor
    return DEFAULT_FACTOR


def memory_of(name: str, heap_megabytes: int, conf: Mapping[str, str]) -> ExecutorMemory:
    """What an "executor" or a "driver" with a heap takes, as the job's properties of that name say."""
    stated = f"spark.{name}.memoryOverhead"
    if stated in conf:
        overhead = megabytes(stated, conf[stated])
    else:
        part = int(heap_megabytes * overhead_factor(conf) + _ROUNDING)
        overhead = max(part, LEAST_OVERHEAD_MEGABYTES)
    return ExecutorMemory(
        heap_megabytes=heap_megabytes,
        overhead_megabytes=overhead,
        further_megabytes=_further(conf) if name == "executor" else 0,
    )


def wanted_memory(shape: ExecutorShape, conf: Mapping[str, str]) -> ExecutorMemory:
    """What an executor took in the sample runs: as the job's properties say, else what fills the machine."""
    heap = megabytes(HEAP, conf[HEAP]) if HEAP in conf else shape.memory_megabytes
    if heap is None:
        raise MissingResourceError(
            "Nothing tells the memory of an executor.", remedy=f"Set {HEAP} in the job's conf."
        )
    return memory_of("executor", heap, conf)


def memory_within(
    shape: ExecutorShape, conf: Mapping[str, str], *, room_megabytes: int | None
) -> ExecutorMemory:
    """What an executor may take: as in the sample runs, or less where that has no room.

    The room includes the overhead; None where what the sample runs took is known to fit. A stated heap that
    does not fit is refused.
    """
    wanted = wanted_memory(shape, conf)
    if room_megabytes is None or wanted.container_megabytes <= room_megabytes:
        return wanted
    if HEAP in conf:
        raise InvalidParameterError(
            HEAP,
            conf[HEAP],
            f"takes {wanted.container_megabytes} MB with its overhead, of the {room_megabytes} MB that "
            "executors may have there",
            remedy="Lower it, for the sample runs and for production.",
        )
    return filling(room_megabytes, conf)


def filling(room_megabytes: int, conf: Mapping[str, str]) -> ExecutorMemory:
    """The most that an executor can take of some memory, overhead included; too little is refused."""
    left = room_megabytes - _further(conf)
    if OVERHEAD in conf:
        heap = left - megabytes(OVERHEAD, conf[OVERHEAD])
    else:
        by_factor = int(left / (1 + overhead_factor(conf)) + _ROUNDING)
        heap = min(by_factor, left - LEAST_OVERHEAD_MEGABYTES)
    if heap < LEAST_HEAP_MEGABYTES:
        raise InvalidParameterError(
            HEAP,
            f"{heap}m",
            f"is all that {room_megabytes} MB leave for the heap, and Spark needs {LEAST_HEAP_MEGABYTES} MB",
            remedy="Use machines with more memory.",
        )
    return memory_of("executor", heap, conf)


def _further(conf: Mapping[str, str]) -> int:
    further = 0
    if conf.get("spark.memory.offHeap.enabled", "").lower() == "true":
        # Unlike all others, this one is in bytes where no unit is given.
        size = conf.get("spark.memory.offHeap.size", "0")
        further += int(size) // 1024**2 if size.isdigit() else megabytes("spark.memory.offHeap.size", size)
    if "spark.executor.pyspark.memory" in conf:
        further += megabytes("spark.executor.pyspark.memory", conf["spark.executor.pyspark.memory"])
    return further


# All executors of a run are alike. In a mix of types, the larger machines hold several of the same.


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Executors that are all alike, with so many cores: of each group's a share takes the place of one."""

    count: int
    cores: int
    shares: tuple[int, ...]


def layout_on(groups: Sequence[ExecutorGroup]) -> Layout:
    """The executors as decided; in a mix of types, several smaller ones on those with more cores."""
    of_machines = [group.known_shape.cores for group in groups]
    cores = math.gcd(*of_machines)
    shares = tuple(each // cores for each in of_machines)
    count = sum(group.executors * share for group, share in zip(groups, shares, strict=True))
    return Layout(count=count, cores=cores, shares=shares)


def memory_on(
    groups: Sequence[ExecutorGroup],
    layout: Layout,
    conf: Mapping[str, str],
    *,
    room: Callable[[ExecutorShape], int | None],
) -> ExecutorMemory:
    """What each of the executors takes; one that does not fit is refused.

    `room` gives the megabytes that they may take of a machine; None where what they took is known to fit.
    """
    shapes = [group.known_shape for group in groups]
    if len(groups) == 1:
        return memory_within(shapes[0], conf, room_megabytes=room(shapes[0]))
    rooms = [room(shape) or wanted_memory(shape, conf).container_megabytes for shape in shapes]
    if HEAP in conf:
        memory = wanted_memory(shapes[0], conf)
    else:
        memory = filling(min(map(floordiv, rooms, layout.shares)), conf)
    each = memory.container_megabytes
    for group, all_of, share in zip(groups, rooms, layout.shares, strict=True):
        if share * each > all_of:
            raise InvalidParameterError(
                "instance_type",
                group.instance_type,
                f"has cores for {share} of the executors that suit all types of the mix, and its memory "
                f"({all_of} MB) holds fewer ({each} MB each)",
                remedy="Decide with allow_mixed=False.",
            )
    return memory


# Spark properties of the executors decided on, under YARN and Kubernetes. A standalone master needs
# `spark.sizing.sizing_conf` alone.

_NODE_MILLICORES_PER_CORE = 850
"""Kubernetes keeps some of a node's cores. The rest is more than half: no two executors share a node."""


def yarn_conf(
    decision: Decision,
    shapes: Mapping[str, ExecutorShape],
    *,
    conf: Mapping[str, str],
    room: Callable[[ExecutorShape], int | None] = attrgetter("room_megabytes"),
) -> dict[str, str]:
    """Properties for YARN: the job's own, with its memory where stated, and the sizing, which wins.

    The shapes are by type of machine, for the room see `memory_on`. What does not fit is refused.
    """
    groups = groups_of(decision, shapes)
    layout = layout_on(groups)
    memory = memory_on(groups, layout, conf, room=room)
    return {
        **conf,
        **sizing_conf(executors=layout.count, executor_cores=layout.cores, bounds=decision.bounds),
        HEAP: f"{memory.heap_megabytes}m",
        OVERHEAD: f"{memory.overhead_megabytes}m",
    }


def kubernetes_conf(
    decision: Decision, shapes: Mapping[str, ExecutorShape], *, conf: Mapping[str, str]
) -> dict[str, str]:
    """Properties for Kubernetes: the job's own, and the sizing, which wins.

    A pod asks for as many cores as those of the sample runs had, where they were made on Kubernetes or YARN.
    Of a machine that was known from a standalone master it asks for 85 %; ``spark.executor.cores``, how many
    tasks run at a time, are all of them. What the job's properties say of the pod's cores wins.

    In cluster mode, Spark would give jobs in Python or R four tenths of the heap beside it instead of one
    ("Running Spark on Kubernetes", spark.kubernetes.memoryOverheadFactor). The tenth is asked for here; set
    ``spark.executor.memoryOverheadFactor`` for another share.
    """
    sized = yarn_conf(decision, shapes, conf=conf)
    cores = sized["spark.executor.cores"]
    if any(group.known_shape.is_standalone for group in groups_of(decision, shapes)):
        cores = f"{int(cores) * _NODE_MILLICORES_PER_CORE}m"
    # Kubernetes has no shuffle service: where the defaults turn one on, no run would start.
    return {REQUESTED_CORES: cores, **sized, "spark.shuffle.service.enabled": "false"}


# Amazon EMR on EC2: the instance groups of a job flow, and the properties of its steps.

EC2_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")  # m5.large, u-6tb1.metal
SPOT = "spot"

_YARN_SHARE = 0.75


def instance_groups(decision: Decision) -> list[dict[str, Any]]:
    """The groups of the machines that work, for ``Instances.InstanceGroups`` of RunJobFlow.

    There are as many machines as hold the executors, of which each has `executors_per_machine`. The type with
    the most becomes the CORE group, each further one a TASK group; EMR takes one of
    the first kind and 48 of the second ("Configure instance groups", Amazon EMR Management Guide). The MASTER
    group is yours. The market is that by which the decision counted the cost.
    """
    market = "SPOT" if decision.billing is not None and decision.billing.market == SPOT else "ON_DEMAND"
    groups = []
    for index, group in enumerate(groups_of(decision, {})):
        _require_type(group.instance_type, EC2_TYPE, target="EMR")
        groups.append(
            {
                "Name": f"task {group.instance_type}" if index else "core",
                "InstanceRole": "TASK" if index else "CORE",
                "InstanceType": group.instance_type,
                "InstanceCount": _machines(group),
                "Market": market,
            }
        )
    return groups


def managed_scaling(decision: Decision) -> dict[str, Any]:
    """``ManagedScalingPolicy`` of RunJobFlow and PutManagedScalingPolicy: just the machines decided on.

    Its limits are of the core and task nodes; the primary node is not counted ("Understanding node allocation
    strategy and scenarios", Amazon EMR Management Guide).
    """
    machines = sum(group["InstanceCount"] for group in instance_groups(decision))
    return {
        "ComputeLimits": {
            "UnitType": "Instances",
            "MinimumCapacityUnits": machines,
            "MaximumCapacityUnits": machines,
        }
    }


def _machines(group: ExecutorGroup) -> int:
    if group.machines is None:
        raise MissingResourceError(
            f"Nothing tells how many executors a machine of type {group.instance_type!r} holds.",
            remedy="State executors_per_machine of the cluster.",
        )
    return group.machines


def _require_type(instance_type: str, *known: re.Pattern[str], target: str) -> None:
    if not any(each.fullmatch(instance_type) for each in known):
        raise InvalidParameterError(
            "instance_type",
            instance_type,
            f"is no type of machine that {target} could start",
            remedy="Train on such a type, or name it by instance_type of the cluster's specification.",
        )


def step_arguments(
    decision: Decision, shapes: Mapping[str, ExecutorShape], *, conf: Mapping[str, str]
) -> list[str]:
    """Arguments of spark-submit in a step: the executors decided on, and no others.

    They are needed: EMR turns dynamic allocation on, and has sizes of executors of its own ("Configure
    Spark", Amazon EMR Release Guide). Where the sample runs were made on EMR, the
    executors are as they were. A machine known from a standalone master has less to give here, since EMR
    leaves YARN three quarters of its memory ("Task configuration", there); 1 GB of it is kept for the
    application master. The driver belongs on the master (``--deploy-mode client``): on one of the machines
    it would take an executor's room.
    """

    def room(shape: ExecutorShape) -> int | None:
        own = shape.room_megabytes
        if own is None:
            return None
        whole = own + min(DAEMON_RESERVE_MEGABYTES, own)  # of the machine itself, about
        return int(_YARN_SHARE * whole) - SLACK_MEGABYTES

    sized = yarn_conf(decision, shapes, conf=conf, room=room)
    # Each one an item: no shell reads them, and none is quoted.
    return [argument for name, value in sized.items() for argument in ("--conf", f"{name}={value}")]


# EMR Serverless: the sizes are those of "Understanding application behavior in EMR Serverless", the defaults
# those of "Spark job properties" (both Amazon EMR Serverless User Guide). Without properties of its own a job
# would begin with 3 executors of 4 cores and 14 GB, and dynamic allocation would add as many as it likes.

# Gigabytes of a worker by its vCPUs: least, most, and in steps of.
_SIZES = {1: (2, 8, 1), 2: (4, 16, 1), 4: (8, 30, 1), 8: (16, 60, 4), 16: (32, 120, 8)}
_DRIVER_CORES, _DRIVER_MEMORY = "spark.driver.cores", "spark.driver.memory"
_DRIVER_DEFAULTS = {_DRIVER_CORES: "4", _DRIVER_MEMORY: "14g"}
_MEGABYTES_PER_GIGABYTE = 1024
# Between double quotes a backslash keeps these from ending them or meaning something.
_TO_ESCAPE = str.maketrans({'"': '\\"', "\\": "\\\\"})


def emr_serverless(
    decision: Decision, shapes: Mapping[str, ExecutorShape], *, conf: Mapping[str, str]
) -> dict[str, Any]:
    """What a job run and its application need: one worker for each executor, and one for the driver.

    A worker has the executor's cores and the least memory of the allowed sizes that holds an executor as in
    the sample runs; the executor's heap then grows to fill it. The driver has EMR's default of 4 cores and
    14 GB where the job's properties say nothing else.

    Returns:
        ``sparkSubmitParameters``, the text for ``jobDriver.sparkSubmit`` of StartJobRun; and
        ``maximumCapacity`` for CreateApplication or UpdateApplication, just what the run takes. There is no
        ``initialCapacity``: workers that are kept warm cost money while they are idle, too.
    """
    group = only_group(decision, shapes, target="EMR Serverless")
    shape = group.known_shape
    gigabytes = _worker_gigabytes(
        "executor_cores", shape.cores, wanted_memory(shape, conf).container_megabytes
    )
    memory = filling(gigabytes * _MEGABYTES_PER_GIGABYTE, conf)
    driver = {name: conf.get(name, default) for name, default in _DRIVER_DEFAULTS.items()}
    if not driver[_DRIVER_CORES].isdigit():
        raise InvalidParameterError(_DRIVER_CORES, driver[_DRIVER_CORES], "is no whole number")
    driver_cores = int(driver[_DRIVER_CORES])
    of_driver = memory_of("driver", megabytes(_DRIVER_MEMORY, driver[_DRIVER_MEMORY]), conf)
    driver_gigabytes = _worker_gigabytes(_DRIVER_CORES, driver_cores, of_driver.container_megabytes)
    properties = {
        **conf,
        **driver,
        **sizing_conf(executors=group.executors, executor_cores=shape.cores, bounds=decision.bounds),
        HEAP: f"{memory.heap_megabytes}m",
        # By this and not by the executors' own property, to which EMR might add it.
        "spark.emr-serverless.memoryOverheadFactor": f"{overhead_factor(conf):g}",
    }
    return {
        "sparkSubmitParameters": " ".join(f"--conf {_quoted(f'{k}={v}')}" for k, v in properties.items()),
        "maximumCapacity": {
            "cpu": f"{group.executors * shape.cores + driver_cores} vCPU",
            "memory": f"{group.executors * gigabytes + driver_gigabytes} GB",
        },
    }


def _worker_gigabytes(parameter: str, cores: int, container_megabytes: int) -> int:
    """The memory of the smallest worker with so many cores that holds a container."""
    if cores not in _SIZES:
        known = ", ".join(map(str, _SIZES))
        raise InvalidParameterError(
            parameter,
            cores,
            f"is no size of a worker of EMR Serverless, which has {known} vCPUs",
            remedy="Train with executors of as many cores.",
        )
    least, most, step = _SIZES[cores]
    for gigabytes in range(least, most + 1, step):
        if container_megabytes <= gigabytes * _MEGABYTES_PER_GIGABYTE:
            return gigabytes
    raise InvalidParameterError(
        parameter,
        cores,
        f"has at most {most} GB on EMR Serverless, and with its overhead an executor or driver of this job "
        f"takes {container_megabytes} MB",
        remedy="Lower its memory in the job's conf, for the sample runs and for production.",
    )


def _quoted(argument: str) -> str:
    """As EMR splits it again: at spaces, except between double quotes."""
    if argument and not any(sign.isspace() or sign in "\"'\\" for sign in argument):
        return argument
    return f'"{argument.translate(_TO_ESCAPE)}"'


def _refuse_bounds(decision: Decision, *, target: str) -> None:
    if decision.bounds is not None:
        raise InvalidParameterError(
            "allocation",
            DYNAMIC,
            f"is Spark's own, and {target} adds and removes workers by rules of its own",
            remedy='Decide with allocation="fixed".',
        )


# AWS Glue: the type and the number of a job run's workers.

# "AWS Glue worker types", AWS Glue Developer Guide: vCPUs and gigabytes. The general ones come first.
_WORKERS = {
    "G.1X": (4, 16),
    "G.2X": (8, 32),
    "G.4X": (16, 64),
    "G.8X": (32, 128),
    "G.12X": (48, 192),
    "G.16X": (64, 256),
    "R.1X": (4, 32),
    "R.2X": (8, 64),
    "R.4X": (16, 128),
    "R.8X": (32, 256),
}


def glue_workers(
    decision: Decision, shapes: Mapping[str, ExecutorShape], *, conf: Mapping[str, str]
) -> dict[str, Any]:
    """``WorkerType`` and ``NumberOfWorkers`` for StartJobRun: a worker for each executor and the driver.

    Each worker runs one executor, but for the one with the driver ("Best practices to scale Apache Spark jobs
    and partition data with AWS Glue", AWS Big Data Blog). The type has as many cores as the executor;
    a general one (G) where its memory holds an executor as in the sample runs, else one with twice the memory
    (R). How much of it becomes heap is Glue's own affair, as are the other properties of executors. The
    number holds only where auto scaling (``--enable-auto-scaling``) is off.
    """
    _refuse_bounds(decision, target="Glue")
    group = only_group(decision, shapes, target="Glue")
    shape = group.known_shape
    needed = wanted_memory(shape, conf).container_megabytes
    for worker_type, (cores, gigabytes) in _WORKERS.items():
        if cores == shape.cores and needed <= gigabytes * _MEGABYTES_PER_GIGABYTE:
            return {"WorkerType": worker_type, "NumberOfWorkers": group.executors + 1}
    offered = ", ".join(f"{name} {cores}/{gigabytes}" for name, (cores, gigabytes) in _WORKERS.items())
    raise InvalidParameterError(
        "executor_cores",
        shape.cores,
        f"with {needed} MB for the executor is no worker of Glue (cores/GB: {offered})",
        remedy="Train with executors like one of them.",
    )


# Databricks: the new cluster of a job run.

_AZURE_TYPE = re.compile(r"Standard_\w+")
_GOOGLE_TYPE = re.compile(r"[a-z]\w*-[a-z]+-\d+\w*(-\w+)*")


def databricks_cluster(decision: Decision) -> dict[str, Any]:
    """``num_workers``, ``node_type_id`` and ``spark_conf`` for ``new_cluster`` of the Jobs API.

    A cluster has one driver and ``num_workers`` executors, which are ``num_workers`` + 1 machines, and each
    executor takes all of its machine (Clusters API, Databricks REST API reference). So nothing is said of the
    executors' cores and memory. Add ``spark_version`` and what else you need, also to ``spark_conf``, but no
    ``autoscale``, over which ``num_workers`` would count for nothing.
    """
    _refuse_bounds(decision, target="Databricks")
    group = only_group(decision, {}, target="Databricks")
    _require_type(group.instance_type, EC2_TYPE, _AZURE_TYPE, _GOOGLE_TYPE, target="Databricks")
    sizing = sizing_conf(executors=group.executors, executor_cores=1)
    return {
        "num_workers": group.executors,
        "node_type_id": group.instance_type,
        # So that the work spreads as in the sample runs.
        "spark_conf": {"spark.locality.wait": sizing["spark.locality.wait"]},
    }


# All of them at once, for the task that decides to hand on.

PROPERTIES = ("spark_conf", "yarn_conf", "kubernetes_conf")
"""Keys of XComs that are Spark properties."""

UNAVAILABLE = "unavailable"


def outputs(
    decision: Decision,
    shapes: Mapping[str, ExecutorShape],
    *,
    conf: Mapping[str, str],
    conf_there: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Any]:
    """What others need to be told of a decision, by its XCom key; under `UNAVAILABLE` why others are missing.

    A key for which there is nothing is absent, not None: an operator that gets None would leave the size out,
    and the job would run with its service's default. An XCom that was never pushed fails the task instead.

    The shapes are by type of machine. All of `conf` is in the outputs: it has the job's Spark properties of
    the sizes of executors and driver, which win over those of `conf_there`, by key, of the cluster that the
    output is for.
    """
    own = {str(name): str(value) for name, value in conf.items()}
    there = conf_there or {}

    def sized(key: str, make: Callable[..., Any]) -> Callable[[], Any]:
        return partial(make, decision, shapes, conf={**there.get(key, {}), **own})

    makers: dict[str, Callable[[], Any]] = {
        "yarn_conf": sized("yarn_conf", yarn_conf),
        "kubernetes_conf": sized("kubernetes_conf", kubernetes_conf),
        "spark_arguments": sized("spark_arguments", step_arguments),
        "emr_serverless": sized("emr_serverless", emr_serverless),
        "glue": sized("glue", glue_workers),
        "emr_instance_groups": partial(instance_groups, decision),
        "emr_managed_scaling": partial(managed_scaling, decision),
        "databricks_cluster": partial(databricks_cluster, decision),
    }
    made: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for key, make in makers.items():
        try:
            made[key] = make()
        except ErnestError as error:
            reasons[key] = str(error)
    return {**made, UNAVAILABLE: reasons}
