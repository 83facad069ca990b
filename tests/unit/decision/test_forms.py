"""A decision in the forms that others take: Spark properties, EMR, EMR Serverless, Glue, Databricks."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from airflow_provider_ernest.clusters.emr.steps import executor_rooms
from airflow_provider_ernest.decision.forms import (
    ExecutorShape,
    databricks_cluster,
    emr_serverless,
    filling,
    glue_workers,
    instance_groups,
    kubernetes_conf,
    managed_scaling,
    megabytes,
    memory_within,
    outputs,
    step_arguments,
    yarn_conf,
)
from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.settings import Billing

# Cores and gigabytes of machines of Amazon's, and of one under YARN.
WHOLE = {"m5.large": (2, 8), "m5.xlarge": (4, 16), "c5.xlarge": (4, 8), "r5.xlarge": (4, 32)}
WHOLE |= {"m5.4xlarge": (16, 64)}
SHAPES = {
    name: ExecutorShape(cores=cores, memory_megabytes=int((gigabytes - 1) * 1024 / 1.1), is_standalone=True)
    for name, (cores, gigabytes) in WHOLE.items()
}
UNDER_YARN = ExecutorShape(cores=8, memory_megabytes=20_000)
ON_SERVERLESS = ExecutorShape(cores=4, memory_megabytes=10_000)
HEAP, OVERHEAD = "spark.executor.memory", "spark.executor.memoryOverhead"
OFF_HEAP, OFF_HEAP_SIZE = "spark.memory.offHeap.enabled", "spark.memory.offHeap.size"


def decision(instance_type: str = "m5.xlarge", executors: int = 5) -> Decision:
    config = Configuration(executors=executors, instance_type=instance_type)
    return Decision(config=config, goal="a test", billing=Billing(price_per_hour=0.2, market="on-demand"))


def mix(**executors: int) -> Decision:
    """Machines of two types, their dots as underscores."""
    parts = tuple(
        Configuration(executors=count, instance_type=name.replace("_", "."))
        for name, count in executors.items()
    )
    words = " + ".join(f"{part.executors} {part.instance_type}" for part in parts)
    whole = Configuration(executors=sum(executors.values()), instance_type=words)
    return Decision(config=whole, composition=parts, goal="a test")


def container(conf: dict[str, str]) -> int:
    return sum(megabytes(name, conf[name]) for name in (HEAP, OVERHEAD))


def conf_of(arguments: list[str]) -> dict[str, str]:
    assert arguments[::2] == ["--conf"] * (len(arguments) // 2)
    return dict(argument.split("=", 1) for argument in arguments[1::2])


# What an executor takes.


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4g", 4096), ("4G", 4096), ("4gb", 4096), ("512m", 512), ("512", 512), ("2048k", 2), ("1t", 1024**2)],
)
def test_sizes_are_read_as_by_spark(text, expected):
    assert megabytes(HEAP, text) == expected


@pytest.mark.parametrize("text", ["", "4 apples", "-1g", "4.5g", "g"])
def test_what_is_no_size_is_named(text):
    with pytest.raises(InvalidParameterError, match=r"spark\.driver\.memory=.* is no size of memory"):
        megabytes("spark.driver.memory", text)


@pytest.mark.parametrize(
    ("conf", "heap", "overhead", "further"),
    [
        ({}, 10_000, 1000, 0),
        ({HEAP: "2g"}, 2048, 384, 0),
        ({"spark.executor.memoryOverheadFactor": "0.4"}, 10_000, 4000, 0),
        ({OVERHEAD: "3g", "spark.executor.memoryOverheadFactor": "0.4"}, 10_000, 3072, 0),
        ({OFF_HEAP: "True", OFF_HEAP_SIZE: "1g"}, 10_000, 1000, 1024),
        ({OFF_HEAP: "false", OFF_HEAP_SIZE: "1g"}, 10_000, 1000, 0),
        ({"spark.executor.pyspark.memory": "500m"}, 10_000, 1000, 500),
    ],
)
def test_what_the_sample_runs_took_is_taken_again(conf, heap, overhead, further):
    memory = memory_within(ON_SERVERLESS, conf, room_megabytes=None)

    assert (memory.heap_megabytes, memory.overhead_megabytes) == (heap, overhead)
    assert memory.container_megabytes == heap + overhead + further


@pytest.mark.parametrize("conf", [{}, {OVERHEAD: "2g"}, {"spark.executor.pyspark.memory": "1g"}])
@pytest.mark.parametrize("room", [3000, 10_999])
def test_less_room_takes_from_the_heap_and_is_filled(conf, room):
    memory = memory_within(ON_SERVERLESS, conf, room_megabytes=room)

    assert room - 2 <= memory.container_megabytes <= room
    assert memory == filling(room, conf)
    with pytest.raises(InvalidParameterError, match="Spark needs 450 MB"):
        filling(600, {})


# YARN and Kubernetes.


def test_on_yarn_one_executor_takes_each_machine():
    job = {
        "spark.sql.shuffle.partitions": "64",
        "spark.executor.cores": "1",
        "spark.dynamicAllocation.enabled": "true",
    }
    conf = yarn_conf(decision("lake", 5), {"lake": UNDER_YARN}, conf=job)

    assert conf["spark.executor.instances"] == "5"
    assert conf["spark.executor.cores"] == "8", "what sizes the run wins over the job's own"
    assert (conf[HEAP], conf[OVERHEAD]) == ("20000m", "2000m"), "as in the sample runs"
    assert conf["spark.dynamicAllocation.enabled"] == "false"
    assert conf["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize("make", [yarn_conf, kubernetes_conf])
@pytest.mark.parametrize("name", SHAPES)
def test_a_machine_known_from_a_standalone_master_has_room_for_just_one(make, name):
    room = SHAPES[name].room_megabytes
    assert container(make(decision(name), SHAPES, conf={})) <= room
    assert room < 2 * container(make(decision(name), SHAPES, conf={}))


def test_pods_ask_for_cores_that_a_node_can_give():
    cores = "spark.kubernetes.executor.request.cores"

    assert kubernetes_conf(decision("k8s"), {"k8s": UNDER_YARN}, conf={})[cores] == "8"
    on_nodes = kubernetes_conf(decision("m5.xlarge"), SHAPES, conf={})
    assert on_nodes[cores] == "3400m", "more than half of the node, less than what it keeps for itself"
    assert on_nodes["spark.executor.cores"] == "4", "as many tasks as in the sample runs"
    assert on_nodes["spark.shuffle.service.enabled"] == "false"
    assert kubernetes_conf(decision(), SHAPES, conf={cores: "3900m"})[cores] == "3900m", "the job's own wins"


def test_a_mix_of_one_family_gets_executors_of_the_smaller_type():
    conf = yarn_conf(mix(m5_large=2, m5_xlarge=3), SHAPES, conf={})

    assert conf["spark.executor.cores"] == "2"
    assert conf["spark.executor.instances"] == "8", "two on each of the larger"
    assert conf["spark.cores.max"] == "16"
    assert 2 * container(conf) <= SHAPES["m5.xlarge"].room_megabytes < 3 * container(conf)


def test_a_mix_in_which_a_stated_heap_has_no_room_is_refused():
    problem = r"has cores for 2 of the executors .* holds fewer .* allow_mixed=False"
    with pytest.raises(InvalidParameterError, match=problem):
        yarn_conf(mix(m5_large=2, c5_xlarge=3), SHAPES, conf={HEAP: "4g"})


def shared(executors: int, *, per_machine: int | None = None, instance_type: str = "m5.4xlarge") -> Decision:
    """Executors of a cluster that others use, too."""
    chosen = Configuration(
        executors=executors, instance_type=instance_type, executors_per_machine=per_machine
    )
    return replace(decision(instance_type), config=chosen)


def test_executors_of_a_shared_cluster_are_as_they_were_wherever_it_places_them():
    shape = {"m5.4xlarge": ExecutorShape(cores=2, memory_megabytes=4096)}
    conf = yarn_conf(shared(6), shape, conf={})

    sizes = ("spark.executor.instances", "spark.executor.cores", HEAP, OVERHEAD)
    assert [conf[name] for name in sizes] == ["6", "2", "4096m", "409m"], "the overhead is Spark's own"
    assert kubernetes_conf(shared(6), shape, conf={"spark.kubernetes.executor.limit.cores": "3"}) == {
        **conf,
        "spark.kubernetes.executor.request.cores": "2",
        "spark.kubernetes.executor.limit.cores": "3",
        "spark.shuffle.service.enabled": "false",
    }


def test_machines_follow_from_the_executors_that_each_holds():
    (group,) = instance_groups(shared(7, per_machine=3))
    assert group["InstanceCount"] == 3
    assert managed_scaling(shared(7, per_machine=3))["ComputeLimits"] == {
        "UnitType": "Instances",
        "MinimumCapacityUnits": 3,
        "MaximumCapacityUnits": 3,
    }
    assert databricks_cluster(shared(7))["num_workers"] == 7, "its executors take all of their machines"
    with pytest.raises(MissingResourceError, match=r"how many executors a machine .* executors_per_machine"):
        instance_groups(shared(7))


def test_what_nothing_tells_is_missing_by_name():
    unsized = {"m9.large": ExecutorShape(cores=2)}
    with pytest.raises(MissingResourceError, match=r"executor on 'm9\.large'"):
        yarn_conf(decision("m9.large"), SHAPES, conf={})
    with pytest.raises(MissingResourceError, match=r"memory of an executor.* Set spark\.executor"):
        kubernetes_conf(decision("m9.large"), unsized, conf={})
    assert yarn_conf(decision("m9.large"), unsized, conf={HEAP: "3g"})[HEAP] == "3072m"


# EMR.


def test_machines_of_one_type_are_the_core_group_and_of_a_mix_the_others_task_groups():
    (core,) = instance_groups(decision("m5.xlarge", 5))
    assert core == {
        "Name": "core",
        "InstanceRole": "CORE",
        "InstanceType": "m5.xlarge",
        "InstanceCount": 5,
        "Market": "ON_DEMAND",
    }
    groups = instance_groups(mix(m5_large=2, m5_xlarge=3))
    told = [(one["Name"], one["InstanceRole"], one["InstanceType"], one["InstanceCount"]) for one in groups]
    assert told == [("core", "CORE", "m5.xlarge", 3), ("task m5.large", "TASK", "m5.large", 2)]


class SupportedTypes:
    """EMR, as far as it tells of types of machines."""

    def list_supported_instance_types(self, **_):
        types = [{"Type": name, "VCPU": has[0], "MemoryGB": has[1]} for name, has in WHOLE.items()]
        return {"SupportedInstanceTypes": types}


ROOMS = executor_rooms(SupportedTypes(), "emr-7.5.0", set(WHOLE))


@pytest.mark.parametrize("name", WHOLE)
def test_executors_have_the_room_of_those_that_were_trained_on_emr(name):
    room = ROOMS[name]
    trained_there = {name: ExecutorShape(cores=room.cores, memory_megabytes=room.memory_megabytes)}
    there = conf_of(step_arguments(decision(name), trained_there, conf={}))
    elsewhere = conf_of(step_arguments(decision(name), SHAPES, conf={}))

    assert there[HEAP] == f"{room.memory_megabytes}m"
    assert room.memory_megabytes - 2 <= megabytes("", elsewhere[HEAP]) <= room.memory_megabytes
    assert elsewhere["spark.executor.instances"] == "5"
    assert elsewhere["spark.dynamicAllocation.enabled"] == "false", "which EMR turns on"


def test_a_stated_heap_is_kept_or_refused():
    conf = conf_of(step_arguments(decision("m5.xlarge"), SHAPES, conf={HEAP: "2g"}))

    assert conf[HEAP] == "2048m"
    assert conf[OVERHEAD] == "384m"
    with pytest.raises(InvalidParameterError, match=r"spark\.executor\.memory='12g' takes"):
        step_arguments(decision("m5.xlarge"), SHAPES, conf={HEAP: "12g"})


def test_arguments_hold_any_value_as_one_item():
    arguments = step_arguments(decision("m5.xlarge"), SHAPES, conf={"spark.a": "x y", "spark.b": '"'})
    assert arguments[:4] == ["--conf", "spark.a=x y", "--conf", 'spark.b="']


# EMR Serverless.


def sized(shape: ExecutorShape, conf: dict[str, str] | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """The Spark properties of a job run, and the capacity."""
    made = emr_serverless(decision("any", 5), {"any": shape}, conf=conf or {})
    return conf_of(shlex.split(made["sparkSubmitParameters"])), made["maximumCapacity"]


@pytest.mark.parametrize(
    ("cores", "heap", "gigabytes"),  # of the worker: "Understanding application behavior in EMR Serverless"
    [
        (1, 3000, 4),
        (4, 10_000, 11),
        (4, 27_648, 30),
        (8, 20_000, 24),
    ],
)
def test_workers_have_an_allowed_size_and_executors_fill_them(cores, heap, gigabytes):
    conf, capacity = sized(ExecutorShape(cores=cores, memory_megabytes=heap))

    granted = megabytes(HEAP, conf[HEAP])
    assert granted >= heap, "at least what the sample runs had"
    assert 1024 * gigabytes - 2 <= granted + max(384, int(granted * 0.1)) <= 1024 * gigabytes
    # One worker more is the driver's: 4 cores, and 14 GB with a tenth beside them.
    assert capacity == {"cpu": f"{5 * cores + 4} vCPU", "memory": f"{5 * gigabytes + 16} GB"}


def test_what_the_job_says_of_its_driver_and_its_overhead_counts():
    job = {
        "spark.driver.cores": "2",
        "spark.driver.memory": "6g",
        "spark.executor.memoryOverheadFactor": "0.5",
    }
    conf, capacity = sized(ON_SERVERLESS, job)

    assert capacity == {"cpu": "22 vCPU", "memory": f"{5 * 15 + 9} GB"}
    assert conf["spark.emr-serverless.memoryOverheadFactor"] == "0.5"


@pytest.mark.parametrize("value", ["-Da=1 -Db=2", "it's", 'say "so"', "back\\slash", "", "a\tb", "plain"])
def test_values_survive_the_way_through_one_text(value):
    conf, _ = sized(ON_SERVERLESS, {"spark.executor.extraJavaOptions": value})
    assert conf["spark.executor.extraJavaOptions"] == value


@pytest.mark.parametrize(
    ("cores", "heap", "driver_cores", "named"),
    [
        (3, 5000, "4", "executor_cores=3 is no size of a worker"),
        (4, 29_000, "4", "at most 30 GB .* takes 31900 MB"),
        (4, 5000, "3", r"spark\.driver\.cores=3"),
    ],
)
def test_what_no_worker_has_is_named(cores, heap, driver_cores, named):
    with pytest.raises(InvalidParameterError, match=named):
        sized(ExecutorShape(cores=cores, memory_megabytes=heap), {"spark.driver.cores": driver_cores})


# Glue and Databricks.


@pytest.mark.parametrize(
    ("shape", "worker"),
    [
        (SHAPES["m5.xlarge"], "G.1X"),
        (SHAPES["m5.4xlarge"], "G.4X"),
        (SHAPES["m5.large"], None),
        (ExecutorShape(cores=4, memory_megabytes=40_000), None),
    ],
)
def test_glue_has_a_worker_of_the_machines_cores_and_one_more_for_the_driver(shape, worker):
    def made():
        return glue_workers(decision("any", 9), {"any": shape}, conf={})

    if worker:
        assert made() == {"WorkerType": worker, "NumberOfWorkers": 10}
        return
    problem = f"executor_cores={shape.cores} with .* is no worker of Glue"
    with pytest.raises(InvalidParameterError, match=problem):
        made()


@pytest.mark.parametrize("name", ["m5.xlarge", "Standard_D4s_v5", "n2-highmem-4", "n1-standard-16"])
def test_databricks_counts_the_driver_by_itself_and_knows_the_types_of_every_cloud(name):
    assert databricks_cluster(decision(name, 9)) == {
        "num_workers": 9,
        "node_type_id": name,
        "spark_conf": {"spark.locality.wait": "0s"},
    }


# All of them.

ALL = {
    "yarn_conf",
    "kubernetes_conf",
    "spark_arguments",
    "emr_instance_groups",
    "emr_managed_scaling",
    "emr_serverless",
    "glue",
}
ALL |= {"databricks_cluster"}


def test_a_decision_on_one_type_can_be_said_to_all():
    made = outputs(decision(), SHAPES, conf={"spark.sql.shuffle.partitions": 64, "spark.speculation": True})

    assert set(made) == ALL | {"unavailable"}
    assert made["unavailable"] == {}
    assert json.loads(json.dumps(made)) == made, "as XCom keeps it"
    assert made["yarn_conf"]["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize(
    ("chosen", "shapes", "missing", "reason"),
    [
        (mix(m5_large=2, m5_xlarge=1), SHAPES, {"emr_serverless", "glue", "databricks_cluster"}, "is a mix"),
        (
            decision("local"),
            {"local": ExecutorShape(cores=1)},
            ALL,
            "no type of machine that EMR could start",
        ),
        (decision("spark://host"), {}, ALL, "is no type of machine that Databricks could start"),
        (decision("Standard_D4s_v5"), {}, ALL - {"databricks_cluster"}, "that EMR could start"),
        (
            decision("m9.large"),
            {},
            ALL - {"emr_instance_groups", "emr_managed_scaling", "databricks_cluster"},
            "Nothing tells the cor",
        ),
    ],
)
def test_what_cannot_be_said_is_absent_with_the_reason(chosen, shapes, missing, reason):
    made = outputs(chosen, shapes, conf={})

    assert set(made["unavailable"]) == missing
    assert all(each.endswith(".") for each in made["unavailable"].values())
    assert any(reason in each for each in made["unavailable"].values())
    assert set(made) == ALL - missing | {"unavailable"}
    assert None not in made.values()
