from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

# It keeps what it was given, the file of properties as it is while it runs; and writes what a probe would.
PROGRAM = """\
#!{python}
import json, os, stat, sys, time
words = sys.argv[1:]
seen = {{"arguments": words, "environment": dict(os.environ)}}
if "--properties-file" in words:
    path = words[words.index("--properties-file") + 1]
    seen["properties"] = open(path).read()
    seen["modes"] = [stat.S_IMODE(os.stat(one).st_mode) for one in (path, os.path.dirname(path))]
with open({seen!r}, "w") as file:
    json.dump(seen, file)
document = {document!r}
if document is not None:
    output = next(word for word in words if word.startswith("--output=")).removeprefix("--output=")
    with open(output, "w") as file:
        file.write(document)
print("arguments:", *words)
time.sleep({seconds})
sys.exit({exit_code})
"""


class SparkSubmit:
    """A spark-submit that submits nothing, in the folder bin of a Spark's home."""

    def __init__(self, home: Path) -> None:
        self.program = home / "bin" / "spark-submit"
        self.program.parent.mkdir()
        self._seen = home / "seen.json"
        self.behave()

    def behave(self, document: object = None, *, exit_code: int = 0, seconds: float = 0) -> None:
        text = PROGRAM.format(
            python=sys.executable,
            seen=str(self._seen),
            document=None if document is None else json.dumps(document),
            exit_code=exit_code,
            seconds=seconds,
        )
        self.program.write_text(text)
        self.program.chmod(0o755)

    @property
    def was_run(self) -> bool:
        return self._seen.exists()

    @property
    def seen(self) -> dict[str, Any]:
        return json.loads(self._seen.read_text())

    @property
    def arguments(self) -> list[str]:
        return self.seen["arguments"]

    @property
    def conf(self) -> dict[str, str]:
        words = self.arguments
        pairs = [words[at + 1] for at, word in enumerate(words) if word == "--conf"]
        return dict(pair.split("=", 1) for pair in pairs)

    @property
    def properties(self) -> dict[str, str]:
        """The file's simple properties; the last value of a key counts, as in Java."""
        pairs = (line.replace("=", " ", 1).split(None, 1) for line in self.seen["properties"].splitlines())
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


@pytest.fixture
def spark_submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SparkSubmit:
    """The spark-submit on the PATH."""
    made = SparkSubmit(tmp_path)
    monkeypatch.setenv("PATH", f"{made.program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    return made


@pytest.fixture
def without_s3fs(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the extra that brings s3fs, and without boto3."""
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setitem(sys.modules, "boto3", None)
    # What fsspec has imported it keeps here; its attribute of this name is not the module.
    registered = sys.modules["fsspec.registry"]._registry
    for scheme in ("s3", "s3a"):
        monkeypatch.delitem(registered, scheme, raising=False)
