"""``ernest store show``: one document, or all that became of a job."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.output import as_json, say
from airflow_provider_ernest.cli.store_options import (
    add_json_argument,
    add_store_argument,
    at_least_one,
    open_store,
)
from airflow_provider_ernest.exceptions import MissingResourceError

if TYPE_CHECKING:
    from airflow_provider_ernest.cli.store_groups import Group
    from airflow_provider_ernest.model.store import ModelStore

MOST_LINES = 20
"""So many documents of each kind are shown of a job."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="ID|JOB", help="id of a document, or the name of a job")
    add_store_argument(parser)
    parser.add_argument("--type", metavar="TYPE", help="only on this type of machine")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=at_least_one,
        default=MOST_LINES,
        help="of a job, the newest documents of each kind; default %(default)s",
    )
    add_json_argument(parser)


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.cli.store_groups import groups_of
    from airflow_provider_ernest.cli.store_life import life_of

    store = open_store(args)
    groups = groups_of(store, instance_type=args.type)
    of_job = [group for group in groups if group.job == args.name]
    if of_job:
        lives = [life_of(store, group, limit=args.limit) for group in of_job]
        if args.json:
            say([as_json({"job": args.name, "types": [life.to_dict() for life in lives]}).rstrip()])
        else:
            say(line for number, life in enumerate(lives) for line in ([""] if number else []) + life.lines())
        return
    documents = _documents(store, groups, args.name)
    if not documents:
        raise MissingResourceError(
            f"The store in {store.root} has neither a document nor a job {args.name!r}"
            f"{f' on {args.type}' if args.type else ''}.",
            remedy="See what it has with `ernest store list`.",
        )
    _say_documents(documents, args)


def _say_documents(documents: Sequence[Any], args: Namespace) -> None:
    from airflow_provider_ernest.cli.store_document import document_lines

    if args.json:
        told = [document.to_dict() for document in documents]
        say([as_json(told[0] if len(told) == 1 else told).rstrip()])
    else:
        say(line for document in documents for line in document_lines(document))


def _documents(store: ModelStore, groups: Sequence[Group], name: str) -> list[Any]:
    """The documents of that id: usually one."""
    from airflow_provider_ernest.model.archive.archive_lines import SHELVES_BY_KIND
    from airflow_provider_ernest.model.storage.stored_documents import UNLISTED
    from airflow_provider_ernest.model.storage.stored_files import store_errors

    places = [(entry.kind, group) for group in groups for entry in group.entries if entry.id == name]
    shelves = [(SHELVES_BY_KIND[kind], group) for kind, group in places]
    # The catalogue does not list these.
    shelves += [(shelf, group) for group in groups if not places for shelf in UNLISTED.values()]
    documents = []
    for shelf, group in shelves:
        path = shelf.path(store.root, group.job, group.instance_type, name)
        with store_errors(f"There is no readable {shelf.kind} {name} at {path}"):
            if places or path.exists():
                documents.append(shelf.decode(path.read_text(encoding="utf-8")))
    return documents


COMMAND = Command(
    name="show",
    summary="show a document, or all that became of a job",
    description="Show one document by its id, or the life of a job on each type of machine: its models and "
    "what they learned from, the marks against them, what was decided and how long it took, the evidence of "
    "drift, the conditions that the models are for, and what binds the job. Each number stands beside the id "
    "of its document.",
    example="""\
  %(prog)s nightly-sums
  %(prog)s nightly-sums --type m5.large --json
  %(prog)s 20260102T030405.000000Z-0123abcd""",
    add_arguments=_add_arguments,
    run=_run,
)
