"""Where a cluster's machines reach the driver, which runs beside the Airflow task."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping

from airflow_provider_ernest.exceptions import ClusterLostError

DRIVER_HOST = "spark.driver.host"
BIND_ADDRESS = "spark.driver.bindAddress"
DRIVER_PYTHON = "spark.pyspark.driver.python"

_STANDALONE = "spark://"


def driver_conf(master_url: str, *, conf: Mapping[str, str] | None = None) -> dict[str, str]:
    """Properties of a driver on this host for a cluster on other hosts; what `conf` sets is left alone.

    Spark would take the address that the host's name stands for, which is often one that only the host
    itself knows (127.0.1.1 on Debian). Executors could not connect to the driver and would be started
    again and again. PySpark's driver gets the Python of this process, whatever the executors use.

    Args:
        master_url: spark://host:port. For other masters nothing is said of addresses.
        conf: what the application has been given already.

    Raises:
        ClusterLostError: the master's name is unknown, or there is no route to it.
    """
    given = conf or {}
    wanted = {DRIVER_PYTHON: sys.executable}
    if master_url.startswith(_STANDALONE) and not {DRIVER_HOST, BIND_ADDRESS} <= given.keys():
        route = local_address(master_url)
        # The driver may be known by an address of a gateway, at which it cannot listen itself.
        host = given.get(DRIVER_HOST, route)
        wanted |= {DRIVER_HOST: host, BIND_ADDRESS: host if _is_own(host) else route}
    return {key: value for key, value in wanted.items() if key not in given}


def local_address(master_url: str) -> str:
    """This host's address on the route to a standalone master. Nothing is sent.

    Raises:
        ClusterLostError: the master's name is unknown, or there is no route to it.
    """
    # With several masters (high availability) the first stands for all.
    host, _, port = master_url.removeprefix(_STANDALONE).split(",")[0].rpartition(":")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[
            0
        ]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # of a datagram socket: only the route is looked up
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as error:
        raise ClusterLostError(
            f"There is no way from this host to the Spark master {master_url}: {error}.",
            remedy="The Airflow worker must be in the cluster's network, or routed to it.",
        ) from error


def _is_own(host: str) -> bool:
    """Whether it is an address of this host, at which it can listen."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True
