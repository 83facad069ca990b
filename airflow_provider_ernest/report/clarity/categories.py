"""What kind of job a run is of, as people write it."""

from __future__ import annotations

from airflow_provider_ernest.model.run_profile import CORE, GRAPHX, MLLIB, SQL, STREAMING

_NAMES = {SQL: "SQL", STREAMING: "streaming", MLLIB: "MLlib", GRAPHX: "GraphX", CORE: "RDDs"}


def category_name(category: str) -> str:
    """SQL, streaming, MLlib, GraphX or RDDs."""
    return _NAMES.get(category, category)
