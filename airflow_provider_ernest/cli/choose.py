"""``ernest choose`` and ``report``: how many executors, of which type, and what production costs then."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.cli.models import MODEL_HELP, add_run_arguments, read_model
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE, no_price
from airflow_provider_ernest.settings.goal import FAIL, MOST_PROBABLE

if TYPE_CHECKING:
    from airflow_provider_ernest.decision.deciding import Choice
    from airflow_provider_ernest.decision.offers import Offer
    from airflow_provider_ernest.documents.models import Model

LIMITS = ("deadline_seconds", "budget_dollars", "objective")
"""The options of which one or two make a goal."""


def price(text: str) -> tuple[str, float]:
    """A type of machine, empty if there is none, and dollars: ``0.096`` or ``m5.large=0.096``."""
    instance_type, equals, dollars = text.rpartition("=")
    try:
        if bool(equals) == bool(instance_type):
            return instance_type, command.above_zero(dollars)
    except ArgumentTypeError:
        pass
    raise ArgumentTypeError(f"{text!r} is neither dollars nor TYPE=DOLLARS")


def prices_of(given: Sequence[tuple[str, float]] | None, types: Sequence[str]) -> dict[str, float]:
    """Dollars per hour of each type; of two for one type the last one counts."""
    if not given:
        raise no_price(types[0])
    alone = types[0] if len(types) == 1 else ""
    prices = {instance_type or alone: dollars for instance_type, dollars in given}
    if prices.keys() != set(types):
        raise InvalidParameterError(
            "price_per_hour",
            [f"{name}={dollars:g}" if name else dollars for name, dollars in prices.items()],
            f"is not one for each type of machine that has a model: {', '.join(types)}",
            remedy=f"Give {' '.join(f'--price-per-hour {name}=...' for name in types)}.",
        )
    return prices


def confidence(text: str) -> float:
    """A probability from 0.5 to below 1; else an `ArgumentTypeError`."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.5 <= number < 1:
        raise ArgumentTypeError(f"{text!r} is not a probability from 0.5 to below 1, such as 0.95")
    return number


def _add_goal_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("goal")
    for name in LIMITS:
        command.add_setting(group, SizingGoal, name)
    command.add_setting(group, SizingGoal, "confidence", type=confidence)


def _add_billing_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("billing")
    group.add_argument(
        "--price-per-hour",
        metavar="[TYPE=]DOLLARS",
        type=price,
        action="append",
        help="dollars for one executor (or machine) and hour; with several types of machines once for each, "
        "such as m5.large=0.096",
    )
    for name in BESIDE_THE_PRICE:
        command.add_setting(group, Billing, name)


def goal_of(args: Namespace, executors: Iterable[int], **others: Any) -> SizingGoal:
    """The goal that the options state, with all numbers of executors to choose from, and further fields."""
    stated = {name: getattr(args, name) for name in (*LIMITS, "confidence", "scale")}
    return SizingGoal(**stated, allowed_executors=tuple(executors), **others)


def billing_of(args: Namespace, *, price_per_hour: float | None, models: Sequence[Model]) -> Billing:
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

    types = [model.instance_type for model in models]
    for name in types:
        same = [file for file, of_type in zip(args.models, types, strict=True) if of_type == name]
        if len(same) > 1:
            raise InvalidParameterError(
                "MODEL",
                same,
                f"are two of the type {name}",
                remedy="Fit each with its own --instance-type, or name it in the file of runs.",
            )
    prices: dict[str, float | None] = {types[0]: None}
    if args.price_per_hour or args.budget_dollars is not None or len(types) > 1:
        prices = {**prices_of(args.price_per_hour, types)}
    return [
        Offer(
            model=model,
            executors=args.executors,
            billing=billing_of(args, price_per_hour=prices[model.instance_type], models=models),
        )
        for model in models
    ]


def _add_choose_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help=f"{MODEL_HELP}; one for each type of machine; - is standard input",
    )
    _add_goal_arguments(parser)
    group = parser.add_argument_group("executors")
    command.add_executors_argument(group, says=f"to choose from: {command.EXECUTORS_HELP}", required=True)
    command.add_setting(group, SizingGoal, "allow_mixed")
    _add_billing_arguments(parser)
    add_run_arguments(parser)
    group = command.add_result_arguments(parser, result="the decision, with all sizes")
    group.add_argument(
        "--most-probable",
        action="store_true",
        help="where the goal is out of reach, choose what keeps to it most probably, with a warning, instead "
        "of failing",
    )


