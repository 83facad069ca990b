"""Why the predictions of a model no longer hold: other code, other data, other settings, slower machines?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from airflow_provider_ernest.documents import (
    CLUSTER,
    CODE,
    DATA,
    SETTINGS,
    UNEXPLAINED,
    Model,
    ProductionRun,
    TrainingCluster,
)
from airflow_provider_ernest.learning.conditions import SHAPE_TOLERANCE, differences
from airflow_provider_ernest.learning.freshness import HASH_DIGITS

SLOWER_MACHINES = 0.15
"""Of the bandwidth that the sample runs had: what is lacking beyond that is a slower cluster. Machines of one
type differ by less, and so do two probes of the same machine."""

RECENT_RUNS = 5
"""The runs that are looked at: the last ones, so that one odd cluster among them does not decide."""

REMEDIES = {
    CODE: "Make the sample runs again with the application as it is now.",
    DATA: "Make the sample runs again on the data as it is now.",
    SETTINGS: "Make the sample runs again with the settings as they are now.",
    CLUSTER: "Get machines like those of the sample runs, or make the sample runs again on these.",
    UNEXPLAINED: "Make the sample runs again; see the event logs for what else may have changed.",
}
"""What to do, by cause."""


class Cause(NamedTuple):
    """One reason why predictions no longer hold.

    Attributes:
        cause: of `records.ModelMark`.
        reason: a clause with the figures.
    """

    cause: str
    reason: str


def cause_of(
    model: Model, runs: Sequence[ProductionRun], *, shape_tolerance: float = SHAPE_TOLERANCE
) -> tuple[str, str]:
    """Why the production runs are not as the model has it: the first cause, and a sentence that tells all.

    What is not known of the model or of the runs is no cause.

    Args:
        model: that predicted them.
        runs: oldest first; the last `RECENT_RUNS` count.
        shape_tolerance: by how much a partition of the input may have grown or shrunk; 0.25 is 25 %.

    Returns:
        `CODE`, `DATA`, `SETTINGS`, `CLUSTER` or `UNEXPLAINED`, and the sentence, with what to do about the
        first.
    """
    causes = causes_of(model, runs, shape_tolerance=shape_tolerance)
    if not causes:
        return UNEXPLAINED, (
            "Nothing that is known of code, data, settings and machines explains it. " + REMEDIES[UNEXPLAINED]
        )
    reasons = "; ".join(each.reason for each in causes)
    return causes[0].cause, f"{reasons[0].upper()}{reasons[1:]}. {REMEDIES[causes[0].cause]}"


def causes_of(
    model: Model, runs: Sequence[ProductionRun], *, shape_tolerance: float = SHAPE_TOLERANCE
) -> list[Cause]:
    """All causes that are known, by how directly they are seen: code, data, settings, cluster."""
    recent = list(runs)[-RECENT_RUNS:]
    return [
        *_code(model, recent),
        *_conditions(model, recent, shape_tolerance),
        *_cluster(model.cluster, recent),
    ]


def _code(model: Model, runs: Iterable[ProductionRun]) -> list[Cause]:
    known = [run.artifact_sha256 for run in runs if run.artifact_sha256]
    if not known or not model.artifact_sha256 or known[-1] == model.artifact_sha256:
        return []
    was, now = model.artifact_sha256[:HASH_DIGITS], known[-1][:HASH_DIGITS]
    return [Cause(CODE, f"the application is {now} and was {was} in the sample runs")]


def _conditions(model: Model, runs: Iterable[ProductionRun], shape_tolerance: float) -> list[Cause]:
    """Data before settings: of the last run that tells, as changes stay."""
    known = [run.conditions for run in runs if run.conditions is not None]
    if not known:
        return []
    found = differences(model.conditions, known[-1], shape_tolerance=shape_tolerance)
    causes = [Cause(each.cause, each.reason) for each in found]
    return sorted(causes, key=lambda each: (DATA, SETTINGS).index(each.cause))


def _cluster(trained: TrainingCluster | None, runs: Sequence[ProductionRun]) -> list[Cause]:
    """What of the production machines' bandwidth is far below that of the sample runs' machines."""
    if trained is None:
        return []
    kept = trained.kept_machines
    production = [run.bandwidth for run in runs if run.bandwidth is not None]
    measured = {
        "memory": (
            [machine.memory_gigabytes_per_second for machine in kept],
            [cluster.memory_gigabytes_per_second for cluster in production],
        ),
        "network": (
            [machine.network_gigabytes_per_second for machine in kept],
            [cluster.network_gigabytes_per_second for cluster in production],
        ),
    }
    found = []
    for name, (of_machines, of_clusters) in measured.items():
        then, now = _median(of_machines), _median(of_clusters)
        if then and now is not None and now < (1.0 - SLOWER_MACHINES) * then:
            found.append(
                Cause(
                    CLUSTER,
                    f"the machines' {name} bandwidth is {now:.3g} GB/s, {1.0 - now / then:.0%} below the "
                    f"{then:.3g} GB/s of the sample runs' machines",
                )
            )
    return found


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
