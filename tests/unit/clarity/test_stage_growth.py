"""How stages grow with the input, by what runs at other scales tell."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.clarity.replay_scaled import StagePoint, growth

KILOBYTE = 1000


def point(scale: float, tasks: int, seconds: float, *, slots: int = 2, read: float | None = None, **parts):
    return StagePoint(
        **{"fixed_seconds": 0.0, "reads_input": False, **parts},
        scale=scale,
        slots=slots,
        tasks=tasks,
        mean_seconds=seconds,
        read_bytes=1000 * KILOBYTE * scale if read is None else read,
    )


def test_of_a_single_run_input_makes_more_tasks_and_shuffle_data_larger_ones():
    reading = growth(point(0.25, 10, 1.0, reads_input=True), [], scale=1.0, slots=2)
    assert (reading.tasks, reading.times_seconds) == (40, pytest.approx(1.0))
    shuffled = growth(point(0.25, 10, 1.0), [], scale=1.0, slots=2)
    assert (shuffled.tasks, shuffled.times_seconds) == (10, pytest.approx(4.0))


def test_of_a_single_run_what_no_data_takes_does_not_grow():
    shuffled = growth(point(0.25, 10, 1.0, fixed_seconds=0.4), [], scale=1.0, slots=2)
    assert shuffled.times_seconds == pytest.approx(0.4 + 4 * 0.6)
    nothing_read = growth(point(0.25, 10, 1.0, read=0), [], scale=1.0, slots=2)
    assert (nothing_read.tasks, nothing_read.times_seconds) == (10, pytest.approx(1.0))
    few_bytes = growth(point(0.25, 1, 0.3, read=600), [], scale=1.0, slots=2)
    assert (few_bytes.tasks, few_bytes.times_seconds) == (1, pytest.approx(1.0))


def test_partitions_of_the_input_are_not_taken_for_slots():
    """The runs of more input had as many times as many machines."""
    source = point(0.25, 12, 1.0, slots=2, reads_input=True)
    other = point(0.125, 6, 1.0, slots=1, reads_input=True)
    found = growth(source, [other], scale=1.0, slots=4)
    assert (found.tasks, found.times_seconds) == (48, pytest.approx(1.0))


def test_runs_of_one_scale_tell_as_much_as_one_of_them():
    source, other = point(0.25, 12, 1.0, slots=4, reads_input=True), point(0.25, 12, 1.0, reads_input=True)
    assert growth(source, [other], scale=1.0, slots=4).tasks == 48


def test_input_that_is_the_same_at_all_scales_stays_the_same():
    """A small table beside the one that is sampled."""
    source = point(0.25, 3, 1.0, read=5000, reads_input=True)
    other = point(0.125, 3, 1.0, read=5000, reads_input=True)
    found = growth(source, [other], scale=1.0, slots=4)
    assert (found.tasks, found.times_seconds) == (3, pytest.approx(1.0))


def test_partitions_rounded_to_whole_ones_are_in_proportion():
    source, other = point(0.25, 12, 1.0, reads_input=True), point(0.1, 5, 1.0, reads_input=True)
    assert growth(source, [other], scale=1.0, slots=2).tasks == pytest.approx(48, abs=2)


def test_a_fixed_number_of_tasks_for_each_slot_follows_the_slots():
    source, other = point(0.25, 8, 1.0, slots=4), point(0.25, 4, 2.0, slots=2)
    found = growth(source, [other], scale=0.5, slots=16)
    assert found.tasks == 32
    # Twice the data in four times as many tasks.
    assert found.times_seconds == pytest.approx(0.5, rel=0.02)


def test_the_time_for_each_byte_is_learned_from_other_runs():
    """0.5 s and 2 s for each unit of scale."""
    source, other = point(0.25, 10, 1.0), point(0.125, 10, 0.75)
    assert growth(source, [other], scale=1.0, slots=2).times_seconds == pytest.approx(2.5, rel=0.1)


def test_what_does_not_read_more_does_not_grow():
    source, other = point(0.25, 10, 1.0, read=5 * KILOBYTE), point(0.125, 10, 1.0, read=5 * KILOBYTE)
    found = growth(source, [other], scale=1.0, slots=2)
    assert (found.tasks, found.times_seconds) == (10, pytest.approx(1.0))


def test_a_stage_that_reads_nothing_grows_by_what_the_scales_tell():
    source, other = point(0.25, 10, 1.0, read=0), point(0.125, 10, 0.5, read=0)
    assert growth(source, [other], scale=1.0, slots=2).times_seconds == pytest.approx(4.0, rel=0.05)


def test_noise_never_makes_more_input_take_less():
    source, other = point(0.25, 10, 1.0), point(0.125, 10, 1.1)
    assert growth(source, [other], scale=1.0, slots=2).times_seconds >= 1.0
