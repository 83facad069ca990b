"""``ernest store``: what is kept of jobs, and what becomes of it."""

from __future__ import annotations

import configparser
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.words import age, count, counted, percentage

if TYPE_CHECKING:
    from airflow_provider_ernest.store.store import ModelStore
    from airflow_provider_ernest.views.models import ModelRow

SECTION = "ernest"

NAMES_A_CONTAINER = ("abfs", "wasb", "adl")
"""Schemes in which what stands before the @ is part of the place."""

DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}


def add_store_argument(parser: ArgumentParser) -> None:
    """Add --store."""
    parser.add_argument(
        "--store",
        metavar="ROOT",
        help="root of the store: a folder, or a URL such as s3://bucket/ernest; default: the one that "
        "Airflow is configured with",
    )


def add_keep_argument(group: Any, what: str) -> None:
    """Add --store to a command that keeps its result there if it is given."""
    group.add_argument(
        "--store",
        metavar="ROOT",
        nargs="?",
        const="",
        help=f"keep {what} in a model store, whose pages in Airflow show it; without ROOT in the one that "
        "Airflow is configured with",
    )


def age_in_days(text: str) -> float:
    """Days from ``90d``, ``12h``, ``4w`` or a number of days; else an `ArgumentTypeError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw]?)", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no age such as 90d, 12h or 4w")
    return float(found[1]) * DAYS[found[2] or "d"]


def configured(option: str) -> str:
    """The value of an option of ``[ernest]`` in Airflow's environment, else in its file; empty for none."""
    given = os.environ.get(f"AIRFLOW__{SECTION.upper()}__{option.upper()}")
    return os.path.expandvars(_in_file(option) if given is None else given)


