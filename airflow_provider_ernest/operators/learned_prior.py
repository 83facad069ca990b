"""What the models of other jobs in the store teach about a job of which little is known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_ernest.model.averaging.prior import AveragingPrior
    from airflow_provider_ernest.model.store import ModelStore

POOLED_JOBS = 50
"""More say little more about the next one, and each takes some hundredths of a second."""


def learned_prior(
    store: ModelStore, *, job: str, instance_type: str, terms: tuple[str, ...], log: Any
) -> AveragingPrior | None:
    """What the other jobs on such machines teach; None where there are none.

    Args:
        store: the model store.
        job: which learns nothing from its own models.
        instance_type: the machines' type.
        terms: that the model may have.
        log: the logger that says what was learned.

    Raises:
        StoreError: the store cannot be read.
    """
    from airflow_provider_ernest.exceptions import InvalidParameterError
    from airflow_provider_ernest.model.averaging.pooling import pooled_prior

    models = store.latest_of_jobs(instance_type, limit=POOLED_JOBS, other_than=job)
    if not models:
        return None
    try:
        prior = pooled_prior([model.observations for model in models], terms=terms)
    except InvalidParameterError as error:
        # A formula that suits this job's runs need not suit theirs.
        log.warning("Nothing is learned from other jobs: %s", error)
        return None
    log.info(
        "Learned from the models of other jobs on %s (%d): the driver takes a machine with a probability "
        "of %.0f %%; terms are there with %s",
        instance_type,
        len(models),
        100 * prior.driver_share,
        ", ".join(f"{name} {prior.belief_in(name).probability:.0%}" for name in terms),
    )
    return prior
