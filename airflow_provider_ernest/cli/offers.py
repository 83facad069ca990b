"""What may be chosen, by the options of ``ernest choose``: types of machines, how many, at what price."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.billing_options import billing_of
from airflow_provider_ernest.cli.options import MACHINES_HELP
from airflow_provider_ernest.cli.per_type import by_type, machines_by_type
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.offers import Offer
    from airflow_provider_ernest.model.results import Model

UNTRAINED = re.compile(r"(?P<type>[^=]+)=(?P<speed>[0-9.]+)(x(?P<like>[^@]+))?@(?P<dollars>[0-9.]+)")

UNTRAINED_REMEDY = ", or see --extrapolate-to"


@dataclass(frozen=True, kw_only=True)
class UntrainedType:
    """A type of machine without a model of its own.

    Attributes:
        instance_type: its name.
        relative_speed: against the type that it is likened to.
        like: that type; None for that of the first model.
        price_per_hour: dollars for one machine and hour.
    """

    instance_type: str
    relative_speed: float
    like: str | None
    price_per_hour: float


def untrained_type(text: str) -> UntrainedType:
    """A type from ``TYPE=SPEED@DOLLARS`` or ``TYPE=SPEEDxTRAINED@DOLLARS``.

    Raises:
        ArgumentTypeError: the text is neither; argparse makes a usage error of it.
    """
    found = UNTRAINED.fullmatch(text)
    try:
        if found:
            return UntrainedType(
                instance_type=found["type"],
                relative_speed=float(found["speed"]),
                like=found["like"],
                price_per_hour=float(found["dollars"]),
            )
    except ValueError:
        pass
    raise ArgumentTypeError(
        f"{text!r} is not TYPE=SPEED@DOLLARS, such as c5.xlarge=2@0.17, or TYPE=SPEEDxTRAINED@DOLLARS, such "
        "as c5.xlarge=2xm5.large@0.17"
    )


def add_offer_arguments(parser: ArgumentParser) -> None:
    """The options --machines, --extrapolate-to, --allow-mixed and --only-in-memory."""
    group = parser.add_argument_group("machines")
    group.add_argument(
        "--machines",
        metavar="[TYPE=]NUMBERS",
        type=machines_by_type,
        action="append",
        required=True,
        help=f"to choose from: {MACHINES_HELP}; where a type of machine has others, once more for it, such "
        "as m5.large=1-16",
    )
    group.add_argument(
        "--extrapolate-to",
        metavar="TYPE=SPEED[xTRAINED]@DOLLARS",
        type=untrained_type,
        action="append",
        help="consider a type of machine without a model, too: work on data goes SPEED times as fast as on "
        "the first model's type, or on the type after the x; it costs DOLLARS per hour. Such as "
        "c5.xlarge=2xm5.large@0.17. It is marked, and its interval is wide",
    )
    group.add_argument(
        "--allow-mixed",
        action="store_true",
        help="consider clusters of several of the trained types, by OptEx's formula; they are marked",
    )
    group.add_argument(
        "--only-in-memory",
        action="store_true",
        help="leave out machines that cannot hold the data in memory, as far as the runs tell",
    )


def offers_of(args: Namespace, models: Sequence[Model]) -> list[Offer]:
    """What may be chosen, one offer for each type.

    Raises:
        InvalidParameterError: two models are of one type, a type lacks a price or machines, or an option
            names a type that there is none of.
    """
    from airflow_provider_ernest.model.offers import Offer

    trained = _by_trained_type(models, args.models)
    untrained = _by_untrained_type(args.extrapolate_to or [], trained)
    types = [*trained, *untrained]
    machines = by_type("machines", args.machines, types, one_for_all=True, otherwise=UNTRAINED_REMEDY)
    known_prices = [(name, each.price_per_hour) for name, each in untrained.items()]
    only_type = len(trained) == 1
    prices = by_type(
        "price_per_hour",
        [*args.price_per_hour, *known_prices],
        types,
        one_for_all=only_type,
        otherwise=UNTRAINED_REMEDY,
    )
    offers = []
    for name in types:
        extrapolation = untrained.get(name)
        like = extrapolation.like if extrapolation and extrapolation.like else next(iter(trained))
        model = trained[_known(like, trained)] if extrapolation else trained[name]
        offers.append(
            Offer(
                model=model,
                machines=machines[name],
                billing=billing_of(args, price_per_hour=prices[name], models=models),
                instance_type=name,
                relative_speed=extrapolation.relative_speed if extrapolation else 1.0,
            )
        )
    return offers


def _by_untrained_type(
    named: Sequence[UntrainedType], trained: Mapping[str, Model]
) -> dict[str, UntrainedType]:
    by_type: dict[str, UntrainedType] = {}
    for each in named:
        if each.instance_type in trained or each.instance_type in by_type:
            has_model = each.instance_type in trained
            raise InvalidParameterError(
                "extrapolate_to",
                each.instance_type,
                "is of a type that has a model" if has_model else "is of a type that is named twice",
                remedy="Name each type that was not trained once.",
            )
        by_type[each.instance_type] = each
    return by_type


def _by_trained_type(models: Sequence[Model], files: Sequence[str]) -> dict[str, Model]:
    by_type: dict[str, Model] = {}
    for model in models:
        if model.instance_type in by_type:
            same = zip(models, files, strict=True)
            raise InvalidParameterError(
                "MODEL",
                [name for each, name in same if each.instance_type == model.instance_type],
                f"are two of the type {model.instance_type}",
                remedy="Fit each with its own --instance-type, or name it in the file of runs.",
            )
        by_type[model.instance_type] = model
    return by_type


def _known(like: str, trained: dict[str, Model]) -> str:
    if like not in trained:
        raise InvalidParameterError(
            "extrapolate_to",
            like,
            "is likened to, and has no model",
            remedy=f"Name one of {', '.join(trained)} after the x.",
        )
    return like
