from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from airflow_provider_ernest.prediction import terms
from airflow_provider_ernest.prediction.predict import contributions, predict_interval, predict_seconds
from airflow_provider_ernest.prediction.terms import TERMS
from airflow_provider_ernest.prediction.training import extend_terms
from benchmarks.pictures.__main__ import main, pictures
from benchmarks.pictures.drawing import BACKGROUND, DARK, INK, write
from benchmarks.pictures.simulated import PRODUCTION_MACHINES, model, production_seconds, sample_runs
from benchmarks.screenshots import shots
from benchmarks.survey_example import PAGE, PICTURE

DOCS = Path(__file__).parents[3] / "docs"
CONCEPTS = (DOCS / "explanation" / "concepts.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    assert main(["--into", str(folder)]) == 0
    return folder


def test_the_documentation_shows_each_picture_and_says_what_is_on_it(drawn):
    shown = re.findall(r"!\[([^]]+)\]\(\.\./pictures/(\w+\.svg)\)", CONCEPTS)
    assert sorted(name for _, name in shown) == sorted(path.name for path in drawn.iterdir())
    assert all(len(words) > 40 for words, _ in shown)


def test_the_documentation_names_each_term_beside_its_picture():
    rows = [line for line in CONCEPTS.splitlines() if "](../pictures/term_" in line and line.startswith("|")]
    assert [row.split("`")[1] for row in rows] == list(TERMS)


def test_the_pictures_of_the_documentation_are_all_drawn_by_the_command(drawn):
    committed = {path.name for path in (DOCS / "pictures").glob("*.svg")}
    assert committed == {path.name for path in drawn.iterdir()}


def test_the_screenshots_of_the_documentation_are_all_taken_by_the_command_and_shown():
    committed = sorted(path.name for path in (DOCS / "pictures").iterdir() if path.suffix != ".svg")
    taken = shots("some run")
    assert committed == sorted([*(f"{shot.name}.png" for shot in taken), PICTURE.name])
    shown = [
        name
        for page in (DOCS / "reference" / "pages.md", DOCS.parent / PAGE)
        for name in re.findall(r"!\[[^]]{12,}\]\(\.\./pictures/(\S+\.png)\)", page.read_text("utf-8"))
    ]
    assert sorted(shown) == committed


def test_the_same_picture_is_drawn_again(drawn, tmp_path):
    for picture in pictures():
        assert write(picture, tmp_path).read_bytes() == (drawn / f"{picture.name}.svg").read_bytes()


@pytest.mark.parametrize("colours", [(BACKGROUND, INK), (DARK[BACKGROUND], DARK[INK])])
def test_writing_is_readable_on_light_and_on_dark(colours):
    """The contrast that the Web Content Accessibility Guidelines 2.2 ask for (level AAA)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted(map(luminance, colours))
    assert (light + 0.05) / (dark + 0.05) >= 7.0


def test_the_example_is_as_the_documentation_describes_it():
    """Alternative texts say so: runs within the bands, bands that grow, and what 4 and 64 machines do."""
    low, high = predict_interval(model(), machines=PRODUCTION_MACHINES, level=0.95)
    assert all(low <= production_seconds())
    assert all(production_seconds() <= high)
    seconds = predict_seconds(model(), machines=PRODUCTION_MACHINES)
    width = (high - low) / seconds
    assert PRODUCTION_MACHINES[2:] == (16, 32, 64)
    assert width[2] < width[3] < width[4]
    assert contributions(model(), machines=4)["scale/machines"] > 0.9 * seconds[0]
    assert 0.5 < contributions(model(), machines=64)["scale/machines"] / seconds[4] < 0.7


def test_the_examples_of_the_documentation_run(monkeypatch):
    monkeypatch.setattr(terms, "_registered", {})
    blocks = re.findall(r"```python\n(.*?)```", CONCEPTS, flags=re.DOTALL)
    assert len(blocks) == 3
    names = {"observations": sample_runs()}
    for block in blocks:
        exec(block, names)
    assert names["terms"] == extend_terms(
        sample_runs(), extensions=["scale", "scale^2/machines"], above_percent=10.0
    )


def test_the_documentation_names_modules_that_there_are():
    """Each section says which module it is about."""
    package = DOCS.parent / "airflow_provider_ernest"
    for line in re.findall(r"^\*(?:Modules?|Package) .*$", CONCEPTS, flags=re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", line):
            path = package.joinpath(*name.split("."))
            assert path.is_dir() or path.with_suffix(".py").is_file(), name
