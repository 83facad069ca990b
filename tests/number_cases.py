"""What numbers look like to people: words.py and the pages' format.js are both tested with this table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class NumberCase:
    """What one number looks like.

    Attributes:
        kind: of number, the name of the function in words.py; format.js writes it in camel case. What
            is typed ("typed_number", "typed_duration") only the pages' typed.js reads.
        value: the number, a pair of numbers, a moment (ISO 8601), or what is typed.
        words: what people read, with plain spaces.
        beside: the second argument of the function; None: it is called with one.
    """

    kind: str
    value: Any
    words: str
    beside: float | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (self.value,) if self.beside is None else (self.value, self.beside)


_ALL = [
    NumberCase(**case) for case in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
]

NUMBER_CASES = [case for case in _ALL if not case.kind.startswith("typed_")]

TYPED_CASES = [case for case in _ALL if case.kind.startswith("typed_")]
"""What is typed, with the number that it is taken for, in words."""
