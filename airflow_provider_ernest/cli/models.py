"""``ernest fit`` and ``predict``: a model from a file of runs, and the times that it predicts.

A file of runs is CSV of machines, fraction and seconds, as ``ernest design`` and ``history`` write it.
"""

from __future__ import annotations

import csv
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.cli.store import add_keep_argument, open_store
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError
from airflow_provider_ernest.settings import ModelSettings, SizingGoal, SparkJob
from airflow_provider_ernest.settings.bounds import AVERAGING, METHODS
from airflow_provider_ernest.words import as_percent, duration, input_share, tenths, unit

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.models import Model
    from airflow_provider_ernest.documents.runs import Observation
    from airflow_provider_ernest.views.prediction import CurvePoint

USUAL = ("executors", "fraction", "seconds")
"""What the columns are without a heading."""

READ: Mapping[str, type] = {
    **dict.fromkeys(("executors", "iterations"), int),
    **dict.fromkeys(("scale", "row_width", "seconds", "startup_seconds", "replay_error"), float),
    **dict.fromkeys(("instance_type", "application_id", "event_log"), str),
}
"""The columns that are fields of an observation."""

SELECTING = ("job", "left_out")
"""The job of a run in a file of several, and why a run does not count."""

ALIASES = {
    **{"cores": "executors", "fraction": "scale", "time": "seconds"},
    # As files of earlier versions have them.
    **{"machines": "executors", "mean_machines": "mean_executors", "cores_per_machine": "executor_cores"},
    "memory_megabytes_per_machine": "executor_memory_megabytes",
}

COLUMNS = (
    *(*READ, *ALIASES, *SELECTING),
    *("mean_executors", "executor_cores", "executor_memory_megabytes", "input_bytes", "input_records"),
    *("started_at", "spark", "main"),
)
"""All that are understood; the last ones are what ``ernest history`` says of runs besides."""

LARGEST_FRACTION = 10.0
"""Of the input that a fraction may say: from there on it is a percentage."""

_NAMED_JOBS = 20

EXPLANATION = (
    "Each line holds executors,fraction,seconds, such as 8,0.05,12.3; a first line may name the columns, and "
    "lines that begin with # are comments."
)

PERCENTAGE = (
    "If it is a percentage, write 0.1 for 10 %. If a run really read more than the input of today, name the "
    "column scale in a first line."
)


@dataclass(frozen=True, kw_only=True)
class RunsFile:
    """What a file of runs says.

    Attributes:
        runs: that were made, and count.
        job: of which they are; None where the file does not name it.
        has_one_shape: whether the inputs differ in their amount only, or in what is stated of their rows.
    """

    runs: list[Observation]
    job: str | None = None
    has_one_shape: bool = False


def read_runs(name: str, job: str | None = None) -> RunsFile:
    """The runs in a CSV file or of a model; of the job where the file has those of several."""
    text = command.read_text(name)
    model = _model_in(text, name)
    return RunsFile(runs=[*model.observations], job=model.job) if model else runs_of(text, name, job)


def runs_of(text: str, name: str, job: str | None = None) -> RunsFile:
    """The runs in a CSV file; those without seconds have not been made, and are left out with a warning.

    Raises:
        InvalidDocumentError: it holds something else, and says in which line; or runs of several jobs, and
            not of the one asked for.
    """
    titles, rows = _table_of(text, name)
    rows, of_job = _of_job(rows, name, job)
    counting = [(place, row) for place, row in rows if "left_out" not in row]
    if len(counting) < len(rows):
        left_out = (
            f"{len(rows) - len(counting)} of the {len(rows)} runs in {command.described(name)} do not count"
        )
        command.warn(f"{left_out}, and are left out; the column left_out says why.")
    is_fraction, is_history = "scale" not in titles, "left_out" in titles
    runs = [
        _run(index, row, place, is_fraction=is_fraction, is_history=is_history)
        for index, (place, row) in enumerate(counting)
    ]
    made = [run for run in runs if run is not None]
    largest = max((run.scale for run in made), default=0.0)
    if is_fraction and largest > 1:
        of_input = f"a fraction of {largest:g} is {as_percent(largest)} of the input"
        command.warn(f"{command.described(name)}: {of_input}. {PERCENTAGE}")
    if missing := len(runs) - len(made):
        of_all = f"{missing} of the {len(runs)} runs in {command.described(name)}"
        command.warn(f"{of_all} have no seconds yet, and are left out.")
    has_one_shape = is_fraction or ("row_width" in titles and not is_history)
    return RunsFile(runs=made, job=of_job, has_one_shape=has_one_shape)


