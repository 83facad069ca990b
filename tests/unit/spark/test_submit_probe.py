"""The submission of the bandwidth probe, to a spark-submit that only writes what the probe would."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.clusters.probe import probe_bandwidth
from airflow_provider_ernest.exceptions import ClusterStartError
from tests.examples import cluster


def measurement(host: str, memory: float = 20.0) -> dict[str, object]:
    return {"host": host, "memory_windows": [memory], "sent": [1.0], "received": [1.0]}


TWO = {"measurements": [measurement("10.0.0.1"), measurement("10.0.0.2", 10.0), measurement("10.0.0.1")]}


def probe(*, memory_megabytes=3000, **changes):
    fields = {
        "rounds": 2,
        "interval_seconds": 30,
        "secret": None,
        "timeout_seconds": 60,
        **changes,
    }
    handle = cluster(executors=2, each={"memory_megabytes": memory_megabytes}, cores_per_machine=8)
    return probe_bandwidth(handle, **fields)


def test_the_machines_are_rated(spark_submit):
    spark_submit.behave(TWO)
    bandwidth = probe()
    assert set(bandwidth) == {"10.0.0.1", "10.0.0.2"}
    assert bandwidth["10.0.0.2"].score == pytest.approx(10 / 15)
    # Each machine as a whole, and little memory.
    conf, whole = spark_submit.conf, ("spark.cores.max", "spark.executor.cores", "spark.task.cpus")
    assert [conf[name] for name in whole] == ["16", "8", "8"]
    assert (conf["spark.executor.memory"], conf["spark.driver.host"]) == ("512m", "127.0.0.1")
    assert {"--machines=2", "--cores=8", "--rounds=2", "--interval-seconds=30"} <= set(spark_submit.arguments)
    probe(memory_megabytes=480)
    assert spark_submit.conf["spark.executor.memory"] == "480m", "never more than offered"


def test_the_secret_is_in_no_argument(spark_submit):
    spark_submit.behave(TWO)
    probe(secret="s3cr3t-of-the-cluster")
    assert "--properties-file" in spark_submit.arguments
    assert not any("s3cr3t" in word for word in spark_submit.arguments)


@pytest.mark.parametrize(
    ("document", "exit_code", "named"),
    [
        ({"problem": "TimeoutError: it is silent"}, 1, "probe failed: TimeoutError: it is silent"),
        (None, 137, r"probe failed: .*exit code 137"),
        ({"measurements": [measurement("10.0.0.1")]}, 0, "1 of 2 machines took part"),
    ],
)
def test_what_went_wrong_on_the_machines_is_told(spark_submit, document, exit_code, named):
    spark_submit.behave(document, exit_code=exit_code)
    with pytest.raises(ClusterStartError, match=named) as failure:
        probe()
    assert failure.value.retryable


def test_a_killed_task_can_end_it(spark_submit):
    spark_submit.behave(TWO)
    with pytest.raises(ClusterStartError, match="ended before it was submitted"):
        probe(on_submit=lambda hook: hook.end())


def test_it_is_bounded_in_time(spark_submit):
    spark_submit.behave(TWO, seconds=60)
    with pytest.raises(ClusterStartError, match=r"longer than timeout_seconds=1 and was ended"):
        probe(timeout_seconds=1)
