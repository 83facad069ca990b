"""Runs a command and everything below it for as long as somebody wants it.

``python -m benchmarks.demo.keeper DIRECTORY COMMAND ...`` ends the command when standard input ends,
which also happens when the process at its other end is killed. What the command's processes leave
behind is adopted, so that it can be ended, too.
"""

from __future__ import annotations

import select
import signal
import subprocess
import sys

from airflow_provider_ernest.processes import adopt_orphans, die_with_parent, end_descendants, reap_adopted

_POLL_SECONDS = 0.5
# The command gets this long to end by itself, and then what is left of it a little more.
_COMMAND_GRACE_SECONDS = 20.0
_REST_GRACE_SECONDS = 5.0


def keep(directory: str, *command: str) -> int:
    """Run a command until it or standard input ends; end all that it started, and return its exit code."""
    adopt_orphans()
    stop_signals: list[int] = []
    # A shell starts background jobs with SIGINT ignored, which children inherit; a handler they do not.
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda number, _frame: stop_signals.append(number))
    # On SIGINT `airflow standalone` stops its components; of SIGTERM it dies without them.
    process = subprocess.Popen(
        command, cwd=directory, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent(signal.SIGINT)
    )
    while process.poll() is None and not stop_signals:
        if select.select([sys.stdin], [], [], _POLL_SECONDS)[0]:
            break
        reap_adopted({process.pid})
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=_COMMAND_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    end_descendants(grace_seconds=_REST_GRACE_SECONDS)
    code = process.wait()
    reap_adopted(())
    return code


if __name__ == "__main__":
    sys.exit(keep(*sys.argv[1:]))
