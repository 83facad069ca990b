"""The event logs of real runs, by several versions of Spark, replayed as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_ernest.clarity.blocked_time import blocked_time
from airflow_provider_ernest.clarity.replay import replay_sizes
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.run_profile import PYTHON_WORKER

LOGS = Path(__file__).parents[1] / "eventlog" / "event_logs"
NAMES = sorted(path.name for path in LOGS.glob("spark-*"))


@pytest.mark.parametrize("name", NAMES)
def test_a_real_run_replayed_takes_what_it_took(name):
    log = read_event_log(LOGS / name)
    analysis = blocked_time(log)
    assert analysis.replayed.seconds == pytest.approx(log.ended_at - log.ready_at, rel=0.01)
    for limit in analysis.limits:
        assert 0.0 <= limit.improvement_percent <= 100.0
        assert limit.seconds_without <= analysis.replayed.seconds


@pytest.mark.parametrize("name", NAMES)
def test_a_real_run_takes_no_longer_on_more_machines(name):
    one, two, four = (size.seconds for size in replay_sizes(read_event_log(LOGS / name), [1, 2, 4]))
    assert one >= two * 0.99 >= four * 0.98


def test_python_workers_are_told_of_a_job_of_python_functions():
    limits = blocked_time(read_event_log(LOGS / "spark-4.0.1-python.zstd")).limits
    python = next(limit for limit in limits if limit.resource == PYTHON_WORKER)
    assert python.blocked_seconds > 0.0
    assert python.improvement_percent > 0.0