def _table_of(text: str, name: str) -> tuple[Sequence[str], list[tuple[str, dict[str, str]]]]:
    """The titles of the columns, and for each line its place and its values that are not empty, by field."""
    reader = csv.reader(text.splitlines())
    titles: Sequence[str] = ()
    rows = []
    try:
        for line in reader:
            cells = [cell.strip() for cell in line]
            place = f"{command.described(name)}, line {reader.line_num}"
            if not any(cells):
                continue
            if not titles:
                titles = _heading(cells, place)
                if titles:
                    continue
                titles = USUAL
            if cells[0].startswith("#"):
                continue
            if any(cells[len(titles) :]):
                raise InvalidDocumentError(
                    f"{place}: there are {len(cells)} values for {len(titles)} columns.", remedy=EXPLANATION
                )
            named = zip((ALIASES.get(title, title) for title in titles), cells, strict=False)
            # An empty job is another one; a line that ends before the job says nothing of it.
            rows.append((place, {field: cell for field, cell in named if cell or field == "job"}))
    except csv.Error as error:
        where = f"{command.described(name)}, line {reader.line_num}"
        raise InvalidDocumentError(f"{where}: {error}.", remedy=EXPLANATION) from error
    return titles, rows


def _heading(cells: Sequence[str], place: str) -> list[str]:
    """The titles in the first line; none where it holds numbers or a comment."""
    titles = [cell.lstrip("# ").lower() for cell in cells]
    unknown = [title for title in titles if title not in COLUMNS]
    if unknown:
        if cells[0].startswith("#") or any(map(_is_number, cells)):
            return []
        raise InvalidDocumentError(
            f"{place}: {unknown[0]!r} is neither a number nor the name of a column ({', '.join(COLUMNS)}).",
            remedy=EXPLANATION,
        )
    fields = [ALIASES.get(title, title) for title in titles]
    if len(set(fields)) < len(fields) or not {"executors", "scale"} <= set(fields):
        raise InvalidDocumentError(
            f"{place}: the heading must name executors and fraction, each once.", remedy=EXPLANATION
        )
    return titles


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _of_job(
    rows: list[tuple[str, dict[str, str]]], name: str, job: str | None
) -> tuple[list[tuple[str, dict[str, str]]], str | None]:
    """The rows of one job, where the file names several, and the job."""
    jobs = dict.fromkeys(row["job"] for _, row in rows if "job" in row)
    if len(jobs) < 2:
        # Whoever asks for another one gives it that name.
        return rows, next(iter(jobs), None) or None
    if job not in jobs:
        which = f"none of {job!r}" if job is not None else f"of {len(jobs)} jobs"
        named = ", ".join(list(jobs)[:_NAMED_JOBS])
        raise InvalidDocumentError(
            f"{command.described(name)} holds runs {which}.",
            remedy=f"Name one by --job: {named}{' ...' if len(jobs) > _NAMED_JOBS else ''}. "
            "A command without that option takes the model that `ernest fit --job` writes.",
        )
    return [(place, row) for place, row in rows if row.get("job", "") == job], job


