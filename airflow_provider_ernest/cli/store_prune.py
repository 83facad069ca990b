"""``ernest store prune``: remove what is old."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.output import as_json, say
from airflow_provider_ernest.cli.store_options import (
    add_json_argument,
    add_store_argument,
    age_in_days,
    airflow_home,
    at_least_one,
    configured,
    open_store,
)
from airflow_provider_ernest.cli.store_text import Progress
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.retention.pruning import Prune


def _add_arguments(parser: ArgumentParser) -> None:
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
    add_json_argument(parser)


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.model.retention.pruning import Prune
    from airflow_provider_ernest.model.retention.removal import EventLogs
    from airflow_provider_ernest.owned_folders import sweep

    prune = Prune(
        store=open_store(args),
        now=datetime.now(UTC),
        older_than_days=_days(args),
        keep_models=_keep_models(args),
        event_logs=EventLogs(args.event_logs) if args.event_logs else None,
        is_for_set_aside=args.set_aside,
        progress=Progress("looked through"),
    )
    if not args.dry_run:
        if prune.has_work:
            _confirm(args, prune)
        prune.carry_out(progress=Progress("removed"))
        # Samples of runs that were killed on this host; they lie as `SampleRunOperator` puts them.
        sweep(Path(configured("staging") or airflow_home() / "ernest" / "staging"), pattern="*/*/*/*")
    say([as_json(prune.summary()).rstrip()] if args.json else prune.lines())
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
    from airflow_provider_ernest.model.retention.pruning import retention_days

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
    from airflow_provider_ernest.model.retention.plan import KEEP_MODELS
    from airflow_provider_ernest.model.retention.pruning import retention_models

    if args.keep_models:
        return int(args.keep_models)
    return retention_models(configured("retention_models"), default=KEEP_MODELS)


COMMAND = Command(
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
    add_arguments=_add_arguments,
    run=_run,
)
