"""What Airflow loads: where the pages are mounted, and where its own pages link to them.

Every component of Airflow imports this module, the scheduler too. So it loads nothing that only answers
to requests need.
"""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_ernest.plugin.lazy_app import LazyApp

MOUNTED_AT = "ernest"
"""Below Airflow's root. The addresses are relative, or they would not work behind a path prefix."""


class ErnestPlugin(AirflowPlugin):
    """The pages of Ernest: in the menu, on each DAG run and on each task instance."""

    # Lists of the class, as Airflow's base class has them.
    name = "ernest"
    fastapi_apps: list[Any] = [  # noqa: RUF012
        {"app": LazyApp(), "url_prefix": f"/{MOUNTED_AT}", "name": "Ernest"}
    ]
    external_views: list[Any] = [  # noqa: RUF012
        {
            "name": "Ernest",
            "href": f"{MOUNTED_AT}/models",
            "destination": "nav",
            "category": "browse",
            "url_route": "ernest",
        },
        {
            "name": "Ernest",
            "href": f"{MOUNTED_AT}/run?dag_id={{DAG_ID}}&run_id={{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "ernest-run",
        },
        {
            "name": "Ernest",
            "href": (
                f"{MOUNTED_AT}/task?dag_id={{DAG_ID}}&run_id={{RUN_ID}}"
                "&task_id={TASK_ID}&map_index={MAP_INDEX}"
            ),
            "destination": "task_instance",
            "url_route": "ernest-task",
        },
    ]
