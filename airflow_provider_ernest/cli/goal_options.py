"""The options of a goal: what the production run must keep to, how surely, and what is best."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from airflow_provider_ernest.choices import CONFIDENCE

if TYPE_CHECKING:
    from airflow_provider_ernest.model.goals import Goal


def confidence(text: str) -> float:
    """A probability by which one can rely on something.

    Raises:
        ArgumentTypeError: it is no number from 0.5 to below 1; argparse makes a usage error of it.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.5 <= number < 1:
        raise ArgumentTypeError(f"{text!r} is not a probability from 0.5 to below 1, such as 0.95")
    return number


def add_goal_arguments(parser: ArgumentParser) -> None:
    """The options --deadline-seconds, --budget-dollars, --objective and --confidence."""
    group = parser.add_argument_group("goal")
    group.add_argument(
        "--deadline-seconds",
        metavar="SECONDS",
        type=float,
        help="the run must end within so long, boot and start-up included: the cheapest way is chosen",
    )
    group.add_argument(
        "--budget-dollars",
        metavar="DOLLARS",
        type=float,
        help="the run must cost no more: the fastest way is chosen",
    )
    group.add_argument(
        "--confidence",
        metavar="PROBABILITY",
        type=confidence,
        default=CONFIDENCE,
        help="with which the deadline or the budget is to be kept, by the model's interval: 0.95 spares more "
        "machines than 0.8, and 0.5 goes by the median prediction alone; default %(default)g",
    )
    group.add_argument(
        "--objective",
        metavar="NAME",
        help="what is best: cheapest, fastest, balanced (least seconds times dollars), or the path of a "
        "function of an alternative that returns a number of which less is better, such as "
        "my_package.my_module.my_function; with it deadline and budget may both be given, or none. Default: "
        "cheapest within the deadline, fastest within the budget",
    )


def goal_of(args: Namespace) -> Goal | None:
    """The goal that those options state, None where there is none.

    Raises:
        InvalidParameterError: they contradict each other, or a value cannot be.
    """
    from airflow_provider_ernest.model.goals import Goal, load_objective

    if (args.deadline_seconds, args.budget_dollars, args.objective) == (None, None, None):
        return None
    return Goal(
        deadline_seconds=args.deadline_seconds,
        budget_dollars=args.budget_dollars,
        confidence=args.confidence,
        objective=None if args.objective is None else load_objective(args.objective),
    )
