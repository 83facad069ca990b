"""The record of a sample run: kept as soon as it was observed, whatever becomes of the training."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.records import ObservationRecord
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.recording import record_in_time
from airflow_provider_ernest.operators.run_identity import told_conditions

if TYPE_CHECKING:
    from airflow_provider_ernest.model.documents import Observation


def keep_observation(
    observation: Observation,
    *,
    job: str | None,
    store: str | None,
    artifact_sha256: str | None,
    conditions: Any,
    log: Any,
) -> None:
    """Save an observation, see `record_in_time`: what hinders it is a warning, for the run is paid for.

    Args:
        observation: what was observed.
        job: the job's name in the store; None to keep it nowhere.
        store: root of the model store; None for the configured one.
        artifact_sha256: hash of the application that ran.
        conditions: what, beside it, the run depended on, by type of machine.
        log: the logger that the warning goes to.
    """
    if job is None:
        return

    def save() -> None:
        now = datetime.now(UTC)
        ModelStore(store_root(store)).save_observation(
            ObservationRecord(
                observation_id=new_id(now),
                recorded_at=now.isoformat(),
                job=job,
                instance_type=observation.instance_type,
                observation=observation,
                artifact_sha256=artifact_sha256,
                conditions=told_conditions(conditions, observation.instance_type),
            )
        )

    record_in_time(save, what="The observation", log=log)
