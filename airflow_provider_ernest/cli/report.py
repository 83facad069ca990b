"""``ernest report``: a model as one HTML page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.billing_options import add_billing_arguments, billing_of
from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import STANDARD, refuse_to_overwrite, write_text
from airflow_provider_ernest.cli.goal_options import add_goal_arguments, goal_of
from airflow_provider_ernest.cli.model_file import MODEL_HELP, read_model
from airflow_provider_ernest.cli.options import MACHINES_HELP, add_run_arguments, machine_numbers
from airflow_provider_ernest.cli.output import add_output_arguments, say, warn
from airflow_provider_ernest.cli.per_type import by_type

if TYPE_CHECKING:
    from airflow_provider_ernest.model.results import Model

MOST_POINTS = 32
"""As many numbers of machines are shown by default."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"{MODEL_HELP}; - is standard input")
    parser.add_argument(
        "--machines",
        metavar="NUMBERS",
        type=machine_numbers,
        help=f"{MACHINES_HELP}; default: 1 to twice the most that were observed",
    )
    add_run_arguments(parser)
    add_billing_arguments(parser, required=False)
    add_goal_arguments(parser)
    add_output_arguments(parser, what="the HTML page", required=True)


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.report.contents import gather
    from airflow_provider_ernest.report.page import render

    refuse_to_overwrite(args.output, force=args.force)
    model = read_model(args.model)
    billing = None
    if args.price_per_hour is not None:
        prices = by_type("price_per_hour", args.price_per_hour, [model.instance_type], one_for_all=True)
        billing = billing_of(args, price_per_hour=prices[model.instance_type], models=[model])
    contents = gather(
        model,
        machines=args.machines or _machines_around(model),
        scale=args.scale,
        iterations=args.iterations,
        billing=billing,
        goal=goal_of(args),
    )
    write_text(args.output, render(contents), force=args.force)
    if contents.out_of_reach:
        warn([contents.out_of_reach])
    if args.output != STANDARD:
        say([f"The report on {model.job} is in {args.output}"])


def _machines_around(model: Model) -> list[int]:
    """1 to twice the most machines that were observed, in as many steps as a reader can use."""
    most = 2 * max(run.machines for run in model.observations)
    step = -(-most // MOST_POINTS)
    return sorted({1, *range(step, most + 1, step)})


COMMAND = Command(
    name="report",
    summary="write what a model says as one HTML page",
    description="Write one self-contained HTML page: the predicted time and where it goes, the cost, how far "
    "the model can be trusted, and the runs that it comes from.",
    example="""\
  %(prog)s model.json --output report.html
  %(prog)s model.json --machines 1-64 --price-per-hour 0.19 --deadline-seconds 600 --output report.html""",
    add_arguments=_add_arguments,
    run=_run,
)
