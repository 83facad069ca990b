"""Does what an event log tells of a run come true? Real runs, on hosts made slow, against predictions.

A small Spark cluster is made on this machine, of hosts whose networks, CPU and disks can be limited. Jobs
of a known bottleneck run on it, and again with the limit lifted, doubled or halved, on other machines,
and with no host slow; what was predicted from one run's event log stands beside what the other run took.
Needs root, 10 minutes for each repeat, and a machine that nobody else uses meanwhile: what others take of
it, no event log explains.

    python -m benchmarks.clarity [--repeats N] [--keep DIR]
    python -m benchmarks.clarity --logs DIR
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from airflow_provider_ernest.exceptions import ErnestError
from benchmarks.clarity.cluster import SlowableCluster
from benchmarks.clarity.report import report_lines
from benchmarks.clarity.running import make_runs, read_runs


def main() -> int:
    """Make the runs, or read kept ones, and print the report; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clarity", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--repeats", type=int, default=1, help="how often each run is made; default 1")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="where event logs are kept, and found of what was interrupted",
    )
    parser.add_argument("--logs", type=Path, metavar="DIR", help="kept event logs, instead of new runs")
    options = parser.parse_args()
    if not options.logs and (missing := SlowableCluster.missing()):
        print(f"This benchmark cannot run here: {missing}.", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was made is removed then, too
    try:
        with tempfile.TemporaryDirectory(prefix="ernest-clarity-", ignore_cleanup_errors=True) as folder:
            logs = options.logs or options.keep or Path(folder, "logs")
            if not options.logs:
                make_runs(Path(folder, "clusters"), logs, repeats=options.repeats)
            for line in report_lines(read_runs(logs)):
                print(line, flush=True)
    except (ErnestError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
