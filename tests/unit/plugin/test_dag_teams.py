"""Which team a DAG belongs to."""

from contextlib import nullcontext

import pytest

from airflow_provider_ernest.plugin import dag_teams
from airflow_provider_ernest.plugin.dag_teams import by_team


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow knows two DAGs, one of them of a team."""
    monkeypatch.setattr(dag_teams, "_known", lambda dag_ids: dag_ids & {"ours", "anybodys"})
    monkeypatch.setattr(dag_teams, "_owners", lambda dag_ids: {"ours": "red"})


def test_without_teams_a_dag_that_airflow_has_forgotten_is_asked_for_by_its_name(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "False")
    assert by_team({"anybodys", "deleted"}) == {None: {"anybodys", "deleted"}}


def test_with_teams_a_dag_that_airflow_has_forgotten_is_nobodys(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    assert by_team({"ours", "anybodys", "deleted"}) == {"red": {"ours"}, None: {"anybodys"}}


def test_a_version_of_airflow_without_teams(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(dag_teams, "DagModel", object)
    assert by_team({"a"}) == {None: {"a"}}


def test_no_dag_at_all():
    assert by_team(set()) == {}


def test_a_version_of_airflow_that_tells_teams_one_by_one(monkeypatch):
    class Model:
        @staticmethod
        def get_team_name(dag_id, *, session):
            return {"ours": "red"}.get(dag_id)

    monkeypatch.undo()
    monkeypatch.setattr(dag_teams, "DagModel", Model)
    monkeypatch.setattr(dag_teams, "create_session", lambda **_: nullcontext())
    assert by_team({"ours", "anybodys"}) == {"red": {"ours"}, None: {"anybodys"}}
