"""Decisions as documents: what was asked, what was possible and chosen, and how production ran by it."""

from __future__ import annotations

import math

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.base import (
    Document,
    Interval,
    Key,
    Record,
    is_outside,
    keys,
    not_negative,
    positive,
)
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import ExecutorBounds, ReplayedSize, RunConditions
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import HOUR_SECONDS, BilledCost


class Configuration(Document):
    """How many executors, on which type of machine."""

    executors: int
    instance_type: str = "local"
    # how many a machine holds; None where a shared cluster places them as it likes
    executors_per_machine: int | None = 1

    def __post_init__(self) -> None:
        """Refuse an empty cluster."""
        positive(executors=self.executors)

    @property
    def machines(self) -> int | None:
        """How many machines hold them; None where that is up to a shared cluster."""
        return math.ceil(self.executors / self.executors_per_machine) if self.executors_per_machine else None

    def __str__(self) -> str:
        return words.executors(self.executors, executors_per_machine=self.executors_per_machine)


class Alternative(Document):
    """A configuration that was considered."""

    executors: int
    instance_type: str
    seconds: float  # predicted, start-up included
    cost: float | None  # predicted, in dollars; None where no price is known
    feasible: bool  # whether it meets the goal, with the probability that was asked for
    likely_seconds: Interval | None = None  # contain the run with 80 % probability, start-up included
    nearly_certain_seconds: Interval | None = None  # the same with 95 %
    extrapolates: str = ""  # why the observations do not support it, empty where they do
    probability: float | None = None  # that the run keeps to the goal's limits; None where there were none
    is_pareto: bool = False  # whether no other one is both faster and cheaper
    memory_shortage: str = ""  # why its executors cannot hold the data in memory; empty where none is known
    # the executors of each type where it is a mix of several; `executors` is their sum and `instance_type`
    # names them all. Empty for those of one type
    composition: tuple[Configuration, ...] = ()
    executors_per_machine: int | None = 1  # as in `Configuration`
    bounds: ExecutorBounds | None = None  # under dynamic allocation; `executors` are the most
    mean_executors: float | None = None  # that are there on average then; None for all

    @property
    def config(self) -> Configuration:
        """How many executors, on which type of machine."""
        return Configuration(
            executors=self.executors,
            instance_type=self.instance_type,
            executors_per_machine=self.executors_per_machine,
        )

    @property
    def paid_executors(self) -> float:
        """How many are there on average."""
        return self.executors if self.mean_executors is None else self.mean_executors

    @property
    def expense(self) -> float:
        """Dollars, or executor-hours where no price is known: what is to be little."""
        return self.paid_executors * self.seconds / HOUR_SECONDS if self.cost is None else self.cost


class SizeExploration(Document):
    """A production run on another size than the decided one, to learn from it; or why there is none."""

    executors: int | None = None  # to run on; None where the decided size stays
    instead_of: int  # the decided size
    # before the run: what it will tell and cost, or why there is none
    reason: str
    value: float | None = None  # dollars that production is expected to save in three months by what it tells
    usual_dollars: float | None = None  # what the run is expected to cost on the decided size
    extra_dollars: float | None = None  # expected beyond that; below 0 where it is cheaper
    most_extra_dollars: float | None = None  # beyond that, at most, with 90 % probability

    def spent(self, cost: float | None) -> float:
        """Dollars that a run of this cost took beyond the decided size; 0 where it explored nothing."""
        if self.executors is None or self.usual_dollars is None:
            return 0.0
        expected = self.usual_dollars + (self.extra_dollars or 0.0)
        return max(0.0, (expected if cost is None else cost) - self.usual_dollars)


class Decision(Document):
    """The configuration chosen, why, and what else was possible."""

    config: Configuration  # the configuration to run the production job with
    goal: str  # in words
    price_per_hour: float | None = None  # dollars for an executor and hour, of a mix on average
    predicted_seconds: float | None = None  # from submission to end: `run_seconds` + `startup_seconds`
    run_seconds: float | None = None  # from when all executors are there; what the model's terms predict
    startup_seconds: float | None = None  # the part before
    likely_seconds: Interval | None = None  # what `predicted_seconds` lies between with 80 % probability
    nearly_certain_seconds: Interval | None = None  # the same with 95 %
    predicted_cost: float | None = None  # in dollars, all that is billed
    error_percent: float | None = None  # median leave-one-out error of the model: the error to expect
    max_error_percent: float | None = None  # the largest leave-one-out error
    alternatives: tuple[Alternative, ...] = ()  # all that were considered, by type and number of executors
    model_id: str | None = None  # the model that the prediction comes from
    # why no configuration was chosen that keeps to the goal, but the stated fallback or the most probable one
    fallback_reason: str | None = None
    warnings: tuple[str, ...] = ()  # what a user should know, extrapolation among it
    probability: float | None = None  # of keeping to the goal's limits; None without limits or a prediction
    confidence: float | None = None  # the probability that was asked for; None without limits
    billing: Billing | None = None  # how the chosen executors are paid for
    cost_parts: BilledCost | None = None  # `predicted_cost` by what it is paid for
    composition: tuple[Configuration, ...] = ()  # the executors of each type, where a mix was chosen
    bounds: ExecutorBounds | None = None  # of dynamic allocation, where that was asked for
    basis: str = ""  # what is known of other sizes, in a sentence, where past runs alone tell of them
    # what a best value costs more than the cheapest (within a budget the fastest) that is sure enough, and
    # what that buys; empty where nothing
    worth: str = ""
    exploration: SizeExploration | None = None  # where it was asked for; `config` is the size it takes then

    @property
    def predicted_run_cost(self) -> float | None:
        """Of `predicted_cost` what the run itself costs: without its part of the training, paid before."""
        if self.predicted_cost is None:
            return None
        return self.predicted_cost - (self.cost_parts.training if self.cost_parts else 0.0)

    def is_for(self, alternative: Alternative) -> bool:
        """Whether it chose this alternative."""
        return (alternative.config, alternative.bounds) == (self.config, self.bounds)


