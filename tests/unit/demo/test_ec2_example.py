import json
import runpy
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

EXAMPLE = Path(__file__).parents[3] / "dags" / "example_ernest_ec2.py"


def create_cluster():
    """The operator that launches the example's machines."""
    group = runpy.run_path(str(EXAMPLE))["ernest"]
    return group.dag.task_dict["ernest.create_cluster"]


def test_without_settings_a_launch_template_tells_of_the_machines(monkeypatch):
    monkeypatch.delenv("ERNEST_EC2_CLUSTER", raising=False)

    task = create_cluster()

    assert task.spec["launch_template"] == "ernest-spark"
    assert task.spec["image"] is None


def test_the_environment_tells_of_the_machines(monkeypatch):
    machines = {
        "machines": 6,
        "instance_type": "m6i.large",
        "image": "ami-0123456789abcdef0",
        "subnets": ["subnet-0123456789abcdef0"],
        "security_groups": ["sg-0123456789abcdef0"],
    }
    monkeypatch.setenv("ERNEST_EC2_CLUSTER", json.dumps(machines))

    task = create_cluster()

    assert {name: task.spec[name] for name in machines} == machines
    assert task.spec["launch_template"] is None


def test_a_misspelt_setting_is_refused(monkeypatch):
    monkeypatch.setenv("ERNEST_EC2_CLUSTER", json.dumps({"instance_typ": "m6i.large"}))

    with pytest.raises(TypeError, match=r"instance_typ"):
        create_cluster()


def test_the_resized_cluster_is_the_one_that_production_runs_on(monkeypatch):
    monkeypatch.delenv("ERNEST_EC2_CLUSTER", raising=False)
    tasks = runpy.run_path(str(EXAMPLE))["ernest"].dag.task_dict

    assert "ernest.resize_cluster" in tasks["enrich_all_flights"].upstream_task_ids
    assert "enrich_all_flights" in tasks["ernest.terminate_cluster"].upstream_task_ids


def test_what_the_demonstration_tells_of_its_machines_is_a_specification(tmp_path):
    from benchmarks.demo_ec2.cloud import airflow_environment

    class Bed:
        """What is asked of a bed that is not started."""

        image_id = "ami-0123456789abcdef0"
        subnet_ids = ("subnet-0123456789abcdef0",)
        security_group_id = "sg-0123456789abcdef0"
        spark_home = "/usr/lib/spark"
        java_home = "/usr/lib/java"
        python = "/usr/bin/python3"
        gateway_address = "10.77.0.1"

        def airflow_connection(self):
            return "{}"

    environment = airflow_environment(Bed(), tmp_path)

    spec = EC2ClusterSpec(**json.loads(environment["ERNEST_EC2_CLUSTER"]))
    assert spec.driver_host == "10.77.0.1"
    assert spec.additional_machines == 1, "the example culls one"
    assert (Path(environment["SPARK_CONF_DIR"]) / "spark-defaults.conf").is_file()
