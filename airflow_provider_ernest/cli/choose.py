"""``ernest choose`` and ``report``: how many machines, of which type, and what production costs then."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from airflow_provider_ernest.cli.command import (
    MACHINES_HELP,
    STANDARD,
    Command,
    add_result_arguments,
    add_setting,
    as_json,
    is_piped,
    machine_numbers,
    printable,
    rows_as_csv,
    say,
    tell,
    warn,
    write_text,
)
from airflow_provider_ernest.cli.models import MODEL_HELP, add_run_arguments, read_model
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE, no_price
from airflow_provider_ernest.settings.goal import FAIL, MOST_PROBABLE

if TYPE_CHECKING:
    from airflow_provider_ernest.decision.deciding import Choice
    from airflow_provider_ernest.decision.offers import Offer
    from airflow_provider_ernest.documents.models import Model

Value = TypeVar("Value")

LIMITS = ("deadline_seconds", "budget_dollars", "objective")
"""The options of which one or two make a goal."""

UNTRAINED = re.compile(r"(?P<type>[^=]+)=(?P<speed>[0-9.]+)(x(?P<like>[^@]+))?@(?P<dollars>[0-9.]+)")

MOST_POINTS = 32
"""As many numbers of machines are shown by default."""


class Extrapolation(NamedTuple):
    """A type of machine without a model of its own; it is like the first one's where `like` is None."""

    instance_type: str
    relative_speed: float
    like: str | None
    price_per_hour: float


