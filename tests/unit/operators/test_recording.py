"""A record is written while the task waits, but not for long."""

import logging
from threading import Event, current_thread, main_thread

import pytest

from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.recording import record_in_time

log = logging.getLogger(__name__)


def test_what_is_written_in_time_is_there_afterwards(caplog):
    threads = []

    record_in_time(lambda: threads.append(current_thread()), what="The decision", log=log)

    assert caplog.records == []
    assert threads != [main_thread()]
    assert threads[0].daemon, "or the process would wait for it"


def test_a_storage_that_does_not_answer_is_waited_for_no_longer_than_stated(monkeypatch, caplog):
    monkeypatch.setattr(recording, "MOST_SECONDS", 0.05)
    answer, ended = Event(), Event()

    record_in_time(lambda: answer.wait(60) and ended.set(), what="The decision", log=log)

    assert not ended.is_set()
    assert "The decision is not recorded yet" in caplog.text
    answer.set()
    assert ended.wait(60), "it is recorded late"


@pytest.mark.parametrize("error", [OSError("disk full"), RuntimeError("no credentials")])
def test_what_fails_is_a_warning(caplog, error):
    def fail():
        raise error

    record_in_time(fail, what="The decision", log=log)

    assert f"The decision is not recorded: {type(error).__name__}: {error}" in caplog.text
