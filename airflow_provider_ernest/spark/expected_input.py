"""How much production will read, by what its user names: a number, files, or a table's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings import ExpectedInput
from airflow_provider_ernest.settings.values import optional_number
from airflow_provider_ernest.spark.input import list_input


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An amount of data; None for what is not told."""

    size_bytes: float | None = None
    records: float | None = None


def amount_of(expected: ExpectedInput) -> Amount:
    """How much is named.

    Raises:
        MissingResourceError: there is no such place or table, or no library that reads it.
    """
    if expected.path:
        return Amount(size_bytes=list_input(expected.path).total_bytes)
    try:
        if expected.delta_table:
            return _of_delta(expected.delta_table)
        if expected.iceberg_table:
            return _of_iceberg(expected.iceberg_table)
    except ImportError as error:
        library = "deltalake" if expected.delta_table else "pyiceberg"
        raise MissingResourceError(
            f"The size of a table is read by {library}, which is not installed: {error}.",
            remedy=f'Install "airflow-provider-ernest[{"delta" if expected.delta_table else "iceberg"}]", '
            "or give size_bytes or records.",
        ) from error
    except Exception as error:
        named = without_credentials(expected.delta_table or expected.iceberg_table or "")
        raise MissingResourceError(
            f"The table {named} cannot be read: {without_credentials(str(error))}.",
            remedy="Correct its name, or let the library reach it.",
        ) from error
    return Amount(
        size_bytes=optional_number("size_bytes", expected.size_bytes),
        records=optional_number("records", expected.records),
    )


def _of_delta(address: str) -> Amount:
    import deltalake

    # Of each file that the newest version has, as its log tells.
    files = deltalake.DeltaTable(address).get_add_actions(flatten=True)
    sizes, records = (files.column(name).to_pylist() for name in ("size_bytes", "num_records"))
    return Amount(size_bytes=float(sum(sizes)), records=None if None in records else float(sum(records)))


def _of_iceberg(name: str) -> Amount:
    from pyiceberg.catalog import load_catalog

    catalog, _, table = name.partition(".")
    snapshot: Any = load_catalog(catalog).load_table(table).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return Amount()
    told = snapshot.summary.additional_properties
    sizes = (optional_number(name, told.get(name)) for name in ("total-files-size", "total-records"))
    return Amount(**dict(zip(("size_bytes", "records"), sizes, strict=True)))
