"""Tests in forked processes, with a mutant instead of the module that it changes.

The first process loads the heavy libraries and never the package. Each run forks it: the child imports the
package anew, the mutated module from memory. So neither the working tree nor compiled files ever hold a
mutant, and no run waits for numpy, cvxpy and boto3 to load.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import FrameType, ModuleType

import pytest

HEAVY = (
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.stats",
    "cvxpy",
    "pandas",
    "boto3",
    "moto",
    "fsspec",
    "msgspec",
    "jinja2",
    "psutil",
    "sklearn.linear_model",
)

PACKAGE = "airflow_provider_ernest"

MOST_FAILED = 3
"""Tests of an area that may fail without a mutant; they are left out."""

LEAST_LIMIT = 10.0
"""Seconds of CPU time that each test may take, however quick it is without a mutant."""

WAITING = 4
"""So many times as long it may take by the clock: others use the machine, too, and some tests wait."""

Place = tuple[str, int]
"""A function: its file and the line at which it begins."""


class Outcome(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "killed by the time limit"
    SURVIVED = "survived"
    NOT_RUN = "run by no test"


@dataclass(kw_only=True)
class Known:
    """What the tests do while nothing is mutated.

    Attributes:
        seconds: CPU time of each test that passes, by its id.
        reached: which tests, or tests below which folder, file or class, run a function.
        failed: tests that fail without any mutant, as one may that a busy machine leaves too little time.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    reached: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    failed: set[str] = field(default_factory=set)

    def tests(self, path: str, function: int) -> dict[str, float]:
        """The tests that run a function, or any of its file's for 0, with their CPU time; quickest first."""
        scopes = {
            scope
            for (file, line), scopes in self.reached.items()
            for scope in scopes
            if file == path and (not function or line == function)
        }
        chosen = [
            test for test in self.seconds if test in scopes or any(map(test.startswith, scopes - {test}))
        ]
        return {test: self.seconds[test] for test in sorted(chosen, key=lambda test: self.seconds[test])}


