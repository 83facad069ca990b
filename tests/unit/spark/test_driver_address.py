from __future__ import annotations

import sys

import pytest

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.submit import driver_conf

MASTER = "spark://127.0.0.1:7077"


@pytest.mark.parametrize("master", [MASTER, "spark://127.0.0.1:7077,10.255.0.1:7077"])
def test_the_driver_is_reached_at_the_address_of_the_route_to_the_first_master(master):
    assert driver_conf(master) == {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.driver.python": sys.executable,
    }


def test_what_is_set_is_left_alone():
    given = {"spark.driver.host": "127.0.0.5", "spark.pyspark.driver.python": "/opt/python"}
    assert driver_conf(MASTER, conf=given) == {"spark.driver.bindAddress": "127.0.0.5"}
    given["spark.driver.bindAddress"] = "0.0.0.0"
    assert driver_conf(MASTER, conf=given) == {}


def test_a_driver_behind_a_gateway_listens_at_its_own_address():
    given = {"spark.driver.host": "192.0.2.77"}
    assert driver_conf(MASTER, conf=given)["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize("master", ["yarn", "k8s://https://10.0.0.1:6443", "local[2]"])
def test_other_masters_find_the_driver_by_themselves(master):
    assert driver_conf(master) == {"spark.pyspark.driver.python": sys.executable}


@pytest.mark.parametrize("master", ["spark://no-such-host.invalid:7077", "spark://127.0.0.1", "spark://"])
def test_a_master_without_a_way_to_it_is_told(master):
    with pytest.raises(ClusterLostError, match="There is no way from this host to the Spark master"):
        driver_conf(master)
