"""What others wrote is shipped as they published it, with its licence."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

import pytest

VENDOR = files("airflow_provider_ernest.web") / "static" / "vendor"
ROWS = re.findall(
    r"^\| (\S+\.\w+) \| \[.*?\]\(.*?\) \| (\S+) \| .* \| ([0-9a-f]{64}) \|$",
    (VENDOR / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_all_of_them_are_named():
    shipped = {each.name for each in VENDOR.iterdir() if each.name.endswith((".js", ".css"))}
    assert {name for name, _version, _digest in ROWS} == shipped


@pytest.mark.parametrize(("name", "version", "digest"), ROWS)
def test_each_is_the_one_that_is_named(name: str, version: str, digest: str):
    content = (VENDOR / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
    assert f'"{version}"'.encode() in content, "the file tells its version"


def test_licences_lie_beside_them():
    assert "Apache License" in (VENDOR / "echarts.LICENSE").read_text(encoding="utf-8")
    assert "Apache Software Foundation" in (VENDOR / "echarts.NOTICE").read_text(encoding="utf-8")
