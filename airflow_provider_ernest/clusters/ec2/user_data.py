"""The user-data of the machines: the script that makes a booted image a part of the cluster.

It is all that a machine is ever told; nobody logs in. It carries the secret that the cluster's processes
share, readable for whoever may call DescribeInstanceAttribute and for the jobs on the machines, which have it
anyway. Its first command sets the time to live, as root; jobs run as `EC2ClusterSpec.spark_user`, who cannot
call that off.
"""

from __future__ import annotations

import base64
import math
import re
import secrets
import shlex
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

MASTER_PORT = 7077
WEB_PORT = 8080

MAX_BYTES = 16_384
"""What AWS takes, before base64 (EC2 User Guide, "Run commands when you launch an EC2 instance")."""

CONSOLE_PREFIX = "ernest: "
"""Begins each line of the script's own on a machine's console."""
GAVE_UP = f"{CONSOLE_PREFIX}this machine gives up and shuts down"
"""The console line of a machine that ends itself before its time; the one before it says why."""

TIMER_DELAY_SECONDS = 90
"""How long after the time to live a timer of root powers a machine off whose shutdown was called off.
`shutdown` counts in whole minutes."""

_SECRET_LINE = re.compile(r"^ernest_secret=([0-9a-f]{64})$", re.MULTILINE)


def new_secret() -> str:
    """A secret for the processes of one cluster: 256 bits, hexadecimal."""
    return secrets.token_hex(32)


def secret_of(user_data: str) -> str:
    """The secret in the user-data of a machine, base64 decoded; a ClusterError if there is none."""
    found = _SECRET_LINE.search(user_data)
    if found is None:
        raise ClusterError(
            "The machine's user-data holds no secret of a cluster.",
            remedy="It was not launched by this package, or its user-data was changed: start a new cluster.",
        )
    return found[1]


def user_data_of(
    spec: EC2ClusterSpec,
    *,
    secret: str,
    expires_at: datetime,
    master_host: str | None = None,
    cores: int | None = None,
    memory_megabytes: int | None = None,
) -> str:
    """The user-data of a machine; the same for the same arguments.

    Workers get the private address of the master, and what each offers to executors.

    Raises:
        InvalidParameterError: it is larger than AWS allows.
    """
    from jinja2 import Environment, StrictUndefined

    from airflow_provider_ernest.spark.installation import MIN_JAVA

    # `finalize` sees the value of every expression: none can be forgotten to be quoted.
    environment = Environment(
        autoescape=False,  # noqa: S701 - the output is a shell script, quoted for the shell
        finalize=lambda value: shlex.quote(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.from_string(files(__package__).joinpath("user_data.sh.j2").read_text("utf-8"))
    digest = spec.spark_distribution_sha512
    script = template.render(
        secret=secret,
        expires_at=expires_at.isoformat(timespec="seconds"),
        gave_up=GAVE_UP,
        min_java=MIN_JAVA,
        master_port=MASTER_PORT,
        web_port=WEB_PORT,
        time_to_live_minutes=math.ceil(spec.time_to_live_seconds / 60),
        timer_seconds=math.ceil(spec.time_to_live_seconds) + TIMER_DELAY_SECONDS,
        start_timeout_seconds=math.ceil(spec.start_timeout_seconds),
        setup_script=base64.b64encode(spec.setup_script.encode()).decode(),
        java_home=spec.java_home,
        python=spec.python,
        spark_user=spec.spark_user,
        spark_is_path=spec.spark_distribution.startswith("/"),
        spark_distribution=spec.spark_distribution,
        spark_sha512=None if digest is None else digest.lower(),
        network_encryption=spec.network_encryption,
        master_host=master_host,
        cores=cores,
        memory=f"{memory_megabytes}m",
    )
    size = len(script.encode())
    if size > MAX_BYTES:
        # In base64, four characters are three bytes, or fewer at the end.
        encoded = len(base64.b64encode(spec.setup_script.encode()))
        most = (encoded - (size - MAX_BYTES)) // 4 * 3
        raise InvalidParameterError(
            "setup_script",
            f"{spec.setup_script[:40]}...",
            f"makes user-data of {size} bytes, of which AWS takes {MAX_BYTES}; about {max(0, most)} bytes of "
            "script fit",
            remedy="Bake what it does into the image, or let it fetch a longer script from S3.",
        )
    return script
