"""Do the tests notice a change of the code?

    python -m benchmarks.mutation [--mutants 40] [--seed 1] [design prediction decision clusters/ec2]

Of all small changes that `benchmarks.mutation.mutants` knows, so many are drawn in each area, always the
same of a seed, and the area's own tests run for each: those that run the changed function, the quickest
first, until one fails. What survives is printed: a mutant that nobody would notice, or a test that is
missing.

This is not done by mutmut or cosmic-ray, since neither draws a sample by a seed nor leaves texts alone.
mutmut mutates functions only, where ours have tables and fields besides, in a copy of the project;
cosmic-ray writes each mutant into the working tree, and starts a process for it that loads scipy, cvxpy
and boto3 anew.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.mutation import running
from benchmarks.mutation.areas import AREAS, Area
from benchmarks.mutation.mutants import Mutant, mutants_of
from benchmarks.mutation.running import Outcome

ROOT = Path(__file__).resolve().parent.parent.parent

LIMIT_SECONDS = 900.0
"""CPU time of an area's tests without a mutant."""

WANTED = 0.85
"""The share of mutants that should die."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run and print; returns 1 if too many mutants of an area survive."""
    options = _options(arguments)
    # A run that is told to end takes the tests that it runs along; their process has a session of its own.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    running.load_heavy_libraries()
    results = {}
    for name in options.areas or AREAS:
        found = all_mutants(ROOT, AREAS[name])
        chosen = drawn(found, options.mutants, seed=f"{options.seed} {name}")
        results[name] = (len(found), _outcomes(ROOT, AREAS[name], chosen, minutes=options.minutes))
    print("\n".join(table(results)))
    print("\nSurvived:\n\n```diff")
    for name, (_, outcomes) in results.items():
        print("\n".join(survivors(name, outcomes)), flush=True)
    print("```")
    return int(any(_share(outcomes) < WANTED for _, outcomes in results.values()))


def all_mutants(root: Path, area: Area) -> list[Mutant]:
    """All changes of an area's files."""
    files = [file for path in area.code for file in _python_files(root / path)]
    return [
        mutant
        for file in files
        for mutant in mutants_of(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
    ]


def drawn(mutants: Sequence[Mutant], number: int, *, seed: str) -> list[Mutant]:
    """So many of them, always the same of a seed, and the first of them the same when more are drawn."""
    shuffled = list(mutants)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - no secret
    return shuffled[:number]


def survivors(name: str, outcomes: Mapping[Mutant, Outcome]) -> Iterable[str]:
    """The mutants of an area that no test noticed, as changes of lines."""
    for mutant, outcome in outcomes.items():
        if outcome in (Outcome.SURVIVED, Outcome.NOT_RUN):
            text = (ROOT / mutant.path).read_text(encoding="utf-8")
            yield f"{name}, {outcome.value}: {mutant.difference(text)}\n"


def table(results: Mapping[str, tuple[int, Mapping[Mutant, Outcome]]]) -> Iterable[str]:
    """Of each area: how many mutants there are, and the sampled ones by what became of them, as Markdown."""
    yield "| area | mutants | sampled | killed | by the time limit | survived | run by no test | die |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, (found, outcomes) in results.items():
        counted = Counter(outcomes.values())
        cells = [found, len(outcomes), *(counted[outcome] for outcome in Outcome)]
        yield f"| {name} | {' | '.join(f'{cell:,}' for cell in cells)} | {_share(outcomes):.0%} |"


def _outcomes(root: Path, area: Area, mutants: Iterable[Mutant], *, minutes: float) -> dict[Mutant, Outcome]:
    known = running.learn(root, area.code, area.tests, limit_seconds=LIMIT_SECONDS)
    print(f"{len(known.seconds)} tests, {sum(known.seconds.values()):.0f} s", file=sys.stderr)
    for test in sorted(known.failed):
        print(f"Left out, since it fails without a mutant: {test}", file=sys.stderr)
    outcomes: dict[Mutant, Outcome] = {}
    deadline = time.monotonic() + 60 * minutes
    for mutant in mutants:
        if time.monotonic() > deadline:
            break  # those before are a sample as good, only smaller
        tests = known.tests(mutant.path, mutant.function)
        mutated = mutant.applied((root / mutant.path).read_text(encoding="utf-8"))
        outcomes[mutant] = running.outcome_of(root, mutant.path, mutated, tests)
        print(
            f"{mutant.path}:{mutant.line} {mutant.kind}: {outcomes[mutant].value}",
            file=sys.stderr,
            flush=True,
        )
    return outcomes


def _share(outcomes: Mapping[Mutant, Outcome]) -> float:
    dead = sum(outcome in (Outcome.KILLED, Outcome.TIMED_OUT) for outcome in outcomes.values())
    return dead / len(outcomes) if outcomes else 1.0


def _python_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "areas", nargs="*", choices=[*AREAS, []], metavar="AREA", help=f"of {', '.join(AREAS)}"
    )
    parser.add_argument("--mutants", type=int, default=40, help="drawn in each area (default 40)")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="begin no further mutant of an area then"
    )
    parser.add_argument("--seed", default="1", help="of the draw (default 1)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
