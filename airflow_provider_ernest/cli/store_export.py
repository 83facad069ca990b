"""``ernest store export``: a store into one file."""

from __future__ import annotations

import os
import secrets
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.files import STANDARD, refuse_to_overwrite
from airflow_provider_ernest.cli.output import say
from airflow_provider_ernest.cli.store_options import add_store_argument, open_store
from airflow_provider_ernest.cli.store_text import Progress, counted
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError

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
    skipped: list[Any] = []
    documents = _Documents(store.all_documents(on_skip=skipped.append), jobs=args.job or ())
    with _whole_file(args.file) as target:
        header = export_documents(
            documents,
            target,
            is_compressed=args.file.endswith(GZIP),
            without_addresses=args.without_addresses,
            progress=Progress("exported"),
        )
        documents.check()
    say([f"Exported {counted(header.documents)} from {store.root}"], beside=args.file)
    _refuse_gaps(skipped, jobs=args.job or ())


def _refuse_gaps(skipped: list[Any], *, jobs: Collection[str]) -> None:
    """Let nobody delete a store after an export that could not read all of it."""
    from airflow_provider_ernest.model.storage.stored_files import forget_listing, safe_name

    folders = {safe_name("job", job) for job in jobs}
    left_out = []
    for path in skipped:
        if not folders or folders.intersection(str(path).split("/")):
            # Somebody may have removed it a moment ago.
            forget_listing(path.parent)
            if path.exists():
                left_out.append(path)
    if left_out:
        raise InvalidDocumentError(
            f"The export lacks {len(left_out):,} of the store's files, which cannot be read; the first is "
            f"{left_out[0]}.",
            remedy="What could be read is in it. The warnings above say what is wrong with the others.",
        )


class _Documents:
    """Those that are asked for.

    Args:
        documents: of a store.
        jobs: only of these; of all where there are none.
    """

    def __init__(self, documents: Iterable[Any], *, jobs: Collection[str]) -> None:
        self._documents, self._jobs = documents, jobs
        self._missing = set(jobs)

    def __iter__(self) -> Iterator[Any]:
        for document in self._documents:
            if not self._jobs or document.job in self._jobs:
                self._missing.discard(document.job)
                yield document

    def check(self) -> None:
        """Refuse names that no document has borne: a file without them would be taken for whole."""
        for name in sorted(self._missing):
            raise InvalidParameterError(
                "job", name, "is not in the store", remedy="See what is with `ernest store list`."
            )


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
            "FILE",
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
