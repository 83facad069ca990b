from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.eventlog.run_facts import run_seconds
from benchmarks.demo_ec2.costs import call_lines, cost_lines, deadline_line, paid_before, paid_in_all
from benchmarks.demo_ec2.machines import LaunchedMachine
from tests.ec2_testbed.api_client import Call

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def after(seconds):
    return START + timedelta(seconds=seconds)


def launched(number, *, at, until, price=0.36):
    return LaunchedMachine(
        number=number,
        instance_id=f"i-{number}",
        role="worker",
        launched_at=after(at),
        ended_at=None if until is None else after(until),
        price_per_hour=price,
    )


@pytest.fixture
def machines():
    """One all the time, one until a minute, one from a hundred seconds on."""
    return [launched(1, at=0, until=200), launched(2, at=0, until=60), launched(3, at=100, until=None)]


def test_what_was_paid_until_a_moment(machines):
    cost = paid_before(machines, after(120), now=after(200))

    assert cost.machine_seconds == 120 + 60 + 20
    assert cost.dollars == pytest.approx(200 * 0.36 / 3600)


def test_what_was_paid_in_all(machines):
    assert paid_in_all(machines, now=after(200)).machine_seconds == 200 + 60 + 100


def test_an_unknown_price_makes_the_sum_unknown(machines):
    cost = paid_in_all([*machines, launched(4, at=0, until=10, price=None)], now=after(200))

    assert cost.dollars is None
    assert cost.machine_seconds == 370


def test_training_is_put_against_production(outcome, machines):
    lines = cost_lines(outcome, machines, decided_at=after(120), now=after(200))

    def row(beginning):
        (line,) = (line for line in lines if line.startswith(beginning))
        return line.split()[-2:]

    size = outcome.decision.config.machines
    production = size * run_seconds(outcome.production, size)
    assert row("the production run") == [f"{production:.0f}", f"{production * 0.35 / 3600:.4f}"]
    assert row("paid for all machines from launch to decision") == ["200", "0.0200"]
    assert row("paid for all machines from decision") == ["160", "0.0160"]
    assert row("paid in all") == ["360", "0.0360"]


def test_unknown_prices_are_called_so(outcome, machines):
    nameless = [replace(machine, price_per_hour=None) for machine in machines]

    lines = cost_lines(outcome, nameless, decided_at=after(120), now=after(200))

    assert any(line.startswith("paid in all") and line.endswith("unknown") for line in lines)


def test_calls_are_counted_and_refusals_named():
    def call(action, outcome="ok"):
        return Call(service="ec2", action=action, parameters={}, seconds=0.0, outcome=outcome)

    shown = " ".join(
        call_lines([call("DescribeInstances"), call("DescribeInstances"), call("RunInstances", "NoCapacity")])
    )

    assert "3 calls: ec2:DescribeInstances 2, ec2:RunInstances 1." in shown
    assert "RunInstances (NoCapacity) 1" in shown


def test_without_refusals_none_are_mentioned():
    assert len(call_lines([])) == 1


def test_a_missed_deadline_is_said_loudly():
    assert deadline_line(100.6, 100) == "the deadline of 100 s was MISSED by 0.6 s"
    assert deadline_line(84.9, 90) == "the deadline of 90 s was kept with 5.1 s to spare"
