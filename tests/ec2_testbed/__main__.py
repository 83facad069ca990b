"""`python -m tests.ec2_testbed`: a bed to try things out, until Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from tests.ec2_testbed.testbed import Testbed

_HOW_TO = """\
An EC2 endpoint whose instances are hosts on this machine. Ctrl-C ends it and all of them.

  export AWS_ENDPOINT_URL={bed.endpoint_url} AWS_DEFAULT_REGION=us-east-1
  export AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=testing
  export AIRFLOW_CONN_AWS_DEFAULT='{connection}'

  image            {bed.image_id} (also SSM parameter {bed.image_parameter})
  subnets          {subnets}
  security group   {bed.security_group_id}
  instance profile {bed.instance_profile}
  this machine     {bed.gateway_address}, where drivers listen (SPARK_LOCAL_IP)
  Spark, Java      {bed.spark_home} {bed.java_home}
  Python           {bed.python}
  hosts' files     {bed.work_directory}/hosts/<instance id>/console.log
"""


def main() -> None:
    if missing := Testbed.missing():
        sys.exit(missing)
    with tempfile.TemporaryDirectory(prefix="ernest-testbed-") as folder, Testbed(Path(folder)) as bed:
        subnets = ", ".join(bed.subnet_ids)
        print(_HOW_TO.format(bed=bed, connection=bed.airflow_connection(), subnets=subnets), flush=True)  # noqa: T201
        with contextlib.suppress(KeyboardInterrupt):
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            signal.pause()


if __name__ == "__main__":
    main()
