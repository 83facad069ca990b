"""Airflow's simple auth manager with users who may read some DAGs only; for the tests.

Its own roles are all or nothing: who may read one DAG may read all. Here the users of `READABLE_DAGS` have
the rights of their role on those DAGs alone, as auth managers of production have it.
"""

from __future__ import annotations

import json
import os
from typing import Any

from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

READABLE_DAGS = "ERNEST_TEST_READABLE_DAGS"
"""Environment variable: a JSON object of user names with the ids of the DAGs that they may read."""


class AuthManagerOfSomeDags(SimpleAuthManager):
    """Restricts users to DAGs, in everything that Airflow asks an auth manager about a DAG."""

    def is_authorized_dag(self, *, user: Any, details: Any = None, **request: Any) -> bool:
        """Whether the user's role allows it, and the DAG is one of his.

        Without a DAG the question is whether he may list DAGs. As with the auth manager of Flask AppBuilder,
        one that he may read is enough for that.
        """
        if not super().is_authorized_dag(user=user, details=details, **request):
            return False
        readable = json.loads(os.environ[READABLE_DAGS]).get(user.username)
        if readable is None:
            return True
        asked_for = getattr(details, "id", None)
        return bool(readable) if asked_for is None else asked_for in readable
