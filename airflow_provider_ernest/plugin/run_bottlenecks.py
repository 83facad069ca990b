"""Why the job takes as long as it does, as the page of a run tells it."""

from __future__ import annotations

import math
from typing import Any

from airflow_provider_ernest.model.bottlenecks import BottleneckReport, TwoOpinions
from airflow_provider_ernest.report.wording import duration, machines


def told_bottlenecks(report: BottleneckReport | None) -> dict[str, Any] | None:
    """A report in the form of the API's answer; None where there is none."""
    if report is None:
        return None
    return {
        "headline": report.headline,
        "bottleneck": report.bottleneck,
        "application_id": report.application_id,
        "machines": report.machines,
        "scale": report.scale,
        "disagreement": disagreement_of(report),
    }


def disagreement_of(report: BottleneckReport) -> str:
    """Where replay and model say different things, as a sentence; empty where they do not."""
    sizes = [each for each in (report.replay.disagreements if report.replay else ()) if _is_sound(each)]
    if not sizes:
        return ""
    worst = max(sizes, key=_distance)
    others = f", and on {len(sizes) - 1} other numbers of machines" if len(sizes) > 1 else ""
    return (
        f"The replay disagrees with the model: {duration(worst.replayed_seconds)} on "
        f"{machines(worst.machines)}, where the model says {duration(_by_model(worst))}{others}."
    )


def _by_model(size: TwoOpinions) -> float:
    return size.model_seconds or 0.0


def _is_sound(size: TwoOpinions) -> bool:
    """Whether both can be told: documents of others may hold any numbers."""
    return all(math.isfinite(each) and each > 0 for each in (size.replayed_seconds, _by_model(size)))


def _distance(size: TwoOpinions) -> float:
    return abs(math.log(size.replayed_seconds / _by_model(size)))
