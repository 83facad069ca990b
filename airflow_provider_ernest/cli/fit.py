"""``ernest fit``: from runs to a model."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import refuse_to_overwrite, write_text
from airflow_provider_ernest.cli.model_file import fit_model
from airflow_provider_ernest.cli.options import add_fit_arguments
from airflow_provider_ernest.cli.output import add_output_arguments, as_json, say, warn


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        metavar="RUNS",
        help="file of runs: CSV of machines,fraction,seconds, a JSON list of observations, or a model to fit "
        "anew; - is standard input",
    )
    add_fit_arguments(parser)
    parser.add_argument(
        "--max-error-percent",
        metavar="PERCENT",
        type=float,
        default=25.0,
        help="median leave-one-out error above which the model is refused (it is written all the same); "
        "default %(default)g",
    )
    add_output_arguments(parser, what="the model as JSON")


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.model.adequacy import check_adequacy
    from airflow_provider_ernest.model.tables import model_table

    refuse_to_overwrite(args.output, force=args.force)
    model = fit_model(args)
    say(model_table(model), beside=args.output)
    warn(model.warnings)
    if args.output:
        write_text(args.output, as_json(model.to_dict()), force=args.force)
    check_adequacy(model, max_error_percent=args.max_error_percent)


COMMAND = Command(
    name="fit",
    summary="fit a model to measured runs",
    description="Fit a model to measured runs, cross-validate it, and print its terms and errors.",
    example="""\
  %(prog)s runs.csv --job grep --output model.json
  %(prog)s runs.csv --method classic
  %(prog)s runs.json --known-driver-share 1 --terms 1 scale/machines 'log(machines)'""",
    add_arguments=_add_arguments,
    run=_run,
)