def _run(
    index: int, row: Mapping[str, str], place: str, *, is_fraction: bool, is_history: bool
) -> Observation | None:
    """The run of a line; None where it has no seconds."""
    from airflow_provider_ernest.documents.runs import Observation

    if not {"executors", "scale"} <= row.keys():
        raise InvalidDocumentError(f"{place}: executors or fraction is missing.", remedy=EXPLANATION)
    fields = {field: _value(field, cell, place) for field, cell in row.items() if field in READ}
    if "seconds" not in fields:
        return None
    try:
        run = Observation(index=index, from_history=is_history, **fields)
    except ErnestError as error:
        raise InvalidDocumentError(f"{place}: {error.message}", remedy=error.remedy) from error
    if is_fraction and run.scale >= LARGEST_FRACTION:
        raise InvalidDocumentError(
            f"{place}: the fraction {run.scale:g} would be {as_percent(run.scale)} of the input.",
            remedy=PERCENTAGE,
        )
    return run


def _value(field: str, cell: str, place: str) -> Any:
    if READ[field] is str:
        return cell
    try:
        number = float(cell)
        value = READ[field](number)
    except (ValueError, OverflowError):
        raise InvalidDocumentError(
            f"{place}: {field} {cell!r} is not a number.", remedy=EXPLANATION
        ) from None
    if READ[field] is int and value != number:
        raise InvalidDocumentError(
            f"{place}: {field} {cell} is not a whole number.",
            remedy="Executors come first, then the fraction of the input.",
        )
    return value


MODEL_HELP = "a model that fit has written (JSON), or a file of runs (CSV), which is fitted at once"


def _model_in(text: str, name: str) -> Model | None:
    """The model in a file; None where it is not meant to be JSON, as a CSV file."""
    from airflow_provider_ernest.documents.models import Model
    from airflow_provider_ernest.store.files import decode_json

    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return Model.from_dict(decode_json(text))
    except ErnestError as error:
        raise InvalidDocumentError(
            f"{command.described(name)}: {error.message}", remedy=error.remedy
        ) from error


def read_model(name: str) -> Model:
    """The model in a file, or one fitted by default to the runs in it; prints its warnings."""
    text = command.read_text(name)
    model = _model_in(text, name)
    if model is None:
        model = _fitted(runs_of(text, name), name)
    elif not (model.observations and model.terms and model.validation.folds):
        raise InvalidDocumentError(
            f"{command.described(name)} is a model without observations, terms or validation.",
            remedy="Fit it anew from its runs.",
        )
    command.warn(*model.warnings)
    return model


def _fitted(
    file: RunsFile,
    name: str,
    *,
    job: str | None = None,
    instance_type: str | None = None,
    method: str = AVERAGING,
    terms: Sequence[str] | None = None,
) -> Model:
    from airflow_provider_ernest.documents.models import AveragingPrior
    from airflow_provider_ernest.prediction.prior import with_past_runs
    from airflow_provider_ernest.prediction.training import train

    prior = None
    if file.has_one_shape and method == AVERAGING:
        prior = replace(with_past_runs(AveragingPrior(), file.runs), other_shape=0.0)
    stem = Path(name).stem
    return train(
        file.runs,
        job=job or file.job or (stem if name != command.STANDARD and stem.isprintable() else "job"),
        instance_type=instance_type or next((run.instance_type for run in file.runs), "local"),
        method=method,
        terms=terms,
        prior=prior,
    )


def add_run_arguments(parser: ArgumentParser) -> None:
    """The options that say which production run is asked about."""
    command.add_setting(parser, SizingGoal, "scale")
    command.add_setting(
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


def _add_fit_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        metavar="RUNS",
        help="file of runs: CSV of executors,fraction,seconds, or a model to fit anew; - is standard input",
    )
    group = parser.add_argument_group("fitting")
    command.add_setting(group, ModelSettings, "method", choices=METHODS)
    command.add_setting(group, ModelSettings, "terms", nargs="+", metavar="TERM")
    group.add_argument(
        "--job",
        metavar="NAME",
        type=name_of_job,
        help="name of the job, of which a file of several has runs; default: that of the file",
    )
    group.add_argument(
        "--instance-type", metavar="TYPE", help="the machines' type; default: that of the runs, or local"
    )
    command.add_setting(parser, SizingGoal, "max_error_percent")
    outputs = command.add_result_arguments(parser, result="the model, also one that is inadequate")
    add_keep_argument(outputs, "the model")


