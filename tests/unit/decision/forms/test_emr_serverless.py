import shlex

import pytest

from airflow_provider_ernest.decision.forms.machines import MachineShape
from airflow_provider_ernest.decision.forms.services import emr_serverless
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.decision.forms.decisions import decision

# vCPUs, heap wanted, gigabytes of the worker: "Understanding application behavior in EMR Serverless".
WORKERS = [
    (1, 500, 2),
    (1, 3000, 4),
    (2, 1000, 4),
    (2, 14_000, 16),
    (4, 1000, 8),
    (4, 10_000, 11),
    (4, 27_648, 30),
    (8, 20_000, 24),
    (8, 16_000, 20),
    (16, 60_000, 72),
    (16, 110_000, 120),
]


def parameters(text: str) -> dict[str, str]:
    words = shlex.split(text)
    assert words[::2] == ["--conf"] * (len(words) // 2)
    return dict(word.split("=", 1) for word in words[1::2])


def sized(shape: MachineShape, conf: dict[str, str] | None = None, **options) -> dict:
    return emr_serverless(decision("any", 5), {"any": shape}, conf=conf or {}, **options)


@pytest.mark.parametrize(("cores", "heap", "gigabytes"), WORKERS)
def test_workers_have_an_allowed_size_and_executors_fill_them(cores, heap, gigabytes):
    made = sized(MachineShape(cores=cores, memory_megabytes=heap))

    conf = parameters(made["sparkSubmitParameters"])
    granted = int(conf["spark.executor.memory"].removesuffix("m"))
    assert granted >= heap, "at least what the sample runs had"
    assert 1024 * gigabytes - 2 <= granted + max(384, int(granted * 0.1)) <= 1024 * gigabytes
    # One worker more is the driver's: 4 cores, and 14 GB with a tenth beside them.
    assert made["maximumCapacity"] == {"cpu": f"{5 * cores + 4} vCPU", "memory": f"{5 * gigabytes + 16} GB"}


def test_what_the_job_says_of_its_driver_and_its_overhead_counts():
    job = {
        "spark.driver.cores": "2",
        "spark.driver.memory": "6g",
        "spark.executor.memoryOverheadFactor": "0.5",
    }
    made = sized(MachineShape(cores=4, memory_megabytes=10_000), job)

    assert made["maximumCapacity"] == {"cpu": "22 vCPU", "memory": f"{5 * 15 + 9} GB"}
    assert parameters(made["sparkSubmitParameters"])["spark.emr-serverless.memoryOverheadFactor"] == "0.5"


def test_dynamic_allocation_has_no_choice_but_the_decision():
    shape = MachineShape(cores=4, memory_megabytes=10_000)
    conf = parameters(sized(shape, dynamic_allocation=True)["sparkSubmitParameters"])
    assert {conf[f"spark.dynamicAllocation.{end}Executors"] for end in ("min", "initial", "max")} == {"5"}


@pytest.mark.parametrize("value", ["-Da=1 -Db=2", "it's", 'say "so"', "back\\slash", "", "a\tb", "plain"])
def test_values_survive_the_way_through_one_text(value):
    shape = MachineShape(cores=4, memory_megabytes=10_000)
    text = sized(shape, {"spark.executor.extraJavaOptions": value})["sparkSubmitParameters"]
    assert parameters(text)["spark.executor.extraJavaOptions"] == value


@pytest.mark.parametrize(
    ("shape", "conf", "named"),
    [
        (MachineShape(cores=3, memory_megabytes=5000), {}, "cores_per_machine=3 is no size of a worker"),
        (MachineShape(cores=96, memory_megabytes=5000), {}, "cores_per_machine=96"),
        (MachineShape(cores=4, memory_megabytes=29_000), {}, "at most 30 GB .* takes 31900 MB"),
        (
            MachineShape(cores=4, memory_megabytes=5000),
            {"spark.driver.cores": "3"},
            r"spark\.driver\.cores=3",
        ),
        (MachineShape(cores=4, memory_megabytes=5000), {"spark.driver.cores": "few"}, "no whole number"),
    ],
)
def test_what_no_worker_has_is_named(shape, conf, named):
    with pytest.raises(InvalidParameterError, match=named):
        sized(shape, conf)
