"""Predictions from history alone, judged by a corpus of real event logs.

``python -m benchmarks.history`` evaluates the packed corpus; a few minutes. ``... record DIR`` makes, as
root, the runs that neither the corpus nor DIR holds; all of them take two hours. ``... pack DIR`` packs
those of DIR with the others.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path

from benchmarks.history.packing import PACKED, pack, packed_runs
from benchmarks.history.schedule import planned_runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.history", description=(__doc__ or "").partition("\n\n")[0]
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
    return int(options.do(options) or 0)


def _record(options: argparse.Namespace) -> None:
    from benchmarks.history.recording import record

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # clusters are ended then, too
    known = packed_runs()
    runs = [run for run in planned_runs() if run.id.startswith(options.only) and run.id not in known]
    record(runs, options.folder.absolute(), most_seconds=60 * options.most_minutes, say=_say)


def _pack(options: argparse.Namespace) -> None:
    for archive in pack(planned_runs(), options.folder, options.into):
        print(f"{archive.name}: {archive.stat().st_size / 1e3:.0f} kB")


def _evaluate(options: argparse.Namespace) -> None:
    from benchmarks.history.corpus import recorded_runs
    from benchmarks.history.evaluation import said_of
    from benchmarks.history.report import report_lines

    with tempfile.TemporaryDirectory(prefix="ernest-history-") as folder:
        runs = recorded_runs(options.archives, Path(folder))
    by_job = {job: list(of_job) for job, of_job in groupby(runs, key=lambda run: run.job)}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        said = [each for of_job in pool.map(said_of, by_job, by_job.values()) for each in of_job]
    for line in report_lines(runs, said):
        print(line, flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
