"""Who may see what."""

from contextlib import nullcontext

import pytest
from fastapi import HTTPException

from airflow_provider_ernest.web import access
from airflow_provider_ernest.web.access import Access, by_team
from tests.unit.web.pages_app import StubAuthManager, Teams, pages

ROUTES = (
    "/",
    "/models",
    "/model",
    "/run",
    "/survey",
    "/assets/0/model.js",
    "/assets/0/nothing.js",
    "/openapi.json",
    "/docs",
    "/nothing",
    "/api/nothing",
    "/api/models",
    "/api/model?job=a&instance_type=b",
    "/api/prediction?job=a&instance_type=b",
    "/api/clarity?job=a&instance_type=b",
    "/api/run?dag_id=a&run_id=b",
    "/api/survey",
)


@pytest.mark.parametrize(
    ("manager", "status", "words"),
    [
        (None, 401, "Log in to Airflow"),
        (StubAuthManager(sees_pages=False), 403, "Ask your Airflow administrator"),
    ],
    ids=["not logged in", "may not see plugins"],
)
def test_nothing_is_public(manager: StubAuthManager | None, status: int, words: str):
    client = pages(manager, is_logged_in=manager is not None)
    answers = {path: client.get(path) for path in ROUTES}
    assert {path for path, answer in answers.items() if answer.status_code != status} == set()
    assert {path for path, answer in answers.items() if words not in answer.text} == set()


def test_every_route_asks():
    """Also one that is added and forgotten in the list above."""
    guards = [
        {dependency.call.__name__ for dependency in route.dependant.dependencies}
        for route in pages().app.routes
        if hasattr(route, "dependant")
    ]
    assert guards
    assert all("requires_pages" in names for names in guards)


def access_of(
    *dags: str, teams: Teams = lambda dag_ids: {None: dag_ids}, of_teams: set[str] = frozenset()
) -> Access:
    """Of a user who may read these DAGs; all without any."""
    return Access(object(), StubAuthManager(dags=set(dags) or None, teams=of_teams), teams)


class TestReadable:
    def test_only_the_dags_of_the_user(self):
        # Whether Airflow still knows them or not: they are asked for by their names.
        may_read = access_of("mine", "later").readable({"mine", "theirs"})
        assert may_read("mine")
        assert not may_read("theirs")
        assert may_read("later"), "one that comes up later is asked about then"
        assert not may_read("another")

    def test_what_no_dag_made_is_for_those_who_may_read_all(self):
        for known in ({None}, set()):
            assert access_of().readable(known)(None)
            # Although auth managers answer yes where the question names no DAG.
            assert not access_of("mine").readable({*known, "mine"})(None)

    def test_a_dag_of_another_team_is_not_readable(self):
        def teams(dag_ids: set[str]) -> dict[str | None, set[str]]:
            return {"blue": dag_ids & {"b"}, "red": dag_ids & {"r"}}

        may_read = access_of(teams=teams, of_teams={"red"}).readable({"b", "r", "of nobody knows whom"})
        assert may_read("r")
        assert not may_read("b")
        assert not may_read("of nobody knows whom")


class TestRuns:
    def test_of_a_readable_dag(self):
        access_of("mine").require_run("mine")

    @pytest.mark.parametrize("teams", [lambda dag_ids: {"blue": dag_ids}, lambda dag_ids: {}])
    def test_of_another_team_or_nobody_knows_whom(self, teams: Teams):
        with pytest.raises(HTTPException, match=r"may not read") as refused:
            access_of(teams=teams).require_run("b")
        assert refused.value.status_code == 403


class TestTeams:
    """Of which Airflow knows one DAG of a team and one of nobody's."""

    @pytest.mark.parametrize(
        ("are_there", "found"),
        [
            ("False", {"red": {"ours"}, None: {"anybodys", "deleted"}}),
            ("True", {"red": {"ours"}, None: {"anybodys"}}),
        ],
        ids=["what Airflow has forgotten is asked for by its name", "with teams it is nobody's"],
    )
    def test_of_dags(
        self, monkeypatch: pytest.MonkeyPatch, are_there: str, found: dict[str | None, set[str]]
    ):
        monkeypatch.setattr(access, "_known", lambda dag_ids: dag_ids & {"ours", "anybodys"})
        monkeypatch.setattr(access, "_owners", lambda dag_ids: {"ours": "red"})
        monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", are_there)
        assert by_team({"ours", "anybodys", "deleted"}) == found
        assert by_team(set()) == {}

    def test_a_version_of_airflow_without_teams(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(access, "DagModel", object)
        assert by_team({"a"}) == {None: {"a"}}

    def test_a_version_of_airflow_that_tells_teams_one_by_one(self, monkeypatch: pytest.MonkeyPatch):
        class Model:
            @staticmethod
            def get_team_name(dag_id, *, session):
                return {"ours": "red"}.get(dag_id)

        monkeypatch.setattr(access, "DagModel", Model)
        monkeypatch.setattr(access, "create_session", lambda **_: nullcontext())
        assert by_team({"ours", "anybodys"}) == {"red": {"ours"}, None: {"anybodys"}}
