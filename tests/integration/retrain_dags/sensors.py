"""DAGs of the integration tests: sensors that wait for another application, and one that is run by it."""

from __future__ import annotations

import os

from airflow.sdk import DAG, task

from airflow_provider_ernest.assets import application_changed
from airflow_provider_ernest.sensors.jar_hash import JarHashSensor

APPLICATION, JOB = os.environ["ERNEST_TEST_APPLICATION"], "enrich_flights"
ARGUMENTS = {
    "application": APPLICATION,
    "job": JOB,
    "timeout": 600,
}

with DAG("wait_for_code", schedule=None):
    JarHashSensor(task_id="poking", poke_interval=2, **ARGUMENTS)
    # Were it due again at once, Airflow could take the end of a poke for that of the task, and fail it.
    JarHashSensor(task_id="rescheduled", mode="reschedule", poke_interval=20, **ARGUMENTS)

# The same asset as that of the example, whose DAG may be paused while this one goes on.
with DAG("listen", schedule=[application_changed(JOB, APPLICATION, poll_seconds=10)]):

    @task
    def hear() -> None:
        """Be run."""

    hear()
