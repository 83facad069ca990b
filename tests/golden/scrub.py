"""What differs from run to run, replaced by what does not: ids, moments, folders, versions of others."""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

CHANGING = {"age_seconds", "run_age_seconds"}
"""Fields whose values say how long ago something was."""

ID = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}")
TODAY = re.compile(r"20[2-9]\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+]00:00)?)?")
"""A moment or a date of these years: those that the tests make up are of 2001."""

AGE = re.compile(r"(?<=  )(?:just now|\d+ (?:second|minute)s?)(?=  )")
"""Of a document, in a table: a busy machine takes minutes to make them all."""

KINDS = {
    "bottlenecks": "report",
    "decisions": "decision",
    "marks": "mark",
    "production": "production",
    "profiles": "profile",
}
"""Of stored documents, by their folder; what is in none of these is a model."""


class Scrubber:
    """Replaces what differs.

    Args:
        folder: of the job.
        store: of the job; its documents get names such as ``<model 2>``, in the order of their making.
    """

    def __init__(self, folder: Path, store: Path) -> None:
        self._fixed = [
            (str(folder), "<folder>"),
            (os.environ["AIRFLOW_HOME"], "<airflow>"),
            (sys.executable, "<python>"),
            (version("pyspark"), "<spark>"),
        ]
        self.names: dict[str, str] = {}
        for kind, made in _documents(store).items():
            self.names |= {each: f"<{kind} {number}>" for number, each in enumerate(made, start=1)}

    def text(self, text: str) -> str:
        """A text without what differs."""
        for found, name in self._fixed:
            text = text.replace(found, name)
        text = ID.sub(self._name, text)
        return TODAY.sub("<moment>", AGE.sub("<age>", text))

    def _name(self, found: re.Match[str]) -> str:
        name = self.names.get(found[0], "<id>")
        # In a table its column stays as wide as it is.
        is_cell = found.string[found.end() :].startswith("  ")
        return name.ljust(len(found[0])) if is_cell else name

    def data(self, value: Any) -> Any:
        """Data without what differs."""
        if isinstance(value, dict):
            return {
                self.text(str(key)): f"<{key}>" if key in CHANGING and each is not None else self.data(each)
                for key, each in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.data(each) for each in value]
        return self.text(value) if isinstance(value, str) else value


def _documents(store: Path) -> dict[str, list[str]]:
    """Ids of the documents by their kind, the oldest first."""
    found: dict[str, list[str]] = {}
    for path in sorted(store.rglob("*.json"), key=lambda each: each.name):
        if ID.fullmatch(path.stem):
            found.setdefault(KINDS.get(path.parent.name, "model"), []).append(path.stem)
    return found