def _run_fit(args: Namespace) -> None:
    from airflow_provider_ernest.prediction.training import check_adequacy
    from airflow_provider_ernest.views.tables import model_table

    store = None if args.store is None else open_store(args, must_exist=False)
    stated = {name: getattr(args, name) for name in ("job", "instance_type", "method", "terms")}
    model = _fitted(read_runs(args.runs, args.job), args.runs, **stated)
    command.tell(args, lambda: model_table(model), model.to_dict)
    if store is not None:
        command.say(["", f"written: {store.save(model)}"], args)
    command.warn(*model.warnings)
    check_adequacy(model, max_error_percent=args.max_error_percent)


FIT = command.Command(
    name="fit",
    summary="fit a model to measured runs",
    description="Fit a model to measured runs, cross-validate it, and print its terms and errors.",
    example="""\
  %(prog)s runs.csv --job grep --output model.json
  %(prog)s runs.csv --method classic
  %(prog)s runs.csv --terms 1 scale/executors 'log(executors)'""",
    add_arguments=_add_fit_arguments,
    run=_run_fit,
)


WORTH_TELLING = 0.005
"""Terms below this share of the run time are hidden."""


def _add_predict_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=f"{MODEL_HELP}; - is standard input")
    command.add_executors_argument(parser, required=True)
    add_run_arguments(parser)
    command.add_result_arguments(parser, result="the predictions")


def _run_predict(args: Namespace) -> None:
    from airflow_provider_ernest.views.prediction import prediction_alone
    from airflow_provider_ernest.views.view import json_ready

    model = read_model(args.model)
    curve = prediction_alone(
        model, executors=args.executors, scale=args.scale, iterations=args.iterations
    ).curve
    document = {
        "model_id": model.id,
        "scale": args.scale,
        "startup_seconds": model.startup_seconds,
        "predictions": curve,
    }
    command.tell(args, lambda: _table(curve, model, args.scale), lambda: json_ready(document))


def _table(curve: Sequence[CurvePoint], model: Model, scale: float) -> list[str]:
    units = f"{unit(model.executors_per_machine)}s"
    lines = [f"{units}    seconds   80 % of runs take, s   where the time goes"]
    for each in curve:
        shares = {name: seconds / sum(each.parts.values()) for name, seconds in each.parts.items()}
        largest = sorted(shares.items(), key=lambda part: -part[1])
        told = ", ".join(f"{name} {as_percent(share)}" for name, share in largest if share > WORTH_TELLING)
        remark = f"  [{each.extrapolates}]" if each.extrapolates else ""
        likely = " to ".join(map(tenths, each.likely_seconds))
        lines.append(
            f"{each.executors:{len(units)}d} {tenths(each.seconds):>10s}   {likely:>20s}   {told}{remark}"
        )
    startup = duration(model.startup_seconds)
    return [
        *lines,
        f"{input_share(scale)} of the input, from submission to end, with a start-up of {startup}",
    ]


PREDICT = command.Command(
    name="predict",
    summary="predict the seconds of a run, with an interval and where the time goes",
    description="Predict the seconds of a run on numbers of executors, with an interval, the share of each "
    "term, and what the observed runs do not support.",
    example="""\
  %(prog)s model.json --executors 1-64
  %(prog)s runs.csv --executors 8,16,32 --scale 1.5 --format json""",
    add_arguments=_add_predict_arguments,
    run=_run_predict,
)
