import io
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.command import refuse_to_overwrite, write_text
from airflow_provider_ernest.exceptions import InvalidParameterError


def test_a_file_is_overwritten_by_force_only(tmp_path: Path):
    path = tmp_path / "model.json"
    write_text(str(path), "first", force=False)
    with pytest.raises(InvalidParameterError, match=r"exists already.*--force"):
        refuse_to_overwrite(str(path), force=False)
    with pytest.raises(InvalidParameterError, match="exists already"):
        write_text(str(path), "second", force=False)
    assert path.read_text() == "first"
    write_text(str(path), "second", force=True)
    assert path.read_text() == "second"
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path: Path):
    with pytest.raises(InvalidParameterError, match=r"cannot be written: No such file or directory"):
        write_text(str(tmp_path / "absent" / "model.json"), "text", force=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidParameterError, match=r"cannot be written: Is a directory"):
        write_text(str(tmp_path / "folder"), "text", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_dash_is_standard_output(monkeypatch: pytest.MonkeyPatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    refuse_to_overwrite("-", force=False)
    write_text("-", "text", force=False)
    assert out.getvalue() == "text"
