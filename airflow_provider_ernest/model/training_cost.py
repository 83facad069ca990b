"""What the sample runs of a model cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ernest.model.results import Model


def training_dollars(model: Model) -> float | None:
    """Dollars for the machines over the time of the sample runs; None where prices are not known.

    All machines of the cluster are paid for while any run is on, however many it uses; runs are reckoned one
    after the other. What the cluster took to form, and its culled machines, are left out: where the DAG run
    is still known to Airflow, its page has the bill to the second.

    Args:
        model: the model, with the cluster that its runs were made on.
    """
    if model.cluster is None:
        return None
    kept = [machine for machine in model.cluster.machines if not machine.culled_because]
    fallback = model.cluster.price_per_hour
    prices = [
        machine.price_per_hour if machine.price_per_hour is not None or machine.is_master else fallback
        for machine in kept
    ]
    if not prices or any(price is None for price in prices):
        return None
    # Those that it has learned from in production come after them.
    samples = model.observations[: len(model.observations) - len(model.learned_from)]
    seconds = sum(run.startup_seconds + run.seconds for run in samples)
    return sum(price for price in prices if price is not None) * seconds / 3600.0
