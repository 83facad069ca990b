"""The golden files: what a user sees, as text that is compared word for word; see `compare`."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.golden.compare import check

UPDATE = "--update-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(UPDATE, action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, object], None]:
    """Compares what is seen with the golden file of that name, or writes it."""
    # Not every way to run the tests reads this file early enough to know the option.
    update = request.config.getoption(UPDATE, default=False) or os.environ.get("UPDATE_GOLDEN") == "1"
    return lambda name, seen: check(name, seen, update=update)
