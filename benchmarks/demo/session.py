"""How a demonstration behaves on a terminal: its options, its output, its end."""

from __future__ import annotations

import argparse
import contextlib
import io
import signal
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from benchmarks.demo.airflow_server import AirflowServer

ROOT = Path(__file__).parents[2]
DAGS = ROOT / "dags"
INTERRUPTED = 130
"""Exit code after Ctrl-C."""
WIDTH = 110
"""Of lines that would run on."""
INFEASIBLE = "InfeasibleGoalError"
"""What the reason of a run names that failed since its deadline is out of reach: on a slow machine, say."""


def options(program: str, description: str | None) -> argparse.Namespace:
    """The command line of a demonstration."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--exit", action="store_true", help="stop everything at the end")
    parser.add_argument(
        "--deadline-seconds",
        type=float,
        default=None,
        help="deadline of the production run (default: the demonstration's)",
    )
    return parser.parse_args()


def begin() -> None:
    """Let whoever reads along see each line as it comes, and let SIGTERM end all that Ctrl-C ends."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, _interrupt)
    # A shell starts background jobs with SIGINT ignored, and a demonstration must be stoppable there, too.
    signal.signal(signal.SIGINT, _interrupt)


def stay_up(server: AirflowServer) -> None:
    """Leave Airflow to the user until Ctrl-C."""
    print(f"\nThe Airflow UI is at {server.url} (user admin, password {server.password}).")
    print("Press Ctrl-C to stop it; nothing is left running then.")
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
    print("\nStopping.")


def say_why(failure: str, *, program: str, deadline_seconds: float, logs: Path) -> None:
    """Print at the end why a demonstration failed, where its logs are, and how to try again."""
    again = f"python -m {program} --exit"
    if INFEASIBLE in failure:
        again += f" --deadline-seconds {2 * deadline_seconds:g}"
    reason = textwrap.fill(failure, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    print(f"\nThe demo failed. {reason}\nThe logs are below {logs}\nTry again: {again}", file=sys.stderr)


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
