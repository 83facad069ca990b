"""The application of the pages for tests, with an auth manager whose answers the test decides."""

from collections.abc import Callable
from typing import Any

from airflow.api_fastapi.core_api.security import GetUserDep, get_user
from fastapi import HTTPException
from fastapi.testclient import TestClient
from jsonschema import Draft202012Validator

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run import RunRecord
from airflow_provider_ernest.web.access import Access, current_access
from airflow_provider_ernest.web.answers import REFERENCE, schemas
from airflow_provider_ernest.web.app import create_app
from airflow_provider_ernest.web.models import model_store
from airflow_provider_ernest.web.runs import run_reader

Teams = Callable[[set[str]], dict[str | None, set[str]]]


class StubAuthManager:
    """Answers as told, and as auth managers do that know rights for each DAG.

    Args:
        dags: ids of the DAGs that the user may read; None for all.
        teams: those that the user is in.
        denied: entities of DAGs (names of `DagAccessEntity`) that he may not read anywhere.
        sees_pages: whether he may see plugins.
        triggers: whether he may start runs of the DAGs that he may read.
    """

    def __init__(
        self,
        *,
        dags: set[str] | None = None,
        teams: set[str] = frozenset(),
        denied: set[str] = frozenset(),
        sees_pages: bool = True,
        triggers: bool = True,
    ) -> None:
        self.dags = dags
        self.teams = teams
        self.denied = denied
        self.sees_pages = sees_pages
        self.triggers = triggers

    def is_authorized_view(self, *, access_view: Any, user: Any) -> bool:
        assert access_view.name == "PLUGINS"
        return self.sees_pages

    def is_authorized_dag(
        self, *, method: str, user: Any, access_entity: Any = None, details: Any = None
    ) -> bool:
        assert (method, getattr(access_entity, "name", None)) == ("POST", "RUN") or method == "GET"
        if method == "POST" and not self.triggers:
            return False
        if access_entity is not None and access_entity.name in self.denied:
            return False
        if details is not None and details.team_name not in (None, *self.teams):
            return False
        if self.dags is None:
            return True
        # For no DAG in particular, one is enough: so answers the auth manager of Flask AppBuilder.
        return bool(self.dags) if details is None else details.id in self.dags

    def filter_authorized_dag_ids(
        self, *, dag_ids: set[str], user: Any, method: str, team_name: str | None = None
    ) -> set[str]:
        if team_name not in (None, *self.teams):
            return set()
        return dag_ids if self.dags is None else dag_ids & self.dags


def assert_described(name: str, answer: Any) -> None:
    """The answer has the form that the API's description gives to the view of that name, and nothing more."""
    exact = {
        each: {**form, "required": list(form["properties"]), "additionalProperties": False}
        for each, form in schemas().items()
    }
    form = {"$ref": REFERENCE.format(name=name), "components": {"schemas": exact}}
    Draft202012Validator(form).validate(answer)


def pages(
    manager: StubAuthManager | None = None,
    *,
    store: ModelStore | None = None,
    runs: Callable[[str, str], RunRecord | None] = lambda dag_id, run_id: None,
    teams: Teams = lambda dag_ids: {None: dag_ids},
    is_logged_in: bool = True,
) -> TestClient:
    """A client of the pages."""
    app = create_app()

    def user() -> object:
        if not is_logged_in:
            raise HTTPException(401, "Not authenticated")
        return object()

    def access(user: GetUserDep) -> Access:
        return Access(user, manager or StubAuthManager(), teams)

    app.dependency_overrides[get_user] = user
    app.dependency_overrides[current_access] = access
    app.dependency_overrides[run_reader] = lambda: runs
    if store is not None:
        app.dependency_overrides[model_store] = lambda: store
    return TestClient(app, follow_redirects=False)
