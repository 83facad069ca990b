"""The pictures of docs/explanation/concepts.md, and its examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
from airflow_provider_ernest.prediction.terms import TERMS
from airflow_provider_ernest.prediction.training import extend_terms
from benchmarks.pictures.__main__ import main
from benchmarks.pictures.simulated import PRODUCTION_MACHINES, model, production_seconds, sample_runs

DOCS = Path(__file__).parents[3] / "docs"
CONCEPTS = (DOCS / "explanation" / "concepts.md").read_text(encoding="utf-8")


def test_the_documentation_shows_each_picture_and_names_each_term_beside_its_own(tmp_path: Path):
    assert main(["--into", str(tmp_path)]) == 0
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == sorted(re.findall(r"\]\(\.\./pictures/(\w+\.svg)\)", CONCEPTS))
    assert drawn == sorted(path.name for path in (DOCS / "pictures").glob("*.svg"))
    rows = [line for line in CONCEPTS.splitlines() if "](../pictures/term_" in line and line.startswith("|")]
    assert [row.split("`")[1] for row in rows] == list(TERMS)


def test_the_example_is_as_the_documentation_describes_it():
    """Alternative texts say so: runs within the bands, and bands that grow."""
    low, high = predict_interval(model(), executors=PRODUCTION_MACHINES, level=0.95)
    assert all(low <= production_seconds())
    assert all(production_seconds() <= high)
    seconds = predict_seconds(model(), executors=PRODUCTION_MACHINES)
    width = (high - low) / seconds
    assert PRODUCTION_MACHINES[2:] == (16, 32, 64)
    assert width[2] < width[3] < width[4]


def test_the_examples_of_the_documentation_run():
    blocks = re.findall(r"```python\n(.*?)```", CONCEPTS, flags=re.DOTALL)
    assert len(blocks) == 2
    names = {"observations": sample_runs()}
    for block in blocks:
        exec(block, names)
    assert names["terms"] == extend_terms(
        sample_runs(), extensions=["scale", "scale^2/executors"], above_percent=10.0
    )
