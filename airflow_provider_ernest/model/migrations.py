"""Documents of earlier schemas: what is done to the data of each to make it one of the next schema.

A document says its schema beside its fields. A class whose form changes in a way that a default value does
not cover gets the next number as its ``schema``, and here a step from each number before it. Steps work on
the data as JSON holds it, may change it, and must let stand what a later version has written already: data
without a number counts as of the first schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

FIRST = 1
"""The schema of data that does not say any."""

Step = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes data of one schema such of the next."""

LARGEST_DEVIATION = 1e-6
"""Of a number of partitions from a whole one: shares like 7/100 are not exact."""


def migrated(name: str, data: Mapping[str, Any], *, schema: int) -> dict[str, Any] | None:
    """The data of a document in the form of a later schema; None where no steps lead there.

    Args:
        name: of the document's class.
        data: of an earlier schema; it is not changed.
        schema: the schema to reach.
    """
    found = data.get("schema", FIRST)
    # A bool is a whole number to Python.
    if type(found) is not int or not FIRST <= found < schema:
        return None
    steps = MIGRATIONS.get(name, {})
    changed = dict(data)
    for number in range(found, schema):
        if number not in steps:
            return None
        changed = {**steps[number](changed), "schema": number + 1}
    return changed


def _model_from_1(data: dict[str, Any]) -> dict[str, Any]:
    """Let a model say what it was trained under, as far as its design and its cluster tell."""
    if data.get("conditions") is not None:
        return data
    cluster, design = data.get("cluster"), data.get("design")
    cores = cluster.get("cores_per_machine") if isinstance(cluster, dict) else None
    partitions = _partitions(design.get("experiments")) if isinstance(design, dict) else None
    conditions: dict[str, Any] = {}
    if cores is not None:
        conditions["cores_per_machine"] = cores
    if partitions is not None:
        conditions["input"] = {"partitions": partitions}
    return {**data, "conditions": conditions or None}


def _partitions(experiments: Any) -> int | None:
    """Of the whole input: each experiment reads a share of it that is a number of whole partitions."""
    try:
        shares = [(float(each["partitions"]), float(each["scale"])) for each in experiments]
        # The largest share tells most exactly.
        partitions = round(max(part / scale for part, scale in shares if scale == max(s for _, s in shares)))
    except (TypeError, KeyError, ValueError, ArithmeticError):
        return None
    is_told = all(abs(part - scale * partitions) <= LARGEST_DEVIATION * part for part, scale in shares)
    return partitions if is_told and partitions >= 1 else None


MIGRATIONS: dict[str, dict[int, Step]] = {"Model": {1: _model_from_1}}
"""The step from each earlier schema, by the name of the document's class."""
