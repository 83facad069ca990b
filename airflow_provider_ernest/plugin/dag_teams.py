"""Which team a DAG belongs to, where Airflow has teams."""

from __future__ import annotations

from collections.abc import Callable

from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from sqlalchemy import select

Teams = dict[str | None, set[str]]


def dag_teams() -> Callable[[set[str]], Teams]:
    """Groups DAGs by their teams, as Airflow's database knows them."""
    return by_team


def by_team(dag_ids: set[str]) -> Teams:
    """The DAGs by the team that they belong to; None for those of no team.

    Where Airflow has teams, a DAG that its database does not know is left out: nobody can tell whose it was.
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
    # Airflow 3.1 has teams already, and no setting for them; it tells them for one DAG at a time.
    team_of = getattr(DagModel, "get_team_name", None)
    if not team_of:
        return {}
    with create_session(scoped=False) as session:
        return {dag_id: team_of(dag_id, session=session) for dag_id in dag_ids}


def _known(dag_ids: set[str]) -> set[str]:
    with create_session(scoped=False) as session:
        return set(session.scalars(select(DagModel.dag_id).where(DagModel.dag_id.in_(dag_ids))))
