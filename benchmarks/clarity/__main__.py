"""Does what an event log tells of a run come true? Real runs, on hosts made slow, against predictions.

A small Spark cluster is made on this machine, of hosts whose networks, CPU and disks can be limited. Jobs
of a known bottleneck run on it, and again with the limit lifted, doubled or halved, on other machines,
and with no host slow; what was predicted from one run's event log stands beside what the other run took.
Needs root, and 10 minutes for each repeat.

    python -m benchmarks.clarity [--repeats N] [--keep DIR]
    python -m benchmarks.clarity --logs DIR
"""

from __future__ import annotations

import sys

from benchmarks.clarity.command import run_command
from benchmarks.clarity.report import report_lines
from benchmarks.clarity.scenarios import SCENARIOS

if __name__ == "__main__":
    sys.exit(run_command("python -m benchmarks.clarity", __doc__, SCENARIOS, report_lines))
