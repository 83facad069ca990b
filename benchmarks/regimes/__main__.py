"""Predictions across a change of regime, judged by real runs of Spark on both sides of it.

``python -m benchmarks.regimes`` evaluates the packed runs; a minute. ``... record DIR`` makes those that
neither the archives nor DIR hold; all of them take about 50 minutes of a machine of its own, and it goes on
where it was ended. ``... pack DIR`` packs those of DIR with the others.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.history.packing import pack, packed_runs
from benchmarks.regimes.schedule import planned_runs

PACKED = Path(__file__).parent / "event_logs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regimes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(do=_evaluate, archives=PACKED)
    commands = parser.add_subparsers()
    evaluating = commands.add_parser("evaluate", help="what is done without a command, of other archives")
    evaluating.add_argument("archives", type=Path, metavar="DIR")
    recording = commands.add_parser("record", help="make the runs that are missing")
    recording.set_defaults(do=_record)
    recording.add_argument("folder", type=Path, metavar="DIR")
    recording.add_argument("--most-minutes", type=float, default=60.0, help="no run is begun later")
    recording.add_argument("--only", default="", help="runs whose name begins so")
    packing = commands.add_parser("pack", help="pack what has been recorded")
    packing.set_defaults(do=_pack)
    packing.add_argument("folder", type=Path, metavar="DIR")
    packing.add_argument("--into", type=Path, default=PACKED, help="folder for the archives")
    options = parser.parse_args(arguments)
    options.do(options)
    return 0


def _record(options: argparse.Namespace) -> None:
    from benchmarks.regimes.recording import record

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the cluster is ended then, too
    known = packed_runs(PACKED)
    runs = [run for run in planned_runs() if run.id.startswith(options.only) and run.id not in known]
    record(runs, options.folder.absolute(), most_seconds=60 * options.most_minutes, say=_say)


def _pack(options: argparse.Namespace) -> None:
    for archive in pack(planned_runs(), options.folder, options.into):
        print(f"{archive.name}: {archive.stat().st_size / 1e3:.0f} kB")


def _evaluate(options: argparse.Namespace) -> None:
    from benchmarks.regimes.corpus import recorded_runs
    from benchmarks.regimes.evaluation import evaluate
    from benchmarks.regimes.report import report_lines

    runs = recorded_runs(options.archives)
    for line in report_lines(runs, evaluate(runs)):
        print(line, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
