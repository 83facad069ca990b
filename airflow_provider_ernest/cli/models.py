"""``ernest fit``, and ``predict``: a model from runs, and the times that it predicts."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import (
    JSON,
    MACHINES_HELP,
    STANDARD,
    TABLE,
    Command,
    above_zero,
    add_result_arguments,
    add_setting,
    as_csv,
    as_json,
    described,
    machine_numbers,
    read_text,
    say,
    tell,
    warn,
)
from airflow_provider_ernest.cli.runs_file import RunsFile, parsed_json, runs_file_of
from airflow_provider_ernest.cli.store import add_keep_argument, open_store
from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
)
from airflow_provider_ernest.settings import ModelSettings, SizingGoal, SparkJob
from airflow_provider_ernest.settings.bounds import AVERAGING, METHODS
from airflow_provider_ernest.words import as_percent, confidence, duration, input_share, tenths

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.models import AveragingPrior, Model
    from airflow_provider_ernest.documents.runs import Observation


MODEL_HELP = "a model that fit has written (JSON), or a file of runs (CSV or JSON), which is fitted at once"


def read_model(name: str) -> Model:
    """The model in a file, or one fitted by default to the runs in it; prints its warnings."""
    from airflow_provider_ernest.documents.models import Model
    from airflow_provider_ernest.prediction.training import train

    text = read_text(name)
    content = parsed_json(text, name)
    if isinstance(content, dict):
        try:
            model = Model.from_dict(content)
        except ErnestError as error:
            raise InvalidDocumentError(f"{described(name)}: {error.message}", remedy=error.remedy) from error
        if not (model.observations and model.terms and model.validation.folds):
            raise InvalidDocumentError(
                f"{described(name)} is a model without observations, terms or validation.",
                remedy="Fit it anew from its runs.",
            )
    else:
        file = runs_file_of(text, name)
        model = train(
            file.runs,
            job=file.job or _job(name),
            instance_type=_instance_type(file.runs),
            prior=_of_one_shape(file) if file.are_samples else None,
        )
    warn(model.warnings)
    return model


def _job(name: str) -> str:
    stem = Path(name).stem
    return stem if name != STANDARD and stem.isprintable() else "job"


def _of_one_shape(file: RunsFile, prior: AveragingPrior | None = None) -> AveragingPrior:
    """The prior of a job whose inputs differ in their amount only, or in what is stated of rows."""
    from airflow_provider_ernest.documents.models import AveragingPrior
    from airflow_provider_ernest.prediction.prior import with_past_runs

    return replace(prior or with_past_runs(AveragingPrior(), file.runs), other_shape=0.0)


def _instance_type(runs: list[Observation]) -> str:
    return next((run.instance_type for run in runs), "local")


def add_run_arguments(parser: ArgumentParser) -> None:
    """The options that say which production run is asked about."""
    add_setting(parser, SizingGoal, "scale")
    add_setting(
        parser,
        SparkJob,
        "iterations",
        help="iterations of the run, for iterative jobs; default: those that the sample runs had",
    )


def name_of_job(text: str) -> str:
    """A name that a document can hold: not empty, nor bytes of the shell that are no text."""
    if not text or not text.isprintable():
        raise ArgumentTypeError(f"{text!r} is not a printable name")
    return text


def _amount(text: str) -> tuple[str, float]:
    """A column's name and what the whole input has of it."""
    column, _, amount = text.partition("=")
    try:
        return name_of_job(column).lower(), above_zero(amount)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"{text!r} is not COLUMN=AMOUNT with an amount above 0") from None


def _add_fit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        metavar="RUNS",
        help="file of runs: CSV of machines,fraction,seconds, a JSON list of observations, or a model to fit "
        "anew; - is standard input",
    )
    group = parser.add_argument_group("fitting")
    add_setting(group, ModelSettings, "method", choices=METHODS)
    add_setting(group, ModelSettings, "terms", nargs="+", metavar="TERM")
    group.add_argument(
        "--job",
        metavar="NAME",
        type=name_of_job,
        help="name of the job, of which a file of several has runs; default: that of the file",
    )
    group.add_argument(
        "--instance-type", metavar="TYPE", help="the machines' type; default: that of the runs, or local"
    )
    group.add_argument(
        "--known-driver-share",
        type=float,
        metavar="SHARE",
        help="for averaging: the probability that one of the machines counted runs only the driver: 0 where "
        "the numbers are of executors, 1 where they include the driver's machine; default: inferred",
    )
    group.add_argument(
        "--input",
        nargs="+",
        type=_amount,
        metavar="COLUMN=AMOUNT",
        help="what the whole input consists of, where inputs differed in more than their size: columns of "
        "RUNS, first the rows, then what a row holds, such as rows=2e8 features=15; replaces the fraction",
    )
    add_setting(parser, SizingGoal, "max_error_percent")
    outputs = add_result_arguments(
        parser, formats=(TABLE, JSON), result="the model, also one that is inadequate"
    )
    add_keep_argument(outputs, "the model")


def _run_fit(args: Namespace) -> None:
    from airflow_provider_ernest.prediction.training import check_adequacy
    from airflow_provider_ernest.views.tables import model_table

    store = None if args.store is None else open_store(args, must_exist=False)
    model = _fitted(args)
    if store is not None:
        model = store.newest_of_its_job(model)
    tell(args, lambda: model_table(model), json=lambda: as_json(model.to_dict()))
    if store is not None:
        say(["", f"written: {store.save(model)}"], args)
    warn(model.warnings)
    check_adequacy(model, max_error_percent=args.max_error_percent)


