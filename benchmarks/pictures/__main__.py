"""Draws the pictures of the documentation: each term, and a prediction with its intervals.

The same code always gives the same files. The runs in the pictures are simulated.

    python -m benchmarks.pictures [--into docs/pictures]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pictures.drawing import Picture, write
from benchmarks.pictures.figures import prediction_picture, term_pictures

FOLDER = Path("docs/pictures")


def pictures() -> list[Picture]:
    """All pictures."""
    return [*term_pictures(), prediction_picture()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and write; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pictures", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument(
        "--into", type=Path, default=FOLDER, metavar="DIR", help=f"folder of the SVG files (default {FOLDER})"
    )
    folder = parser.parse_args(arguments).into
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures():
        print(write(picture, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
