"""``ernest store export``: a store into one file."""

from __future__ import annotations

import os
import secrets
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import STANDARD, refuse_to_overwrite
from airflow_provider_ernest.cli.output import say
from airflow_provider_ernest.cli.store_options import add_store_argument, open_store
from airflow_provider_ernest.cli.store_text import Progress, counted
from airflow_provider_ernest.exceptions import InvalidParameterError

GZIP = ".gz"


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="to write, compressed where its name ends in .gz; - is standard output"
    )
    add_store_argument(parser)
    parser.add_argument(
        "--job", metavar="NAME", action="append", help="only of this job; may be given several times"
    )
    parser.add_argument(
        "--without-addresses",
        action="store_true",
        help="leave out hosts, paths, where event logs lie and settings, to send the file to others",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file if it is there already")


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.model.archive.store_archive import export_documents

    refuse_to_overwrite(args.file, force=args.force)
    store = open_store(args)
    jobs = set(args.job or ())
    documents: Iterator[Any] = (
        each for each in store.all_documents() if not jobs or getattr(each, "job", None) in jobs
    )
    with _whole_file(args.file) as target:
        header = export_documents(
            documents,
            target,
            is_compressed=args.file.endswith(GZIP),
            without_addresses=args.without_addresses,
            progress=Progress("exported"),
        )
    say([f"Exported {counted(header.documents)} from {store.root}"], beside=args.file)


@contextmanager
def _whole_file(name: str) -> Iterator[BinaryIO]:
    """A file that appears when it is whole, or standard output."""
    if name == STANDARD:
        yield sys.stdout.buffer
        return
    path = Path(name)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InvalidParameterError(
            "file",
            name,
            f"cannot be written: {error.strerror}",
            remedy="Check that its folder exists and may be written to, and that there is room.",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


COMMAND = Command(
    name="export",
    summary="write a store, or some of its jobs, into one file",
    description="Write the documents of a store into one file, a JSON document on each line, for import to "
    "read. The first line counts them.",
    example="""\
  %(prog)s store.jsonl.gz
  %(prog)s sums.jsonl --job nightly-sums --without-addresses""",
    add_arguments=_add_arguments,
    run=_run,
)
