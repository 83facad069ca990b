import pytest

from airflow_provider_ernest.decision.forms.machines import MachineShape
from airflow_provider_ernest.decision.forms.services import databricks_cluster, glue_workers
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.decision.forms.decisions import SHAPES, decision, mix


@pytest.mark.parametrize(
    ("name", "worker"),
    [("m5.xlarge", "G.1X"), ("c5.xlarge", "G.1X"), ("r5.xlarge", "R.1X"), ("m5.4xlarge", "G.4X")],
)
def test_glue_has_one_worker_more_for_the_driver(name, worker):
    assert glue_workers(decision(name, 9), SHAPES, conf={}) == {"WorkerType": worker, "NumberOfWorkers": 10}


@pytest.mark.parametrize(("cores", "worker"), [(8, "G.2X"), (32, "G.8X"), (48, "G.12X"), (64, "G.16X")])
def test_the_worker_has_the_cores_of_the_machine(cores, worker):
    shapes = {"any": MachineShape(cores=cores, memory_megabytes=3000 * cores)}
    assert glue_workers(decision("any"), shapes, conf={})["WorkerType"] == worker


@pytest.mark.parametrize("shape", [SHAPES["m5.large"], MachineShape(cores=4, memory_megabytes=40_000)])
def test_what_no_worker_of_glue_has_is_named(shape):
    with pytest.raises(
        InvalidParameterError, match=f"cores_per_machine={shape.cores} with .* is no worker of Glue"
    ):
        glue_workers(decision("any"), {"any": shape}, conf={})


def test_databricks_counts_the_driver_by_itself():
    assert databricks_cluster(decision("m5.xlarge", 9)) == {
        "num_workers": 9,
        "node_type_id": "m5.xlarge",
        "spark_conf": {"spark.locality.wait": "0s"},
    }


@pytest.mark.parametrize("name", ["i3.xlarge", "Standard_D4s_v5", "n2-highmem-4", "n1-standard-16"])
def test_the_types_of_every_cloud_of_databricks_are_known(name):
    assert databricks_cluster(decision(name))["node_type_id"] == name


@pytest.mark.parametrize("name", ["local", "unknown", "spark_default"])
def test_what_databricks_cannot_start_is_named(name):
    with pytest.raises(InvalidParameterError, match=f"instance_type='{name}' is no type"):
        databricks_cluster(decision(name))


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (lambda chosen: glue_workers(chosen, SHAPES, conf={}), "Glue"),
        (databricks_cluster, "Databricks"),
    ],
)
def test_a_mix_cannot_be_said(make, target):
    with pytest.raises(
        InvalidParameterError, match=rf"'2 m5\.xlarge \+ 1 c5\.xlarge' is a mix .* {target} are alike"
    ):
        make(mix(c5_xlarge=1, m5_xlarge=2))
