"""What is mutated, and whose tests should notice: change these paths when folders move."""

from __future__ import annotations

from dataclasses import dataclass

_PACKAGE = "airflow_provider_ernest"
_TESTS = "tests/unit"


@dataclass(frozen=True, kw_only=True)
class Area:
    """A part of the package with its tests; all paths are relative to the checkout.

    Attributes:
        code: files, or folders with all below them, that are mutated.
        tests: files and folders of tests. The doctests of `code` count, too.
    """

    code: tuple[str, ...]
    tests: tuple[str, ...]


AREAS = {
    **{
        step: Area(code=(f"{_PACKAGE}/{step}",), tests=(f"{_TESTS}/{step}",))
        for step in ("design", "prediction", "decision")
    },
    "clusters/ec2": Area(code=(f"{_PACKAGE}/clusters/ec2",), tests=(f"{_TESTS}/clusters/ec2",)),
}
