"""What is asked of a run's event log, and which other run tells the truth.

Every prediction is made from one run's log alone, by the functions that users have: `profile_run` and what it
is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from airflow_provider_ernest.clarity.blocked_time import blocked_time, find_stragglers
from airflow_provider_ernest.clarity.monotasks import Change, achieved_capacity, what_ifs
from airflow_provider_ernest.clarity.replay import replay
from airflow_provider_ernest.documents import profiles
from airflow_provider_ernest.eventlog.tables import EventLog
from benchmarks.clarity.scenarios import SIZES

BLOCKED, STRAGGLERS, MONOTASKS, REPLAY = (
    "blocked time",
    "stragglers at their stages' medians",
    "other executors (monotasks)",
    "replay on other numbers of machines",
)
"""The analyses."""

Predict = Callable[[EventLog], float]


def clean_seconds(log: EventLog) -> float:
    """From all machines' being there to the application's end."""
    return log.ended_at - log.ready_at


@dataclass(frozen=True, kw_only=True)
class Question:
    """A prediction that a run checks.

    Attributes:
        base: name of the scenario whose log predicts.
        truth: name of the scenario that is predicted.
        predict: seconds, from the base's log.
        naive: seconds as somebody says who knows no better: nothing changes.
    """

    analysis: str
    text: str
    base: str
    truth: str
    predict: Predict
    naive: Predict = clean_seconds


def without(resource: str) -> Predict:
    """Seconds without waiting for a resource."""

    def predict(log: EventLog) -> float:
        [found] = [limit for limit in blocked_time(log).limits if limit.resource == resource]
        return found.seconds_without

    return predict


def without_stragglers(log: EventLog) -> float:
    """Seconds with each straggler of a slow host taking its stage's median; as it was where there is none."""
    causes = {cause.cause: cause for cause in find_stragglers(log).causes}
    found = causes.get(profiles.SLOW_HOST)
    return found.seconds_without if found else clean_seconds(log)


def on_other(change: Change) -> Predict:
    """Seconds on other machines."""
    return lambda log: what_ifs(log, achieved_capacity(log), [change])[0].seconds


def on_machines(executors: int) -> Predict:
    """Seconds on so many machines."""
    return lambda log: replay(log, executors=executors).seconds


def machine_seconds_kept(executors: int) -> Predict:
    """Seconds if all of it spread evenly over the machines."""
    return lambda log: clean_seconds(log) * len(log.executors) / executors


def _blocked() -> Iterator[Question]:
    for base, resource in (
        ("compute", profiles.NETWORK),
        ("shuffle", profiles.NETWORK),
        ("shuffle, half", profiles.NETWORK),
        ("shuffle, twice", profiles.NETWORK),
        ("mixed", profiles.NETWORK),
        ("mixed, half", profiles.NETWORK),
        ("disk", profiles.DISK),
        ("disk, twice", profiles.DISK),
    ):
        yield Question(
            analysis=BLOCKED,
            text=f"no waiting for the {resource}",
            base=base,
            truth=f"{base.partition(',')[0]}, no limit",
            predict=without(resource),
        )


def _stragglers() -> Iterator[Question]:
    for base, truth in (("slow CPU", "slow CPU, none"), ("slow link", "shuffle, twice")):
        yield Question(
            analysis=STRAGGLERS, text="no slow host", base=base, truth=truth, predict=without_stragglers
        )


def _monotasks() -> Iterator[Question]:
    changes = {
        "twice": (Change(network=2.0), "twice the network"),
        "half": (Change(network=0.5), "half the network"),
    }
    for base in ("shuffle", "mixed"):
        for truth, (change, text) in changes.items():
            yield Question(
                analysis=MONOTASKS,
                text=text,
                base=base,
                truth=f"{base}, {truth}",
                predict=on_other(change),
            )
    yield Question(
        analysis=MONOTASKS,
        text="twice the disks",
        base="disk",
        truth="disk, twice",
        predict=on_other(Change(disk=2.0)),
    )
    for base, truth, cores in (
        ("waiting, 1 core", "waiting, 2 cores", 2),
        ("waiting, 2 cores", "waiting, 1 core", 1),
    ):
        yield Question(
            analysis=MONOTASKS,
            text=f"{cores} core{'s' if cores > 1 else ''} a machine",
            base=base,
            truth=truth,
            predict=on_other(Change(cores=cores)),
            naive=lambda log, cores=cores: (  # type: ignore[misc]
                clean_seconds(log) * log.slots / len(log.executors) / cores
            ),
        )


def _sizes() -> Iterator[Question]:
    for base in SIZES:
        for executors in SIZES:
            if base != executors:
                yield Question(
                    analysis=REPLAY,
                    text=f"{executors} machines",
                    base=f"size {base}",
                    truth=f"size {executors}",
                    predict=on_machines(executors),
                    naive=machine_seconds_kept(executors),
                )


QUESTIONS = (*_blocked(), *_stragglers(), *_monotasks(), *_sizes())
