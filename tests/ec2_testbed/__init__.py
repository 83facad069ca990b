"""A small cloud on this machine: an EC2 endpoint, and hosts that boot from their user-data.

`EC2Api` is the endpoint alone and needs no rights. `Testbed` turns its instances into hosts; it needs root
and iproute2.
"""

from tests.ec2_testbed.api_client import Call, EC2Api, Machine
from tests.ec2_testbed.testbed import Performance, RunningHost, Testbed

__all__ = ["Call", "EC2Api", "Machine", "Performance", "RunningHost", "Testbed"]