def _run_choose(args: Namespace) -> None:
    from airflow_provider_ernest.decision.deciding import Offered, decide
    from airflow_provider_ernest.views.tables import decision_table

    if args.models.count(command.STANDARD) > 1:
        raise InvalidParameterError(
            "MODEL", args.models, "names standard input twice", remedy="Write the models to files."
        )
    models = [read_model(name) for name in args.models]
    goal = goal_of(
        args,
        args.executors,
        allow_mixed=args.allow_mixed,
        on_failure=MOST_PROBABLE if args.most_probable else FAIL,
    )
    choice = decide(goal, Offered(offers=offers_of(args, models)), iterations=args.iterations)
    if choice.decision is None:
        _say_out_of_reach(choice, args)
    decision = choice.required()
    command.tell(args, lambda: decision_table(decision), decision.to_dict)
    known = {warning for model in models for warning in model.warnings}
    command.warn(*(warning for warning in decision.warnings if warning not in known))


def _say_out_of_reach(choice: Choice, args: Namespace) -> None:
    """What was considered, before the error says what could be asked for."""
    from airflow_provider_ernest.decision.goals import Goal
    from airflow_provider_ernest.views.tables import out_of_reach_table

    if isinstance(choice.error, InfeasibleGoalError) and not command.is_piped(args):
        table = out_of_reach_table(
            choice.alternatives,
            goal=Goal(choice.goal).in_words,
            confidence=choice.goal.confidence,
            nearest=choice.error.most_probable,
        )
        command.say(table, args)


CHOOSE = command.Command(
    name="choose",
    summary="choose a cluster: the best value, the cheapest or the fastest within a deadline or a budget",
    description="Choose how many executors, on which type of machine: the best value, the cheapest or the "
    "fastest within a deadline or a budget, with the probability asked for, by all that is billed.",
    example="""\
  %(prog)s model.json --deadline-seconds 600 --executors 1-64 --price-per-hour 0.19
  %(prog)s runs.csv --budget-dollars 0.5 --executors 4-64:4 --price-per-hour 0.19 --format json
  %(prog)s m5.json c5.json --deadline-seconds 600 --confidence 0.95 --machines 1-32 \\
      --price-per-hour m5.large=0.096 --price-per-hour c5.large=0.085 --allow-mixed""",
    add_arguments=_add_choose_arguments,
    run=_run_choose,
)


def _add_report_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"{MODEL_HELP}; - is standard input")
    says = f"{command.EXECUTORS_HELP}; default: 1 to twice the most that were observed"
    command.add_executors_argument(parser, says=says)
    add_run_arguments(parser)
    _add_billing_arguments(parser)
    _add_goal_arguments(parser)
    parser.add_argument(
        "--output", metavar="FILE", required=True, help="write the page to this file; - is standard output"
    )
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there already")


def _run_report(args: Namespace) -> None:
    from airflow_provider_ernest.views.prediction import prediction_alone
    from airflow_provider_ernest.views.prediction_request import request_of
    from airflow_provider_ernest.views.report import of_model

    model = read_model(args.model)
    billing = None
    if args.price_per_hour is not None:
        (price,) = prices_of(args.price_per_hour, [model.instance_type]).values()
        billing = billing_of(args, price_per_hour=price, models=[model])
    executors = args.executors or request_of(None, model=model).counts()
    has_goal = any(getattr(args, name) is not None for name in LIMITS)
    goal = goal_of(args, executors) if has_goal else None
    prediction = prediction_alone(
        model, executors=executors, scale=args.scale, iterations=args.iterations, billing=billing, goal=goal
    )
    command.write_text(args.output, of_model(model, prediction, goal=goal), force=args.force)
    if prediction.out_of_reach:
        command.warn(prediction.out_of_reach)
    if args.output != command.STANDARD:
        sys.stdout.write(
            f"The report on {command.printable(model.job)} is in {command.printable(args.output)}\n"
        )


REPORT = command.Command(
    name="report",
    summary="write what a model says as one HTML page",
    description="Write one self-contained HTML page: the predicted time and where it goes, the cost, how far "
    "the model can be trusted, and the runs that it comes from.",
    example="""\
  %(prog)s model.json --output report.html
  %(prog)s model.json --executors 1-64 --price-per-hour 0.19 --deadline-seconds 600 --output report.html""",
    add_arguments=_add_report_arguments,
    run=_run_report,
)