def _fitted(args: Namespace) -> Model:
    from airflow_provider_ernest.documents.models import AveragingPrior
    from airflow_provider_ernest.prediction.training import train

    prior = None
    if args.known_driver_share is not None:
        if args.method != AVERAGING:
            raise InvalidParameterError(
                "known_driver_share",
                args.known_driver_share,
                f"means nothing to --method {args.method}",
                remedy=f"Leave it out, or use --method {AVERAGING}.",
            )
        prior = AveragingPrior(driver_share=args.known_driver_share)
    whole = dict(args.input or ())
    file = runs_file_of(read_text(args.runs), args.runs, args.job, whole=whole)
    # What is told of rows is told, also where all runs read the same ones.
    if (file.are_samples or len(whole) > 1) and args.method == AVERAGING:
        prior = _of_one_shape(file, prior)
    return train(
        file.runs,
        job=args.job or file.job or _job(args.runs),
        instance_type=args.instance_type or _instance_type(file.runs),
        method=args.method,
        terms=args.terms,
        prior=prior,
    )


FIT = Command(
    name="fit",
    summary="fit a model to measured runs",
    description="Fit a model to measured runs, cross-validate it, and print its terms and errors.",
    example="""\
  %(prog)s runs.csv --job grep --output model.json
  %(prog)s runs.csv --method classic
  %(prog)s runs.csv --input rows=2e8 features=15 --output model.json
  %(prog)s runs.json --known-driver-share 1 --terms 1 scale/machines 'log(machines)'""",
    add_arguments=_add_fit_arguments,
    run=_run_fit,
)


WORTH_TELLING = 0.005
"""Terms below this share of the run time are hidden."""


def _add_predict_arguments(parser: ArgumentParser) -> None:
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
    add_result_arguments(parser, result="the predictions")


def _run_predict(args: Namespace) -> None:
    model = read_model(args.model)
    rows = _predictions(model, args)
    document = {
        "model_id": model.id,
        "level": args.level,
        "startup_seconds": model.startup_seconds,
        "predictions": rows,
    }
    terms = list(rows[0]["term_seconds"])
    plain = [name for name in rows[0] if name not in ("term_seconds", "extrapolates")]
    tell(
        args,
        lambda: _table(rows, level=args.level, startup_seconds=model.startup_seconds),
        json=lambda: as_json(document),
        csv=lambda: as_csv(
            [*plain, *(f"{term} seconds" for term in terms), "extrapolates"],
            (
                [row[name] for name in plain] + [*row["term_seconds"].values(), row["extrapolates"]]
                for row in rows
            ),
        ),
    )


def _predictions(model: Model, args: Namespace) -> list[dict[str, Any]]:
    """For each number of machines the seconds, their interval and parts, without start-up."""
    import numpy as np

    from airflow_provider_ernest.prediction.predict import ModelForecast, extrapolation, require_time

    machines, scale = args.machines, args.scale
    forecast = ModelForecast(model, machines=machines, scale=scale, iterations=args.iterations)
    with np.errstate(over="ignore", invalid="ignore"):  # what no number holds is refused
        seconds, (low, high) = forecast.seconds, forecast.interval(args.level)
    for times in (seconds, low, high):
        require_time(times, machines, scale=scale, instance_type=model.instance_type)
    return [
        {
            "machines": count,
            "scale": scale,
            "seconds": float(seconds[position]),
            "low_seconds": float(low[position]),
            "high_seconds": float(high[position]),
            "term_seconds": terms,
            "extrapolates": extrapolation(model, machines=count, scale=scale),
        }
        for position, (count, terms) in enumerate(zip(machines, forecast.contributions(), strict=True))
    ]


def _table(predictions: list[dict[str, Any]], *, level: float, startup_seconds: float) -> list[str]:
    lines = [f"machines    seconds   {f'{confidence(level)} interval':>20s}   where the time goes"]
    for row in predictions:
        interval = f"{tenths(row['low_seconds'])} to {tenths(row['high_seconds'])}"
        remark = f"  [{row['extrapolates']}]" if row["extrapolates"] else ""
        parts = row["term_seconds"]
        shares = {
            name: parts[name] / sum(parts.values()) for name in sorted(parts, key=lambda name: -parts[name])
        }
        told = ", ".join(
            f"{name} {as_percent(each)}" for name, each in shares.items() if each > WORTH_TELLING
        )
        lines.append(f"{row['machines']:8d} {tenths(row['seconds']):>10s}   {interval:>20s}   {told}{remark}")
    scale = predictions[0]["scale"]
    lines.append(f"{input_share(scale)} of the input; a start-up of {duration(startup_seconds)} comes on top")
    return lines


PREDICT = Command(
    name="predict",
    summary="predict the seconds of a run, with an interval and where the time goes",
    description="Predict the seconds of a run on numbers of machines, with an interval, the share of each "
    "term, and what the observed runs do not support.",
    example="""\
  %(prog)s model.json --machines 1-64
  %(prog)s runs.csv --machines 8,16,32 --scale 1.5 --level 0.95 --format csv""",
    add_arguments=_add_predict_arguments,
    run=_run_predict,
)
