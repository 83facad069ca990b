"""What the trainings came to: what may be chosen by them (offers, the stated fallback), and its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from airflow_provider_ernest.decision.deciding import Choice, Offered
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.decisions import Configuration, Decision, DecisionRecord, Refusal
from airflow_provider_ernest.documents.models import Model, training_dollars
from airflow_provider_ernest.exceptions import (
    InfeasibleGoalError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.billing import no_price
from airflow_provider_ernest.settings.goal import in_words

UNKNOWN_REASON = "its training failed or was skipped (see the tasks sample_run and fit_model)"

NO_CLUSTER = "Its cluster did not start (see the tasks find_model, design, check_cluster and create_cluster)"


class Priced(Protocol):
    """What executors cost, None where unknown; a `TrainingCluster` tells it, too."""

    @property
    def price_per_hour(self) -> float | None:
        """Dollars for one executor and hour."""

    @property
    def master_price_per_hour(self) -> float | None:
        """Dollars for the machine of its master; 0 where it has none of its own."""

    @property
    def market(self) -> str | None:
        """In which the machines were bought."""

    @property
    def executors_per_machine(self) -> int | None:
        """How many a machine holds; None where it places them as it likes."""


class KnownCluster(Priced, Protocol):
    """What a decision needs to know of a cluster of the type; a `ClusterHandle` is one."""

    @property
    def instance_type(self) -> str:
        """Of its machines."""

    @property
    def most_machines(self) -> int | None:
        """That production can have; None for any number."""


Cluster = TypeVar("Cluster", bound=KnownCluster)


@dataclass(frozen=True, kw_only=True)
class TrainedType(Generic[Cluster]):
    """A type of machine that was to be trained, and what came of it."""

    instance_type: str
    model: Model | None
    cluster: Cluster | None
    failure: str = ""  # why there is no model; empty where nothing tells
    lacks_cluster: bool = False  # it was to have one, and has none
    reuse: str = ""  # why its model is an earlier run's; empty where it was trained now
    input_growth: float = 1.0  # today's input by that which the model was trained for

    @property
    def priced(self) -> Priced | None:
        """The cluster, or what the model keeps of one: a model of past runs needed none."""
        return self.cluster or (self.model.cluster if self.model else None)

    @property
    def why_missing(self) -> str:
        """Why there is no model, to end a sentence."""
        if self.lacks_cluster:
            # Of which the task that fits the model knows only that there were no runs.
            return f"{self.failure} {NO_CLUSTER}" if self.failure else NO_CLUSTER[0].lower() + NO_CLUSTER[1:]
        return self.failure or UNKNOWN_REASON


Types = Sequence[TrainedType[Any]]


# What may be chosen: the types of machines that have a model and a price, with what each is billed.


def offered_by(goal: SizingGoal, types: Types) -> Offered:
    """What may be chosen after the trainings, of which there is at least one.

    Raises:
        InvalidParameterError: the goal asks for executors that the trainings do not have.
    """
    fallback = _fallback(goal, types)
    left_out: list[str] = []
    try:
        offers = _offers_of(goal, types, left_out=left_out)
    except MissingResourceError as error:
        return Offered(error=error, warnings=tuple(left_out), fallback=fallback)
    return Offered(offers=offers, warnings=tuple(left_out), fallback=fallback)


def _offers_of(goal: SizingGoal, types: Types, *, left_out: list[str]) -> list[Offer]:
    """At least one, else a `MissingResourceError`; `left_out` is told which types are missing, and why."""
    training = sum(training_dollars(each.model) or 0.0 for each in types if each.model)
    offers: dict[str, Offer] = {}
    for each in types:
        try:
            executors = executors_for(each, goal, among=types)
            offer = _of_trained(each, goal, training, executors, types=len(types))
        except MissingResourceError as error:
            if len(types) == 1:
                raise
            left_out.append(f"{each.instance_type} is not among the choices: {error.message}")
            continue
        if offers.setdefault(offer.type_name, offer) is not offer:
            left_out.append(f"A second model of {offer.type_name} is not looked at.")
    if not offers:
        raise MissingResourceError(" ".join(left_out), remedy="Set fallback_executors to go on without.")
    left_out += _not_counted(goal.billing, [each for each in types if each.model and _price_of(each, goal)])
    return list(offers.values())


def _not_counted(stated: Billing, trained: Types) -> Iterator[str]:
    """Sentences: which costs of the trained types are unknown."""
    for each in trained:
        if stated.expected_runs is not None and each.model and training_dollars(each.model) is None:
            yield f"The cost of the sample runs on {each.instance_type} is unknown and not counted."
    for each in trained:
        is_stated = stated.master_price_per_hour is not None
        if not is_stated and each.priced and each.priced.master_price_per_hour is None:
            yield f"The cost of the master of {each.instance_type} is unknown and not counted."


def executors_for(trained: TrainedType[Any], goal: SizingGoal, *, among: Types) -> tuple[int, ...]:
    """The allowed numbers of executors that a type's cluster can have; of the only type fewer are refused."""
    executors, most = goal.executors, trained.cluster.most_machines if trained.cluster else None
    if most is None or executors[-1] <= most:
        return executors
    if len(among) > 1:
        return tuple(count for count in executors if count <= most)
    raise InvalidParameterError(
        "max_executors" if goal.allowed_executors is None else "allowed_executors",
        executors[-1],
        f"is outside the 1 to {most} executors that production may have",
        remedy="Correct it, or allow or start more.",
    )


