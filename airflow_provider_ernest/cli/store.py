"""``ernest store``: what is kept of jobs, and what becomes of it."""

from __future__ import annotations

import configparser
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_ernest.cli.command import (
    JSON,
    TABLE,
    Command,
    Progress,
    add_commands,
    add_result_arguments,
    as_json,
    at_least_one,
    rows_as_csv,
    tell,
    warn,
)
from airflow_provider_ernest.exceptions import (
    InvalidParameterError,
    MissingResourceError,
    StoreError,
)
from airflow_provider_ernest.words import counted

if TYPE_CHECKING:
    from airflow_provider_ernest.cli.store_list import Group
    from airflow_provider_ernest.documents.base import Record
    from airflow_provider_ernest.store.pruning import Prune
    from airflow_provider_ernest.store.store import ModelStore

SECTION = "ernest"

CONNECTION = re.compile(r"^(?P<scheme>[a-z0-9+.-]+://)(?P<connection>[^/@]*)@", re.IGNORECASE)
NAMES_A_CONTAINER = ("abfs", "wasb", "adl")
"""Schemes in which what stands before the @ is part of the place."""

MOST_EXPANSIONS = 10
"""Of one value: a variable that names itself has no end."""

DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}


def add_store_argument(parser: ArgumentParser) -> None:
    """The option --store."""
    parser.add_argument(
        "--store",
        metavar="ROOT",
        help="root of the store: a folder, or a URL such as s3://bucket/ernest; default: the one that "
        "Airflow is configured with",
    )


def add_keep_argument(group: Any, what: str) -> None:
    """The option --store of a command that keeps its result where it is given."""
    group.add_argument(
        "--store",
        metavar="ROOT",
        nargs="?",
        const="",
        help=f"keep {what} in a model store, whose pages in Airflow show it; without ROOT in the one that "
        "Airflow is configured with",
    )


def age_in_days(text: str) -> float:
    """Days from ``90d``, ``12h``, ``4w`` or a number of days.

    Raises:
        ArgumentTypeError: the text is none of these.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw]?)", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no age such as 90d, 12h or 4w")
    return float(found[1]) * DAYS[found[2] or "d"]


def configured(option: str) -> str:
    """What Airflow is configured with for an option of ``[ernest]``: its environment, then its file.

    Variables of the environment in it are replaced, as Airflow does.
    """
    given = os.environ.get(f"AIRFLOW__{SECTION.upper()}__{option.upper()}")
    return _expanded(_in_file(option) if given is None else given)


def airflow_home() -> Path:
    """Where Airflow keeps its things."""
    return Path(_expanded(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser()


def _expanded(text: str) -> str:
    """The text as Airflow reads it: a variable's value may name others."""
    for _ in range(MOST_EXPANSIONS):
        expanded = os.path.expandvars(text)
        if expanded == text:
            break
        text = expanded
    return text


