"""Numbers for people; tests/browser/test_format.py tests the pages with the same cases."""

from datetime import UTC, datetime

import pytest

from airflow_provider_ernest import words
from airflow_provider_ernest.words import UNKNOWN, counted, date_time, duration, number, shortened, tenths
from tests.number_cases import NUMBER_CASES, NumberCase


@pytest.mark.parametrize("case", NUMBER_CASES, ids=lambda case: f"{case.kind}({case.value})")
def test_what_numbers_look_like(case: NumberCase):
    if case.kind == "date_time":
        assert date_time(datetime.fromisoformat(case.value), UTC) == case.words
    else:
        assert getattr(words, case.kind)(*case.arguments) == case.words


def test_what_is_no_finite_number_is_unknown():
    assert {number(float("inf")), duration(float("nan")), tenths(None)} == {UNKNOWN}


def test_columns_below_a_unit_have_one_decimal():
    assert [tenths(value) for value in (0, 1234.56, -0.04)] == ["0.0", "1,234.6", "0.0"]


def test_counts_with_what_is_counted():
    assert [counted(1, "run"), counted(1312, "run")] == ["1 run", "1,312 runs"]
    assert counted(2, "query", "queries") == "2 queries"


def test_long_texts_end_in_dots():
    assert [shortened("abc", 3), shortened("abcd", 3)] == ["abc", "ab…"]
