from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.parse import unquote, urljoin

import pytest

from airflow_provider_ernest.links.spark_history import task_tab, task_tab_path

RUN = "manual__2026-01-01T00:00:00+00:00"


def task_instance(**changes):
    fields = {"dag_id": "nightly", "run_id": RUN, "task_id": "ernest.fit_model", "map_index": -1}
    return SimpleNamespace(**{**fields, **changes})


# The routes of task instances in Airflow's UI (3.1 to 3.3); each segment is decoded once.
ROUTE = re.compile(
    r"dags/(?P<dag_id>[^/?#]+)/runs/(?P<run_id>[^/?#]+)/tasks/(?P<task_id>[^/?#]+)"
    r"(/mapped/(?P<map_index>\d+))?/plugin/ernest-task"
)


@pytest.mark.parametrize("map_index", [-1, None, 0, 12])
@pytest.mark.parametrize("dag_id", ["nightly", "a/b?c#d", "../..", "100 %", "Zürich"])
def test_leads_to_the_tab_of_the_task_instance_whatever_its_names(dag_id, map_index):
    path = task_tab_path(dag_id=dag_id, run_id=RUN, task_id="ernest.fit_model", map_index=map_index)

    segments = ROUTE.fullmatch(path).groupdict()
    assert unquote(segments["dag_id"]) == dag_id
    assert unquote(segments["run_id"]) == RUN
    assert "+" not in segments["run_id"], "which some servers read as a space"
    assert segments["task_id"] == "ernest.fit_model"
    assert segments["map_index"] == (str(map_index) if map_index in (0, 12) else None)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://airflow.example.com", "https://airflow.example.com/dags/nightly/"),
        ("https://example.com/airflow/", "https://example.com/airflow/dags/nightly/"),
        ("/airflow", "/airflow/dags/nightly/"),
        ("/", "/dags/nightly/"),
    ],
)
def test_begins_with_airflows_own_address(monkeypatch, base_url, expected):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base_url)
    assert task_tab(task_instance()).startswith(expected)


def test_is_relative_to_the_base_of_airflows_pages_where_no_address_is_configured(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
    link = task_tab(task_instance())
    assert urljoin("https://example.com/airflow/", link).startswith("https://example.com/airflow/dags/")
