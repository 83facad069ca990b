import json

import pytest

from airflow_provider_ernest.decision.forms.machines import MachineShape
from airflow_provider_ernest.decision.forms.services import databricks_cluster, glue_workers, outputs
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.decision.forms.decisions import SHAPES, decision, mix

ALL = {
    "yarn_conf",
    "kubernetes_conf",
    "spark_arguments",
    "emr_instance_groups",
    "emr_serverless",
    "glue",
    "databricks_cluster",
}


def test_a_decision_on_one_type_can_be_said_to_all():
    made = outputs(decision(), SHAPES, conf={"spark.sql.shuffle.partitions": 64, "spark.speculation": True})

    assert set(made) == ALL | {"unavailable"}
    assert made["unavailable"] == {}
    assert json.loads(json.dumps(made)) == made, "as XCom keeps it"
    assert made["yarn_conf"]["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize(
    ("chosen", "shapes", "missing", "reason"),
    [
        (
            mix(m5_large=2, m5_xlarge=1),
            SHAPES,
            {"emr_serverless", "glue", "databricks_cluster"},
            "is a mix of",
        ),
        (
            decision("local"),
            {"local": MachineShape(cores=1)},
            ALL,
            "is no type of machine that EMR could start",
        ),
        (decision("unknown"), {}, ALL, "is no type of machine that Databricks could start"),
        (decision("spark://host"), {}, ALL, "is no type of machine that Databricks could start"),
        (decision("Standard_D4s_v5"), {}, ALL - {"databricks_cluster"}, "that EMR could start"),
        (
            decision("m9.large"),
            {},
            ALL - {"emr_instance_groups", "databricks_cluster"},
            "Nothing tells the cores",
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