class Reachable(Document):
    """A limit that can be kept as surely as was asked, and on what."""

    # seconds or dollars: the least that can be asked for, rounded up to three digits, and from one hour on to
    # whole minutes, so that nothing is lost where people read and type it
    limit: float
    executors: int  # that keep to it
    instance_type: str  # that these are on
    executors_per_machine: int | None = 1  # as in `Configuration`


class Refusal(Document):
    """A goal that nothing keeps: what a task pushes that decides on nothing then."""

    goal: str  # in words
    reason: str  # why it is out of reach, with the nearest that is not
    remedy: str  # what to change
    # What was asked, here and below, is as in `DecisionRecord`.
    scale: float
    min_executors: int
    max_executors: int
    confidence: float
    alternatives: tuple[Alternative, ...] = ()  # all configurations considered
    nearest: Alternative | None = None  # keeps to the goal most probably; None where none can be taken
    earliest_deadline: Reachable | None = None  # that can be kept; None where none was stated, or none can
    least_budget: Reachable | None = None  # the smallest budget that can be kept, likewise
    model_id: str | None = None  # the model that predicts the nearest
    iterations: int | None = None
    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    objective: str | None = None
    billing: Billing | None = None  # how the nearest is paid for


class DecisionRecord(Record):
    """A decision with what it was asked for."""

    kind = words = "decision"

    decision: Decision  # what was decided; `instance_type` is the type that was chosen
    scale: float  # the share of the model's target input that production reads
    min_executors: int  # the fewest executors that were allowed
    max_executors: int  # the most
    model_id: str | None = None  # the model that decided; None where a fallback was taken without one
    iterations: int | None = None  # of production, for iterative jobs
    # from the launch of its machines, or from submission where they are there already, to the run's end
    deadline_seconds: float | None = None
    budget_dollars: float | None = None  # what it may cost; None where there was no budget
    artifact_sha256: str | None = None  # hash of the JAR or .py file that production was to run
    confidence: float | None = None  # the probability with which the goal was to be kept
    objective: str | None = None  # what was to be best, in words
    allowed_executors: tuple[int, ...] = ()  # where not all between fewest and most were allowed
    model_ids: tuple[str, ...] = ()  # of all models considered, one for each type of machine
    # what its user named of the input before the run, in bytes or records; None where nothing was named
    input_amount: float | None = None
    reuse: str = ""  # why the model was an earlier run's; empty where it was trained for this decision

    @property
    def latest_seconds(self) -> float | None:
        """The longest run, from submission to end, that keeps the deadline; None without one."""
        if self.deadline_seconds is None:
            return None
        billing = self.decision.billing
        return max(0.0, self.deadline_seconds - (billing.boot_seconds if billing else 0.0))

    @property
    def references(self) -> tuple[Key, ...]:
        """The models that it was made by."""
        return keys(Model, self.model_id, self.decision.model_id, *self.model_ids)


class ClusterBandwidth(Document):
    """What a probe measured of a cluster that ran a job: the median machine's. None for what it did not."""

    memory_gigabytes_per_second: float | None = None
    network_gigabytes_per_second: float | None = None


class ProductionRun(Record):
    """A production run as it went, beside what was predicted of it."""

    kind = "production"
    words = "production run"

    executors: int
    scale: float  # the share of the model's target input that it read
    seconds: float  # from submission to end, start-up included: what `predicted_seconds` predicts
    run_seconds: float | None = None  # the part from the moment that all executors were there
    startup_seconds: float | None = None  # the part before
    predicted_seconds: float | None = None  # what the decision said; None where there was no prediction
    likely_seconds: Interval | None = None  # what `seconds` was to lie between with 80 % probability
    nearly_certain_seconds: Interval | None = None  # the same with 95 %
    cost: float | None = None  # in dollars; None where no price is known
    model_id: str | None = None
    decision_id: str | None = None
    artifact_sha256: str | None = None  # hash of the JAR or .py file that ran
    application_id: str | None = None
    event_log: str | None = None
    conditions: RunConditions | None = None  # what, beside the code, it ran under
    bandwidth: ClusterBandwidth | None = None  # of the machines that it ran on
    is_dynamic: bool = False  # under dynamic allocation: `executors` are the most that it had
    replayed: ReplayedSize | None = None  # on a fixed number of executors then; what is learned from it

    def __post_init__(self) -> None:
        """Refuse what was not measured: models are judged by these runs."""
        positive(executors=self.executors, scale=self.scale, seconds=self.seconds)
        measured = {"run_seconds": self.run_seconds, "startup_seconds": self.startup_seconds}
        not_negative(**{name: value for name, value in measured.items() if value is not None})

    @property
    def error_percent(self) -> float | None:
        """Signed error: positive where the prediction was too high; None where there was none."""
        if self.predicted_seconds is None:
            return None
        return 100.0 * (self.predicted_seconds - self.seconds) / self.seconds

    @property
    def is_unlikely(self) -> bool:
        """Whether it took less or more time than was likely (80 %); False where nothing was predicted."""
        return is_outside(self.seconds, self.likely_seconds)

    @property
    def is_unusual(self) -> bool:
        """Whether it took less or more time than was nearly certain; False where nothing was predicted."""
        return is_outside(self.seconds, self.nearly_certain_seconds)

    @property
    def references(self) -> tuple[Key, ...]:
        """The decision that it ran by and the model that predicted it."""
        return keys(DecisionRecord, self.decision_id) + keys(Model, self.model_id)
