import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.sizing import sizing_conf


def test_asks_for_exactly_so_many_one_executor_machines():
    conf = sizing_conf(machines=3, cores_per_machine=2, machines_wait_seconds=90)

    assert conf["spark.cores.max"] == "6"
    assert conf["spark.executor.cores"] == "2"
    assert conf["spark.executor.instances"] == "3"
    assert conf["spark.scheduler.minRegisteredResourcesRatio"] == "1.0"
    assert conf["spark.scheduler.maxRegisteredResourcesWaitingTime"] == "90s"


@pytest.mark.parametrize(("machines", "cores"), [(0, 1), (1, 0), (-3, 1)])
def test_refuses_empty_clusters(machines, cores):
    with pytest.raises(InvalidParameterError, match="at least 1"):
        sizing_conf(machines=machines, cores_per_machine=cores)
