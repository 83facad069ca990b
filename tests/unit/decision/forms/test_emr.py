import pytest

from airflow_provider_ernest.clusters.emr.steps import executor_rooms
from airflow_provider_ernest.decision.forms.machines import MachineShape, megabytes
from airflow_provider_ernest.decision.forms.services import instance_groups, step_arguments
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.decision.forms.decisions import SHAPES, WHOLE, decision, mix


class SupportedTypes:
    """EMR, as far as it tells of types of machines."""

    def list_supported_instance_types(self, **_):
        types = [
            {"Type": name, "VCPU": cores, "MemoryGB": gigabytes} for name, (cores, gigabytes) in WHOLE.items()
        ]
        return {"SupportedInstanceTypes": types}


ROOMS = executor_rooms(SupportedTypes(), "emr-7.5.0", set(WHOLE))


def conf_of(arguments: list[str]) -> dict[str, str]:
    assert arguments[::2] == ["--conf"] * (len(arguments) // 2)
    return dict(argument.split("=", 1) for argument in arguments[1::2])


def test_machines_of_one_type_are_the_core_group():
    assert instance_groups(decision("m5.xlarge", 5)) == [
        {
            "Name": "core",
            "InstanceRole": "CORE",
            "InstanceType": "m5.xlarge",
            "InstanceCount": 5,
            "Market": "ON_DEMAND",
        }
    ]


def test_further_types_of_a_mix_are_task_groups():
    groups = instance_groups(mix(m5_large=2, m5_xlarge=3, c5_xlarge=1))

    assert [(one["InstanceRole"], one["InstanceType"], one["InstanceCount"]) for one in groups] == [
        ("CORE", "m5.xlarge", 3),
        ("TASK", "m5.large", 2),
        ("TASK", "c5.xlarge", 1),
    ]
    assert len({one["Name"] for one in groups}) == 3


@pytest.mark.parametrize("name", WHOLE)
def test_executors_have_the_room_of_those_that_were_trained_on_emr(name):
    room = ROOMS[name]
    there = conf_of(
        step_arguments(
            decision(name),
            {name: MachineShape(cores=room.cores, memory_megabytes=room.memory_megabytes)},
            conf={},
        )
    )
    elsewhere = conf_of(step_arguments(decision(name), SHAPES, conf={}))

    assert there["spark.executor.memory"] == f"{room.memory_megabytes}m"
    trained = megabytes("", there["spark.executor.memory"])
    assert trained - 2 <= megabytes("", elsewhere["spark.executor.memory"]) <= trained
    assert elsewhere["spark.executor.instances"] == "5"
    assert elsewhere["spark.dynamicAllocation.enabled"] == "false", "which EMR turns on"


def test_a_small_stated_heap_keeps_its_machine_to_itself():
    conf = conf_of(step_arguments(decision("m5.xlarge"), SHAPES, conf={"spark.executor.memory": "2g"}))

    assert conf["spark.executor.memory"] == "2048m"
    assert 2 * (2048 + megabytes("", conf["spark.executor.memoryOverhead"])) > 0.75 * 16 * 1024


def test_a_heap_that_emr_does_not_grant_is_refused():
    with pytest.raises(InvalidParameterError, match=r"spark\.executor\.memory='12g' takes"):
        step_arguments(decision("m5.xlarge"), SHAPES, conf={"spark.executor.memory": "12g"})
