"""``ernest store list``: what a store holds."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.output import as_json, say
from airflow_provider_ernest.cli.store_options import (
    add_job_arguments,
    add_json_argument,
    add_store_argument,
    at_least_one,
    open_store,
)
from airflow_provider_ernest.cli.store_text import PLURALS, UNKNOWN, age, aligned, number

if TYPE_CHECKING:
    from airflow_provider_ernest.cli.store_groups import Group
    from airflow_provider_ernest.model.storage.set_aside import SetAside

STATES = ("fresh", "stale", "drifting")

MOST_SET_ASIDE = 5
"""So many files that were set aside are named in the text."""


def _add_arguments(parser: ArgumentParser) -> None:
    add_store_argument(parser)
    add_job_arguments(parser)
    parser.add_argument(
        "--kind",
        choices=tuple(PLURALS),
        help="one line for each document of this kind, in the place of one for each job and type of machine",
    )
    parser.add_argument("--state", choices=STATES, help="only where the newest model is in this state")
    parser.add_argument("--limit", metavar="N", type=at_least_one, help="at most so many lines, the newest")
    add_json_argument(parser)


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.cli.store_groups import groups_of
    from airflow_provider_ernest.cli.store_rows import rows_of
    from airflow_provider_ernest.model.storage.set_aside import list_set_aside

    store = open_store(args)
    groups = [
        group
        for group in groups_of(store, job=args.job, instance_type=args.type)
        if args.state is None or (group.state is not None and group.state.name == args.state)
    ]
    rows = (
        rows_of(store, groups, kind=args.kind, limit=args.limit)
        if args.kind
        else [_told(group) for group in groups]
    )
    newest_first = sorted(rows, key=lambda row: (row["at"] or "", row["id"] or ""), reverse=True)
    if args.limit is not None:
        chosen = {id(row) for row in newest_first[: args.limit]}
        rows = [row for row in rows if id(row) in chosen]
    torn = list_set_aside(store.root)
    if args.json:
        set_aside = [{"path": str(each.path), "problem": each.problem, "at": each.at} for each in torn]
        say([as_json({"store": str(store.root), "rows": rows, "set_aside": set_aside}).rstrip()])
        return
    now = datetime.now(UTC)
    if not rows:
        say(["Nothing in the store matches." if groups or _is_narrowed(args) else "The store is empty."])
    else:
        say(_document_table(rows, now=now) if args.kind else _table(rows, now=now))
    say(_set_aside_lines(torn))


def _is_narrowed(args: Namespace) -> bool:
    return any((args.job, args.type, args.kind, args.state))


def _told(group: Group) -> dict[str, Any]:
    model, state = group.model, group.state
    return {
        "job": group.job,
        "instance_type": group.instance_type,
        "id": model.id if model else None,
        "at": model.at if model else None,
        "state": state.name if state else None,
        "cause": state.cause if state else "",
        "reason": state.reason if state else "",
        "median_error_percent": model.median_error_percent if model else None,
        "models": len(group.of_kind("model")),
        "decisions": len(group.of_kind("decision")),
        "productions": len(group.of_kind("production")),
        "observations": len(group.unlisted_ids("observation")),
        "marks": len(group.of_kind("mark")),
    }


def _table(rows: list[dict[str, Any]], *, now: datetime) -> list[str]:
    heading = (
        "job",
        "type",
        "state",
        "newest model",
        "age",
        "error",
        "models",
        "decisions",
        "production runs",
        "sample runs",
    )
    lines = aligned(
        heading,
        (
            (
                row["job"],
                row["instance_type"],
                _state(row),
                row["id"] or UNKNOWN,
                age(row["at"] or "", now=now),
                number(row["median_error_percent"], "{:.1f} %"),
                *(str(row[name]) for name in ("models", "decisions", "productions", "observations")),
            )
            for row in rows
        ),
        right="age, error, models, decisions, production runs, sample runs",
    )
    return lines


def _state(row: dict[str, Any]) -> str:
    if row["state"] is None:
        return UNKNOWN
    return f"{row['state']} ({row['cause']})" if row["cause"] else row["state"]


def _document_table(rows: list[dict[str, Any]], *, now: datetime) -> list[str]:
    return aligned(
        ("id", "job", "type", "age", "model", "says"),
        (
            (
                row["id"],
                row["job"],
                row["instance_type"],
                age(row["at"], now=now),
                row["model_id"] or UNKNOWN,
                row["says"],
            )
            for row in rows
        ),
        right="age",
    )


def _set_aside_lines(torn: list[SetAside]) -> list[str]:
    if not torn:
        return []
    files = "file that was damaged was" if len(torn) == 1 else "files that were damaged were"
    lines = [f"{len(torn):,} {files} set aside:"]
    lines += [f"  {each.path}: {each.problem}" for each in torn[:MOST_SET_ASIDE]]
    if len(torn) > MOST_SET_ASIDE:
        lines.append(f"  and {len(torn) - MOST_SET_ASIDE:,} more, which --json lists")
    return lines


COMMAND = Command(
    name="list",
    summary="list jobs with their newest model, its state and what is kept beside it",
    description="List what a store holds: for each job and type of machine the newest model, whether it "
    "still speaks for the job and if not why, its age, its median leave-one-out error, and how many "
    "documents there are. With --kind each document has a line. Torn files that were set aside are named.",
    example="""\
  %(prog)s
  %(prog)s --state stale --json
  %(prog)s --job nightly-sums --kind production --limit 10""",
    add_arguments=_add_arguments,
    run=_run,
)
