"""How much production will read, by files and by the metadata of real tables."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.settings import ExpectedInput
from airflow_provider_ernest.spark.input import Amount, amount_of


def test_numbers_are_taken_as_they_are_also_as_text():
    assert amount_of(ExpectedInput(size_bytes="1200")) == Amount(size_bytes=1200.0)
    assert amount_of(ExpectedInput(records=7)) == Amount(records=7.0)


def test_files_count_by_their_sizes(tmp_path):
    for number in range(3):
        (tmp_path / f"part-{number}").write_bytes(b"x" * 100)
    (tmp_path / "_SUCCESS").write_bytes(b"")
    assert amount_of(ExpectedInput(path=str(tmp_path))) == Amount(size_bytes=300.0)


def test_a_delta_table_tells_what_its_newest_version_holds(tmp_path):
    deltalake, pyarrow = pytest.importorskip("deltalake"), pytest.importorskip("pyarrow")
    table = pyarrow.table({"user": list(range(1000))})
    address = str(tmp_path / "clicks")
    for mode in ("append", "append", "overwrite"):
        deltalake.write_deltalake(address, table, mode=mode)
    told = amount_of(ExpectedInput(delta_table=address))
    assert told.records == 1000
    files = deltalake.DeltaTable(address).file_uris()
    assert told.size_bytes == sum(
        (tmp_path / "clicks" / name.rpartition("/")[2]).stat().st_size for name in files
    )


def test_an_iceberg_table_tells_what_its_snapshot_holds(tmp_path, monkeypatch):
    pyarrow, catalogs = pytest.importorskip("pyarrow"), pytest.importorskip("pyiceberg.catalog")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}")
    # As in a process that starts now: pyiceberg reads the environment once.
    monkeypatch.setattr(catalogs, "_ENV_CONFIG", catalogs.Config())
    catalog = catalogs.load_catalog("lake")
    catalog.create_namespace("web")
    rows = pyarrow.table({"user": list(range(1000))})
    table = catalog.create_table("web.clicks", schema=rows.schema)
    assert amount_of(ExpectedInput(iceberg_table="lake.web.clicks")) == Amount()
    for _ in range(2):
        table.append(rows)
    told = amount_of(ExpectedInput(iceberg_table="lake.web.clicks"))
    assert told.records == 2000
    assert told.size_bytes == sum(file.stat().st_size for file in tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    "stated", [{"delta_table": "/no/such/table"}, {"iceberg_table": "lake.web.nothing"}, {"path": "/no/such"}]
)
def test_what_is_not_there_is_named(stated):
    with pytest.raises(MissingResourceError, match=next(iter(stated.values()))):
        amount_of(ExpectedInput(**stated))


@pytest.mark.parametrize("stated", [{}, {"size_bytes": 1, "path": "/data"}])
def test_just_one_is_to_be_stated(stated):
    with pytest.raises(InvalidParameterError, match="Give exactly one"):
        ExpectedInput(**stated)
