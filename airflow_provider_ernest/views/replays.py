"""A second opinion on a model: what replay of a run's tasks says of other machines."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.decision.deciding import Choice
from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import BottleneckReport
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import MOST_REPORTS, report_of_models
from airflow_provider_ernest.views.loaded import Readable, newest_models
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import duration, machines

log = logging.getLogger(__name__)

RECENT_REPORTS = 10
"""Number of reports searched for the newest model of another type of machine."""

SAME_SCALE = 1.5
"""Inputs may differ by this factor from the replayed one; the model says what that changes."""


@dataclass(frozen=True, kw_only=True)
class ReplayedOn:
    """The time of a run on a number of machines, from submission to end, by replay."""

    machines: int
    replayed_seconds: float


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The job on other machines by replay of one of its runs, at one scale and number of iterations.

    Attributes:
        error_percent: median, of the same replay for the job's other runs.
        problem: why there are no sizes; empty where there are.
    """

    instance_type: str
    model_id: str | None
    scale: float
    iterations: int | None
    from_application_id: str | None
    from_scale: float | None
    error_percent: float | None
    problem: str
    sizes: tuple[ReplayedOn, ...]


def replays_of(
    store: ModelStore, model: Model, *, of_job: Sequence[CatalogueEntry], readable: Readable
) -> tuple[Replay, ...]:
    """The replays on the model's type of machine, then those of the job's newest models of other types.

    Unreadable reports are logged and left out: the page must not fail for a second opinion. `of_job` are the
    job's visible entries.
    """
    return tuple(
        view_of(
            Replay,
            report.replay,
            instance_type=report.instance_type,
            model_id=report.model_id,
            sizes=tuple(view_of(ReplayedOn, size) for size in report.replay.sizes),
        )
        for report in _reports(store, model, of_job, readable)
        if report.replay is not None
    )


def _reports(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: Readable
) -> Iterator[BottleneckReport]:
    wanted = [(model.instance_type, {model.id, model.base_model_id or model.id}, MOST_REPORTS)]
    wanted += [
        (entry.instance_type, {entry.id, entry.base_model_id or entry.id}, RECENT_REPORTS)
        for entry in newest_models(of_job).values()
        if entry.instance_type != model.instance_type
    ]
    for instance_type, model_ids, limit in wanted:
        try:
            reports = store.newest_first(BottleneckReport, model.job, instance_type, limit=limit)
            report = report_of_models(reports, model_ids, readable)
        except StoreError:
            log.warning("Reports of %r on %s cannot be read", model.job, instance_type, exc_info=True)
        else:
            if report is not None:
                yield report


@dataclass(frozen=True, kw_only=True)
class ReplayOpinion:
    """What replay of a run says of a configuration.

    Attributes:
        agrees: whether it is within the model's 95 % interval.
        breaks_deadline: whether it misses a deadline that the model keeps.
    """

    agrees: bool
    breaks_deadline: bool
    words: str


def opinion_by_replay(
    model: Model,
    each: Alternative,
    replays: Sequence[Replay],
    choice: Choice,
    iterations: int | None,
) -> ReplayOpinion | None:
    """What replay says of a configuration; None if it was not replayed at this scale or near it.

    Times between two replayed sizes are interpolated. At another scale than the replayed one, the replayed
    time is changed by the same factor as the model's.
    """
    replayed = _near(replays, each, choice.goal.scale, iterations)
    seconds = _replayed_seconds(replayed, each.machines) if replayed and not each.composition else None
    if replayed is None or seconds is None:
        return None
    asked = next((offer.model for offer in choice.offers if offer.type_name == each.instance_type), model)
    scales = [choice.goal.scale, replayed.scale]
    here, there = predict_seconds(asked, machines=each.machines, scale=scales, iterations=iterations).tolist()
    seconds *= here / there if there > 0 else 1.0
    low, high = each.nearly_certain_seconds or (each.seconds, each.seconds)
    deadline = latest_seconds(choice)
    breaks = deadline is not None and seconds > deadline >= each.seconds
    agrees = low <= seconds <= high
    words = f"Replay of a run gives {duration(seconds)} on {machines(each.machines)}"
    test = "A sample run on about as many machines would tell which is right."
    if breaks:
        words += (
            f", over the {duration(deadline or 0)} that the deadline allows; the model says "
            f"{duration(each.seconds)}. {test}"
        )
    elif agrees:
        words += f", the model {duration(each.seconds)}."
    else:
        words += f"; the model says {duration(low)} to {duration(high)} (95 % of runs). {test}"
    return ReplayOpinion(agrees=agrees, breaks_deadline=breaks, words=words)


def _near(
    replays: Sequence[Replay], each: Alternative, scale: float, iterations: int | None
) -> Replay | None:
    """The replay on the configuration's type at the nearest scale."""
    near = [
        replay
        for replay in replays
        if replay.instance_type == each.instance_type
        and max(replay.scale / scale, scale / replay.scale) <= SAME_SCALE
        and (iterations is None or replay.iterations in (None, iterations))
    ]
    return min(near, key=lambda replay: abs(replay.scale - scale), default=None)


def _replayed_seconds(replayed: Replay, machines: int) -> float | None:
    """Interpolated evenly by ratio between the replayed sizes; None outside of them."""
    sound = {size.machines: size.replayed_seconds for size in replayed.sizes if size.replayed_seconds > 0}
    fewer = max((each for each in sound if each <= machines), default=None)
    more = min((each for each in sound if each >= machines), default=None)
    if fewer is None or more is None:
        return None
    if fewer == more:
        return sound[fewer]
    share = math.log(machines / fewer) / math.log(more / fewer)
    return sound[fewer] * math.pow(sound[more] / sound[fewer], share)


def latest_seconds(choice: Choice) -> float | None:
    """The deadline counted from submission; None without one, or if booting takes all of it."""
    deadline = choice.goal.deadline_seconds
    if deadline is None or not choice.offers:
        return None
    left = deadline - choice.offers[0].billing.boot_seconds
    return left if left > 0 else None
