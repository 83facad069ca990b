"""Models from files, and models fitted at once to files of runs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.files import STANDARD, described, read_text
from airflow_provider_ernest.cli.output import warn
from airflow_provider_ernest.cli.runs_file import parsed_json, read_runs, runs_of
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError, InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.documents import Observation
    from airflow_provider_ernest.model.results import Model

MODEL_HELP = "a model that fit has written (JSON), or a file of runs (CSV or JSON), which is fitted at once"


def read_model(name: str) -> Model:
    """The model in a file, or one fitted by default to the runs in it; its warnings go to standard error.

    Raises:
        MissingResourceError: the file cannot be read.
        InvalidDocumentError: it holds neither a model nor runs.
        FitError: the runs do not determine a model.
    """
    from airflow_provider_ernest.model.results import Model
    from airflow_provider_ernest.model.storage.digests import DIGEST, without_digest
    from airflow_provider_ernest.model.training import train

    text = read_text(name)
    content = parsed_json(text, name)
    if isinstance(content, dict):
        try:
            # A file of a model store bears one.
            model = Model.from_dict(without_digest(content) if DIGEST in content else content)
        except ErnestError as error:
            raise InvalidDocumentError(f"{described(name)}: {error.message}", remedy=error.remedy) from error
        if not (model.observations and model.terms and model.validation.folds):
            raise InvalidDocumentError(
                f"{described(name)} is a model without observations, terms or validation.",
                remedy="Fit it anew from its runs.",
            )
    else:
        runs = runs_of(text, name)
        model = train(runs, job=_job(name), instance_type=_instance_type(runs, None))
    warn(model.warnings)
    return model


def fit_model(args: Namespace) -> Model:
    """The model that the options of fitting ask for; see `options.add_fit_arguments`.

    Raises:
        MissingResourceError: the file of runs cannot be read.
        InvalidDocumentError: it holds something else.
        FitError: the runs do not determine a model.
        InvalidParameterError: an option cannot be.
    """
    from airflow_provider_ernest.model.averaging.prior import AveragingPrior
    from airflow_provider_ernest.model.predictors import AVERAGING
    from airflow_provider_ernest.model.training import train

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
    runs = read_runs(args.runs)
    return train(
        runs,
        job=args.job or _job(args.runs),
        instance_type=_instance_type(runs, args.instance_type),
        method=args.method,
        terms=args.terms,
        prior=prior,
    )


def _job(name: str) -> str:
    """A job's name from that of its file."""
    stem = Path(name).stem
    return stem if name != STANDARD and stem.isprintable() else "job"


def _instance_type(runs: list[Observation], given: str | None) -> str:
    return given or next((run.instance_type for run in runs), "local")
