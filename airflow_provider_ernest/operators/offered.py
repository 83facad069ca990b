"""What may be chosen: the types of machines that have a model and a price, with what each is billed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.base import LOCAL
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.model.offers import Offer
from airflow_provider_ernest.model.training_cost import training_dollars
from airflow_provider_ernest.setting_checks import require_likeness
from airflow_provider_ernest.sizes import in_words

if TYPE_CHECKING:
    from airflow_provider_ernest.operators.question import Question
    from airflow_provider_ernest.operators.trained_types import TrainedType
    from airflow_provider_ernest.sizing_goal import UntrainedType

GIVE_PRICE = "Give the dollars for one machine and hour."


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What may be chosen.

    Attributes:
        offers: at least one.
        warnings: which types are not among them, and why.
    """

    offers: tuple[Offer, ...]
    warnings: tuple[str, ...]


def offered(question: Question, types: Sequence[TrainedType]) -> Offered:
    """The offers of a question.

    Args:
        question: what is asked.
        types: what came of each training.

    Raises:
        InvalidParameterError: a single cluster has fewer machines than were allowed, or a type that was not
            trained is like none.
        MissingResourceError: nothing can be offered: there is no model, or no price.
    """
    _check_untrained(question, types)
    training = sum(training_dollars(each.model) or 0.0 for each in types if each.model)
    offers: dict[str, Offer] = {}
    warnings: list[str] = []
    for each in types:
        try:
            offer = _of_trained(each, question, training, machines_for(each, question, among=types))
        except MissingResourceError as error:
            if len(types) == 1:
                raise
            warnings.append(f"{each.instance_type} is not among the choices: {error.message}")
            continue
        if offers.setdefault(offer.type_name, offer) is not offer:
            warnings.append(f"A second model of {offer.type_name} is not looked at.")
    for untrained in question.untrained_types:
        like = offers.get(untrained.like)
        if like is None:
            warnings.append(
                f"{untrained.instance_type} is not among the choices: neither is {untrained.like}, "
                "which it is like."
            )
        else:
            offers.setdefault(untrained.instance_type, _of_untrained(untrained, like, question, types))
    if not offers:
        raise MissingResourceError(" ".join(warnings), remedy="Set fallback_machines to go on without.")
    warnings += _about_training(question, types)
    return Offered(offers=tuple(offers.values()), warnings=tuple(warnings))


def machines_for(
    trained: TrainedType, question: Question, *, among: Sequence[TrainedType]
) -> tuple[int, ...]:
    """The allowed numbers of machines that the cluster of a type can have.

    Args:
        trained: the type.
        question: tells what is allowed.
        among: all types. Where it is the only one, its cluster must have all that are allowed; among others,
            it is offered with those that it has.

    Raises:
        InvalidParameterError: the only cluster has fewer.
    """
    handle, machines = trained.handle, question.machines
    if handle is None or not handle.limits_production or machines[-1] <= len(handle.machines):
        return machines
    if handle.kind == LOCAL and not handle.master_url:  # it has ended; the next one may be larger
        return machines
    most = len(handle.machines)
    if len(among) > 1:
        return tuple(count for count in machines if count <= most)
    raise InvalidParameterError(
        "allowed_machines" if question.has_allowed_machines else "max_machines",
        machines[-1],
        f"is outside the 1 to {most} machines that production may have",
        remedy="Correct it, or allow or start more machines.",
    )


def price_of(trained: TrainedType, question: Question) -> float | None:
    """Dollars for one machine of a type and hour; None where unknown."""
    given = question.prices.get(trained.instance_type, question.price_per_hour)
    return given if given is not None or trained.handle is None else trained.handle.price_per_hour


def _of_trained(
    trained: TrainedType, question: Question, training: float, machines: tuple[int, ...]
) -> Offer:
    if trained.model is None:
        raise MissingResourceError(
            f"There is no model to choose by: {trained.why_missing.rstrip('.')}.",
            remedy="Set fallback_machines to go on without one.",
        )
    price = price_of(trained, question)
    if price is None:
        raise MissingResourceError(
            f"price_per_hour={dict(question.prices) or None} leaves open what a machine of type "
            f"{trained.instance_type} costs, and no cluster tells it.",
            remedy=GIVE_PRICE,
        )
    if not machines:
        raise MissingResourceError(
            f"its cluster has none of the {in_words(question.machines)} machines that are allowed."
        )
    return Offer(
        model=trained.model,
        machines=machines,
        billing=question.billing.billing(
            price_per_hour=price, handle=trained.handle, training_dollars=training
        ),
        input_growth=trained.input_growth,
    )


def _of_untrained(
    untrained: UntrainedType, like: Offer, question: Question, types: Sequence[TrainedType]
) -> Offer:
    handle = next((each.handle for each in types if each.instance_type == untrained.like), None)
    return Offer(
        model=like.model,
        machines=question.machines,
        billing=question.billing.billing(
            price_per_hour=float(untrained.price_per_hour),
            handle=handle,
            training_dollars=like.billing.training_dollars,
        ),
        instance_type=untrained.instance_type,
        relative_speed=float(untrained.relative_speed),
        input_growth=like.input_growth,
    )


def _check_untrained(question: Question, types: Sequence[TrainedType]) -> None:
    names = [each.instance_type for each in types]
    for untrained in question.untrained_types:
        require_likeness(untrained.instance_type, untrained.like, names)


def _about_training(question: Question, types: Sequence[TrainedType]) -> list[str]:
    if question.billing.expected_runs is None:
        return []
    return [
        f"What the sample runs on {each.instance_type} cost is not known and not counted."
        for each in types
        if each.model and training_dollars(each.model) is None
    ]
