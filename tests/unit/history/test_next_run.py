"""How much the next run of a job reads: as its user says, else as is forecast."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.history.next_run import next_input
from airflow_provider_ernest.history.sizes import today_of
from airflow_provider_ernest.spark.input import Amount
from tests import examples
from tests.unit.history.past_jobs import FIRST, past_run, work

RUNS = [past_run(work(executors=8, seed=number), days=number) for number in range(12)]
READ = RUNS[0].input_bytes
TONIGHT = FIRST + timedelta(days=12)


def told(runs=RUNS, **options):
    return next_input(today_of(runs), runs, moment=TONIGHT, **options)


def grown(runs, by_day: float):
    return [past_run(work(executors=8, scale=by_day**number), days=number) for number in range(runs)]


def decided(number: int, amount: float) -> DecisionRecord:
    """An hour before the run of a day."""
    at = (FIRST + timedelta(days=number, hours=-1)).isoformat()
    return examples.decision_record(at=at, input_amount=amount)


def test_what_is_named_counts_as_it_is_where_runs_read_about_as_much():
    found = told(named=Amount(size_bytes=1.5 * READ))
    assert found.scale == pytest.approx(1.5, rel=0.05)
    assert "as named: 1.50 times the usual" in found.told


def test_a_named_size_that_runs_do_not_read_waits_for_the_runs_that_tell_what_share():
    large = Amount(size_bytes=40.0 * READ)
    found = told(named=large)
    assert found.scale == pytest.approx(1.0, rel=0.05)
    assert "the next ones tell what share" in found.told

    found = told(named=large, decisions=[decided(number, 20.0 * READ) for number in (8, 9, 10)])
    assert found.scale == pytest.approx(2.0, rel=0.05)
    assert "of which 3 runs read 5 %" in found.told


def test_otherwise_the_input_goes_on_as_it_grew():
    runs = grown(30, 1.01)
    moment = FIRST + timedelta(days=44)
    found = next_input(today_of(runs), runs, moment=moment)
    assert found.scale == pytest.approx(1.01**15, rel=0.06)
    assert "is forecast" in found.told
    assert found.log_spread > 0


def test_few_runs_forecast_nothing():
    found = told(RUNS[:2])
    assert (found.scale, found.log_spread) == (1.0, None)
    assert "few runs" in found.told
