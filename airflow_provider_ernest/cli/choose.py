"""``ernest choose``: how many machines."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.model_file import MODEL_HELP, read_model
from airflow_provider_ernest.cli.options import (
    MACHINES_HELP,
    add_goal_arguments,
    add_price_arguments,
    add_run_arguments,
    goal_of,
    machine_numbers,
)
from airflow_provider_ernest.cli.output import as_json, say, warn


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"{MODEL_HELP}; - is standard input")
    add_goal_arguments(parser, required=True)
    parser.add_argument(
        "--machines",
        metavar="NUMBERS",
        type=machine_numbers,
        required=True,
        help=f"to choose from: {MACHINES_HELP}",
    )
    add_price_arguments(parser, required=True)
    add_run_arguments(parser)
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="of the output; default %(default)s"
    )


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.model.choice import choose
    from airflow_provider_ernest.model.tables import decision_table

    model, goal = read_model(args.model), goal_of(args)
    assert goal is not None, "argparse demands one"
    decision = choose(
        model,
        goal=goal,
        machines=args.machines,
        price_per_hour=args.price_per_hour,
        scale=args.scale,
        iterations=args.iterations,
        billing_increment_seconds=args.billing_increment_seconds,
        minimum_billed_seconds=args.minimum_billed_seconds,
    )
    if args.format == "json":
        say([as_json(decision.to_dict()).rstrip()])
    else:
        say(decision_table(decision))
    warn(warning for warning in decision.warnings if warning not in model.warnings)


COMMAND = Command(
    name="choose",
    summary="choose the cheapest cluster within a deadline, or the fastest within a budget",
    description="Choose the cheapest number of machines within a deadline, or the fastest within a budget.",
    example="""\
  %(prog)s model.json --deadline-seconds 600 --machines 1-64 --price-per-hour 0.19
  %(prog)s runs.csv --budget-dollars 0.5 --machines 4-64:4 --price-per-hour 0.19 --format json""",
    add_arguments=_add_arguments,
    run=_run,
)
