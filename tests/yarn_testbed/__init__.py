"""A real YARN on this machine: Hadoop's ResourceManager and NodeManagers, each with an address of its own.

`.ci/ensure_testbed yarn` fetches what it needs from Maven Central and compiles its program, once.
"""

from tests.yarn_testbed.testbed import SMALL_QUEUE, YarnTestbed

__all__ = ["SMALL_QUEUE", "YarnTestbed"]
