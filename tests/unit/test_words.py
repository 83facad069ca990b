import pytest

from airflow_provider_ernest.words import (
    bandwidth,
    counted,
    data_amount,
    deviation,
    dollars,
    duration,
    error,
    machines,
    number,
    percent,
    plain,
    probability,
    rough_change,
    rough_percent,
    rough_seconds,
    seconds,
    seconds_between,
    since,
    stated_percent,
    tenths,
    tick,
    whole,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (1.5, "1.50"),
        (12.345, "12.3"),
        (123.45, "123"),
        (12345.6, "12,346"),
        (4e12, "4e+12"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_have_three_digits(value: float, words: str):
    assert number(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (15, "15 s"),
        (12.345, "12.3 s"),
        (119.9, "120 s"),
        (120, "2 min"),
        (312.4, "5 min 12 s"),
        (7199.9, "120 min"),
        (7200, "2 h"),
        (8999, "2 h 30 min"),
        (1e300, "1e+300 s"),
        (float("inf"), "inf s"),
    ],
)
def test_durations_are_told_as_people_do(value: float, words: str):
    assert duration(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "$0.00"),
        (0.2, "$0.20"),
        (0.0117, "$0.0117"),
        (12.3456, "$12.35"),
        (12345.0, "$12,345.00"),
        (1e300, "$1e+300"),
    ],
)
def test_dollars_have_cents_at_least(value: float, words: str):
    assert dollars(value) == words


def test_counts_and_what_people_state():
    assert [whole(value) for value in (0, 1312, 5e6)] == ["0", "1,312", "5,000,000"]
    assert [counted(1, "run"), counted(1312, "run")] == ["1 run", "1,312 runs"]
    assert [plain(value) for value in (0.05, 1.0, 0.09821, 1e-9)] == ["0.05", "1", "0.09821", "1e-09"]
    assert [stated_percent(value) for value in (0.8, 0.9995)] == ["80 %", "99.95 %"]
    assert [since(value) for value in (-5, 119, 120, 7200, 200_000)] == ["now", "now", "2 min", "2 h", "2 d"]


def test_estimates_are_told_roughly():
    assert [rough_seconds(value) for value in (1312.4, 36.4, 5.54)] == ["1,312 s", "36 s", "5.5 s"]
    assert [rough_percent(value) for value in (41.3, 2.0, 0.4, 0.0)] == ["41 %", "2 %", "0.4 %", "0.1 %"]
    assert [rough_change(value) for value in (63.2, -12.0, -0.2)] == ["+63 %", "-12 %", "+0 %"]


def test_shares_machines_and_ticks():
    assert [percent(value) for value in (0, 0.005, 0.0996, 0.123, 1)] == [
        "0 %",
        "0.5 %",
        "10 %",
        "12 %",
        "100 %",
    ]
    assert [machines(1), machines(2)] == ["1 machine", "2 machines"]
    assert [tick(0.05), tick(2.0), tick(1000.0)] == ["0.05", "2", "1,000"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "over 99.9 %"),
        (0.9986, "99.9 %"),
        (0.994, "99.4 %"),
        (0.872, "87 %"),
        (0.05, "5.0 %"),
        (0.002, "0.2 %"),
        (0.0, "below 0.1 %"),
    ],
)
def test_no_probability_is_certain(value: float, words: str):
    assert probability(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (128e6, "128 MB"),
        (3.2e11, "320 GB"),
        (2e18, "2,000 PB"),
    ],
)
def test_amounts_of_data(value: float, words: str):
    assert data_amount(value) == words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (seconds(1234.56), "1,234.6 s"),
        (seconds(0), "0.0 s"),
        (seconds_between((290.06, 331.7)), "290.1 to 331.7 s"),
        (tenths(1234.56), "1,234.6"),
        (error(3), "3.0 %"),
        (deviation(-9.09), "-9.1 %"),
        (deviation(9.09), "+9.1 %"),
        (bandwidth(1.26), "1.3 GB/s"),
        *((of_nothing(None), "-") for of_nothing in (seconds, seconds_between, error, deviation, bandwidth)),
    ],
)
def test_what_is_compared_has_one_decimal_and_its_unit(told: str, words: str):
    assert told == words
