"""What is culling worth, and how often does a noisy probe cull the right machines?

Simulated, since nobody rents 50 machines for a table. The Ernest paper (NSDI 2016, figure 8) starts 50
r3.2xlarge and some more, drops the slowest, and reports that the memory bandwidth of the cluster rises
from 24.7 to 26 GB/s. Nothing else is published of the distribution, so two are assumed:

    normal    the two figures are those of the slowest machine, which sets the pace of every stage, before
              and after 2 of 52 are dropped; the machines are normally distributed, which determines both
              of its parameters
    few slow  the two figures are means, and all slow machines are gone when 4 of 54 are dropped: ordinary
              machines of 26 GB/s that differ by 2 %, and 4 of 54 that have a third of that

Noise: a window loses a share of its bandwidth that is exponentially distributed with a mean of 10 %. That
is the one number that agrees with what was measured: hosts at 0.7 of the speed were found by one window in
35 of 40 trials and by four windows in 10 of 10, and equal hosts scored 0.89 to 1.00.

The machines are rated and culled by the functions that the package uses.

    python -m benchmarks.straggler_culling [--repetitions N]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clusters.probe import choose_culled
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.spark.machines import Machine, Measurement, rate

KEPT = 50
PUBLISHED_BEFORE, PUBLISHED_AFTER = 24.7, 26.0
PUBLISHED_EXTRA = 2
EXTRAS = (1, 2, 4, 8)
FLOOR = 0.85
NOISE_MEAN = 0.10
SEED = 8
REPETITIONS = 200

Population = Callable[[np.random.Generator, int], FloatArray]
"""Draws so many machines: their true bandwidth in GB/s."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """How machines are measured.

    Attributes:
        name: for the table.
        windows: of each round.
        rounds: how many; 0 to cull at random.
        exact: there is no noise.
    """

    name: str
    windows: int = 4
    rounds: int = 1
    exact: bool = False

    def measure(self, random: np.random.Generator, true: FloatArray) -> FloatArray:
        """The best window of each machine."""
        if self.exact:
            return true
        if self.rounds == 0:
            return random.uniform(1.0, 1.01, size=true.shape)
        lost = random.exponential(NOISE_MEAN, size=(self.rounds * self.windows, true.size)).min(axis=0)
        return np.asarray(true * np.maximum(1 - lost, 0.0), dtype=np.float64)


DEFAULT_PROBE = Probe(name="4 windows, 2 rounds", rounds=2)
PROBES = (
    Probe(name="none: cull at random", rounds=0),
    Probe(name="1 window", windows=1),
    Probe(name="2 windows", windows=2),
    Probe(name="4 windows"),
    DEFAULT_PROBE,
    Probe(name="without noise", exact=True),
)


def culled(measured: FloatArray, keep: int) -> list[int]:
    """The machines that the package would end, by their number, the slowest first."""
    bandwidth = rate(
        Measurement(host=f"{index}", memory_windows=(float(value),)) for index, value in enumerate(measured)
    )
    executors = [
        Machine(worker_id=host, host=host, cores=8, memory_megabytes=1024, bandwidth=rated)
        for host, rated in bandwidth.items()
    ]
    return [
        int(each.machine.host) for each in choose_culled(executors, keep=keep, floor=FLOOR, smallest=keep)
    ]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Means over all repetitions; shares from 0 to 1, bandwidths in GB/s."""

    all_right: float
    found: float
    mean: float
    slowest: float


def simulate(population: Population, probe: Probe, *, extra: int, repetitions: int) -> Outcome:
    """Launch 50 machines and `extra` ones, probe, cull; the same machines for every probe."""
    rows = []
    for repetition in range(repetitions):
        true = population(np.random.default_rng((SEED, repetition)), KEPT + extra)
        ended = culled(probe.measure(np.random.default_rng((SEED, repetition, 1)), true), KEPT)
        # Among equally slow machines any choice is right.
        hits = int(np.count_nonzero(true[ended] <= np.sort(true)[extra - 1]))
        kept = np.delete(true, ended)
        rows.append((hits == extra, hits / extra, kept.mean(), kept.min()))
    all_right, found, mean, least = np.mean(np.array(rows, dtype=np.float64), axis=0)
    return Outcome(all_right=float(all_right), found=float(found), mean=float(mean), slowest=float(least))


def normal() -> tuple[float, float]:
    """Mean and standard deviation for which the slowest of 50 and the third of 52 are as published."""
    standard = np.sort(np.random.default_rng(SEED).standard_normal((20_000, KEPT + PUBLISHED_EXTRA)), axis=1)
    after = standard[:, PUBLISHED_EXTRA].mean()
    before = np.random.default_rng(SEED + 1).standard_normal((20_000, KEPT)).min(axis=1).mean()
    deviation = (PUBLISHED_AFTER - PUBLISHED_BEFORE) / (after - before)
    return float(PUBLISHED_BEFORE - before * deviation), float(deviation)


