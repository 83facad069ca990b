"""The application that maps a function of this package over lines of text, on the executors of a cluster.

spark-submit runs this file, with the package beside it (``--py-files``). The function is told by its name: it
takes the lines of a task and the number of the task's attempt, and gives lines. What it gives is appended to
a file on the driver's machine as jobs end, so that the driver never holds the answers of more than two.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from itertools import islice
from math import ceil
from pathlib import Path

MOST_LINES_A_TASK = 8
LEAST_LINES_A_JOB = 256
TASKS_A_SLOT = 4
"""Of a job where there are lines enough: the slots end at about the same time."""

# What the error of a task looks like within the stack traces of Spark: Python's own, or what Java says.
_OF_PYTHON = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception): .*)$", re.MULTILINE)
_OF_JAVA = re.compile(r"^: (.*)$", re.MULTILINE)


def main() -> int:
    """Map, and append the answers to the output file; last why it failed, if it did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--function", required=True, help="module:name")
    parser.add_argument("--lines", type=Path, required=True, help="file on the driver's machine")
    parser.add_argument("--answers", type=Path, required=True, help="file on the driver's machine")
    options = parser.parse_args()
    lines = options.lines.read_text().splitlines()
    with options.answers.open("a", buffering=1) as answers:
        try:
            for answer in mapped(options.function, lines):
                answers.write(f"{answer}\n")
        except Exception as error:
            text = str(error)
            found = _OF_PYTHON.search(text) or _OF_JAVA.search(text)
            reason = found[1] if found else f"{type(error).__name__}: {text}"
            answers.write(f"{json.dumps({'failed': reason})}\n")
            sys.stderr.write(f"{text}\n")
            return 1
    return 0


def mapped(function: str, lines: Iterable[str]) -> Iterator[str]:
    """What a function makes of the lines, in their order."""
    from pyspark import SparkContext

    context = SparkContext()
    waiting = iter(lines)
    running: deque[Future[list[str]]] = deque()

    def run(part: list[str]) -> list[str]:
        fewest = min(len(part), TASKS_A_SLOT * context.defaultParallelism)
        tasks = max(fewest, ceil(len(part) / MOST_LINES_A_TASK))
        return list(context.parallelize(part, tasks).mapPartitions(task_of(function)).collect())

    try:
        # Two jobs at a time: the second takes the slots that the last tasks of the first leave.
        with ThreadPoolExecutor(2) as pool:
            while True:
                # With dynamic allocation there are more slots as time goes on.
                for_all = MOST_LINES_A_TASK * TASKS_A_SLOT * context.defaultParallelism
                if part := list(islice(waiting, max(for_all, LEAST_LINES_A_JOB))):
                    running.append(pool.submit(run, part))
                elif not running:
                    return
                if len(running) > 1 or not part:
                    yield from running.popleft().result()
    finally:
        context.stop()


def task_of(function: str) -> Callable[[Iterable[str]], Iterator[str]]:
    """The function of the tasks: this file is ``__main__``, so it is pickled by value."""

    def task(lines: Iterable[str]) -> Iterator[str]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        module, _, name = function.partition(":")
        answers: Iterator[str] = getattr(import_module(module), name)(lines, context.attemptNumber())
        return answers

    return task


if __name__ == "__main__":
    sys.exit(main())
