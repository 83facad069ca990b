import threading

import pytest

from airflow_provider_ernest.cli.analyze import progress


class Told:
    """Stands for standard error, and says when something has been written to it."""

    def __init__(self) -> None:
        self.text = ""
        self.something = threading.Event()

    def write(self, text: str) -> None:
        self.text += text
        self.something.set()

    def flush(self) -> None:
        pass


def test_long_work_is_told_of_while_it_goes_on(monkeypatch: pytest.MonkeyPatch):
    told = Told()
    # Not in a fixture: pytest captures the test's own streams only after it.
    monkeypatch.setattr("sys.stderr", told)
    with progress("reading app-1\x1b[2J", every_seconds=0.01):
        assert told.something.wait(30)
    assert told.text.splitlines()[0] == "reading app-1\ufffd[2J: 0 s so far"


def test_short_work_is_not(capsys: pytest.CaptureFixture[str]):
    with progress("reading app-1"):
        pass
    assert capsys.readouterr().err == ""


def test_it_ends_with_the_work_whatever_becomes_of_that():
    before = threading.active_count()
    with pytest.raises(ValueError, match="odd"), progress("reading app-1"):
        raise ValueError("odd")
    assert threading.active_count() == before
