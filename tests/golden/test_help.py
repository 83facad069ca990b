"""What the program ``ernest`` says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden.names import program

COMMANDS = [
    "",
    "design",
    "fit",
    "predict",
    "choose",
    "report",
    "store",
    "store list",
    "store prune",
    "analyze",
    "history",
    "survey",
    "clusters",
    "reap",
    "doctor",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(golden: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as ended:
        program()([*command.split(), "--help"])

    assert ended.value.code == 0
    golden(f"help/{'_'.join(['ernest', *command.split()])}.txt", capsys.readouterr().out)
