"""How fast, and in how much memory, event logs are read: ``python -m benchmarks.event_log``.

Makes a log of 100,000 SQL tasks out of real events, packs it by Spark's own codecs and rolls it over, and
reads each in a process of its own. Two rivals read the plain one in the same run: `json` of the standard
library on every line, and on the lines of tasks that ended only; they keep the same figures, in lists. It
fails where the promise is not kept: 100,000 tasks in 5 seconds of CPU time and below 500 MB. LZF, which no
library reads, is shown and not promised.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.event_log.synthetic_log import large_log
from benchmarks.event_log_fixtures.installed_spark import InstalledSpark

PROMISED_SECONDS = 5.0
PROMISED_TASKS = 100_000
PROMISED_MEGABYTES = 500.0
CODECS = ("zstd", "lz4", "snappy", "lzf")
NOT_PROMISED = ("LZF",)
ROLLED_FILES = 8


def main() -> int:
    """Measure, print a table, and tell by the exit code whether the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tasks", type=int, default=PROMISED_TASKS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = _cases(Path(folder), arguments.tasks)
        print(f"{'':34}{'tasks':>9}{'MB':>8}{'seconds':>9}{'CPU s':>8}{'tasks/s':>10}{'peak MB':>9}")
        kept = True
        for name, reader, path in cases:
            measured = _measured(reader, path)
            within = _is_within(measured)
            promised = reader == "ernest" and not name.startswith(NOT_PROMISED)
            kept = kept and (within or not promised)
            print(_row(name, path, measured) + ("" if within or not promised else "  promise broken"))
    print(
        f"\nPromised: {PROMISED_TASKS:,} tasks in {PROMISED_SECONDS:.0f} s of CPU time and below "
        f"{PROMISED_MEGABYTES:.0f} MB: {'kept' if kept else 'BROKEN'}. MB: as the log lies there."
    )
    return 0 if kept else 1


def _cases(folder: Path, tasks: int) -> list[tuple[str, str, Path]]:
    """Names, readers and logs."""
    plain = folder / "plain"
    with plain.open("wb") as file:
        file.writelines(line + b"\n" for line in large_log(tasks))
    rolled, targets = _rolled(plain, folder)
    targets += [(plain, folder / f"log.{codec}", codec) for codec in CODECS]
    print("Packing by Spark's own codecs ...", file=sys.stderr)
    InstalledSpark(Path(sys.executable)).compress(targets)
    with plain.open("rb") as text, gzip.open(folder / "log.gz", "wb", compresslevel=6) as packed:
        shutil.copyfileobj(text, packed)
    return [
        ("plain", "ernest", plain),
        ("gzip", "ernest", folder / "log.gz"),
        *((_named(codec), "ernest", folder / f"log.{codec}") for codec in CODECS),
        (f"Zstandard, {ROLLED_FILES} files, rolled over", "ernest", rolled),
        ("plain, json on every line", "json", plain),
        ("plain, json on lines of tasks", "json of tasks", plain),
    ]


def _named(codec: str) -> str:
    return {"zstd": "Zstandard", "lz4": "LZ4", "snappy": "Snappy", "lzf": "LZF (decoded in Python)"}[codec]


def _rolled(plain: Path, folder: Path) -> tuple[Path, list[tuple[Path, Path, str]]]:
    """The folder of a log that is rolled over, and what to pack into it."""
    application = "app-20261122112256-0000"
    rolled = folder / f"eventlog_v2_{application}"
    rolled.mkdir()
    (rolled / f"appstatus_{application}").touch()
    targets = []
    with plain.open("rb") as text:
        size = plain.stat().st_size // ROLLED_FILES
        for number in range(1, ROLLED_FILES + 1):
            part = folder / f"part-{number}"
            part.write_bytes(text.read(size) + text.readline() if number < ROLLED_FILES else text.read())
            targets.append((part, rolled / f"events_{number}_{application}.zstd", "zstd"))
    return rolled, targets


def _measured(reader: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.event_log.readers", reader, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _is_within(measured: dict[str, Any]) -> bool:
    allowed = PROMISED_SECONDS * max(1.0, measured["tasks"] / PROMISED_TASKS)
    return bool(measured["cpu_seconds"] <= allowed and measured["peak_megabytes"] < PROMISED_MEGABYTES)


def _row(name: str, path: Path, measured: dict[str, Any]) -> str:
    files = [path] if path.is_file() else list(path.iterdir())
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    return (
        f"{name:34}{measured['tasks']:>9,}{megabytes:>8.1f}{measured['seconds']:>9.2f}"
        f"{measured['cpu_seconds']:>8.2f}{measured['tasks'] / measured['seconds']:>10,.0f}"
        f"{measured['peak_megabytes']:>9.0f}"
    )


if __name__ == "__main__":
    sys.exit(main())
