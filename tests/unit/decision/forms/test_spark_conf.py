import pytest

from airflow_provider_ernest.decision.forms.machines import MachineShape, megabytes
from airflow_provider_ernest.decision.forms.services import kubernetes_conf, step_arguments, yarn_conf
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from tests.unit.decision.forms.decisions import SHAPES, UNDER_YARN, decision, mix

JOB = {
    "spark.sql.shuffle.partitions": "64",
    "spark.executor.cores": "1",
    "spark.dynamicAllocation.enabled": "true",
}


def container(conf: dict[str, str]) -> int:
    return sum(
        megabytes(name, conf[name]) for name in ("spark.executor.memory", "spark.executor.memoryOverhead")
    )


def test_on_yarn_one_executor_takes_each_machine():
    conf = yarn_conf(decision("lake", 5), {"lake": UNDER_YARN}, conf=JOB)

    assert conf["spark.executor.instances"] == "5"
    assert conf["spark.executor.cores"] == "8", "what sizes the run wins over the job's own"
    assert conf["spark.executor.memory"] == "20000m", "as in the sample runs"
    assert conf["spark.executor.memoryOverhead"] == "2000m"
    assert conf["spark.dynamicAllocation.enabled"] == "false"
    assert conf["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize("make", [yarn_conf, kubernetes_conf])
@pytest.mark.parametrize("name", SHAPES)
def test_a_machine_known_from_a_standalone_master_has_room_for_just_one(make, name):
    conf = make(decision(name), SHAPES, conf={})

    room = SHAPES[name].room_megabytes
    assert container(conf) <= room < 2 * container(conf)


@pytest.mark.parametrize("make", [yarn_conf, kubernetes_conf])
def test_dynamic_allocation_has_no_choice_but_the_decision(make):
    conf = make(decision(machines=7), SHAPES, conf=JOB, dynamic_allocation=True)

    assert conf["spark.dynamicAllocation.enabled"] == "true"
    assert {conf[f"spark.dynamicAllocation.{end}Executors"] for end in ("min", "initial", "max")} == {"7"}
    assert conf["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"


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


@pytest.mark.parametrize("conf", [{}, {"spark.executor.memory": "1g"}])
def test_a_mix_whose_executors_would_lie_elsewhere_is_refused(conf):
    with pytest.raises(
        InvalidParameterError, match=r"has cores for \d of the executors .* allow_mixed=False"
    ):
        yarn_conf(mix(m5_large=2, c5_xlarge=3), SHAPES, conf=conf)


def test_what_nothing_tells_is_missing_by_name():
    with pytest.raises(MissingResourceError, match=r"type 'm9\.large'"):
        yarn_conf(decision("m9.large"), SHAPES, conf={})
    with pytest.raises(MissingResourceError, match=r"memory of an executor.* Set spark\.executor"):
        kubernetes_conf(decision("m9.large"), {"m9.large": MachineShape(cores=2)}, conf={})
    stated = {"spark.executor.memory": "3g"}
    sized = yarn_conf(decision("m9.large"), {"m9.large": MachineShape(cores=2)}, conf=stated)
    assert sized["spark.executor.memory"] == "3072m"


def test_arguments_hold_any_value_as_one_item():
    arguments = step_arguments(decision("m5.xlarge"), SHAPES, conf={"spark.a": "x y", "spark.b": '"'})

    assert arguments[:4] == ["--conf", "spark.a=x y", "--conf", 'spark.b="']


@pytest.mark.parametrize("fields", [{"cores": 0}, {"cores": 1, "memory_megabytes": 0}])
def test_machines_on_which_nothing_runs_are_refused(fields):
    with pytest.raises(InvalidParameterError, match="at least 1"):
        MachineShape(**fields)
