"""Keeps the bridge's namespace, and clears away what the kernel does not when the bed is killed.

A process of its own, in a network namespace of its own: when it ends, bridge and links are gone. Hosts die
with the bed by the kernel's hand (--pdeathsig); what is left are control groups.
"""

from __future__ import annotations

import argparse
import signal

from tests.ec2_testbed.bed_limits import remove_groups
from tests.ec2_testbed.process_life import wait_for_end_of


def main() -> None:
    """Wait for the bed's end, whatever signals come, then clear away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--name-prefix", required=True)
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wait_for_end_of(arguments.parent)
    remove_groups(arguments.name_prefix)


if __name__ == "__main__":
    main()
