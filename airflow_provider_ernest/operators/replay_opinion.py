"""What the replay of a job's sample runs says of production's machines, beside what the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.model.billing import Billing
from airflow_provider_ernest.model.bottlenecks import ReplayOpinion, TwoOpinions
from airflow_provider_ernest.model.choice import consider
from airflow_provider_ernest.model.offers import Offer
from airflow_provider_ernest.model.results import Alternative, Model
from airflow_provider_ernest.model.run_profile import RunProfile
from airflow_provider_ernest.spark.replay.scaled import replay_scaled

NOT_PAID = Billing(price_per_hour=1.0)
"""Any price: only seconds are asked for."""

MOST_SIZES = 48
"""Of more numbers of machines as many are replayed, closer together where they are few."""


def replay_opinion(
    profiles: Sequence[RunProfile],
    model: Model | None,
    *,
    machines: Sequence[int],
    scale: float = 1.0,
    iterations: int | None = None,
) -> ReplayOpinion:
    """Replay at the scale of production, and hold it against the model.

    Args:
        profiles: of the job's runs, at least one.
        model: that was fitted to them; None where there is none.
        machines: numbers of machines, ascending.
        scale: of production's input.
        iterations: of production, for iterative jobs.
    """
    counts = thinned(machines)
    silent = ReplayOpinion(scale=scale, iterations=iterations)
    if iterations is not None and any(profile.iterations is None for profile in profiles):
        return replace(
            silent,
            problem="The runs do not tell how many iterations they had, so "
            f"{iterations} iterations cannot be replayed.",
        )
    try:
        replayed = replay_scaled(
            profiles,
            machines=counts,
            scale=scale,
            cores_per_machine=max(profile.slots // profile.machines for profile in profiles),
            iterations=iterations,
        )
        by_model = _by_model(model, counts, scale=scale, iterations=iterations)
    except ErnestError as error:
        return replace(silent, problem=error.message)
    startup = model.startup_seconds if model else 0.0
    return replace(
        silent,
        sizes=tuple(
            _both(size.machines, size.seconds + startup, by_model.get(size.machines))
            for size in replayed.sizes
        ),
        from_application_id=replayed.from_application_id,
        from_scale=replayed.from_scale,
        error_percent=replayed.error_percent,
        problem=replayed.problem,
    )


def thinned(machines: Sequence[int]) -> list[int]:
    """At most `MOST_SIZES` of them, the first and the last among them, each step a like factor."""
    counts = sorted(set(machines))
    if len(counts) <= MOST_SIZES:
        return counts
    first, last = counts[0], counts[-1]
    wanted = [first * (last / first) ** (place / (MOST_SIZES - 1)) for place in range(MOST_SIZES)]
    return sorted({min(counts, key=lambda count: abs(count - value)) for value in wanted})


def _by_model(
    model: Model | None, counts: Sequence[int], *, scale: float, iterations: int | None
) -> dict[int, Alternative]:
    if model is None:
        return {}
    offer = Offer(model=model, machines=counts, billing=NOT_PAID)
    considered = consider(offer, scale=scale, iterations=iterations)
    return {each.machines: each for each in considered}


def _both(machines: int, replayed_seconds: float, by_model: Alternative | None) -> TwoOpinions:
    if by_model is None:
        return TwoOpinions(machines=machines, replayed_seconds=replayed_seconds)
    return TwoOpinions(
        machines=machines,
        replayed_seconds=replayed_seconds,
        model_seconds=by_model.seconds,
        likely_seconds=by_model.likely_seconds,
        nearly_certain_seconds=by_model.nearly_certain_seconds,
    )
