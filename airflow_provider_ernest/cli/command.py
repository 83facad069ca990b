"""What a command is: its name, its options and its work."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command of the command line.

    Attributes:
        name: what the user types.
        summary: what it does, in a line.
        description: the same at length.
        example: command lines to begin with; ``%(prog)s`` stands for the program and the command.
        add_arguments: adds its options to a parser; must import nothing heavy, for ``airflow`` reads the
            options of all commands whichever is called.
        run: does the work; raises `ErnestError` where the user can change something.
    """

    name: str
    summary: str
    description: str
    example: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], None]

    @property
    def epilog(self) -> str:
        """The examples as they stand below the help."""
        return f"examples:\n{self.example}"