def open_store(args: Namespace, *, must_exist: bool = True) -> ModelStore:
    """The store that is meant; see `_root`.

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

    # For a scheme that it does not know, UPath is a local path.
    get_filesystem_class(address.partition("://")[0])
    connection = CONNECTION.match(address)
    if connection and not connection["scheme"].lower().startswith(NAMES_A_CONTAINER):
        address = CONNECTION.sub(r"\g<scheme>", address)
        warn(
            [
                f"connections are Airflow's: {address} is opened with the credentials that the storage's "
                "library finds by itself"
            ]
        )
    return UPath(address)


def _in_file(option: str) -> str:
    """The option in airflow.cfg; empty where there is none."""
    path = Path(
        _expanded(os.environ.get("AIRFLOW_CONFIG") or str(airflow_home() / "airflow.cfg"))
    ).expanduser()
    parser = configparser.ConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
        return parser.get(SECTION, option, fallback="").strip()
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        warn([f"{path} cannot be read: {error}"])
        return ""


def _add_prune_arguments(parser: ArgumentParser) -> None:
    add_store_argument(parser)
    parser.add_argument(
        "--older-than",
        metavar="AGE",
        type=age_in_days,
        help="such as 90d, 12h or 4w: what is younger stays, at 0 nothing but what must; default: [ernest] "
        "retention_days of Airflow's configuration",
    )
    parser.add_argument(
        "--keep-models",
        metavar="N",
        type=at_least_one,
        help="the newest models of each job and type of machine, which stay however old they are; those that "
        "have learned count as one with the model that they go on from; default: [ernest] retention_models "
        "of Airflow's configuration, or 5",
    )
    parser.add_argument(
        "--event-logs",
        metavar="FOLDER",
        help="remove event logs, too, that lie in this folder and that only removed documents name",
    )
    parser.add_argument(
        "--set-aside", action="store_true", help="remove torn files, too, that were set aside as long ago"
    )
    parser.add_argument("--dry-run", action="store_true", help="remove nothing, only list what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_result_arguments(parser, formats=(TABLE, JSON), result="what was removed")


def _run_prune(args: Namespace) -> None:
    from airflow_provider_ernest.owned_folders import sweep
    from airflow_provider_ernest.store.pruning import LogFolder, Prune

    prune = Prune(
        store=open_store(args),
        now=datetime.now(UTC),
        older_than_days=_days(args),
        keep_models=_keep_models(args),
        event_logs=LogFolder(args.event_logs) if args.event_logs else None,
        is_for_set_aside=args.set_aside,
        progress=Progress("looked through"),
    )
    if not args.dry_run:
        if prune.has_work:
            _confirm(args, prune)
        prune.carry_out(progress=Progress("removed"))
        # Samples of runs that were killed on this host; they lie as `SampleRunOperator` puts them.
        sweep(Path(configured("staging") or airflow_home() / "ernest" / "staging"), pattern="*/*/*/*")
    tell(args, prune.lines, json=lambda: as_json(prune.summary()))
    prune.raise_failures()


def _confirm(args: Namespace, prune: Prune) -> None:
    """Ask, unless that was answered beforehand."""
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise InvalidParameterError(
            "yes", False, "is needed where nobody can be asked", remedy="Add --yes, or see with --dry-run."
        )
    sys.stderr.write("".join(f"{line}\n" for line in prune.lines()))
    sys.stderr.write("Remove them? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidParameterError("answer", "no", "was given, and nothing was removed")


def _days(args: Namespace) -> float:
    from airflow_provider_ernest.store.pruning import retention_days

    days = args.older_than
    if days is None:
        days = retention_days(configured("retention_days"))
        if not days:
            raise InvalidParameterError(
                "older_than",
                None,
                "leaves open what is old, and the configuration keeps everything",
                remedy="Give an age, such as --older-than 90d.",
            )
    return float(days)


def _keep_models(args: Namespace) -> int:
    from airflow_provider_ernest.store.pruning import KEEP_MODELS, retention_models

    if args.keep_models:
        return int(args.keep_models)
    return retention_models(configured("retention_models"), default=KEEP_MODELS)


PRUNE = Command(
    name="prune",
    summary="remove old documents, but nothing that one that stays needs",
    description="Remove documents that are older than a given age. The newest models of each job and type of "
    "machine stay, and with each production run its decision, with each decision its models, with each model "
    "the one that it has learned on from, the marks that speak against it and what was found to bind it. "
    "Samples of the input whose runs were killed on this host go, too. It may be interrupted and repeated, "
    "and tasks may write meanwhile.",
    example="""\
  %(prog)s --older-than 90d --dry-run
  %(prog)s --older-than 90d --keep-models 3 --event-logs /var/lib/ernest/event_logs --yes""",
    add_arguments=_add_prune_arguments,
    run=_run_prune,
)


STATES = ("fresh", "stale", "drifting")

KINDS = ("model", "decision", "production", "observation", "mark", "profile", "bottlenecks")
"""Those of `store.records.FOLDERS`, which the parser of the options need not load."""


def _add_list_arguments(parser: ArgumentParser) -> None:
    add_store_argument(parser)
    parser.add_argument("--job", metavar="NAME", help="only of this job")
    parser.add_argument("--type", metavar="TYPE", help="only on this type of machine")
    parser.add_argument(
        "--kind",
        choices=KINDS,
        help="one line for each document of this kind, instead of one for each job and type of machine",
    )
    parser.add_argument("--state", choices=STATES, help="only where the newest model is in this state")
    parser.add_argument("--limit", metavar="N", type=at_least_one, help="at most so many lines, the newest")
    add_result_arguments(parser, result="the list")


def _run_list(args: Namespace) -> None:
    from airflow_provider_ernest.cli.store_list import (
        group_row,
        group_table,
        groups_of,
        record_rows,
        record_table,
        set_aside_lines,
    )
    from airflow_provider_ernest.store.records import FORMS, list_set_aside

    store = open_store(args)
    groups = [
        group
        for group in groups_of(store, job=args.job, instance_type=args.type)
        if args.state is None or (group.state is not None and group.state.name == args.state)
    ]
    rows = (
        record_rows(groups, FORMS[args.kind], limit=args.limit)
        if args.kind
        else [group_row(group) for group in groups]
    )
    if args.limit is not None:
        newest_first = sorted(rows, key=lambda row: (row["at"] or "", row["id"] or ""), reverse=True)
        chosen = {id(row) for row in newest_first[: args.limit]}
        rows = [row for row in rows if id(row) in chosen]
    torn, surveys = list_set_aside(store.root), store.surveys.ids()

    def lines() -> Iterator[str]:
        if rows:
            yield from (record_table if args.kind else group_table)(rows, now=datetime.now(UTC))
        else:
            is_empty = not (groups or surveys or _is_narrowed(args))
            yield "The store is empty." if is_empty else "Nothing in the store matches."
        if surveys and not _is_narrowed(args):
            yield f"{counted(len(surveys), 'survey')} of event logs, the newest {surveys[0]}"
        yield from set_aside_lines(torn)

    set_aside = [{"path": str(each.path), "problem": each.problem, "at": each.at} for each in torn]
    document = {"store": str(store.root), "rows": rows, "surveys": surveys, "set_aside": set_aside}
    tell(args, lines, json=lambda: as_json(document), csv=lambda: rows_as_csv(rows))


def _is_narrowed(args: Namespace) -> bool:
    return any((args.job, args.type, args.kind, args.state))


LIST = Command(
    name="list",
    summary="list jobs with their newest model, its state and what is kept beside it",
    description="List what a store holds: for each job and type of machine the newest model, whether it "
    "can still be used and if not why, its age, its median leave-one-out error, and how many "
    "documents there are. With --kind each document has a line. Torn files that were set aside are named.",
    example="""\
  %(prog)s
  %(prog)s --state stale --format json
  %(prog)s --job nightly-sums --kind production --limit 10""",
    add_arguments=_add_list_arguments,
    run=_run_list,
)


def _add_show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="ID|JOB", help="id of a document, or the name of a job")
    add_store_argument(parser)
    parser.add_argument("--type", metavar="TYPE", help="only on this type of machine")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=at_least_one,
        default=20,
        help="of a job, the newest documents of each kind; default %(default)s",
    )
    add_result_arguments(parser, formats=(TABLE, JSON), result="what is shown")


def _run_show(args: Namespace) -> None:
    from airflow_provider_ernest.cli.store_list import groups_of
    from airflow_provider_ernest.cli.store_show import Life, record_lines
    from airflow_provider_ernest.cli.survey_text import survey_lines

    store = open_store(args)
    groups = groups_of(store, instance_type=args.type)
    lives = [Life(group=group, limit=args.limit) for group in groups if group.job == args.name]
    if lives:
        document = {"job": args.name, "types": [life.to_dict() for life in lives]}
        tell(
            args,
            lambda: [
                line for number, life in enumerate(lives) for line in ([""] if number else []) + life.lines()
            ],
            json=lambda: as_json(document),
        )
        return
    if args.name in store.surveys.ids():
        survey = store.surveys.load(args.name)
        tell(
            args,
            lambda: [f"survey {survey.id} of {survey.at}", "", *survey_lines(survey)],
            json=lambda: as_json(survey.to_dict()),
        )
        return
    records = _records(store, groups, args.name)
    if not records:
        raise MissingResourceError(
            f"The store in {store.root} has neither a document nor a job {args.name!r}"
            f"{f' on {args.type}' if args.type else ''}.",
            remedy="See what it has with `ernest store list`.",
        )
    documents = [record.to_dict() for record in records]
    tell(
        args,
        lambda: [line for record in records for line in record_lines(record)],
        json=lambda: as_json(documents[0] if len(documents) == 1 else documents),
    )


def _records(store: ModelStore, groups: Sequence[Group], name: str) -> list[Record]:
    """Those of that id: usually one."""
    from airflow_provider_ernest.store.catalogue import LISTED
    from airflow_provider_ernest.store.records import FOLDERS, FORMS

    listed = [(FORMS[entry.kind], group) for group in groups for entry in group.entries if entry.id == name]
    others = [(form, group) for form in FOLDERS if form not in LISTED for group in groups]
    records = []
    for form, group in listed or others:
        try:
            records.append(store.load(form, group.job, group.instance_type, name))
        except StoreError as error:
            if listed or not isinstance(error.__cause__, FileNotFoundError):
                raise
    return records


SHOW = Command(
    name="show",
    summary="show a document, or all that became of a job",
    description="Show one document by its id, or the life of a job on each type of machine: its models and "
    "what they learned from, the marks against them, what was decided and how long it took, the evidence of "
    "drift, the conditions that the models are for, and what binds the job. Each number stands beside the id "
    "of its document.",
    example="""\
  %(prog)s nightly-sums
  %(prog)s nightly-sums --type m5.large --format json
  %(prog)s 20260102T030405.000000Z-0123abcd""",
    add_arguments=_add_show_arguments,
    run=_run_show,
)


ACTIONS = (LIST, SHOW, PRUNE)


def _add_arguments(parser: ArgumentParser) -> None:
    add_commands(parser, ACTIONS, metavar="ACTION")


def _run(args: Namespace) -> None:
    cast("Command", args.action).run(args)


COMMAND = Command(
    name="store",
    summary="list, show and prune what is kept of jobs",
    description="Look into a store of models, decisions, production runs, sample runs, marks and what binds "
    "the jobs, and remove what is old. Without --store it is the one that Airflow's configuration "
    "names, by AIRFLOW__ERNEST__STORE or by [ernest] store in airflow.cfg, or else "
    "AIRFLOW_HOME/ernest/store. It needs no Airflow.",
    example="""\
  %(prog)s list
  %(prog)s show nightly-sums
  %(prog)s prune --older-than 90d --dry-run""",
    add_arguments=_add_arguments,
    run=_run,
)
