from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import DATA, SETTINGS, InputFingerprint, RunConditions
from airflow_provider_ernest.learning.conditions import differences, growth, not_compared

SHAPE = InputFingerprint(partitions=100, total_bytes=100_000_000_000, columns=12, format="csv")
THEN = RunConditions(
    spark="4.2.0",
    settings={"conf spark.sql.shuffle.partitions": "aa", "argument 0": "bb"},
    input=SHAPE,
    cores_per_machine=4,
)


def with_input(**changes: object) -> RunConditions:
    return replace(THEN, input=replace(SHAPE, **changes))


def test_the_same_conditions_do_not_differ():
    assert differences(THEN, THEN) == []
    assert not_compared(THEN, THEN) == []
    assert growth(THEN, THEN) == 1.0


def test_more_data_of_the_same_shape_is_growth_and_no_difference():
    grown = with_input(partitions=300, total_bytes=300_000_000_000)

    assert differences(THEN, grown) == []
    assert growth(THEN, grown) == pytest.approx(3.0)
    assert growth(THEN, with_input(partitions=50, total_bytes=50_000_000_000)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("now", "cause", "words"),
    [
        (replace(THEN, spark="4.1.0"), SETTINGS, "Spark is 4.1.0 and was 4.2.0"),
        (replace(THEN, cores_per_machine=8), SETTINGS, "offers 8 cores and offered 4"),
        (
            replace(THEN, settings={**THEN.settings, "conf spark.sql.shuffle.partitions": "cc"}),
            SETTINGS,
            "conf spark.sql.shuffle.partitions has changed",
        ),
        (replace(THEN, settings={}), SETTINGS, "argument 0, conf spark.sql.shuffle.partitions have changed"),
        (with_input(columns=13), DATA, "has 13 columns and had 12"),
        (with_input(format="parquet"), DATA, "is parquet and was csv"),
        (with_input(partitions=50), DATA, "holds 2000 MB and held 1000 MB"),
        (with_input(partitions=200), DATA, "holds 500 MB and held 1000 MB"),
        (with_input(partitions=500, total_bytes=500_000_000_000), DATA, "grown 5 times, more than 4 times"),
    ],
)
def test_what_differs_is_named_with_both_values(now, cause, words):
    (found,) = differences(THEN, now)

    assert found.cause == cause
    assert words in found.reason


def test_tolerance_and_growth_are_the_users():
    larger = with_input(total_bytes=120_000_000_000)

    assert differences(THEN, larger) == []
    assert differences(THEN, larger, shape_tolerance=0.1) != []
    grown = with_input(partitions=300, total_bytes=300_000_000_000)
    assert differences(THEN, grown, max_growth=2) != []


def test_what_is_not_known_cannot_differ_and_is_named():
    nothing = RunConditions()

    for then, now in [(THEN, nothing), (nothing, THEN), (None, THEN), (THEN, None)]:
        assert differences(then, now) == []
        assert growth(then, now) == 1.0
        assert not_compared(then, now) == [
            "Spark's version",
            "the settings",
            "the size of the input",
            "the columns of the input",
        ]
