"""Who is first is told of many processes that train or name a deployment, or that nobody can tell."""

from __future__ import annotations

import logging
import multiprocessing
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem
from upath import UPath

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.exclusive import TrainingLease, TrainingLeases, deployment_of_store

PROCESSES, NUMBERS = 6, 15
NOW = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)


def lease(run_id: str = "run") -> TrainingLease:
    return TrainingLease(
        origin=Origin(dag_id="nightly", run_id=run_id, task_id="find"), tasks=("fit",), taken_at=NOW
    )


def won_by(arguments: tuple[str, str]) -> list[int]:
    """The numbers that a process is first with; all try all of them, in the same order."""
    root, run_id = arguments
    leases = TrainingLeases(UPath(root), "pca", "abc")
    return [number for number in range(1, NUMBERS + 1) if leases.take(number, lease(run_id))]


def race(root: str) -> list[list[int]]:
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        return pool.map(won_by, [(root, f"run-{number}") for number in range(PROCESSES)], chunksize=1)


def test_each_lease_has_one_winner_among_processes(tmp_path):
    won = race(str(tmp_path))

    assert Counter(number for of_one in won for number in of_one) == dict.fromkeys(range(1, NUMBERS + 1), 1)
    number, newest = TrainingLeases(tmp_path, "pca", "abc").newest()
    winner = next(place for place, of_one in enumerate(won) if NUMBERS in of_one)
    assert (number, newest) == (NUMBERS, lease(f"run-{winner}"))


def test_the_same_on_s3(monkeypatch):
    pytest.importorskip("s3fs", reason="needs s3fs: pip install s3fs 'moto[s3,server]'")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0)
    server.start()
    try:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:{1}".format(*server.get_host_and_port()))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        fsspec.filesystem("s3").mkdir("bucket")
        won = race("s3://bucket/store")
    finally:
        server.stop()

    assert sorted(number for of_one in won for number in of_one) == [*range(1, NUMBERS + 1)]


def test_another_application_is_another_training(tmp_path):
    assert TrainingLeases(tmp_path, "pca", "abc").take(1, lease())

    assert TrainingLeases(tmp_path, "pca", "def").newest() == (0, None)
    assert TrainingLeases(tmp_path, "sort", "abc").newest() == (0, None)


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 99}'])
def test_a_lease_that_nobody_understands_holds_nobody(tmp_path, text):
    leases = TrainingLeases(tmp_path, "pca", "abc")
    leases.take(1, lease())
    (path,) = tmp_path.rglob("*.json")
    path.write_text(text)

    assert leases.newest() == (1, None)
    assert leases.take(2, lease())


class Heedless(AsyncFileSystem):
    """A storage whose server passes over conditions."""

    protocol = "heedless"

    async def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Be content with everything."""

    async def _ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        raise FileNotFoundError(path)

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        raise FileNotFoundError(path)

    async def _mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """There are no folders."""

    async def _makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Nor below one another."""


@pytest.mark.filterwarnings("ignore:UPath .heedless. filesystem")
def test_a_storage_that_cannot_tell_who_is_first_says_so(tmp_path, monkeypatch):
    fsspec.register_implementation("heedless", Heedless, clobber=True)
    with pytest.raises(StoreError, match="does not heed the conditions of writes"):
        TrainingLeases(UPath("heedless://bucket"), "pca", None).take(1, lease())
    with pytest.raises(StoreError, match="cannot exclude other writers"):
        TrainingLeases(UPath(f"memory://{tmp_path.name}"), "pca", None).take(1, lease())

    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with pytest.raises(StoreError, match="has no hard links"):
        TrainingLeases(tmp_path, "pca", None).take(1, lease())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_of_two_first_launches_both_take_the_id_of_the_first(tmp_path, monkeypatch):
    """Both have found none; the other one's comes a moment before this one's."""
    real = Path.hardlink_to

    def another_was_faster(self, target):
        monkeypatch.undo()
        self.write_text("0th3r")
        real(self, target)

    monkeypatch.setattr(Path, "hardlink_to", another_was_faster)
    assert deployment_of_store(tmp_path) == deployment_of_store(tmp_path) == "0th3r"


def test_a_storage_that_cannot_tell_who_is_first_needs_a_configured_id(tmp_path):
    with pytest.raises(StoreError, match=r"set \[ernest\] deployment.*cannot exclude other writers"):
        deployment_of_store(UPath(f"memory://{tmp_path}/store"))
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(StoreError, match=r"set \[ernest\] deployment"):
        deployment_of_store(tmp_path / "store")


def test_an_id_that_only_this_host_may_know_is_warned_of_once(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        made = deployment_of_store(tmp_path / "store")
        assert deployment_of_store(tmp_path / "store") == made
    (record,) = caplog.records
    assert made in record.getMessage()
    assert "set [ernest] deployment" in record.getMessage()
