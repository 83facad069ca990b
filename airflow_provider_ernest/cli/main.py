"""The program ``ernest``."""

from __future__ import annotations

import errno
import os
import re
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence

from airflow_provider_ernest.cli.command import (
    EXIT_CODES,
    Command,
    Parser,
    add_commands,
    printable,
    refuse_to_overwrite,
)
from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError
from airflow_provider_ernest.version import __version__

SUMMARY = "Size Spark clusters: a few cheap sample runs, a small explainable model, the cheapest cluster."

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
MAKE_ROOM = "Make room there, or write elsewhere; temporary files go to the folder that TMPDIR names."

FAILED = 1
INTERRUPTED = 130
"""What shells report of a program that was interrupted."""


def main(argv: Sequence[str] | None = None, *, commands: Sequence[Command]) -> int:
    """Run a command line; `argv` is None for this process's own.

    Returns:
        See `command.EXIT_CODES`.

    Raises:
        SystemExit: with 2 where the command line cannot be understood, with 0 after ``--help``.
    """
    parser = build_parser(commands)
    if argv is None and "_ARGCOMPLETE" in os.environ:
        from argcomplete import autocomplete

        autocomplete(parser)
    args = parser.parse_args(argv)
    return run_command(args.command, args, program="ernest")


def build_parser(commands: Sequence[Command]) -> ArgumentParser:
    """The parser of the commands; ``command`` of what it returns is the `Command`."""
    parser = Parser(
        prog="ernest", description=SUMMARY, epilog=EXIT_CODES, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add_commands(parser, commands, metavar="COMMAND")
    return parser


def run_command(command: Command, args: Namespace, *, program: str) -> int:
    """Run a command and return the exit code; prints errors that are ours, raises others."""
    try:
        refuse_to_overwrite(getattr(args, "output", None), force=getattr(args, "force", False))
        command.run(args)
        sys.stdout.flush()
    except ErnestError as raised:
        error = _in_options(raised, args)
        problem = f"{program} {command.name}: {error.message}"
        told = problem if not error.remedy else f"{problem}\n{error.remedy}"
        sys.stderr.write(f"{printable(told)}\n")
        return FAILED
    except BrokenPipeError:
        # The reader, such as head, has had enough. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        where = f" ({error.filename})" if error.filename else ""
        sys.stderr.write(f"{program} {command.name}: {error.strerror}{where}.\n{MAKE_ROOM}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return 0


def _in_options(error: ErnestError, args: Namespace) -> ErnestError:
    """An error of a parameter, or of a pair of them, as one of the options: max_scale is --max-scale.

    Only the name is replaced: the rest of a message holds names of files and values, which may be spelled
    as parameters are.
    """

    def option(name: re.Match[str]) -> str:
        return f"--{name[0].replace('_', '-')}" if name[0] in vars(args) else name[0]

    if not isinstance(error, InvalidParameterError):
        return error
    is_pair = error.parameter.startswith("(")
    return error.called(re.sub(r"\w+", option, error.parameter, count=0 if is_pair else 1))
