"""What a new attempt does with the machines of earlier ones: take them over, or end them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.attempt import Attempt
from airflow_provider_ernest.clusters.ec2.ending import end_machines
from airflow_provider_ernest.clusters.ec2.identity import TRY_TAG
from airflow_provider_ernest.clusters.ec2.instances import (
    TO_BE_ENDED,
    Instance,
    add_tags,
    masters,
    told_of_cluster,
    workers,
)

log = logging.getLogger(__name__)

_LEAST_SHARE_OF_LIFE = 0.5
_POLL_SECONDS = 1.0


def adopt_earlier(
    ec2: Any,
    attempt: Attempt,
    *,
    specification: str,
    time_to_live_seconds: float,
    expected: int,
    sleep: Callable[[float], None],
) -> tuple[list[Instance], datetime]:
    """Take over what earlier attempts have launched, and end what is of no use.

    Machines are of use that were asked for with the same specification, come or are there, and have more than
    half of their time to live left; workers only together with the master that they were launched for. They
    are tagged as this attempt's, so that a late end of the earlier one spares them.

    AWS may show for some seconds nothing of what an attempt has launched that was killed just now. So a
    later try looks again for `ending.SETTLE_SECONDS` before it takes too few machines for all there are.

    Args:
        ec2: a boto3 client.
        attempt: this one.
        specification: digest of what is wanted.
        time_to_live_seconds: of new machines.
        expected: how many machines a whole launch has.
        sleep: waits between two looks.

    Returns:
        The machines taken over, a master and its workers or nothing; and what time it is, by AWS's clock.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    found, now = _settled(ec2, attempt, expected=expected, sleep=sleep)
    useful = [
        instance
        for instance in found
        if instance.usable
        and instance.specification == specification
        and instance.expires_at is not None
        and (instance.expires_at - now).total_seconds() > _LEAST_SHARE_OF_LIFE * time_to_live_seconds
    ]
    kept = _of_one_master(useful)
    kept_ids = {instance.id for instance in kept}
    useless = [instance for instance in found if instance.id not in kept_ids]
    if useless:
        ids = [instance.id for instance in useless]
        log.info("Ending %d machines of earlier attempts: %s", len(ids), ", ".join(ids))
        end_machines(ec2, ids)
    if kept:
        ids = [instance.id for instance in kept]
        log.info("Taking over %d machines of earlier attempts: %s", len(ids), ", ".join(ids))
        add_tags(ec2, ids, {TRY_TAG: attempt.number})
    return kept, now


def _settled(
    ec2: Any, attempt: Attempt, *, expected: int, sleep: Callable[[float], None]
) -> tuple[list[Instance], datetime]:
    """The machines of earlier attempts, once AWS has had the time to show all of them."""
    deadline = time.monotonic() + (ending.SETTLE_SECONDS if attempt.identity.try_number > 1 else 0.0)
    while True:
        found, now = told_of_cluster(ec2, attempt.cluster_name, states=TO_BE_ENDED)
        if len(found) >= expected or time.monotonic() >= deadline:
            return found, now
        sleep(_POLL_SECONDS)


def _of_one_master(useful: Sequence[Instance]) -> list[Instance]:
    """The master launched last and the workers launched after it; those of another one look for that."""
    candidates = masters(useful)
    if not candidates:
        return []
    master = candidates[-1]
    return [master, *(worker for worker in workers(useful) if worker.launched_at >= master.launched_at)]