def airflow_home() -> Path:
    """Airflow's folder."""
    return Path(os.path.expandvars(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser()


def _in_file(option: str) -> str:
    config = os.environ.get("AIRFLOW_CONFIG") or str(airflow_home() / "airflow.cfg")
    path = Path(os.path.expandvars(config)).expanduser()
    parser = configparser.ConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
        return parser.get(SECTION, option, fallback="").strip()
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        command.warn(f"{path} cannot be read: {error}")
        return ""


def open_store(args: Namespace, *, must_exist: bool = True) -> ModelStore:
    """The store of --store, else of Airflow's configuration, else of its folder.

    Raises:
        StoreError: no storage is known by this address, or the package for it is missing.
        MissingResourceError: it has to be there already, and there is no such folder.
    """
    from airflow_provider_ernest.store.files import store_errors
    from airflow_provider_ernest.store.store import ModelStore

    address = args.store or configured("store") or str(airflow_home() / SECTION / "store")
    with store_errors(f"The model store {address!r} cannot be opened"):
        root = _root(address)
        if must_exist and not root.exists():
            raise MissingResourceError(
                f"There is no model store at {root}.",
                remedy="Name its root with --store, or set AIRFLOW__ERNEST__STORE.",
            )
    return ModelStore(root)


def _root(address: str) -> Any:
    if "://" not in address:
        return Path(address).expanduser().absolute()
    from fsspec import get_filesystem_class
    from upath import UPath

    scheme, _, place = address.partition("://")
    # For a scheme that it does not know, UPath is a local path.
    get_filesystem_class(scheme)
    connection, at, _ = place.partition("/")[0].rpartition("@")
    if at and not scheme.lower().startswith(NAMES_A_CONTAINER):
        address = f"{scheme}://{place.removeprefix(f'{connection}@')}"
        command.warn(
            f"connections are Airflow's: {address} is opened with the credentials that the storage's "
            "library finds by itself"
        )
    return UPath(address)


def _table(rows: Sequence[ModelRow]) -> list[str]:
    numbers = ("age", "error", "models", "production runs")
    cells = (
        (
            row.job,
            row.instance_type,
            row.badges[0].words,
            row.model_id,
            age(row.age_seconds),
            percentage(row.median_error_percent),
            *map(count, (row.versions, row.production_runs)),
        )
        for row in rows
    )
    heading = ("job", "type", "state", "newest model", *numbers)
    return command.aligned(heading, cells, right=", ".join(numbers))


def _add_list_arguments(parser: ArgumentParser) -> None:
    add_store_argument(parser)
    parser.add_argument("--job", metavar="NAME", help="only of this job")
    command.add_result_arguments(parser, result="the list")


def _run_list(args: Namespace) -> None:
    from airflow_provider_ernest.views.models import list_models
    from airflow_provider_ernest.views.view import json_ready

    store = open_store(args)
    entries, surveys = store.catalogue.entries(args.job), store.survey_ids()
    listed = list_models(
        entries,
        readable=lambda dag_id: True,
        sort="job",
        descending=False,
        limit=len(entries),
        now=datetime.now(UTC),
    )
    unreadable = sorted(str(place.path(store.root)) for place in store.catalogue.unreadable)

    def lines() -> Iterator[str]:
        if listed.rows:
            yield from _table(listed.rows)
        else:
            yield "There is no model."
        if surveys and not args.job:
            yield f"{counted(len(surveys), 'survey')} of event logs, the newest {surveys[0]}"
        if unreadable:
            yield f"{counted(len(unreadable), 'file')} skipped: not readable by this version, or damaged"

    document = {"store": str(store.root), "rows": listed.rows, "surveys": surveys, "unreadable": unreadable}
    command.tell(args, lines, lambda: json_ready(document))


LIST = command.Command(
    name="list",
    summary="list jobs with their newest model, its state and what is kept beside it",
    description="List what a store holds: for each job and type of machine the newest model, whether it "
    "can still be used and if not why, its age, its median leave-one-out error, and how many models and "
    "production runs there are. JSON has the rows of the models' page.",
    example="""\
  %(prog)s
  %(prog)s --job nightly-sums --format json""",
    add_arguments=_add_list_arguments,
    run=_run_list,
)


def _add_prune_arguments(parser: ArgumentParser) -> None:
    add_store_argument(parser)
    parser.add_argument(
        "--older-than",
        metavar="AGE",
        type=age_in_days,
        required=True,
        help="such as 90d, 12h or 4w: what is younger stays, at 0 nothing but what must",
    )
    parser.add_argument(
        "--keep-models",
        metavar="N",
        type=command.at_least_one,
        default=5,
        help="so many newest models of each job and type of machine stay however old they are, and so many "
        "newest documents of each other kind; default: 5",
    )
    parser.add_argument("--dry-run", action="store_true", help="remove nothing, only list what would go")
    parser.add_argument("--yes", action="store_true", help="remove what --dry-run lists")
    command.add_result_arguments(parser, result="what was removed")


def _run_prune(args: Namespace) -> None:
    from airflow_provider_ernest.processes import sweep
    from airflow_provider_ernest.store.pruning import Prune

    if not (args.dry_run or args.yes):
        raise InvalidParameterError(
            "yes", False, "is needed to remove anything", remedy="See with --dry-run what goes, then add it."
        )
    store = open_store(args)
    prune = Prune(
        store=store,
        now=datetime.now(UTC),
        older_than_days=args.older_than,
        keep_models=args.keep_models,
    )
    try:
        if not args.dry_run:
            # Samples of runs that were killed on this host; they lie as `SampleRunOperator` puts them.
            sweep(Path(configured("staging") or airflow_home() / "ernest" / "staging"), pattern="*/*/*/*")
            prune.carry_out()
    finally:
        command.tell(args, prune.lines, prune.summary)


PRUNE = command.Command(
    name="prune",
    summary="remove old documents, but nothing that one that stays needs",
    description="Remove documents that are older than a given age. The newest of each kind stay for each job "
    "and type of machine, and all that a document that stays refers to. Samples of the input whose runs were "
    "killed on this host go, too. It may be interrupted and repeated, and tasks may write meanwhile.",
    example="""\
  %(prog)s --older-than 90d --dry-run
  %(prog)s --older-than 90d --keep-models 3 --yes""",
    add_arguments=_add_prune_arguments,
    run=_run_prune,
)


COMMAND = command.Command(
    name="store",
    summary="list and prune what is kept of jobs",
    description="Look into a store of models, decisions, production runs, sample runs, marks and what binds "
    "the jobs, and remove what is old. Without --store it is the one that Airflow's configuration "
    "names, by AIRFLOW__ERNEST__STORE or by [ernest] store in airflow.cfg, or else "
    "AIRFLOW_HOME/ernest/store. It needs no Airflow.",
    example="""\
  %(prog)s list
  %(prog)s prune --older-than 90d --dry-run""",
    add_arguments=lambda parser: command.add_commands(parser, (LIST, PRUNE), metavar="ACTION"),
    run=lambda args: args.action.run(args),
)
