"""What is told of a job of which only the number of executors over time is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.dynamic_allocation.counts import read_steps, seconds_while_executors_change, told_of


def perfect(count: int) -> float:
    """A job of 120 s on one executor that spreads perfectly."""
    return 120.0 / count


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        pytest.param(((0.0, 4),), 30.0, id="fixed"),
        # 60 of 120 executor-seconds in the first minute, the rest on four.
        pytest.param(((0.0, 1), (60.0, 4)), 75.0, id="more"),
        pytest.param(((0.0, 4), (15.0, 1)), 75.0, id="fewer"),
        pytest.param(((0.0, 4), (15.0, 0), (100.0, 4)), 115.0, id="none for a while"),
        pytest.param(((0.0, 4), (40.0, 1)), 30.0, id="a step after its end"),
    ],
)
def test_a_job_gets_on_as_on_the_executors_that_are_there(steps, seconds: float):
    assert seconds_while_executors_change(steps, perfect) == pytest.approx(seconds)


def test_a_job_without_executors_at_its_end_is_refused():
    with pytest.raises(ValueError, match="no executors"):
        seconds_while_executors_change(((0.0, 1), (10.0, 0)), perfect)


def test_of_a_job_that_spreads_the_time_on_changing_executors_is_told(tmp_path: Path):
    """3,200 s on one executor: 200 of them in 100 s on two, and 3,000 in 93.75 s on 32."""

    def write(name: str, steps: list[tuple[float, int]], end: float) -> None:
        rows = ["timestamp,executor_count", "0,0"]
        rows += [f"{1000 + round(1000 * at)},{count}" for at, count in [*steps, (end, 0)]]
        (tmp_path / name).write_text("\n".join(rows))

    for job in ("grep", "sort", "join", "kmeans"):
        for size in ("small", "large"):
            write(f"dynamic-{job}-{size}-8-8.csv", [(0.0, 8)], 400.0)
            write(f"dynamic-{job}-{size}-16-16.csv", [(0.0, 16)], 200.0)
            write(f"dynamic-{job}-{size}-2-32.csv", [(0.0, 2), (100.0, 32)], 193.75)

    assert read_steps(tmp_path / "dynamic-grep-small-2-32.csv") == (((0.0, 2), (100.0, 32)), 193.75)
    for told in told_of(tmp_path):
        assert told.fixed_seconds == (400.0, 200.0)
        assert abs(told.error) < 0.15
