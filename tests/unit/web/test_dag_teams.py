"""Which team a DAG belongs to."""

from contextlib import nullcontext

import pytest

from airflow_provider_ernest.web import access
from airflow_provider_ernest.web.access import by_team


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow knows two DAGs, one of them of a team."""
    monkeypatch.setattr(access, "_known", lambda dag_ids: dag_ids & {"ours", "anybodys"})
    monkeypatch.setattr(access, "_owners", lambda dag_ids: {"ours": "red"})


def test_without_teams_a_dag_that_airflow_has_forgotten_is_asked_for_by_its_name(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "False")
    assert by_team({"anybodys", "deleted"}) == {None: {"anybodys", "deleted"}}


def test_with_teams_a_dag_that_airflow_has_forgotten_is_nobodys(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    assert by_team({"ours", "anybodys", "deleted"}) == {"red": {"ours"}, None: {"anybodys"}}


def test_a_version_of_airflow_without_teams(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(access, "DagModel", object)
    assert by_team({"a"}) == {None: {"a"}}


def test_no_dag_at_all():
    assert by_team(set()) == {}


def test_a_version_of_airflow_that_tells_teams_one_by_one(monkeypatch):
    class Model:
        @staticmethod
        def get_team_name(dag_id, *, session):
            return {"ours": "red"}.get(dag_id)

    monkeypatch.undo()
    monkeypatch.setattr(access, "DagModel", Model)
    monkeypatch.setattr(access, "create_session", lambda **_: nullcontext())
    assert by_team({"ours", "anybodys"}) == {"red": {"ours"}, None: {"anybodys"}}
