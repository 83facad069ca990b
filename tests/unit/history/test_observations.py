"""Which past runs count for the run at hand, at what scale, and why the others do not."""

from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.history.observations import TodaysRun, observations_of
from airflow_provider_ernest.learning.conditions import settings_that_count

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SETTINGS = (("spark.sql.shuffle.partitions", "200"),)


def past_run(days=1, **fields):
    return PastRun(
        **{
            "job": "nightly",
            "application_id": f"app-{days}",
            "event_log": f"/logs/app-{days}",
            "started_at": (NOW - timedelta(days=days)).isoformat(),
            "executors": 4,
            "executor_cores": 2,
            "seconds": 100.0,
            "input_bytes": 1000,
            "spark": "3.5.1",
            "main": "nightly.py",
            "executor_memory_megabytes": 4096,
            "instance_type": "m5.large",
            "settings": SETTINGS,
            **fields,
        }
    )


def history(*runs, **today):
    return observations_of(runs, TodaysRun(**today) if today else None)


def reason(run, **today):
    """Why a run is left out beside a newer one that counts."""
    (left_out,) = history(past_run(0.5, application_id="newest"), run, **today).left_out
    return left_out.reason


def test_records_in_the_place_of_bytes_are_told_as_such():
    runs = [past_run(day, input_bytes=0, input_records=each) for day, each in ((2, 1000), (1, 2000))]
    found = history(*runs, input_bytes=1500)
    assert [run.scale for run in found.observations] == [0.5, 1.0]
    assert "no bytes" in found.notes[0]
    assert "2,000 records" in found.notes[0]
    assert "Scale 1.0 is what the latest past runs read: 2,000 records." in history(*runs).notes


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ({"failure": "its driver was killed"}, "its driver was killed"),
        ({"spark": "3.3.2"}, "Spark was 3.3 and is 3.5"),
        ({"executor_cores": 4}, "an executor had 4 cores and has 2"),
        ({"instance_type": "c5.large"}, "its machines were c5.large and are m5.large"),
        (
            {"executor_memory_megabytes": 8192},
            "an executor had 8.19 GB of memory and has 4.10 GB",
        ),
        ({"main": "/jobs/other.py"}, "its main file or class is another"),
        (
            {"settings": (("spark.sql.shuffle.partitions", "8"), ("spark.serializer", "kryo"))},
            "spark.serializer, spark.sql.shuffle.partitions have changed",
        ),
    ],
)
def test_a_run_of_something_else_is_left_out(then, why):
    assert reason(past_run(2, **then)) == why


def test_runs_of_a_job_that_a_model_no_longer_held_for_do_not_help_either():
    own = [past_run(size, executors=size, seconds=30 + 600 / size) for size in (2, 3, 4)]
    earlier = [past_run(10 + size, executors=size, seconds=30 + 600 / size) for size in (4, 6, 8)]
    found = history(*earlier, *own, holds_since=NOW - timedelta(days=5))
    assert {run.executors for run in found.observations} == {2, 3, 4}
    assert len(found.left_out) == 3


@pytest.mark.parametrize(("slower", "counts"), [(1.0, True), (2.5, False)])
def test_runs_on_other_cores_count_on_as_many_of_todays_where_they_help(slower, counts):
    own = [past_run(size, executors=size, seconds=30 + 600 / size) for size in (2, 3, 4)]
    others = [
        past_run(10 + size, executors=size, executor_cores=4, seconds=slower * (30 + 300 / size))
        for size in (4, 6, 8)
    ]
    found = history(*others, *own)

    assert {run.executors for run in found.observations} == ({2, 3, 4, 8, 12, 16} if counts else {2, 3, 4})
    assert len(found.left_out) == (0 if counts else 3)
    assert any("cross-validation says that they help" in note for note in found.notes) == counts


def test_what_makes_no_difference_to_its_time_excludes_no_run():
    same = {"spark": "3.5.3-amzn-0", "main": "/elsewhere/nightly.py", "executor_memory_megabytes": 4500}
    runs = (past_run(1), past_run(2, **same), past_run(3, main="org.example.Nightly"))
    assert len(history(*runs).observations) == 3


