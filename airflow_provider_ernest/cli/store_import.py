"""``ernest store import``: a file into a store."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import STANDARD, described
from airflow_provider_ernest.cli.output import say, warn
from airflow_provider_ernest.cli.store_options import add_store_argument, open_store
from airflow_provider_ernest.cli.store_text import Progress, counted
from airflow_provider_ernest.exceptions import InvalidDocumentError, MissingResourceError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.archive.store_archive import Imported, Refused

MOST_LINES = 20
"""So many conflicts, and so many lines that are no documents, are named."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="that export has written, or a single document, such as a model that fit has written; - is "
        "standard input",
    )
    add_store_argument(parser)


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.model.archive.store_archive import import_archive

    with _opened(args.file) as source:
        store = open_store(args, must_exist=False)
        result = import_archive(store, source, progress=Progress("imported"))
    say([f"Imported {counted(result.stored)} into {store.root}"])
    if result.present:
        say([f"There already: {counted(result.present)}"])
    if not result.is_complete:
        warn(_problems(result))
        raise InvalidDocumentError(
            f"{described(args.file)} was not imported as a whole: {_summary(result)}.",
            remedy="What could be imported is in the store; importing again changes nothing of it.",
        )


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            source: BinaryIO = stack.enter_context(Path(name).open("rb"))
        except OSError as error:
            raise MissingResourceError(
                f"{name} cannot be read: {error.strerror}.", remedy="Check the path and its permissions."
            ) from error
        yield source


def _problems(result: Imported) -> Iterator[str]:
    yield from _named(result.conflicts, result.conflict_count)
    yield from _named(result.refused, result.refused_count)


def _named(refused: list[Refused], count: int) -> Iterator[str]:
    for each in refused[:MOST_LINES]:
        yield f"line {each.line}: {each.name + ': ' if each.name else ''}{each.problem}"
    if count > MOST_LINES:
        yield f"and {count - MOST_LINES:,} more like that"


def _summary(result: Imported) -> str:
    parts = []
    if result.conflicts:
        parts.append(f"{result.conflict_count:,} would have replaced other documents of the same id")
    if result.refused:
        parts.append(f"{result.refused_count:,} could not be read")
    if result.missing:
        counted_of = sum(result.header.documents.values())
        parts.append(f"{result.missing:,} of {counted_of:,} are missing from the file")
    if result.damage:
        parts.append(result.damage.removesuffix(".").replace("It ", "it ", 1))
    return "; ".join(parts)


COMMAND = Command(
    name="import",
    summary="take such a file, or a model that fit has written, into a store",
    description="Take the documents of a file into a store, which is made where there is none. Each is "
    "checked as it is when it is read. Importing again changes nothing; a document whose id the store "
    "has with other content is left out and named, and so is what cannot be read: the exit code is 1 then.",
    example="""\
  %(prog)s store.jsonl.gz
  %(prog)s model.json --store /var/lib/ernest/store""",
    add_arguments=_add_arguments,
    run=_run,
)
