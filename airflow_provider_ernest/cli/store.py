"""``ernest store``: what is kept of jobs, and what becomes of it."""

from __future__ import annotations

import configparser
import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from airflow_provider_ernest.cli.command import (
    JSON,
    TABLE,
    Command,
    add_commands,
    add_result_arguments,
    aligned,
    as_json,
    at_least_one,
    progress,
    rows_as_csv,
    tell,
    warn,
)
from airflow_provider_ernest.documents.base import moment_of, time_of
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.words import UNKNOWN, age, count, counted, duration, machines, percentage

if TYPE_CHECKING:
    from airflow_provider_ernest.store.catalogue import CatalogueEntry
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
    return _expanded(_in_file(option) if given is None else given)


def airflow_home() -> Path:
    """Airflow's folder."""
    return Path(_expanded(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser()


def _expanded(text: str) -> str:
    """The text with environment variables replaced as Airflow does: a variable's value may name others."""
    for _ in range(MOST_EXPANSIONS):
        if (expanded := os.path.expandvars(text)) == text:
            break
        text = expanded
    return text


def _in_file(option: str) -> str:
    config = os.environ.get("AIRFLOW_CONFIG") or str(airflow_home() / "airflow.cfg")
    path = Path(_expanded(config)).expanduser()
    parser = configparser.ConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
        return parser.get(SECTION, option, fallback="").strip()
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        warn([f"{path} cannot be read: {error}"])
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


STATES = ("fresh", "stale", "drifting")

KINDS = ("model", "decision", "production", "observation", "mark", "profile", "bottlenecks")
"""Those of `store.records.FOLDERS`, which the parser of the options need not load."""
_COUNTED = {
    "models": "model",
    "decisions": "decision",
    "production runs": "production",
    "sample runs": "observation",
}
"""Columns of the list, and the kinds of documents that they count."""

MOST_SET_ASIDE = 5
"""So many files that were set aside are named in the text."""


@dataclass(frozen=True, kw_only=True)
class _Group:
    """What a store holds of a job on a type of machine.

    Attributes:
        entries: of the catalogue, oldest first.
        ids: of all documents by kind, oldest first.
        row: the newest model, its state, and how many documents there are.
    """

    entries: list[CatalogueEntry]
    ids: dict[str, list[str]]
    row: dict[str, Any]


def _groups(store: ModelStore, job: str | None) -> list[_Group]:
    from airflow_provider_ernest.learning.freshness import Lineage
    from airflow_provider_ernest.store.files import safe_name

    of_job, of_group = defaultdict(list), defaultdict(list)
    for entry in store.catalogue.entries(job):
        of_job[entry.job].append(entry)
        of_group[entry.job, entry.instance_type].append(entry)
    # What a long name was cannot be told from its folder's.
    names = {safe_name("name", name): name for pair in of_group for name in pair}
    ids: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for place in store.places():
        pair = tuple(names.get(each) or unquote(each) for each in (place.job, place.instance_type))
        ids[pair[0], pair[1]][place.form.kind].append(place.file.removesuffix(".json"))
    groups = []
    for name in sorted({*ids, *of_group}):
        if job not in (None, name[0]):
            continue
        models = [entry for entry in of_group[name] if entry.kind == "model"]
        model = max(models, key=lambda entry: (entry.at, entry.id), default=None)
        state = Lineage(model, of_job[name[0]]).state() if model else None
        row = {
            "job": name[0],
            "instance_type": name[1],
            "id": model.id if model else None,
            "at": model.at if model else None,
            "state": state.name if state else None,
            "cause": state.cause if state else "",
            "reason": state.reason if state else "",
            "median_error_percent": model.median_error_percent if model else None,
            **{f"{kind}s": len(ids[name][kind]) for kind in (*_COUNTED.values(), "mark")},
        }
        groups.append(_Group(entries=of_group[name], ids=ids[name], row=row))
    return groups


def _group_table(rows: Iterable[dict[str, Any]]) -> list[str]:
    numbers = ("age", "error", *_COUNTED)
    return aligned(
        ("job", "type", "state", "newest model", *numbers),
        (
            (
                row["job"],
                row["instance_type"],
                (row["state"] or UNKNOWN) + (f" ({row['cause']})" if row["cause"] else ""),
                row["id"] or UNKNOWN,
                _age(row["at"] or ""),
                percentage(row["median_error_percent"]),
                *(str(row[f"{kind}s"]) for kind in _COUNTED.values()),
            )
            for row in rows
        ),
        right=", ".join(numbers),
    )


def _age(at: str) -> str:
    moment = time_of(at)
    return UNKNOWN if moment is None else age((datetime.now(UTC) - moment).total_seconds())


def _document_rows(groups: Iterable[_Group], kind: str) -> list[dict[str, Any]]:
    """The documents of a kind, oldest first; of kinds that the catalogue does not list by their ids alone."""
    rows = []
    for group in groups:
        entries = {entry.id: entry for entry in group.entries if entry.kind == kind}
        for name in entries or group.ids[kind]:
            entry, moment = entries.get(name), moment_of(name)
            rows.append(
                {
                    "kind": kind,
                    "job": group.row["job"],
                    "instance_type": group.row["instance_type"],
                    "id": name,
                    "at": entry.at if entry else moment.isoformat() if moment else "",
                    "model_id": entry.model_id if entry and entry.model_id != name else None,
                    "says": ", ".join(_said(entry)) if entry else "",
                }
            )
    return sorted(rows, key=lambda row: (row["at"], row["id"]))


def _document_table(rows: Iterable[dict[str, Any]]) -> list[str]:
    names = ("id", "job", "instance_type", "at", "model_id", "says")
    known = ({**row, "at": _age(row["at"]), "model_id": row["model_id"] or UNKNOWN} for row in rows)
    return aligned(
        ("id", "job", "type", "age", "model", "says"),
        ([row[name] for name in names] for row in known),
        right="age",
    )


def _said(entry: CatalogueEntry) -> Iterator[str]:
    if entry.reason:
        yield f"{entry.cause}: {entry.reason}"
    if entry.method:
        yield f"{entry.method}, {counted(entry.observations - entry.learned_from, 'sample run')}"
        yield f"error {percentage(entry.median_error_percent)}"
    if entry.learned_from:
        yield f"learned from {counted(entry.learned_from, 'production run')}"
    if entry.machines is not None:
        yield machines(entry.machines)
    if entry.predicted_seconds is not None:
        yield f"predicted {duration(entry.predicted_seconds)}"
    if entry.seconds is not None:
        yield f"took {duration(entry.seconds)}"
    if entry.is_unusual or entry.is_unlikely:
        yield f"outside the {'95' if entry.is_unusual else '80'} % interval"


def _add_list_arguments(parser: ArgumentParser) -> None:
    add_store_argument(parser)
    parser.add_argument("--job", metavar="NAME", help="only of this job")
    parser.add_argument(
        "--kind",
        choices=KINDS,
        help="one line for each document of this kind, instead of one for each job and type of machine",
    )
    parser.add_argument("--state", choices=STATES, help="only where the newest model is in this state")
    add_result_arguments(parser, result="the list")


def _run_list(args: Namespace) -> None:
    from airflow_provider_ernest.store.records import list_set_aside

    store = open_store(args)
    groups = [group for group in _groups(store, args.job) if args.state in (None, group.row["state"])]
    rows = _document_rows(groups, args.kind) if args.kind else [group.row for group in groups]
    torn, surveys = list_set_aside(store.root), store.survey_ids()
    is_narrowed = bool(args.job or args.kind or args.state)

    def lines() -> Iterator[str]:
        if rows:
            yield from (_document_table if args.kind else _group_table)(rows)
        else:
            is_empty = not (groups or surveys or is_narrowed)
            yield "The store is empty." if is_empty else "Nothing in the store matches."
        if surveys and not is_narrowed:
            yield f"{counted(len(surveys), 'survey')} of event logs, the newest {surveys[0]}"
        if torn:
            yield f"{counted(len(torn), 'damaged file')} set aside:"
        yield from (f"  {each.path}: {each.problem}" for each in torn[:MOST_SET_ASIDE])
        if len(torn) > MOST_SET_ASIDE:
            yield f"  and {count(len(torn) - MOST_SET_ASIDE)} more, which --format json lists"

    set_aside = [{"path": str(each.path), "problem": each.problem, "at": each.at} for each in torn]
    document = {"store": str(store.root), "rows": rows, "surveys": surveys, "set_aside": set_aside}
    tell(args, lines, json=lambda: as_json(document), csv=lambda: rows_as_csv(rows))


LIST = Command(
    name="list",
    summary="list jobs with their newest model, its state and what is kept beside it",
    description="List what a store holds: for each job and type of machine the newest model, whether it "
    "can still be used and if not why, its age, its median leave-one-out error, and how many "
    "documents there are. With --kind each document has a line. Torn files that were set aside are named.",
    example="""\
  %(prog)s
  %(prog)s --state stale --format json
  %(prog)s --job nightly-sums --kind production""",
    add_arguments=_add_list_arguments,
    run=_run_list,
)


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
        help="so many newest models of each job and type of machine stay however old they are, and so many "
        "newest documents of each other kind; default: [ernest] retention_models of Airflow's configuration, "
        "or 5",
    )
    parser.add_argument(
        "--event-logs",
        metavar="FOLDER",
        help="remove event logs, too, that lie in this folder and that only removed documents name",
    )
    parser.add_argument("--dry-run", action="store_true", help="remove nothing, only list what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_result_arguments(parser, formats=(TABLE, JSON), result="what was removed")


def _run_prune(args: Namespace) -> None:
    from airflow_provider_ernest.processes import sweep
    from airflow_provider_ernest.store.pruning import LogFolder, Prune, retention_days, retention_models

    store = open_store(args)
    days = args.older_than
    if days is None and not (days := retention_days(configured("retention_days"))):
        raise InvalidParameterError(
            "older_than",
            None,
            "leaves open what is old, and the configuration keeps everything",
            remedy="Give an age, such as --older-than 90d.",
        )
    with progress("looking through the store"):
        prune = Prune(
            store=store,
            now=datetime.now(UTC),
            older_than_days=days,
            keep_models=args.keep_models or retention_models(configured("retention_models")),
            event_logs=LogFolder(args.event_logs) if args.event_logs else None,
        )
    if not args.dry_run:
        if prune.has_work and not args.yes:
            _confirm(prune)
        with progress("removing"):
            prune.carry_out()
        # Samples of runs that were killed on this host; they lie as `SampleRunOperator` puts them.
        sweep(Path(configured("staging") or airflow_home() / "ernest" / "staging"), pattern="*/*/*/*")
    tell(args, prune.lines, json=lambda: as_json(prune.summary()))
    prune.raise_failures()


def _confirm(prune: Prune) -> None:
    if not sys.stdin.isatty():
        raise InvalidParameterError(
            "yes", False, "is needed where nobody can be asked", remedy="Add --yes, or see with --dry-run."
        )
    sys.stderr.write("".join(f"{line}\n" for line in prune.lines()))
    sys.stderr.write("Remove them? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidParameterError("answer", "no", "was given, and nothing was removed")


PRUNE = Command(
    name="prune",
    summary="remove old documents, but nothing that one that stays needs",
    description="Remove documents that are older than a given age. The newest of each kind stay for each job "
    "and type of machine, and all that a document that stays refers to. Samples of the input whose runs were "
    "killed on this host go, too. It may be interrupted and repeated, and tasks may write meanwhile.",
    example="""\
  %(prog)s --older-than 90d --dry-run
  %(prog)s --older-than 90d --keep-models 3 --event-logs /var/lib/ernest/event_logs --yes""",
    add_arguments=_add_prune_arguments,
    run=_run_prune,
)


COMMAND = Command(
    name="store",
    summary="list and prune what is kept of jobs",
    description="Look into a store of models, decisions, production runs, sample runs, marks and what binds "
    "the jobs, and remove what is old. Without --store it is the one that Airflow's configuration "
    "names, by AIRFLOW__ERNEST__STORE or by [ernest] store in airflow.cfg, or else "
    "AIRFLOW_HOME/ernest/store. It needs no Airflow.",
    example="""\
  %(prog)s list
  %(prog)s prune --older-than 90d --dry-run""",
    add_arguments=lambda parser: add_commands(parser, (LIST, PRUNE), metavar="ACTION"),
    run=lambda args: args.action.run(args),
)
