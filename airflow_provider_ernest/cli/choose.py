"""``ernest choose``: how many machines, and of which type."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.billing_options import add_billing_arguments
from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import STANDARD
from airflow_provider_ernest.cli.goal_options import add_goal_arguments, goal_of
from airflow_provider_ernest.cli.model_file import MODEL_HELP, read_model
from airflow_provider_ernest.cli.offers import add_offer_arguments, offers_of
from airflow_provider_ernest.cli.options import add_run_arguments
from airflow_provider_ernest.cli.output import as_json, say, warn
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.goals import Goal
    from airflow_provider_ernest.model.offers import Offer
    from airflow_provider_ernest.model.results import Decision
    from airflow_provider_ernest.model.same_cost import SameCost


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help=f"{MODEL_HELP}; one for each type of machine; - is standard input",
    )
    add_goal_arguments(parser)
    add_offer_arguments(parser)
    add_billing_arguments(parser, required=True)
    add_run_arguments(parser)
    _add_output_arguments(parser)


def _add_output_arguments(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("output")
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
    group.add_argument(
        "--format", choices=("table", "json"), default="table", help="of the output; default %(default)s"
    )


def _run(args: Namespace) -> None:
    if args.models.count(STANDARD) > 1:
        raise InvalidParameterError(
            "MODEL", args.models, "names standard input twice", remedy="Write the models to files."
        )
    goal = goal_of(args)
    if goal is None:
        raise InvalidParameterError(
            "(deadline_seconds, budget_dollars)",
            (None, None),
            "is no goal",
            remedy="Give one of them, or an --objective such as cheapest.",
        )
    models = [read_model(name) for name in args.models]
    offers = offers_of(args, models)
    decision, compared = _decide(args, offers, goal), _compare(args, offers)
    if args.format == "json":
        _print_document(decision, compared, only_front=args.pareto)
    else:
        _print_tables(decision, compared, only_front=args.pareto)
    known = {warning for model in models for warning in model.warnings}
    warn(warning for warning in decision.warnings if warning not in known)


def _decide(args: Namespace, offers: Sequence[Offer], goal: Goal) -> Decision:
    from airflow_provider_ernest.model.choice import choose_among, consider, decide_on

    alternatives = consider(
        offers,
        goal=goal,
        scale=args.scale,
        iterations=args.iterations,
        allow_mixed=args.allow_mixed,
        only_in_memory=args.only_in_memory,
    )
    try:
        return choose_among(alternatives, offers, goal=goal, only_in_memory=args.only_in_memory)
    except InfeasibleGoalError as error:
        if not args.most_probable or error.most_probable is None:
            raise
        return decide_on(error.most_probable, alternatives, offers, goal=goal, fallback_reason=error.message)


def _compare(args: Namespace, offers: Sequence[Offer]) -> tuple[SameCost, ...] | None:
    """The types at the same dollars per hour, where that is asked for."""
    from airflow_provider_ernest.model.same_cost import same_cost

    if not args.same_cost and args.dollars_per_hour is None:
        return None
    return same_cost(
        offers, dollars_per_hour=args.dollars_per_hour, scale=args.scale, iterations=args.iterations
    )


def _print_document(decision: Decision, compared: Sequence[SameCost] | None, *, only_front: bool) -> None:
    if only_front:
        kept = (each for each in decision.alternatives if each.is_pareto or decision.is_for(each))
        decision = replace(decision, alternatives=tuple(kept))
    document = decision.to_dict()
    if compared is not None:
        document["same_cost"] = [each.to_dict() for each in compared]
    say([as_json(document).rstrip()])


def _print_tables(decision: Decision, compared: Sequence[SameCost] | None, *, only_front: bool) -> None:
    from airflow_provider_ernest.model.tables import decision_table, same_cost_table

    say(decision_table(decision, only_front=only_front))
    if compared is not None:
        say(["", *same_cost_table(compared)])


COMMAND = Command(
    name="choose",
    summary="choose the cheapest cluster within a deadline, or the fastest within a budget",
    description="Choose the number and the type of machines: the cheapest within a deadline or the fastest "
    "within a budget, with the probability asked for, by all that is billed.",
    example="""\
  %(prog)s model.json --deadline-seconds 600 --machines 1-64 --price-per-hour 0.19
  %(prog)s runs.csv --budget-dollars 0.5 --machines 4-64:4 --price-per-hour 0.19 --format json
  %(prog)s m5.json c5.json --deadline-seconds 600 --confidence 0.95 --machines 1-32 --same-cost \\
      --price-per-hour m5.large=0.096 --price-per-hour c5.large=0.085 --allow-mixed""",
    add_arguments=_add_arguments,
    run=_run,
)