def load_heavy_libraries() -> None:
    """Import what each run would spend its time on, as far as it is installed."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert PACKAGE not in sys.modules, "a mutated module must be imported after the fork"
    gc.freeze()


def learn(root: Path, code: Sequence[str], tests: Sequence[str], *, limit_seconds: float) -> Known:
    """Run an area's tests as they are, and note what each of them runs.

    Raises:
        RuntimeError: more than `MOST_FAILED` of them fail, or they take too long.
    """
    with _folder() as folder:
        kept = folder / "known"

        def run() -> int:
            recorder = _Recorder(root, frozenset(code))
            result = _pytest(root, [*tests, *code], [recorder], options=[f"--maxfail={MOST_FAILED + 1}"])
            kept.write_bytes(pickle.dumps(recorder.known))
            return result

        result, output = _forked(run, folder=folder, limit_seconds=limit_seconds)
        known: Known = pickle.loads(kept.read_bytes()) if kept.exists() else Known()  # noqa: S301 - our child's
        some_failed = result == pytest.ExitCode.TESTS_FAILED and len(known.failed) <= MOST_FAILED
        if result != pytest.ExitCode.OK and not some_failed:
            raise RuntimeError(
                f"The tests fail without a mutant, or take too long ({result}):\n{output[-3000:]}"
            )
    return known


def outcome_of(root: Path, path: str, mutated: str, tests: Mapping[str, float]) -> Outcome:
    """Run tests, in this order and until one fails, with a file as it was mutated.

    The tests come with their CPU time without the mutant. One that takes many times as long is ended: a
    mutant may loop for ever.
    """
    if not tests:
        return Outcome.NOT_RUN
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    with _folder() as folder:

        def run() -> int:
            sys.meta_path.insert(0, _Mutated(root / path, _module_name(path), mutated))
            return _pytest(root, files, [_Only(tests)], options=["-x"])

        result, output = _forked(run, folder=folder, limit_seconds=20 + 3 * sum(tests.values()))
    if result is None or result == -signal.SIGPROF:
        return Outcome.TIMED_OUT
    if result in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise RuntimeError(f"pytest did not get as far as the tests ({result}):\n{output[-3000:]}")
    return Outcome.SURVIVED if result == pytest.ExitCode.OK else Outcome.KILLED


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder; unlike tempfile's own, a child that ends as programs do does not remove it."""
    folder = Path(tempfile.mkdtemp(prefix="ernest-mutation-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _module_name(path: str) -> str:
    return ".".join(Path(path.removesuffix("/__init__.py")).with_suffix("").parts)


def _pytest(root: Path, paths: Sequence[str], plugins: list[object], *, options: Sequence[str]) -> int:
    os.chdir(root)
    sys.path.insert(0, str(root))
    quiet = [*options, "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    # pytest's own importer, which rewrites asserts, would load the files that it was given for their
    # doctests, and so the mutated module without its mutant.
    quiet.append("--assert=plain")
    return int(pytest.main([*quiet, "--doctest-modules", *paths], plugins=plugins))


def _forked(run: Callable[[], int], *, folder: Path, limit_seconds: float) -> tuple[int | None, str]:
    """What a function returns in a child of its own, None after the limit, and what it printed.

    The limit is CPU time, since others may use the machine, too; ten times as long by the clock.
    """
    output = folder / "output"
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _be_child(run, output)
    deadline = time.monotonic() + 10 * limit_seconds
    status = None
    try:
        while status is None and time.monotonic() < deadline and _cpu_seconds(child) < limit_seconds:
            ended, answer = os.waitpid(child, os.WNOHANG)
            status = answer if ended else None
            if not ended:
                time.sleep(0.02)
    finally:
        if status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
    printed = output.read_text(errors="replace") if output.exists() else ""
    return (os.waitstatus_to_exitcode(status) if status is not None else None), printed


def _be_child(run: Callable[[], int], output: Path) -> None:
    """Never returns to the caller's frames: they are the parent's."""
    code = 70
    try:
        os.setsid()
        os.environ["TMPDIR"] = str(output.parent)
        tempfile.tempdir = None
        target = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(target, stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", 1) for stream in (1, 2))
        code = run()
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _cpu_seconds(process: int) -> float:
    try:
        parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


class _Mutated(importlib.abc.MetaPathFinder):
    """Finds one module, with another text than its file has."""

    def __init__(self, path: Path, name: str, text: str) -> None:
        self.path = path
        self.name = name
        self.text = text

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        loader = _Loader(fullname, str(self.path))
        loader.text = self.text
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    text: str

    def get_code(self, fullname: str) -> object:  # type: ignore[override]
        return compile(self.text, self.path, "exec", dont_inherit=True)


class _Only:
    """Keeps the given tests, in the given order, and ends the process by SIGPROF where one does not end."""

    def __init__(self, tests: Mapping[str, float]) -> None:
        self.rank = {test: rank for rank, test in enumerate(tests)}
        self.seconds = tests

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.rank), key=lambda item: self.rank[item.nodeid]
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        limit = LEAST_LIMIT + 10 * self.seconds[item.nodeid]
        # One that sleeps takes no CPU time.
        waiting = threading.Timer(WAITING * limit, os.kill, (os.getpid(), signal.SIGPROF))
        waiting.daemon = True
        waiting.start()
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            waiting.cancel()


class _Recorder:
    """Notes which test runs which functions of the code.

    What a fixture of a file or of the session runs counts for all of its tests, and what the import of the
    tests runs, for all tests. Caches of the package are emptied before each test, lest a later one seem
    not to need what an earlier one asked for.
    """

    def __init__(self, root: Path, code: frozenset[str]) -> None:
        self.known = Known()
        self._scope = ""
        self._files: dict[str, str | None] = {}
        self._root = root
        self._code = code
        threading.settrace(self._called)
        sys.settrace(self._called)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        try:
            file = self._files[code.co_filename]
        except KeyError:
            file = self._files[code.co_filename] = self._mutated_file(code.co_filename)
        if file is not None:
            self.known.reached[file, code.co_firstlineno].add(self._scope)

    def _mutated_file(self, filename: str) -> str | None:
        path = Path(filename)
        if not path.is_relative_to(self._root):
            return None
        relative = path.relative_to(self._root)
        return str(relative) if any(relative.is_relative_to(each) for each in self._code) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, request: pytest.FixtureRequest) -> Iterator[None]:
        before, self._scope = self._scope, self._scope if request.scope == "function" else request.node.nodeid
        try:
            return (yield)
        finally:
            self._scope = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        _empty_caches(sys.modules)
        self._scope = item.nodeid
        begun = time.process_time()
        try:
            return (yield)
        finally:
            if item.nodeid not in self.known.failed:
                self.known.seconds[item.nodeid] = time.process_time() - begun

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.known.failed.add(report.nodeid)


def _empty_caches(modules: Mapping[str, ModuleType]) -> None:
    for name, module in list(modules.items()):
        if name.partition(".")[0] == PACKAGE:
            for each in list(vars(module).values()):
                if not isinstance(each, type) and callable(clear := getattr(each, "cache_clear", None)):
                    clear()
