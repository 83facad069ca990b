"""Why a job takes as long as it does: the profiles of its runs as they are kept, and the report of them."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.model.document import Document, positive
from airflow_provider_ernest.model.documents import Origin
from airflow_provider_ernest.model.run_profile import (
    Advice,
    ResourceLimit,
    RunProfile,
    StragglerCause,
)

SAMPLE, PRODUCTION = "sample", "production"


@dataclass(frozen=True, kw_only=True)
class ProfileRecord(Document):
    """The profile of a run, as it is kept.

    Attributes:
        profile_id: unique; sorts by time; see `identity.new_id`.
        recorded_at: ISO 8601 with UTC offset.
        job: the user's name of the job.
        instance_type: the machines' type.
        purpose: `SAMPLE` or `PRODUCTION`.
        profile: of the run.
        artifact_sha256: hash of the code that ran.
        origin: the task instance that ran it; None outside Airflow.
    """

    profile_id: str
    recorded_at: str
    job: str
    instance_type: str
    purpose: str
    profile: RunProfile
    artifact_sha256: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class TwoOpinions(Document):
    """What the model and the replay say of one number of machines; start-up included in both.

    Attributes:
        machines: the number.
        replayed_seconds: by the replay.
        model_seconds: by the model.
        likely_seconds: the model's interval of 80 %.
        nearly_certain_seconds: its interval of 95 %.
    """

    machines: int
    replayed_seconds: float
    model_seconds: float | None = None
    likely_seconds: tuple[float, float] | None = None
    nearly_certain_seconds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no cluster."""
        positive(machines=self.machines)

    @property
    def disagrees(self) -> bool:
        """Whether the replay is outside what is nearly certain by the model."""
        if self.nearly_certain_seconds is None:
            return False
        low, high = self.nearly_certain_seconds
        return not low <= self.replayed_seconds <= high


@dataclass(frozen=True, kw_only=True)
class ReplayOpinion(Document):
    """The job on other machines by replay of what its runs' event logs tell, beside the model.

    Attributes:
        scale: of the input that it is for.
        iterations: likewise.
        sizes: by ascending number of machines.
        from_application_id: the run that was replayed.
        from_scale: what it had read.
        error_percent: median absolute error of the same replay for the job's other runs; None where there is
            no other.
        problem: why there are no sizes; empty where there are.
    """

    scale: float
    sizes: tuple[TwoOpinions, ...] = ()
    iterations: int | None = None
    from_application_id: str | None = None
    from_scale: float | None = None
    error_percent: float | None = None
    problem: str = ""

    @property
    def disagreements(self) -> tuple[TwoOpinions, ...]:
        """Those sizes of which the two say different things."""
        return tuple(size for size in self.sizes if size.disagrees)


@dataclass(frozen=True, kw_only=True)
class BottleneckReport(Document):
    """What binds a job, by the runs of one training.

    Attributes:
        report_id: unique; sorts by time; see `identity.new_id`.
        reported_at: ISO 8601 with UTC offset.
        job: the user's name of the job.
        instance_type: the machines' type.
        profile_ids: of the runs' profiles in the store, the run first that the report goes by.
        application_id: Spark's id of that run.
        scale: that it read.
        machines: that it ran on.
        category: see `run_profile`.
        bottleneck: what it is bound by.
        headline: the same as a sentence, with its figure.
        limits: what could be won at most, the most first.
        straggler_causes: of its stragglers.
        advice: what to change.
        replay: the second opinion; None where nothing could be replayed.
        model_id: the model that the opinion stands beside.
        warnings: what is not known, or not to be trusted, and where the two opinions disagree.
        origin: the task instance that reported; None outside Airflow.
    """

    report_id: str
    reported_at: str
    job: str
    instance_type: str
    profile_ids: tuple[str, ...]
    application_id: str
    scale: float
    machines: int
    category: str
    bottleneck: str
    headline: str
    limits: tuple[ResourceLimit, ...] = ()
    straggler_causes: tuple[StragglerCause, ...] = ()
    advice: tuple[Advice, ...] = ()
    replay: ReplayOpinion | None = None
    model_id: str | None = None
    warnings: tuple[str, ...] = ()
    origin: Origin | None = None
