"""Who may see what."""

import pytest
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from fastapi import HTTPException

from airflow_provider_ernest.web.access import Access
from tests.unit.web.pages_app import StubAuthManager, pages


def no_teams(dag_ids: set[str]) -> dict[str | None, set[str]]:
    return {None: dag_ids}


def access(manager: StubAuthManager, teams=no_teams) -> Access:
    return Access(object(), manager, teams)


class TestReadable:
    def test_only_the_dags_of_the_user(self):
        may_read = access(StubAuthManager(dags={"mine"})).readable({"mine", "theirs"})
        assert may_read("mine")
        assert not may_read("theirs")

    def test_what_no_dag_made_is_for_those_who_may_read_all(self):
        assert access(StubAuthManager()).readable({None})(None)

    def test_what_no_dag_made_is_not_for_those_who_may_read_some(self):
        # Although auth managers answer yes where the question names no DAG.
        assert not access(StubAuthManager(dags={"mine"})).readable({None, "mine"})(None)

    def test_a_dag_that_comes_up_later_is_asked_about_then(self):
        may_read = access(StubAuthManager(dags={"mine", "mine too"})).readable({"mine"})
        assert may_read("mine too")
        assert not may_read("theirs")
        assert not may_read(None)
        assert access(StubAuthManager()).readable(set())(None)

    def test_a_dag_that_airflow_has_forgotten_is_asked_for_by_its_name(self):
        may_read = access(StubAuthManager(dags={"deleted"})).readable({"deleted", "deleted too"})
        assert may_read("deleted")
        assert not may_read("deleted too")

    def test_a_dag_of_another_team_is_not_readable(self):
        def teams(dag_ids):
            return {"blue": dag_ids & {"b"}, "red": dag_ids & {"r"}}

        may_read = access(StubAuthManager(teams={"red"}), teams).readable({"b", "r"})
        assert may_read("r")
        assert not may_read("b")

    def test_with_teams_a_dag_of_nobody_knows_whom_is_not_readable(self):
        may_read = access(StubAuthManager(), lambda dag_ids: {}).readable({"deleted"})
        assert not may_read("deleted")


class TestRuns:
    def test_of_a_readable_dag(self):
        access(StubAuthManager(dags={"mine"})).require_run("mine")

    @pytest.mark.parametrize(
        "entity", [DagAccessEntity.RUN, DagAccessEntity.TASK_INSTANCE, DagAccessEntity.XCOM]
    )
    def test_each_part_of_a_run_must_be_readable(self, entity):
        with pytest.raises(HTTPException, match=r"runs, task instances and XComs") as refused:
            access(StubAuthManager(denied={entity.name})).require_run("mine")
        assert refused.value.status_code == 403

    def test_of_another_team(self):
        with pytest.raises(HTTPException, match=r"may not read"):
            access(StubAuthManager(), lambda dag_ids: {"blue": dag_ids}).require_run("b")

    def test_with_teams_of_a_dag_of_nobody_knows_whom(self):
        with pytest.raises(HTTPException, match=r"may not read"):
            access(StubAuthManager(), lambda dag_ids: {}).require_run("deleted")


ROUTES = (
    "/",
    "/models",
    "/model",
    "/run",
    "/task",
    "/static/js/dom.js",
    "/static/nothing.js",
    "/openapi.json",
    "/docs",
    "/nothing",
    "/api/nothing",
    "/api/models",
    "/api/model?job=a&instance_type=b",
    "/api/prediction?job=a&instance_type=b",
    "/api/production?job=a&instance_type=b",
    "/api/untrained_runs?job=a&instance_type=b",
    "/api/clarity?job=a&instance_type=b",
    "/api/run?dag_id=a&run_id=b",
    "/api/task?dag_id=a&run_id=b&task_id=c",
)


@pytest.mark.parametrize("path", ROUTES)
def test_nothing_is_public(path: str):
    answer = pages(is_logged_in=False).get(path)
    assert answer.status_code == 401
    assert "Log in to Airflow" in answer.text


@pytest.mark.parametrize("path", ROUTES)
def test_nothing_is_for_users_who_may_not_see_plugins(path: str):
    answer = pages(StubAuthManager(sees_pages=False)).get(path)
    assert answer.status_code == 403
    assert "Ask your Airflow administrator" in answer.text


def test_every_route_asks():
    """Also one that is added and forgotten in the list above."""
    app = pages().app
    guards = [
        {dependency.call.__name__ for dependency in route.dependant.dependencies}
        for route in app.routes
        if hasattr(route, "dependant")
    ]
    assert guards
    assert all("requires_pages" in names for names in guards)