def populations() -> dict[str, Population]:
    """The two assumptions of the module."""
    mean, deviation = normal()
    share = 4 / (KEPT + 4)
    slow = PUBLISHED_AFTER - (PUBLISHED_AFTER - PUBLISHED_BEFORE) / share

    def few_slow(random: np.random.Generator, count: int) -> FloatArray:
        ordinary = random.normal(PUBLISHED_AFTER, 0.02 * PUBLISHED_AFTER, count)
        return np.where(random.random(count) < share, slow, ordinary)

    return {
        f"normal: mean {mean:.1f}, standard deviation {deviation:.2f} GB/s": lambda random, count: (
            random.normal(mean, deviation, count)
        ),
        f"few slow: {share:.1%} have {slow:.1f} GB/s, the others {PUBLISHED_AFTER:.0f}": few_slow,
    }


def print_arithmetic() -> None:
    """Which readings of the published figures are possible at all."""
    print(
        f"Could {PUBLISHED_BEFORE} and {PUBLISHED_AFTER} GB/s be the means before and after the slowest are "
        f"dropped, {KEPT} kept?"
    )
    print(f"{'dropped':>8s}  {'mean, had they nothing':>22s}  {'what they had for a mean of 26':>30s}")
    for extra in (2, 3, 4, 5, 8, 10):
        most = (KEPT + extra) / KEPT * PUBLISHED_BEFORE
        had = ((KEPT + extra) * PUBLISHED_BEFORE - KEPT * PUBLISHED_AFTER) / extra
        answer = f"{had:.1f} GB/s" if had >= 0 else "impossible"
        print(f"{extra:8d}  {most:17.2f} GB/s  {answer:>30s}")


def print_noise(repetitions: int) -> None:
    """How the assumed noise compares with what was measured."""
    five = np.array([1.0, 1.0, 1.0, 0.7, 0.7])
    random = np.random.default_rng(SEED)
    print("\nThe assumed noise: two hosts at 0.7 among five; equal hosts")
    for probe, found in (
        (Probe(name="1 window", windows=1), "35 of 40"),
        (Probe(name="4 windows"), "10 of 10"),
    ):
        right = [set(culled(probe.measure(random, five), 3)) == {3, 4} for _ in range(repetitions)]
        print(f"  {probe.name:10s} both culled in {np.mean(right):6.1%} (measured: {found})")
    equal = np.array([probe.measure(random, np.ones(5)) for _ in range(repetitions)])
    low, high = np.quantile(equal / np.median(equal, axis=1, keepdims=True), (0.01, 0.99))
    print(f"  4 windows  98 % of the scores within {low:.2f} to {high:.2f} (measured: 0.89 to 1.00)")


def print_population(name: str, population: Population, repetitions: int) -> None:
    """All probes with the published number of extra machines, then all numbers with the default probe."""
    print(f"\n{name}")
    print(f"{'extra':>6s}  {'probe':34s}  {'all right':>9s}  {'found':>6s}  {'mean':>6s}  {'slowest':>8s}")
    draws = [population(np.random.default_rng((SEED, each)), KEPT) for each in range(repetitions)]
    mean, least = np.mean([draw.mean() for draw in draws]), np.mean([draw.min() for draw in draws])
    print(f"{0:6d}  {'nothing is culled':34s}  {'-':>9s}  {'-':>6s}  {mean:6.2f}  {least:8.2f}")
    for extra, probe in [
        *((PUBLISHED_EXTRA, probe) for probe in PROBES),
        *((extra, DEFAULT_PROBE) for extra in EXTRAS if extra != PUBLISHED_EXTRA),
    ]:
        outcome = simulate(population, probe, extra=extra, repetitions=repetitions)
        right = f"{outcome.all_right:9.0%}  {outcome.found:6.0%}"
        print(f"{extra:6d}  {probe.name:34s}  {right}  {outcome.mean:6.2f}  {outcome.slowest:8.2f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.straggler_culling", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help=f"default {REPETITIONS}")
    repetitions = parser.parse_args(arguments).repetitions
    print_arithmetic()
    print_noise(5 * repetitions)
    print(
        f"\n{KEPT} machines are kept, {repetitions} repetitions. all right: only the slowest were culled;\n"
        "found: the share of the slowest that was culled; mean and slowest: GB/s of those that are kept"
    )
    for name, population in populations().items():
        print_population(name, population, repetitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
