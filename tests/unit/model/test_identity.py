"""Names that sort by time."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from airflow_provider_ernest.documents import new_id
from airflow_provider_ernest.store.files import safe_name

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_names_of_one_moment_differ():
    assert len({new_id(NOON) for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "later",
    [
        NOON + timedelta(microseconds=1),
        NOON + timedelta(days=400),
        datetime(2026, 1, 2, 11, 30, tzinfo=timezone(timedelta(hours=-1))),
    ],
)
def test_names_sort_by_time_in_any_time_zone(later):
    assert new_id(NOON) < new_id(later)


def test_a_name_is_one_of_a_file_as_it_is():
    name = new_id(NOON)

    assert name.startswith("20260102T120000.000000Z-")
    assert safe_name("id", name) == name
