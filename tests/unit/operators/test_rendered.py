import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import (
    number,
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
    whole_number,
)


@pytest.mark.parametrize(("value", "expected"), [(3, 3.0), ("3.5", 3.5), (" 1e-2 ", 0.01)])
def test_numbers_survive_rendering_as_text(value, expected):
    assert number("budget", value) == expected


@pytest.mark.parametrize("value", ["", "ten", None, float("nan"), "inf", True, [1]])
def test_what_is_no_number_is_named(value):
    with pytest.raises(InvalidParameterError, match=r"^budget="):
        number("budget", value)


def test_half_a_machine_is_refused():
    assert whole_number("machines", "4") == 4
    with pytest.raises(InvalidParameterError, match=r"machines='2\.5' is not a whole number"):
        whole_number("machines", "2.5")


@pytest.mark.parametrize("value", [None, "", "None"])
def test_nothing_stays_nothing_after_rendering(value):
    assert optional_number("deadline_seconds", value) is None
    assert optional_whole_number("max_runs", value) is None
    assert optional_text(value) is None


def test_zero_is_not_nothing():
    assert optional_number("deadline_seconds", 0) == 0.0


@pytest.mark.parametrize("value", [{"machines": 2}, '{"machines": 2}'])
def test_documents_come_as_mappings_or_as_json(value):
    assert optional_document("cluster", value) == {"machines": 2}


@pytest.mark.parametrize("value", [None, "", "None", "null"])
def test_no_document_stays_none(value):
    assert optional_document("cluster", value) is None


@pytest.mark.parametrize("value", ["{'machines': 2}", "[1]", 3])
def test_what_is_no_document_is_named(value):
    with pytest.raises(InvalidParameterError, match=r"^cluster="):
        optional_document("cluster", value)
