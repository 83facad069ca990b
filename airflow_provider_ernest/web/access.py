"""Who may see what: a login for everything, and for what a DAG made the right to read that DAG.

Airflow's own dependencies look for the DAG in the address; here the documents name it. So the auth manager is
asked directly, with the same details.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView, DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from fastapi import Depends, HTTPException
from sqlalchemy import select

Teams = dict[str | None, set[str]]


def by_team(dag_ids: set[str]) -> Teams:
    """The DAGs by their teams in Airflow's database; None for those of no team.

    If Airflow has teams, a DAG that its database does not know is left out: nobody can tell whose it was.
    """
    teams: Teams = {}
    if not dag_ids:
        return teams
    owners = _owners(dag_ids)
    has_teams = conf.getboolean("core", "multi_team", fallback=False)
    for dag_id in _known(dag_ids) if has_teams else dag_ids:
        teams.setdefault(owners.get(dag_id), set()).add(dag_id)
    return teams


def _owners(dag_ids: set[str]) -> dict[str, str | None]:
    mapping = getattr(DagModel, "get_dag_id_to_team_name_mapping", None)
    if mapping:
        return dict(mapping(list(dag_ids)))
    # Airflow 3.1 has teams, but no setting for them, and tells the team of one DAG at a time.
    team_of = getattr(DagModel, "get_team_name", None)
    if not team_of:
        return {}
    with create_session(scoped=False) as session:
        return {dag_id: team_of(dag_id, session=session) for dag_id in dag_ids}


def _known(dag_ids: set[str]) -> set[str]:
    with create_session(scoped=False) as session:
        return set(session.scalars(select(DagModel.dag_id).where(DagModel.dag_id.in_(dag_ids))))


NO_PAGES = (
    "You may not see these pages. Ask your Airflow administrator for the right to read plugins (in Airflow's "
    "simple auth manager: for a role, viewer at least)."
)
NO_RUN = (
    "You may not read this. Ask your Airflow administrator for the right to read the runs, task instances "
    "and XComs of the DAG."
)

ANY_DAG = "~"
"""No DAG can have this name: only those may read it whose right is not limited to named DAGs."""


class Access:
    """What the user of a request may read, by Airflow's auth manager; `teams` groups DAGs by their teams."""

    def __init__(self, user: Any, manager: Any, teams: Callable[[set[str]], Teams]) -> None:
        self._user = user
        self._manager = manager
        self._teams = teams

    def may_see_pages(self) -> bool:
        """Whether the user may see these pages at all."""
        return bool(self._manager.is_authorized_view(access_view=AccessView.PLUGINS, user=self._user))

    def may_read_all(self) -> bool:
        """Whether the user may read all DAGs that belong to no team, and so what no DAG made."""
        # Without a DAG's name, some auth managers say yes to users who may read a single one.
        return all(
            self._manager.is_authorized_dag(method="GET", details=details, user=self._user)
            for details in (None, DagDetails(id=ANY_DAG))
        )

    def readable(self, dag_ids: Iterable[str | None]) -> Callable[[str | None], bool]:
        """Return a function that tells whether the user may read a DAG; None stands for what no DAG made.

        These DAGs are asked about at once; any other, such as one named in a document only, when it comes up.
        """
        known: dict[str | None, bool] = {}

        def ask(wanted: set[str | None]) -> None:
            allowed = self._allowed({dag_id for dag_id in wanted if dag_id is not None})
            known.update({dag_id: dag_id in allowed for dag_id in wanted if dag_id is not None})
            if None in wanted:
                known[None] = self.may_read_all()

        def may_read(dag_id: str | None) -> bool:
            if dag_id not in known:
                ask({dag_id})
            return known[dag_id]

        ask(set(dag_ids))
        return may_read

    def _allowed(self, dag_ids: set[str]) -> set[str]:
        allowed: set[str] = set()
        for team, of_team in self._teams(dag_ids).items():
            allowed |= self._manager.filter_authorized_dag_ids(
                dag_ids=of_team, user=self._user, method="GET", **_of_team(team)
            )
        return allowed

    def require_run(self, dag_id: str) -> None:
        """Raise HTTPException 403 unless the user may read the DAG's runs, task instances and XComs.

        It is the same for DAGs that do not exist.
        """
        if not self._may(
            dag_id, "GET", DagAccessEntity.RUN, DagAccessEntity.TASK_INSTANCE, DagAccessEntity.XCOM
        ):
            raise HTTPException(403, NO_RUN)

    def may_trigger(self, dag_id: str) -> bool:
        """Whether the user may start runs of the DAG, as Airflow's own API asks."""
        return self._may(dag_id, "POST", DagAccessEntity.RUN)

    def _may(self, dag_id: str, method: Literal["GET", "POST"], *entities: DagAccessEntity) -> bool:
        return any(
            all(
                self._manager.is_authorized_dag(
                    method=method,
                    access_entity=entity,
                    details=DagDetails(id=dag_id, **_of_team(team)),
                    user=self._user,
                )
                for entity in entities
            )
            for team in self._teams({dag_id})
        )


def current_access(user: GetUserDep) -> Access:
    """The access of the user who asks, by Airflow's auth manager; HTTPException 401 without a login."""
    return Access(user, get_auth_manager(), by_team)


AccessDep = Annotated[Access, Depends(current_access)]


def requires_pages(access: AccessDep) -> None:
    """Raise HTTPException 401 without a login, 403 without the right to see plugins."""
    if not access.may_see_pages():
        raise HTTPException(403, NO_PAGES)


def _of_team(team: str | None) -> dict[str, Any]:
    """The team's name as an argument; none without a team, as in versions that have none."""
    return {} if team is None else {"team_name": team}
