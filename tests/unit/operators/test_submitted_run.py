"""A submitted run finds its event log, and fails no task where there is none."""

from types import SimpleNamespace

import pytest

from airflow_provider_ernest.spark.submit import SubmittedRun


def submitted(folder, *, finds_event_log=True):
    hook = SimpleNamespace(_conf={"spark.eventLog.dir": str(folder)}, _yarn_application_id="application_1_2")
    return SubmittedRun(hook, finds_event_log=finds_event_log)


def test_the_log_that_begins_after_the_submission_is_its_own(tmp_path):
    (tmp_path / "app-6").touch()
    run = submitted(tmp_path)
    (tmp_path / "app-7.zstd").touch()

    assert run.event_log == tmp_path / "app-7.zstd"
    assert run.application_id == "app-7"


def test_a_log_that_is_rolled_over_is_its_own_too(tmp_path):
    (tmp_path / "eventlog_v2_app-6").mkdir()
    run = submitted(tmp_path)
    (tmp_path / "eventlog_v2_app-7").mkdir()

    assert run.event_log == tmp_path / "eventlog_v2_app-7"
    assert run.application_id == "app-7"


@pytest.mark.parametrize("folder", ["/logs\0here", "/nowhere/at/all", "hdfs://logs", ""])
def test_a_folder_that_cannot_be_listed_holds_no_log(folder):
    run = submitted(folder)

    assert run.event_log is None
    assert run.application_id == "application_1_2"


def test_a_folder_of_logs_is_not_listed_where_nobody_asks_for_the_log(tmp_path):
    run = submitted(tmp_path, finds_event_log=False)
    (tmp_path / "app-7").touch()

    assert run.event_log is None
    assert run.application_id == "application_1_2"
