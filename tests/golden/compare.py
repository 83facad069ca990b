"""Golden files: written, and compared with what is seen now.

Figures may differ by `TOLERANCE`, for other processors round otherwise: by far more than that moves a figure,
and by far less than a user would notice. Everything else has to be the same, character by character.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

EXPECTED = Path(__file__).parent / "expected"
WIDTH = 220
"""Wide enough for a row of a table, such as an alternative, so that it stays one."""

TOLERANCE = 1e-5
"""Relative, of each figure; of one with fewer than five digits this is none."""

DIGITS = 6
"""Of figures in files of data."""

NOTHING = 1e-9
"""What is smaller is what an exact zero becomes by another order of additions."""

NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")


def check(name: str, seen: object, *, update: bool) -> None:
    """Compare with a golden file; fails with the difference.

    Args:
        name: of the file below `EXPECTED`; what ends in .json is data, anything else text.
        seen: what is seen now.
        update: write the file instead.
    """
    path = EXPECTED / name
    text = as_json(seen) if path.suffix == ".json" else f"{str(seen).strip()}\n"
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    if not path.exists():
        pytest.fail(f"There is no golden file {name} yet; write it by --update-golden.", pytrace=False)
    expected = path.read_text()
    if not same(expected, text):
        difference = "\n".join(
            difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"expected/{name}", "seen now", lineterm=""
            )
        )
        pytest.fail(f"Not what was seen before:\n{difference}", pytrace=False)


def as_json(value: Any) -> str:
    """Data as JSON with sorted keys and rounded numbers; what is short stands in one line."""
    return f"{_json(rounded(value), indent=0)}\n"


def _json(value: Any, *, indent: int) -> str:
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(line) + indent <= WIDTH:
        return line
    inner = " " * (indent + 1)
    if isinstance(value, list):
        parts = [f"{inner}{_json(each, indent=indent + 1)}" for each in value]
        return "\n".join(["[", ",\n".join(parts), f"{' ' * indent}]"])
    parts = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_json(each, indent=indent + 1)}"
        for key, each in sorted(value.items())
    ]
    return "\n".join(["{", ",\n".join(parts), f"{' ' * indent}}}"])


def rounded(value: Any) -> Any:
    """The same data with numbers of six digits; a whole number stays what it is."""
    if isinstance(value, dict):
        return {str(key): rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    if isinstance(value, float) and math.isfinite(value):
        return 0.0 if abs(value) < NOTHING else float(f"{value:.{DIGITS}g}")
    return value


def same(expected: str, seen: str) -> bool:
    """Whether two texts are the same, their figures but for `TOLERANCE`."""
    if expected == seen:
        return True
    if NUMBER.sub("#", expected) != NUMBER.sub("#", seen):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(seen), strict=True)
    return all(math.isclose(float(one), float(other), rel_tol=TOLERANCE) for one, other in pairs)
