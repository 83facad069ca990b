"""The bandwidth probe without Spark: machines are threads with loopback addresses of their own."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.clusters.bandwidth_probe import (
    Group,
    Plan,
    measure_machine,
    measure_memory,
    shifts_of,
    with_sent,
)
from airflow_provider_ernest.clusters.probe import choose_culled, warnings_after
from airflow_provider_ernest.spark.machines import Bandwidth, Machine, Measurement, rate

BRIEF = Plan(cores=1, windows=2, window_seconds=0.1, settle_seconds=0.02, transfer_seconds=0.2)


def test_the_best_window_of_all_rounds_counts():
    rounds = [
        Measurement(host="a", memory_windows=(5.0, 6.0)),
        Measurement(host="a", memory_windows=(20.0, 3.0)),
        Measurement(host="b", memory_windows=(20.0, 20.0)),
    ]
    assert rate(rounds)["a"].memory_gigabytes_per_second == 20.0
    assert rate(rounds)["a"].score == 1.0


def test_a_slow_partner_does_not_blame_an_innocent_machine():
    """a exchanges with the slow machine c in one shift of two."""
    scores = rate(
        [
            Measurement(host="a", memory_windows=(1.0,), sent=(1.0, 0.1), received=(0.1, 1.0)),
            Measurement(host="b", memory_windows=(1.0,), sent=(0.1, 1.0), received=(1.0, 0.1)),
            Measurement(host="c", memory_windows=(1.0,), sent=(0.1, 0.1), received=(0.1, 0.1)),
        ]
    )
    assert scores["a"].score == scores["b"].score == 1.0
    assert scores["c"].score == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("sent", "network", "score"),
    [((0.5,), 0.5, 0.5), ((1.0,), 1.0, 1.0), ((0.0,), 0.0, 0.0), ((), None, 1.0)],
)
def test_network_counts_by_its_worse_direction_where_there_is_one(sent, network, score):
    machines = [Measurement(host=name, memory_windows=(1.0,), sent=(1.0,), received=(1.0,)) for name in "ab"]
    odd = Measurement(host="c", memory_windows=(1.0,), sent=sent, received=(1.0,) if sent else ())
    rated = rate([*machines, odd])["c"]
    assert (rated.network_gigabytes_per_second, rated.score) == (network, score)


class Machines:
    """Runs a function for each machine in a thread of its own, with what Spark's barrier would give them.

    The last one calls `intrude` before it connects to the others.
    """

    def __init__(self, count: int, intrude: Callable[[], None] = lambda: None) -> None:
        self.count = count
        self._intrude = intrude
        self.answers: list[str] = [""] * count
        self.results: list[Any] = [None] * count
        self._barrier = threading.Barrier(count)

    def run(self, function: Callable[[Group], Any], timeout_seconds: float = 20.0) -> list[Any]:
        def machine(rank: int) -> None:
            def all_gather(message: str) -> list[str]:
                self.answers[rank] = message
                self._barrier.wait(10)
                if rank == self.count - 1:
                    self._intrude()
                return list(self.answers)

            host = f"127.0.2.{rank + 1}"
            try:
                group = Group(rank=rank, host=host, all_gather=all_gather, timeout_seconds=timeout_seconds)
                with closing(group):
                    self.results[rank] = function(group)
            except OSError as error:
                self.results[rank] = error

        threads = [threading.Thread(target=machine, args=(rank,)) for rank in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        return self.results


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_machine_measures_memory_and_exchanges_with_its_partners(count):
    results = Machines(count).run(lambda group: measure_machine(BRIEF, group))

    assert [result["host"] for result in results] == [f"127.0.2.{rank + 1}" for rank in range(count)]
    assert all(len(result["memory_windows"]) == 2 for result in results)
    assert all(len(result["received"]) == len(shifts_of(count)) for result in results)
    assert all(rate > 0 for result in results for rate in result["memory_windows"] + result["received"])


def test_a_machine_that_begins_after_the_window_is_slow_and_not_without_memory():
    over_at_once = replace(BRIEF, window_seconds=0.0)
    assert all(rate > 0 for rate in measure_memory(over_at_once, start=lambda: None))


@pytest.mark.parametrize("how", ["ends", "hangs"])
def test_a_machine_that_ends_or_hangs_fails_the_others_in_time(how):
    others_done = threading.Event()

    def act(group: Group) -> Any:
        if group.rank == 2:
            others_done.wait(30 if how == "hangs" else 0)
            return how
        try:
            return measure_machine(BRIEF, group)
        finally:
            others_done.set()

    results = Machines(3).run(act, timeout_seconds=1.0 if how == "hangs" else 20.0)
    assert results[2] == how
    assert all(isinstance(results[rank], OSError) for rank in (0, 1))


def test_foreigners_are_turned_away():
    """Whoever connects before the partner and says nothing, or something wrong, is not served."""
    strangers: list[socket.socket] = []

    def intrude() -> None:
        host, port, _ = json.loads(machines.answers[0])
        for said in (b"x" * 32, b""):
            strangers.append(socket.create_connection((host, port)))
            strangers[-1].sendall(said)

    machines = Machines(2, intrude)
    results = machines.run(lambda group: measure_machine(BRIEF, group))

    assert all(result["received"][0] > 0 for result in results)
    for stranger in strangers:
        with stranger:
            stranger.settimeout(10)
            assert stranger.recv(1) == b""


def test_what_a_machine_sent_is_what_its_partner_received():
    received = {0: [0.2, 0.1], 1: [1.2, 1.1], 2: [2.2, 2.1]}  # of the machines 1 and 2 ranks before
    measured = [
        {"rank": rank, "host": f"h{rank}", "memory_windows": [1.0], "received": received[rank]}
        for rank in (2, 0, 1)
    ]
    sent = {machine["host"]: machine["sent"] for machine in with_sent(measured)}
    assert sent == {"h0": [1.2, 2.1], "h1": [2.2, 0.1], "h2": [0.2, 1.1]}


def machine(host: str, bandwidth: Bandwidth | None = None) -> Machine:
    return Machine(worker_id=f"worker-{host}", host=host, cores=8, memory_megabytes=1024, bandwidth=bandwidth)


def probed(**rates: tuple[float, ...]) -> list[Machine]:
    """Machines by name, each with its (memory, network) bandwidth, rated as the probe rates them."""
    rated = rate(
        Measurement(host=host, memory_windows=(memory,), sent=tuple(network), received=tuple(network))
        for host, (memory, *network) in rates.items()
    )
    return [machine(host, rated[host]) for host in rates]


def culled_hosts(machines, **how):
    return [culled.machine.host for culled in choose_culled(machines, **how)]


FIVE = {"a": (20.0, 1.0), "b": (19.4, 1.0), "c": (20.0, 0.52), "d": (20.0, 1.0), "e": (10.0, 1.0)}


def test_the_slowest_are_culled_slowest_first_and_the_reason_says_what_was_slow():
    culled = choose_culled(probed(**FIVE), keep=2, floor=0.85, smallest=2)
    assert [(each.machine.host, each.reason) for each in culled] == [
        ("e", "memory 50 % of the median, below the floor of 85 %: a straggler"),
        ("c", "network 52 % of the median, below the floor of 85 %: a straggler"),
        ("b", "not needed: memory 97 % of the median"),
    ]


ORDINARY = {"a": (20.0, 1.0), "b": (19.0, 1.0), "c": (20.0, 0.95)}
AT_THE_FLOOR = {"a": (20.0, 1.0), "b": (20.0, 1.0), "c": (17.0, 1.0)}


@pytest.mark.parametrize(
    ("machines", "keep", "smallest", "culled"),
    [
        (ORDINARY, 3, 1, []),
        (AT_THE_FLOOR, 3, 1, []),
        (FIVE, 4, 3, ["e", "c"]),
        (FIVE, 5, 4, ["e"]),
        (FIVE, 5, 5, []),
        (FIVE, 8, 3, ["e", "c"]),
        (FIVE, 8, 6, []),
        ({"a": (9.0,), "b": (9.0,)}, 1, 1, ["a"]),  # without network
    ],
)
def test_stragglers_beyond_the_surplus_are_culled_down_to_the_smallest_acceptable(
    machines, keep, smallest, culled
):
    assert culled_hosts(probed(**machines), keep=keep, floor=0.85, smallest=smallest) == culled


def test_machines_without_measurement_go_before_ordinary_ones_and_after_stragglers():
    machines = [*probed(**FIVE), machine("y"), machine("x")]
    culled = choose_culled(machines, keep=3, floor=0.85, smallest=3)
    assert [each.machine.host for each in culled] == ["e", "c", "x", "y"]
    assert culled[2].reason == "not needed: its bandwidth was not measured"


def test_stragglers_that_had_to_stay_are_told_slowest_first():
    first, second = warnings_after([*probed(**FIVE), machine("unmeasured")], floor=0.85)
    assert "e is slow and remains: memory 50 % of the median, below the floor of 85 %" in first
    assert "c is slow and remains: network 52 %" in second
