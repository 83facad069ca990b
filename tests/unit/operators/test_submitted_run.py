"""A submitted run finds its event log, and fails no task where there is none."""

from types import SimpleNamespace

import pytest

from airflow_provider_ernest.spark.submit import SubmittedRun


def submitted(folder):
    hook = SimpleNamespace(_conf={"spark.eventLog.dir": str(folder)}, _yarn_application_id="application_1_2")
    return SubmittedRun(hook, finds_event_log=True)


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
