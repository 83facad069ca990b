"""What a survey of event logs says: for each recurring job what it takes today, and what could be saved."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.documents import Interval, Stored
from airflow_provider_ernest.json_document import Document

MODEL, REPLAY, BOTH = "model", "replay", "both"
"""Where a prediction comes from: a model of the history, the replay of a single run, or both, which agree."""


@dataclass(frozen=True, kw_only=True)
class UsedSize(Document):
    """A size at which a job ran: its clean seconds are the median of its runs there."""

    machines: int
    runs: int
    seconds: float
    instance_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class PredictedSize(Document):
    """What a job would take on another number of the same machines, with today's input.

    Attributes:
        machines: how many.
        seconds: start-up included, median.
        likely_seconds: the bounds of 80 % of runs.
        source: `MODEL`, `REPLAY` or `BOTH`.
        cost: dollars a run; None where no price is known.
        probability: of a run to keep to the survey's limit.
    """

    machines: int
    seconds: float
    likely_seconds: Interval
    source: str
    cost: float | None = None
    probability: float | None = None


@dataclass(frozen=True, kw_only=True)
class SurveyedJob(Document):
    """One recurring job.

    Attributes:
        job: its name.
        runs: that ended well.
        failed_runs: that did not.
        first_at: when the first run began, in UTC, ISO 8601.
        last_at: when the last did.
        runs_per_month: by the history; None where that is too short to tell.
        used: the sizes at which it ran, the most used first.
        machines: of today's size: the one that most of the latest runs had.
        cores_per_machine: of that size.
        seconds: of a run at today's size and input, start-up included; the median of the runs.
        limit_seconds: that a run may take at another size.
        machine_hours_per_month: that it is billed for; None where the runs a month are not known.
        dollars_per_month: None where no price is known either.
        price_per_hour: dollars for one machine of today's type; None where it is not known.
        slot_utilisation: share of the machines' slots that ran tasks, 0..1.
        input_bytes: that it reads now.
        input_records: the same where Spark counts no bytes, as of JDBC; else None.
        input_growth_per_month: by so many times it grew in a month; None where that is not known.
        sizes: what other sizes would make of it, and today's.
        proposed: the cheapest of them that keeps to the limit surely enough; None where none is known to.
        saved_share: of what a run costs, by the proposed size; negative where that costs more, None where
            none is proposed.
        likely_saved_share: bounds with 80 % probability; may include what is lost.
        saved_per_month: dollars, against today's size; None where that is not known.
        likely_saved_per_month: their bounds.
        saved_machine_hours_per_month: the same in machine-hours, which need no price.
        likely_saved_machine_hours_per_month: their bounds.
        bottleneck: what it is bound by, of `run_profile`.
        why: the same as a sentence, with its figure.
        unknown: sentences: what is not known.
        training_dollars: what sample runs would cost that tell it; None where nothing is missing, or no
            price is known.
        training_machine_hours: the same without a price; None where nothing is missing.
    """

    job: str
    runs: int
    failed_runs: int = 0
    first_at: str = ""
    last_at: str = ""
    runs_per_month: float | None = None
    used: tuple[UsedSize, ...] = ()
    machines: int | None = None
    cores_per_machine: int | None = None
    seconds: float | None = None
    limit_seconds: float | None = None
    machine_hours_per_month: float | None = None
    dollars_per_month: float | None = None
    price_per_hour: float | None = None
    slot_utilisation: float | None = None
    input_bytes: int | None = None
    input_records: int | None = None
    input_growth_per_month: float | None = None
    sizes: tuple[PredictedSize, ...] = ()
    proposed: PredictedSize | None = None
    saved_share: float | None = None
    likely_saved_share: Interval | None = None
    saved_per_month: float | None = None
    likely_saved_per_month: Interval | None = None
    saved_machine_hours_per_month: float | None = None
    likely_saved_machine_hours_per_month: Interval | None = None
    bottleneck: str = ""
    why: str = ""
    unknown: tuple[str, ...] = ()
    training_dollars: float | None = None
    training_machine_hours: float | None = None


@dataclass(frozen=True, kw_only=True)
class Survey(Stored):
    """All jobs of a survey, those that could save most first.

    Attributes:
        jobs: the jobs.
        logs: event logs that were looked at.
        unread: how many of them could not be read, by the reason in words.
        goal: what a proposed size keeps to, in words, such as "today's time within 10 % in 80 % of runs".
        confidence: that share of runs.
        notes: sentences: which names count as one job.
    """

    kind = words = "survey"

    jobs: tuple[SurveyedJob, ...]
    logs: int
    unread: tuple[tuple[str, int], ...] = ()
    goal: str = ""
    confidence: float = 0.8
    notes: tuple[str, ...] = ()