def test_a_property_that_todays_job_states_counts_over_the_latest_runs():
    found = history(past_run(1), past_run(2), settings={"spark.sql.shuffle.partitions": "50"})

    assert not found.observations
    assert found.reasons == {"spark.sql.shuffle.partitions has changed": 2}


def test_properties_are_compared_as_spark_reads_them():
    """Of long values and places the log's digest is all that is kept."""
    stated = {"spark.sql.shuffle.partitions": "200 ", "spark.plugins": "com.example." + "Long" * 30}
    of_log = {**stated, "spark.app.name": "nightly", "spark.sql.warehouse.dir": "/elsewhere"}
    runs = [past_run(1, settings=tuple(settings_that_count(of_log).items()))]

    assert len(history(*runs, settings={**stated, "spark.driver.port": "7"}).observations) == 1


def test_what_is_not_known_is_said():
    found = history(past_run(1, instance_type=None, spark=None))

    assert found.notes[-1].endswith("not compared: the type of the machines, Spark's version.")
    assert found.observations[0].instance_type == "local"


def test_runs_older_than_the_code_are_told():
    runs, changed = [past_run(1), past_run(3)], NOW - timedelta(days=2)
    today = TodaysRun(code_changed_at=changed)

    told = observations_of(runs, today)
    assert len(told.observations) == 2
    assert "1 of 2 past runs began before the application's file was last changed" in told.notes[-1]


def test_runs_of_before_a_model_stopped_holding_are_left_out():
    found = history(past_run(1), past_run(3), holds_since=NOW - timedelta(days=2))
    assert found.reasons == {"it began before 2026-05-30, when a model of the job no longer held": 1}


@pytest.mark.parametrize(
    ("read", "of_today", "scales", "note"),
    [
        ([2000, 1000, 2000], None, [1.0, 0.5, 1.0], "Scale 1.0 is what the latest past runs read: 2.00 kB"),
        ([1000, 2000], 1600, [1.25, 0.625], "Scale 1.0 is today's input, 1.60 kB"),
        ([9000, 9000], 1000, [1.0, 1.0], "the latest read 9 times as much"),
        ([0, 0], None, [1.0, 1.0], "No log tells of any input"),
    ],
)
def test_scale_is_of_what_the_latest_runs_read_or_of_todays_files_where_that_is_as_much(
    read, of_today, scales, note
):
    runs = (past_run(day, input_bytes=each) for day, each in enumerate(read, start=1))
    found = history(*runs, input_bytes=of_today)

    assert [run.scale for run in found.observations] == scales
    assert note in found.notes[0]


def test_input_that_grows_from_run_to_run_is_not_taken_for_what_it_was_some_runs_ago():
    read = [1000, 1100, 1210, 1331, 9, 1611, 1772]  # one of them is odd
    found = history(*(past_run(9 - day, input_bytes=each) for day, each in enumerate(read)))

    assert found.input_bytes == pytest.approx(1772, rel=0.02)


def test_inputs_that_hardly_differ_are_of_one_size():
    found = history(*(past_run(day, input_bytes=1000 + day) for day in range(1, 9)))
    (scale,) = {run.scale for run in found.observations}
    assert scale == pytest.approx(1.0, abs=0.01)


def test_of_many_runs_those_count_that_differ():
    runs = [past_run(day, application_id=str(day), executors=8 if day > 30 else 4) for day in range(1, 41)]
    found = observations_of(runs, most_runs=6)

    assert [run.executors for run in found.observations] == [8, 8, 8, 4, 4, 4]
    assert sum(found.reasons.values()) == 34


def test_no_runs_are_no_history():
    assert not history().observations


def test_records_tell_how_wide_rows_were():
    found = history(
        past_run(1, input_bytes=1000, input_records=100),
        past_run(2, input_bytes=1030, input_records=100),
        past_run(3, input_bytes=500, input_records=100),
        past_run(4, input_bytes=980, input_records=100),
    )

    assert [run.row_width for run in found.observations] == pytest.approx([1.0, 0.5, 1.0, 1.0], rel=0.05)
    assert found.observations[1].scale == pytest.approx(0.5, rel=0.05)
    untold = history(past_run(1, input_bytes=1000, input_records=100), past_run(2, input_bytes=500))
    assert [run.row_width for run in untold.observations] == [1.0, 1.0]
