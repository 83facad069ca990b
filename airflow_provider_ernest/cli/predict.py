"""``ernest predict``: seconds of runs that were not made."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.model_file import MODEL_HELP, read_model
from airflow_provider_ernest.cli.options import MACHINES_HELP, add_run_arguments, machine_numbers
from airflow_provider_ernest.cli.output import as_csv, as_json, say

if TYPE_CHECKING:
    from airflow_provider_ernest.model.results import Model

WORTH_TELLING = 0.005
"""A term that explains a smaller share of the time is left out of the table."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"{MODEL_HELP}; - is standard input")
    parser.add_argument(
        "--machines", metavar="NUMBERS", type=machine_numbers, required=True, help=MACHINES_HELP
    )
    add_run_arguments(parser)
    parser.add_argument(
        "--level",
        metavar="PROBABILITY",
        type=float,
        default=0.8,
        help="the probability that a run lies within the interval; default %(default)g",
    )
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="of the output; default %(default)s",
    )


def _run(args: Namespace) -> None:
    model = read_model(args.model)
    predictions = _predictions(
        model, machines=args.machines, scale=args.scale, iterations=args.iterations, level=args.level
    )
    if args.format == "json":
        document = {
            "model_id": model.model_id,
            "level": args.level,
            "startup_seconds": model.startup_seconds,
            "predictions": predictions,
        }
        say([as_json(document).rstrip()])
    elif args.format == "csv":
        say([_csv(predictions).rstrip()])
    else:
        say(_table(predictions, level=args.level, startup_seconds=model.startup_seconds))


def _predictions(
    model: Model, *, machines: list[int], scale: float, iterations: int | None, level: float
) -> list[dict[str, Any]]:
    """For each number of machines the seconds, their interval and parts, without start-up."""
    from airflow_provider_ernest.model.prediction import (
        contributions,
        extrapolation,
        no_prediction,
        predict_interval,
        predict_seconds,
    )

    seconds = predict_seconds(model, machines=machines, scale=scale, iterations=iterations)
    low, high = predict_interval(model, machines=machines, level=level, scale=scale, iterations=iterations)
    for told in zip(seconds.tolist(), low.tolist(), high.tolist(), strict=True):
        if not all(math.isfinite(value) and value > 0 for value in told):
            raise no_prediction(model, f"a run at scale {scale:g} would take {told[0]:g} s")
    return [
        {
            "machines": count,
            "scale": scale,
            "seconds": float(seconds[position]),
            "low_seconds": float(low[position]),
            "high_seconds": float(high[position]),
            "term_seconds": contributions(model, machines=count, scale=scale, iterations=iterations),
            "extrapolates": extrapolation(model, machines=count, scale=scale),
        }
        for position, count in enumerate(machines)
    ]


def _csv(predictions: list[dict[str, Any]]) -> str:
    plain = ("machines", "scale", "seconds", "low_seconds", "high_seconds")
    terms = list(predictions[0]["term_seconds"])
    return as_csv(
        [*plain, *(f"{term} seconds" for term in terms), "extrapolates"],
        (
            [
                *(row[name] for name in plain),
                *(row["term_seconds"][term] for term in terms),
                row["extrapolates"],
            ]
            for row in predictions
        ),
    )


def _table(predictions: list[dict[str, Any]], *, level: float, startup_seconds: float) -> list[str]:
    lines = [f"machines    seconds   {f'{100 * level:g} % interval':>20s}   where the time goes"]
    for row in predictions:
        interval = f"{row['low_seconds']:,.1f} - {row['high_seconds']:,.1f}"
        remark = f"  [{row['extrapolates']}]" if row["extrapolates"] else ""
        lines.append(
            f"{row['machines']:8d} {row['seconds']:10,.1f}   {interval:>20s}   "
            f"{_shares(row['term_seconds'])}{remark}"
        )
    scale = predictions[0]["scale"]
    lines.append(f"scale {scale:g}; a start-up of {startup_seconds:.1f} s comes on top")
    return lines


def _shares(term_seconds: dict[str, float]) -> str:
    """The terms that explain most, with their shares of the time."""
    total = sum(term_seconds.values())
    ordered = sorted(term_seconds.items(), key=lambda term: -term[1])
    return ", ".join(
        f"{name} {seconds / total:.0%}" for name, seconds in ordered if seconds > WORTH_TELLING * total
    )


COMMAND = Command(
    name="predict",
    summary="predict the seconds of a run, with an interval and where the time goes",
    description="Predict the seconds of a run on numbers of machines, with an interval, the share of each "
    "term, and what the observed runs do not support.",
    example="""\
  %(prog)s model.json --machines 1-64
  %(prog)s runs.csv --machines 8,16,32 --scale 1.5 --level 0.95 --format csv""",
    add_arguments=_add_arguments,
    run=_run,
)
