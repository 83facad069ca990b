import pytest

from airflow_provider_ernest.decision.forms.machines import MachineShape, filling, megabytes, memory_within
from airflow_provider_ernest.exceptions import InvalidParameterError

SHAPE = MachineShape(cores=4, memory_megabytes=10_000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4g", 4096), ("4G", 4096), ("4gb", 4096), ("512m", 512), ("512", 512), ("2048k", 2), ("1t", 1024**2)],
)
def test_sizes_are_read_as_by_spark(text, expected):
    assert megabytes("spark.executor.memory", text) == expected


@pytest.mark.parametrize("text", ["", "4 apples", "-1g", "4.5g", "g"])
def test_what_is_no_size_is_named(text):
    with pytest.raises(InvalidParameterError, match=r"spark\.driver\.memory=.* is no size of memory"):
        megabytes("spark.driver.memory", text)


@pytest.mark.parametrize(
    ("conf", "heap", "overhead", "further"),
    [
        ({}, 10_000, 1000, 0),
        ({"spark.executor.memory": "2g"}, 2048, 384, 0),
        ({"spark.executor.memoryOverheadFactor": "0.4"}, 10_000, 4000, 0),
        (
            {"spark.executor.memoryOverhead": "3g", "spark.executor.memoryOverheadFactor": "0.4"},
            10_000,
            3072,
            0,
        ),
        ({"spark.memory.offHeap.enabled": "True", "spark.memory.offHeap.size": "1g"}, 10_000, 1000, 1024),
        (
            {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "104857600"},
            10_000,
            1000,
            100,
        ),
        ({"spark.memory.offHeap.enabled": "false", "spark.memory.offHeap.size": "1g"}, 10_000, 1000, 0),
        ({"spark.executor.pyspark.memory": "500m"}, 10_000, 1000, 500),
    ],
)
def test_what_the_sample_runs_took_is_taken_again(conf, heap, overhead, further):
    memory = memory_within(SHAPE, conf, room_megabytes=None)

    assert (memory.heap_megabytes, memory.overhead_megabytes) == (heap, overhead)
    assert memory.container_megabytes == heap + overhead + further


@pytest.mark.parametrize(
    "conf", [{}, {"spark.executor.memoryOverhead": "2g"}, {"spark.executor.pyspark.memory": "1g"}]
)
@pytest.mark.parametrize("room", [3000, 5000, 8192, 10_999])
def test_less_room_takes_from_the_heap_and_is_filled(conf, room):
    memory = memory_within(SHAPE, conf, room_megabytes=room)

    assert room - 2 <= memory.container_megabytes <= room
    assert memory == filling(room, conf)


def test_too_little_memory_is_refused():
    with pytest.raises(InvalidParameterError, match="Spark needs 450 MB"):
        filling(600, {})
