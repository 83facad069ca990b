"""What spark-submit prints: hundreds of lines that Airflow's page folds, and why the driver failed."""

from __future__ import annotations

import re
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GROUP, END = "::group::Spark's output", "::endgroup::"
"""What begins and ends a group of lines that Airflow's page of a log folds."""

_LOGGED = re.compile(r"\d\d(?:\d\d)?[/-]\d\d[/-]\d\d[ T]\d\d:\d\d:\d\d")
"""So begins a line of Spark's own log. It is no part of a trace that ended the driver."""
_TRACE = re.compile(r'Traceback \(most recent call last\):|Exception in thread "main" ')
_EXCEPTION = re.compile(
    r'(?:Exception in thread "main" |Caused by: |: )?'
    r"((?:[A-Za-z_][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception|Interrupt)(?:: .*)?)"
)
_REFUSED_SECRET = re.compile(r"SaslException: .*Mismatched response")
"""What a driver logs whose secret is not its master's. It fails afterwards by whichever call came first."""
_ONLY_EXIT_CODE = "org.apache.spark.SparkUserAppException"
"""Behind the trace of a Python program, it says no more than that there was one."""


class FoldedOutput:
    """The output of a driver in a group of the task's log; also the logger of what is said beside it.

    What goes to this logger stands between groups, where it is seen without unfolding anything.

    Args:
        log: the task's logger.

    Attributes:
        failure: the last exception of an uncaught trace, as it was printed; empty where there was none.
        secret_is_refused: whether the cluster did not take the driver's shared secret.
    """

    def __init__(self, log: Any) -> None:
        self.failure = ""
        self.secret_is_refused = False
        self._log = log
        self._lock = Lock()
        self._is_open = False
        self._is_in_trace = False

    def lines(self, output: Iterable[Any]) -> Iterator[Any]:
        """The same lines, of which the first and each after a word from beside begins a group."""
        try:
            for line in output:
                self._look_at(str(line).rstrip())
                with self._lock:
                    if not self._is_open:
                        self._is_open = True
                        self._log.info(GROUP)
                yield line
        finally:
            with self._lock:
                self._close()

    def info(self, message: str, *values: object) -> None:
        """Log beside the output."""
        with self._lock:
            self._close()
            self._log.info(message, *values)

    def error(self, message: str, *values: object) -> None:
        """Log an error beside the output."""
        with self._lock:
            self._close()
            self._log.error(message, *values)

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._log.info(END)

    def _look_at(self, line: str) -> None:
        if _REFUSED_SECRET.search(line):
            self.secret_is_refused = True
        if _LOGGED.match(line):
            self._is_in_trace = False
        elif _TRACE.match(line):
            self._is_in_trace = True
        found = _EXCEPTION.match(line) if self._is_in_trace else None
        if found and not (self.failure and found[1].startswith(_ONLY_EXIT_CODE)):
            self.failure = found[1]
