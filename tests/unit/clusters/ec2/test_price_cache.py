import json
import os
import subprocess
import sys

import pytest

from airflow_provider_ernest.clusters.ec2.prices import KnownPrices, PriceCache

WRITER = """
import sys
from pathlib import Path
from airflow_provider_ernest.clusters.ec2.prices import KnownPrices, PriceCache
directory, number = Path(sys.argv[1]), int(sys.argv[2])
zones = {f"zone-{i}": float(number) for i in range(200)}
for time in range(1, 101):
    cache = PriceCache(directory, "us-east-1")
    cache.put("m5.large", "spot", KnownPrices(time=time, by_zone=zones))
    cache.put(f"m{number}.large", "spot", KnownPrices(time=time, by_zone=zones))
    read = PriceCache(directory, "us-east-1").get("m5.large", "spot", since=0)
    assert len(read.by_zone) == 200 and len(set(read.by_zone.values())) == 1
"""


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "not" / "there"


@pytest.fixture
def prices():
    return KnownPrices(time=1000.0, by_zone={"us-east-1a": 0.03, "us-east-1b": 0.04})


def _only_file(directory):
    (file,) = directory.iterdir()
    return file


def test_another_object_reads_what_one_has_kept(directory, prices):
    PriceCache(directory, "us-east-1").put("m5.large", "spot", prices)
    assert PriceCache(directory, "us-east-1").get("m5.large", "spot", since=0) == prices


def test_types_markets_and_regions_are_kept_apart(directory, prices):
    cache = PriceCache(directory, "us-east-1")
    cache.put("m5.large", "spot", prices)
    assert cache.get("m5.xlarge", "spot", since=0) is None
    assert cache.get("m5.large", "on-demand", since=0) is None
    assert PriceCache(directory, "eu-west-1").get("m5.large", "spot", since=0) is None


def test_what_another_process_has_asked_is_found_when_the_own_is_too_old(directory, prices):
    own, other = PriceCache(directory, "us-east-1"), PriceCache(directory, "us-east-1")
    own.put("m5.large", "spot", prices)
    newer = KnownPrices(time=2000.0, by_zone={"us-east-1a": 0.05})
    other.put("m5.large", "spot", newer)
    assert own.get("m5.large", "spot", since=500) == prices
    assert own.get("m5.large", "spot", since=1500) == newer


def test_without_a_directory_memory_alone_keeps_them(prices):
    cache = PriceCache(None, "us-east-1")
    cache.put("m5.large", "spot", prices)
    assert cache.get("m5.large", "spot", since=0) == prices


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{half",
        "\x00\x00",
        "[]",
        "null",
        json.dumps({"time": 1000}),
        json.dumps({"time": None, "dollars_per_hour": {"": 1}}),
        json.dumps({"time": 1000, "dollars_per_hour": {}}),
        json.dumps({"time": 1000, "dollars_per_hour": {"": -1}}),
        json.dumps({"time": 1000, "dollars_per_hour": {"": float("nan")}}),
        json.dumps({"time": 1000, "dollars_per_hour": [1]}),
    ],
)
def test_a_damaged_file_is_ignored_and_written_anew(directory, prices, caplog, content):
    PriceCache(directory, "us-east-1").put("m5.large", "spot", prices)
    file = _only_file(directory)
    file.write_text(content)
    cache = PriceCache(directory, "us-east-1")
    assert cache.get("m5.large", "spot", since=0) is None
    assert str(file) in caplog.text
    cache.put("m5.large", "spot", prices)
    assert PriceCache(directory, "us-east-1").get("m5.large", "spot", since=0) == prices


def test_no_name_leads_out_of_the_directory(directory, prices, tmp_path):
    PriceCache(directory, "../us-east-1").put("../../../m5.large", "spot", prices)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [file.parent for file in files] == [directory]


def test_a_directory_that_cannot_be_made_only_costs_the_cache(tmp_path, prices, caplog):
    (tmp_path / "file").write_text("")
    cache = PriceCache(tmp_path / "file" / "prices", "us-east-1")
    assert cache.get("m5.large", "spot", since=0) is None
    cache.put("m5.large", "spot", prices)
    assert cache.get("m5.large", "spot", since=0) == prices
    assert "cannot be kept" in caplog.text


def test_a_write_that_fails_leaves_the_old_prices_and_no_litter(directory, prices, monkeypatch):
    PriceCache(directory, "us-east-1").put("m5.large", "spot", prices)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    PriceCache(directory, "us-east-1").put("m5.large", "spot", KnownPrices(time=2000, by_zone={"": 1.0}))
    monkeypatch.undo()
    assert PriceCache(directory, "us-east-1").get("m5.large", "spot", since=0) == prices
    assert _only_file(directory).suffix == ".json"


def test_processes_that_write_at_once_see_whole_files_and_lose_nothing(directory):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(directory), str(number)], env=os.environ)
        for number in (1, 2, 3)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    cache = PriceCache(directory, "us-east-1")
    for number in (1, 2, 3):
        assert set(cache.get(f"m{number}.large", "spot", since=0).by_zone.values()) == {float(number)}
    assert not list(directory.glob(".*.partial"))


def test_prices_are_fresh_for_their_lifetime_and_never_from_the_future(prices):
    assert prices.fresh(1000, 600)
    assert prices.fresh(1599, 600)
    assert not prices.fresh(1600, 600)
    assert not prices.fresh(999, 600)