def _dollars(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither dollars nor TYPE=DOLLARS") from None


def _of_a_type(value_of: Callable[[str], Value]) -> Callable[[str], tuple[str | None, Value]]:
    """Reads a value, with or without the type of machine that it is for: ``m5.large=0.096``."""

    def read(text: str) -> tuple[str | None, Value]:
        instance_type, equals, value = text.rpartition("=")
        if equals and not instance_type:
            raise ArgumentTypeError(f"{text!r} names no type of machine before the =")
        return instance_type or None, value_of(value)

    return read


def by_type(
    option: str, given: Iterable[tuple[str | None, Value]], types: Sequence[str], *, one_for_all: bool
) -> dict[str, Value]:
    """The value of an option for each of the types; of two for one type the last one counts.

    One without a type is, with `one_for_all`, for all types that have none of their own. An
    `InvalidParameterError` says which type has none, or is not among them.
    """
    values = dict(given)
    unknown = [name for name in values if name is not None and name not in types]
    if unknown:
        raise InvalidParameterError(
            option,
            unknown[0],
            "is a type of machine without a model",
            remedy=f"Name {'one of ' if len(types) > 1 else ''}{', '.join(types)}. "
            "Another type needs its own model, or --extrapolate-to.",
        )
    missing = [name for name in types if name not in values and not (one_for_all and None in values)]
    if missing:
        as_option = f"--{option.replace('_', '-')}"
        raise InvalidParameterError(
            option,
            values.get(None),
            f"is for no type in particular, and {' and '.join(missing)} must have one each"
            if None in values
            else f"is missing for {' and '.join(missing)}",
            remedy=f"Give {' '.join(f'{as_option} {name}=...' for name in missing)}.",
        )
    return {name: values[name] if name in values else values[None] for name in types}


def confidence(text: str) -> float:
    """A probability from 0.5 to below 1; else an `ArgumentTypeError`."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.5 <= number < 1:
        raise ArgumentTypeError(f"{text!r} is not a probability from 0.5 to below 1, such as 0.95")
    return number


def untrained_type(text: str) -> Extrapolation:
    """A type from ``TYPE=SPEED@DOLLARS`` or ``TYPE=SPEEDxTRAINED@DOLLARS``."""
    found = UNTRAINED.fullmatch(text)
    try:
        if found:
            return Extrapolation(found["type"], float(found["speed"]), found["like"], float(found["dollars"]))
    except ValueError:  # two points
        pass
    raise ArgumentTypeError(
        f"{text!r} is not TYPE=SPEED@DOLLARS, such as c5.xlarge=2@0.17, or TYPE=SPEEDxTRAINED@DOLLARS, such "
        "as c5.xlarge=2xm5.large@0.17"
    )


def _add_goal_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("goal")
    for name in LIMITS:
        add_setting(group, SizingGoal, name)
    add_setting(group, SizingGoal, "confidence", type=confidence)


def _add_billing_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("billing")
    group.add_argument(
        "--price-per-hour",
        metavar="[TYPE=]DOLLARS",
        type=_of_a_type(_dollars),
        action="append",
        help="dollars for one machine and hour; with several types of machines once for each, such as "
        "m5.large=0.096",
    )
    for name in BESIDE_THE_PRICE:
        add_setting(group, Billing, name)


def goal_of(args: Namespace, machines: Iterable[int], **others: Any) -> SizingGoal:
    """The goal that the options state, with all numbers of machines to choose from, and further fields."""
    stated = {name: getattr(args, name) for name in (*LIMITS, "confidence", "scale")}
    return SizingGoal(**stated, allowed_machines=tuple(machines), **others)


def billing_of(args: Namespace, *, price_per_hour: float, models: Sequence[Model]) -> Billing:
    """How machines of this price are paid for; the production runs share the training cost of all models."""
    from airflow_provider_ernest.documents.models import training_dollars

    stated = Billing(**{name: getattr(args, name) for name in BESIDE_THE_PRICE})
    training = None
    if args.training_dollars is None and args.expected_runs is not None:
        training = 0.0
        for model in models:
            dollars = training_dollars(model)
            if dollars is None:
                raise InvalidParameterError(
                    "training_dollars",
                    None,
                    f"is missing, and the model of {model.instance_type} has no price of its machines",
                    remedy="Give what the sample runs of all types cost together.",
                )
            training += dollars
    return stated.completed(price_per_hour=price_per_hour, training_dollars=training)


def offers_of(args: Namespace, models: Sequence[Model]) -> list[Offer]:
    """What may be chosen, one offer for each type; an `InvalidParameterError` says what does not fit."""
    from airflow_provider_ernest.decision.offers import Offer

    trained = {model.instance_type: model for model in models}
    for name in trained:
        same = [file for file, model in zip(args.models, models, strict=True) if model.instance_type == name]
        if len(same) > 1:
            raise InvalidParameterError(
                "MODEL",
                same,
                f"are two of the type {name}",
                remedy="Fit each with its own --instance-type, or name it in the file of runs.",
            )
    untrained = _by_untrained_type(args.extrapolate_to or [], list(trained))
    types = [*trained, *untrained]
    if not args.price_per_hour and not untrained:
        raise no_price(types[0])
    machines = by_type("machines", args.machines, types, one_for_all=True)
    stated = [(name, each.price_per_hour) for name, each in untrained.items()]
    prices = by_type(
        "price_per_hour", [*(args.price_per_hour or ()), *stated], types, one_for_all=len(trained) == 1
    )
    first = models[0].instance_type
    return [
        Offer(
            model=trained[(untrained[name].like or first) if name in untrained else name],
            machines=machines[name],
            billing=billing_of(args, price_per_hour=prices[name], models=models),
            instance_type=name,
            relative_speed=untrained[name].relative_speed if name in untrained else 1.0,
        )
        for name in types
    ]


def _by_untrained_type(named: Sequence[Extrapolation], trained: Sequence[str]) -> dict[str, Extrapolation]:
    by_type: dict[str, Extrapolation] = {}
    for each in named:
        if each.instance_type in trained or each.instance_type in by_type:
            has_model = each.instance_type in trained
            raise InvalidParameterError(
                "extrapolate_to",
                each.instance_type,
                "is of a type that has a model" if has_model else "is of a type that is named twice",
                remedy="Name each type that was not trained once.",
            )
        if each.like not in (None, *trained):
            raise InvalidParameterError(
                "extrapolate_to",
                each.like,
                "is likened to, and has no model",
                remedy=f"Name one of {', '.join(trained)} after the x.",
            )
        by_type[each.instance_type] = each
    return by_type


def _add_choose_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help=f"{MODEL_HELP}; one for each type of machine; - is standard input",
    )
    _add_goal_arguments(parser)
    group = parser.add_argument_group("machines")
    group.add_argument(
        "--machines",
        metavar="[TYPE=]NUMBERS",
        type=_of_a_type(machine_numbers),
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
    add_setting(group, SizingGoal, "allow_mixed")
    add_setting(group, SizingGoal, "only_in_memory")
    _add_billing_arguments(parser)
    add_run_arguments(parser)
    group = add_result_arguments(parser, result="the decision (csv has a line for each size)")
    group.add_argument(
        "--most-probable",
        action="store_true",
        help="where the goal is out of reach, choose what keeps to it most probably, with a warning, instead "
        "of failing",
    )
    group.add_argument(
        "--pareto",
        action="store_true",
        help="show only the chosen one and the alternatives that no other beats in both seconds and dollars",
    )
    group.add_argument(
        "--same-cost",
        action="store_true",
        help="compare the types of machines at the same dollars per hour as well",
    )
    group.add_argument(
        "--dollars-per-hour",
        metavar="DOLLARS",
        type=float,
        help="the rate of that comparison; default: some at which whole machines of all types cost about the "
        "same",
    )


def _run_choose(args: Namespace) -> None:
    from airflow_provider_ernest.decision.deciding import Offered, decide
    from airflow_provider_ernest.decision.same_cost import same_cost
    from airflow_provider_ernest.views.tables import decision_table, same_cost_table

    if args.models.count(STANDARD) > 1:
        raise InvalidParameterError(
            "MODEL", args.models, "names standard input twice", remedy="Write the models to files."
        )
    models = [read_model(name) for name in args.models]
    offers = offers_of(args, models)
    goal = goal_of(
        args,
        {count for offer in offers for count in offer.counts},
        allow_mixed=args.allow_mixed,
        only_in_memory=args.only_in_memory,
        on_failure=MOST_PROBABLE if args.most_probable else FAIL,
    )
    choice = decide(goal, Offered(offers=offers), iterations=args.iterations)
    if choice.decision is None:
        _say_out_of_reach(choice, args)
    decision = shown = choice.required()
    if args.pareto:
        kept = (each for each in decision.alternatives if each.is_pareto or decision.is_for(each))
        shown = replace(decision, alternatives=tuple(kept))
    document = shown.to_dict()
    lines = decision_table(decision, only_front=args.pareto)
    if args.same_cost or args.dollars_per_hour is not None:
        compared = same_cost(choice.offers, choice.alternatives, dollars_per_hour=args.dollars_per_hour)
        document["same_cost"] = [each.to_dict() for each in compared]
        lines = [*lines, "", *same_cost_table(compared)]
    tell(
        args,
        lambda: lines,
        json=lambda: as_json(document),
        csv=lambda: rows_as_csv(document["alternatives"]),
    )
    known = {warning for model in models for warning in model.warnings}
    warn(warning for warning in decision.warnings if warning not in known)


def _say_out_of_reach(choice: Choice, args: Namespace) -> None:
    """What was considered, before the error says what could be asked for."""
    from airflow_provider_ernest.decision.goals import Goal
    from airflow_provider_ernest.views.tables import out_of_reach_table

    if isinstance(choice.error, InfeasibleGoalError) and not is_piped(args):
        table = out_of_reach_table(
            choice.alternatives,
            goal=Goal(choice.goal).in_words,
            confidence=choice.goal.confidence,
            nearest=choice.error.most_probable,
            only_front=args.pareto,
        )
        say(table, args)


CHOOSE = Command(
    name="choose",
    summary="choose a cluster: the best value, the cheapest or the fastest within a deadline or a budget",
    description="Choose the number and the type of machines: the best value, the cheapest or the fastest "
    "within a deadline or a budget, with the probability asked for, by all that is billed.",
    example="""\
  %(prog)s model.json --deadline-seconds 600 --machines 1-64 --price-per-hour 0.19
  %(prog)s runs.csv --budget-dollars 0.5 --machines 4-64:4 --price-per-hour 0.19 --format json
  %(prog)s m5.json c5.json --deadline-seconds 600 --confidence 0.95 --machines 1-32 --same-cost \\
      --price-per-hour m5.large=0.096 --price-per-hour c5.large=0.085 --allow-mixed""",
    add_arguments=_add_choose_arguments,
    run=_run_choose,
)


def _add_report_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"{MODEL_HELP}; - is standard input")
    parser.add_argument(
        "--machines",
        metavar="NUMBERS",
        type=machine_numbers,
        help=f"{MACHINES_HELP}; default: 1 to twice the most that were observed",
    )
    add_run_arguments(parser)
    _add_billing_arguments(parser)
    _add_goal_arguments(parser)
    parser.add_argument(
        "--output", metavar="FILE", required=True, help="write the page to this file; - is standard output"
    )
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there already")


def _run_report(args: Namespace) -> None:
    from airflow_provider_ernest.views.prediction import prediction_alone
    from airflow_provider_ernest.views.report import of_model

    model = read_model(args.model)
    billing = None
    if args.price_per_hour is not None:
        prices = by_type("price_per_hour", args.price_per_hour, [model.instance_type], one_for_all=True)
        billing = billing_of(args, price_per_hour=prices[model.instance_type], models=[model])
    machines = args.machines
    if machines is None:
        most = 2 * max(run.machines for run in model.observations)
        step = -(-most // MOST_POINTS)
        machines = sorted({1, *range(step, most + 1, step)})
    has_goal = any(getattr(args, name) is not None for name in LIMITS)
    goal = goal_of(args, machines) if has_goal else None
    prediction = prediction_alone(
        model, machines=machines, scale=args.scale, iterations=args.iterations, billing=billing, goal=goal
    )
    write_text(args.output, of_model(model, prediction, goal=goal), force=args.force)
    if prediction.out_of_reach:
        warn([prediction.out_of_reach])
    if args.output != STANDARD:
        sys.stdout.write(f"The report on {printable(model.job)} is in {printable(args.output)}\n")


REPORT = Command(
    name="report",
    summary="write what a model says as one HTML page",
    description="Write one self-contained HTML page: the predicted time and where it goes, the cost, how far "
    "the model can be trusted, and the runs that it comes from.",
    example="""\
  %(prog)s model.json --output report.html
  %(prog)s model.json --machines 1-64 --price-per-hour 0.19 --deadline-seconds 600 --output report.html""",
    add_arguments=_add_report_arguments,
    run=_run_report,
)
