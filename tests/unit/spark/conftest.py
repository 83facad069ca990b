from __future__ import annotations

import sys

import pytest


@pytest.fixture
def without_s3fs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra that brings s3fs."""
    monkeypatch.setitem(sys.modules, "s3fs", None)
    # What fsspec has imported it keeps here; its attribute of this name is not the module.
    registered = sys.modules["fsspec.registry"]._registry
    for scheme in ("s3", "s3a"):
        monkeypatch.delitem(registered, scheme, raising=False)