def _of_trained(
    trained: TrainedType[Any], goal: SizingGoal, training: float, executors: tuple[int, ...], types: int
) -> Offer:
    if trained.model is None:
        raise MissingResourceError(
            f"There is no model to choose by: {trained.why_missing.rstrip('.')}.",
            remedy="Set fallback_executors to go on without one.",
        )
    price = _price_of(trained, goal)
    if price is None and goal.needs_price(types=types):
        missing = no_price(trained.instance_type, goal.price_per_hour)
        raise MissingResourceError(missing.message, remedy=missing.remedy)
    if not executors:
        raise MissingResourceError(
            f"its cluster has none of the {in_words(goal.executors)} executors that are allowed."
        )
    return Offer(
        model=trained.model,
        executors=executors,
        billing=billing_of(
            goal.billing, price_per_hour=price, cluster=trained.priced, training_dollars=training
        ),
        input_growth=trained.input_growth,
    )


def _price_of(trained: TrainedType[Any], goal: SizingGoal) -> float | None:
    """Dollars for one executor of a type and hour; None where unknown."""
    stated: float | None = goal.price_of(trained.instance_type)
    return stated if stated is not None or not trained.priced else trained.priced.price_per_hour


def billing_of(
    stated: Billing, *, price_per_hour: float | None, cluster: Priced | None, training_dollars: float
) -> Billing:
    """How the executors of a type are paid for: as the user says, else as their cluster tells."""
    return stated.completed(
        price_per_hour=price_per_hour,
        training_dollars=training_dollars,
        master_price_per_hour=(cluster.master_price_per_hour if cluster else None) or 0.0,
        market=cluster.market if cluster else None,
    )


# What is taken where nothing can be chosen.


def _fallback(goal: SizingGoal, types: Types) -> Decision | None:
    """The decision for the stated fallback, but for its reason; an impossible number is refused."""
    named, executors = goal.fallback_instance_type, goal.fallback_executors
    # The first one if the fallback's type is unknown or was not trained.
    trained = next((each for each in types if each.instance_type == named), types[0])
    if named in (None, trained.instance_type):
        allowed = executors_for(trained, goal, among=types)
    else:
        allowed = goal.executors
    if executors is None:
        return None
    if executors not in allowed:
        raise InvalidParameterError(
            "fallback_executors",
            executors,
            f"is outside the {in_words(allowed) or 'no'} executors that its cluster can have",
            remedy="Correct it, or start more.",
        )
    # Of a cluster that is there already, whatever the model was trained on.
    at_hand = trained.cluster.instance_type if trained.cluster else trained.instance_type
    instance_type = named or at_hand
    is_trained = instance_type in (at_hand, trained.instance_type)
    if is_trained:
        price, priced = _price_of(trained, goal), trained.priced
    else:
        price, priced = goal.price_of(instance_type), None
    billing = None
    if price is not None:
        billing = billing_of(goal.billing, price_per_hour=price, cluster=priced, training_dollars=0.0)
    return Decision(
        config=Configuration(
            executors=executors,
            instance_type=instance_type,
            executors_per_machine=trained.priced.executors_per_machine
            if is_trained and trained.priced
            else 1,
        ),
        goal=Goal(goal).in_words,
        price_per_hour=price,
        billing=billing,
        confidence=goal.confidence,
    )


# What is kept of a decision, or of the refusal of a goal out of reach.


def record_of(
    decision: Decision,
    *,
    goal: SizingGoal,
    types: Types,
    iterations: int | None,
    job: str | None,
    origin: Origin,
    input_amount: float | None,
) -> DecisionRecord:
    """The record of a decision that was just made; with a fallback the first model is recorded."""
    models = {each.model.id: each for each in types if each.model}
    of_model = models.get(decision.model_id or "") or next(iter(models.values()), None)
    model = of_model.model if of_model else None
    return DecisionRecord(
        **new_stamp(),
        job=job or (model.job if model else ""),
        instance_type=decision.config.instance_type,
        decision=decision,
        scale=goal.scale * (of_model.input_growth if of_model else 1.0),
        model_id=model.id if model else None,
        artifact_sha256=model.artifact_sha256 if model else None,
        origin=origin,
        confidence=goal.confidence if goal.has_limits else None,
        **_asked(goal, iterations),
        allowed_executors=() if goal.allowed_executors is None else goal.executors,
        model_ids=tuple(models),
        input_amount=input_amount,
        reuse=of_model.reuse if of_model else "",
    )


def refusal_of(choice: Choice, *, types: Types, iterations: int | None) -> Refusal | None:
    """What to tell of a goal that is out of reach, where nothing was decided then; else None."""
    goal, error = choice.goal, choice.error
    if choice.decision is not None or not isinstance(error, InfeasibleGoalError):
        return None
    offer = choice.offer_of(error.most_probable)
    growth = next((each.input_growth for each in types if each.model == offer.model), 1.0)
    return Refusal(
        goal=Goal(goal).in_words,
        reason=error.message,
        remedy=error.remedy,
        scale=goal.scale * growth,
        confidence=goal.confidence,
        alternatives=choice.alternatives,
        nearest=error.most_probable,
        earliest_deadline=error.earliest_deadline if goal.deadline_seconds is not None else None,
        least_budget=error.least_budget if goal.budget_dollars is not None else None,
        model_id=offer.model.id,
        billing=offer.billing,
        **_asked(goal, iterations),
    )


def _asked(goal: SizingGoal, iterations: int | None) -> dict[str, Any]:
    return {
        "iterations": iterations,
        "min_executors": goal.executors[0],
        "max_executors": goal.executors[-1],
        **{name: getattr(goal, name) for name in ("deadline_seconds", "budget_dollars", "objective")},
    }
