"""Unpacks recorded event logs, and sums up what was predicted of such runs.

python -m benchmarks.recordings DIR    unpacks the event logs of `benchmarks.history` into a folder
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pandas as pd
import zstandard

HISTORY = Path(__file__).parent / "history" / "event_logs"
REGIMES = Path(__file__).parent / "regimes" / "event_logs"
LEVELS = (0.8, 0.95)

_FACTS = "runs.jsonl"


def unpack(archives: Path, into: Path) -> list[dict[str, Any]]:
    """Write a file for each log; returns what no log tells: job, number, machines, files of input."""
    into.mkdir(parents=True, exist_ok=True)
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    facts = []
    for archive in sorted(archives.glob("*.tar.zst")):
        content = decompressor.stream_reader(archive.read_bytes()).read()
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
            tar.extractall(into, filter="data")
        facts += [json.loads(line) for line in (into / _FACTS).read_text().splitlines()]
        (into / _FACTS).unlink()
    return facts


def error_table(said: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Errors in per cent of what came, and what intervals hold, for each group of the columns in `by`.

    `said` has a row for each prediction: ``error``, said over came, less 1; and for each of `LEVELS` the
    interval's bounds over what came, such as ``low 80%``. NaN is where nothing was said.
    """
    grouping = [said[name] for name in by]
    signed = (100 * said["error"]).groupby(grouping, sort=False)
    absolute = (100 * said["error"].abs()).groupby(grouping, sort=False)
    columns = {
        "runs": signed.count(),
        "silent": signed.size() - signed.count(),
        "mean": absolute.mean(),
        "median": absolute.median(),
        "bias": signed.mean(),
    }
    for level in LEVELS:
        low, high = said[f"low {level:.0%}"], said[f"high {level:.0%}"]
        held = ((low <= 1) & (high >= 1)).where(low.notna())
        columns[f"in {level:.0%}"] = 100 * held.astype(float).groupby(grouping, sort=False).mean()
        columns[f"wide {level:.0%}"] = (high / low).groupby(grouping, sort=False).median()
    return pd.DataFrame(columns)


def shown(table: pd.DataFrame) -> str:
    """As text: one decimal, widths of intervals with two."""
    wide = {name: "{:.2f}".format for name in table.columns if str(name).startswith("wide")}
    return str(table.to_string(float_format="{:.1f}".format, formatters=wide, na_rep="-"))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(f"{len(unpack(HISTORY, folder))} event logs in {folder}")
