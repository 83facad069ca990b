"""The cloud of the demonstration: how fast its machines are, and what Airflow is told of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.ec2_testbed import Performance, Testbed

ORDINARY = Performance(megabits_per_second=400)

SLOW = {3: Performance(megabits_per_second=100), 6: Performance(megabits_per_second=200)}
"""By number of the launch. 1 is the master, 2 to 5 are the first workers, from 6 on those for production.

Slow by their networks: where all share few cores, each has so little of them that a quota hardly shows.
"""

INSTANCE_TYPE = "m5.large"

_SPARK_DEFAULTS = """\
spark.ui.enabled false
# Quick to start: on two cores, compiling would take longer than these short tasks run.
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
# Spark on the machines is not the user that the drivers are, and both write to the folder of the output.
spark.hadoop.fs.permissions.umask-mode 000
"""


def cloud(home: Path) -> Testbed:
    """A bed whose hosts share the folders of the example and of Airflow's samples; not started yet."""
    data, staging = home / "data", home / "airflow" / "ernest" / "staging"
    for folder in (data, staging):
        folder.mkdir(parents=True)
    return Testbed(home / "bed", shared=[staging], writable=[data], default_performance=ORDINARY)


def airflow_environment(bed: Testbed, home: Path) -> dict[str, str]:
    """What the example's Airflow needs to know of this cloud, as it would of AWS."""
    spark_conf = home / "spark-conf"
    spark_conf.mkdir()
    (spark_conf / "spark-defaults.conf").write_text(_SPARK_DEFAULTS)
    machines = {
        "machines": 3,
        "instance_type": INSTANCE_TYPE,
        "image": bed.image_id,
        "subnets": bed.subnet_ids,
        "security_groups": [bed.security_group_id],
        "spark_distribution": bed.spark_home,
        "java_home": bed.java_home,
        "python": bed.python,
        "driver_host": bed.gateway_address,
        # All share the two or more cores of this machine.
        "cores_per_machine": 1,
        "memory_megabytes_per_machine": 512,
        "probe_rounds": 1,
    }
    return {
        "AIRFLOW_CONN_AWS_DEFAULT": bed.airflow_connection(),
        "ERNEST_EC2_CLUSTER": json.dumps(machines),
        "ERNEST_EXAMPLE_DATA": str(home / "data"),
        "SPARK_CONF_DIR": str(spark_conf),
    }


def in_words(performance: Performance) -> str:
    """How a slow machine is slow."""
    return f"{performance.megabits_per_second:g} instead of {ORDINARY.megabits_per_second:g} Mbit/s"
