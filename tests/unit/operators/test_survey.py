"""A survey of all jobs on a schedule, and what it tells of changes since the last."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.survey import SurveyOperator
from airflow_provider_ernest.settings import EventLogs
from tests import examples
from tests.unit.operators.test_history_alone import log


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "spark-events"
    folder.mkdir()
    return folder


def survey(context, logs, **arguments):
    return SurveyOperator(
        task_id="survey",
        history=EventLogs(str(logs)),
        price_per_hour=0.2,
        **arguments,
    ).execute(context)


def test_the_next_survey_tells_what_a_change_of_size_has_saved(context, logs):
    told = []
    for number in range(0, 100, 4):
        log(logs, 16, number=number)
    first = survey(context, logs, on_change=told.append)
    assert first["changes"] == told == []
    assert first["headline"].startswith("1 job takes $")

    for number in range(100, 250, 4):
        log(logs, 8, number=number)
    changes = survey(context, logs, on_change=told.append)["changes"]
    assert [(each["job"], each["kind"]) for each in changes] == [("enrich", "saved")]
    assert "8 executors instead of 16" in changes[0]["sentence"]
    assert [each["ernest_change"].sentence for each in told] == [changes[0]["sentence"]]
    assert model_store().newest_survey().jobs[0].executors == 8


def test_a_job_with_a_deadline_by_its_decision_is_asked_to_keep_it(context, logs):
    store = model_store()
    store.save(
        examples.decision_record(job="enrich", at=datetime.now(UTC).isoformat(), deadline_seconds=77.0)
    )
    for number in range(0, 100, 4):
        log(logs, 16, number=number)
    survey(context, logs)

    assert store.newest_survey().jobs[0].limit_seconds == 77.0


def test_a_folder_without_logs_is_named(context, logs):
    with pytest.raises(AirflowFailException, match=r"no event log in .*spark-events"):
        survey(context, logs)
