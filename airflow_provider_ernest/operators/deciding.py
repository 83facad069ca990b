"""The decision, or what is taken where there can be none: production must know its size, or not start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.model.choice import choose_among, consider, decide_on
from airflow_provider_ernest.model.documents import Configuration
from airflow_provider_ernest.model.results import Decision
from airflow_provider_ernest.operators.offered import Offered, machines_for, offered, price_of
from airflow_provider_ernest.sizes import in_words
from airflow_provider_ernest.sizing_goal import FAIL, MOST_PROBABLE

if TYPE_CHECKING:
    from airflow_provider_ernest.operators.question import Fallback, Question
    from airflow_provider_ernest.operators.trained_types import TrainedType


def decide(
    question: Question,
    types: Sequence[TrainedType],
    *,
    allow_mixed: bool,
    only_in_memory: bool,
    log: Any,
) -> Decision:
    """Choose; where that is impossible do what the question says.

    Args:
        question: what is asked.
        types: what came of each training.
        allow_mixed: consider clusters of several trained types, too.
        only_in_memory: leave out machines that cannot hold the data.
        log: the logger that a loud warning goes to.

    Raises:
        InvalidParameterError: a parameter cannot be; no fallback helps there.
        ErnestError: nothing can be chosen, and there is no fallback.
    """
    fallback, machines = question.fallback, _machines_of_fallback(question, types)
    if fallback is not None and fallback.machines not in machines:
        raise InvalidParameterError(
            "fallback_machines",
            fallback.machines,
            f"is outside the {in_words(machines) or 'no'} machines that its cluster can have",
            remedy="Correct it, or start more machines.",
        )
    left_out: tuple[str, ...] = ()
    try:
        found = offered(question, types)
        left_out = found.warnings
        return _chosen(found, question, allow_mixed=allow_mixed, only_in_memory=only_in_memory, log=log)
    except InvalidParameterError:
        raise
    except ErnestError as error:
        if fallback is None or question.reaction == FAIL:
            for warning in left_out:
                log.warning("%s", warning)
            raise
        log.warning("FALLBACK to %d machines: %s", fallback.machines, error.message)
        decision = _fallen_back(fallback, question, types, error)
        return replace(decision, warnings=(*decision.warnings, *left_out))


def type_of_fallback(question: Question, types: Sequence[TrainedType]) -> TrainedType:
    """The training of the fallback's type; where it is not told, or was not trained, the first."""
    named = question.fallback.instance_type if question.fallback else None
    return next((each for each in types if each.instance_type == named), types[0])


def _machines_of_fallback(question: Question, types: Sequence[TrainedType]) -> tuple[int, ...]:
    """Those that its cluster can have, if it is one of those that were trained."""
    trained = type_of_fallback(question, types)
    named = question.fallback.instance_type if question.fallback else None
    if named is not None and trained.instance_type != named:
        return question.machines
    return machines_for(trained, question, among=types)


def _chosen(
    found: Offered, question: Question, *, allow_mixed: bool, only_in_memory: bool, log: Any
) -> Decision:
    goal = question.goal
    alternatives = consider(
        found.offers,
        goal=goal,
        scale=question.scale,
        iterations=question.iterations,
        allow_mixed=allow_mixed,
        only_in_memory=only_in_memory,
    )
    try:
        decision = choose_among(alternatives, found.offers, goal=goal, only_in_memory=only_in_memory)
    except InfeasibleGoalError as error:
        if question.reaction != MOST_PROBABLE or error.most_probable is None:
            raise
        log.warning("MOST PROBABLE configuration instead of one that keeps to the goal: %s", error)
        decision = decide_on(
            error.most_probable, alternatives, found.offers, goal=goal, fallback_reason=error.message
        )
    return replace(decision, warnings=(*found.warnings, *decision.warnings))


def _fallen_back(
    fallback: Fallback, question: Question, types: Sequence[TrainedType], error: ErnestError
) -> Decision:
    trained = type_of_fallback(question, types)
    # Of a cluster that is there already, whatever the model was trained on.
    at_hand = trained.handle.instance_type if trained.handle else trained.instance_type
    instance_type = fallback.instance_type or at_hand
    is_trained = instance_type in (at_hand, trained.instance_type)
    price = price_of(trained, question) if is_trained else _price_of_another(instance_type, question)
    return Decision(
        config=Configuration(machines=fallback.machines, instance_type=instance_type),
        goal=question.goal.describe(),
        price_per_hour=price,
        billing=None
        if price is None
        else question.billing.billing(
            price_per_hour=price, handle=trained.handle if is_trained else None, training_dollars=0.0
        ),
        fallback_reason=error.message,
        warnings=(f"The stated fallback of {fallback.machines} machines was taken: {error.message}",),
        confidence=question.goal.confidence,
    )


def _price_of_another(instance_type: str, question: Question) -> float | None:
    """Dollars for one machine and hour of a type that was not trained; None where unknown."""
    for untrained in question.untrained_types:
        if untrained.instance_type == instance_type:
            return float(untrained.price_per_hour)
    return question.prices.get(instance_type, question.price_per_hour)
