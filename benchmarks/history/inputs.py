"""The tables that the jobs read: small files, of which a run reads more the more its input has grown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 96
ORDERS_PER_FILE, POINTS_PER_FILE, LINES_PER_FILE = 8_000, 4_000, 2_000
CUSTOMERS = 4_000

_SEED = 18
_WORDS = 5_000


def make_inputs(folder: Path) -> None:
    """Make all tables, if they are not there; the same each time."""
    if (folder / "complete").exists():
        return
    for table in ("orders", "customers", "points", "texts"):
        (folder / table).mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(_SEED)
    pq.write_table(_customers(generator), folder / "customers" / "part-00000.parquet")
    for number in range(FILES):
        name = f"part-{number:05}"
        pq.write_table(_orders(number, generator), folder / "orders" / f"{name}.parquet")
        pq.write_table(_points(number, generator), folder / "points" / f"{name}.parquet")
        words = generator.zipf(1.3, (LINES_PER_FILE, 12)) % _WORDS
        lines = (" ".join(f"word{word}" for word in line) for line in words)
        (folder / "texts" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (folder / "complete").touch()


def _customers(generator: np.random.Generator) -> pa.Table:
    return pa.table(
        {
            "customer_id": np.arange(CUSTOMERS, dtype=np.int64),
            "region": generator.integers(0, 12, CUSTOMERS),
            "since": generator.integers(2001, 2026, CUSTOMERS),
        }
    )


def _orders(number: int, generator: np.random.Generator) -> pa.Table:
    """Orders of a day; one merchant has a third of them."""
    rows = ORDERS_PER_FILE
    merchants = generator.integers(1, 200, rows)
    merchants[generator.random(rows) < 1 / 3] = 0
    notes = generator.integers(0, 256, (rows, 32), dtype=np.uint8).tobytes().hex()
    return pa.table(
        {
            "order_id": np.arange(rows, dtype=np.int64) + number * rows,
            "customer_id": generator.integers(0, CUSTOMERS, rows),
            "product_id": generator.integers(0, 300, rows),
            "merchant_id": merchants,
            "at": np.sort(generator.integers(0, 86_400, rows)) + 86_400 * number,
            "amount": generator.integers(100, 100_000, rows),
            "note": [notes[64 * row : 64 * (row + 1)] for row in range(rows)],
        }
    )


def _points(number: int, generator: np.random.Generator) -> pa.Table:
    rows = POINTS_PER_FILE
    values = generator.standard_normal((rows, 8))
    label = (values.sum(axis=1) + generator.standard_normal(rows) > 0).astype(np.float64)
    columns = {f"x{place}": values[:, place] for place in range(8)}
    return pa.table({"id": np.arange(rows, dtype=np.int64) + number * rows, "label": label} | columns)
