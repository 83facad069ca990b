"""What is mutated, and whose tests should notice: change these paths when folders move."""

from __future__ import annotations

from dataclasses import dataclass

_PACKAGE = "airflow_provider_ernest"
_TESTS = "tests/unit"


@dataclass(frozen=True, kw_only=True)
class Area:
    """A part of the package with its tests; all paths are relative to the checkout.

    Attributes:
        code: files, or folders with all below them, that are mutated.
        tests: files and folders of tests. The doctests of `code` count, too.
    """

    code: tuple[str, ...]
    tests: tuple[str, ...]


def _modules(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names)


def _tests(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/test_{name}.py" for name in names)


AREAS = {
    "design": Area(code=(f"{_PACKAGE}/design",), tests=(f"{_TESTS}/model/design",)),
    "prediction": Area(
        code=_modules(f"{_PACKAGE}/prediction", "averaging", "evidence", "pooling", "predict", "predictors")
        + _modules(f"{_PACKAGE}/prediction", "regimes", "regression", "terms", "training"),
        tests=(
            f"{_TESTS}/model/averaging",
            f"{_TESTS}/model/regimes",
            *_tests(
                f"{_TESTS}/model", "regression", "terms", "formulas", "prediction", "predictors", "validation"
            ),
            *_tests(f"{_TESTS}/model", "intervals", "training", "fitted", "least_squares", "adequacy"),
            *_tests(f"{_TESTS}/model", "identifiability", "extension", "paper", "choice"),
        ),
    ),
    "decision": Area(
        code=_modules(f"{_PACKAGE}/decision", "choice", "composition", "mixed", "offers", "same_cost"),
        tests=_tests(f"{_TESTS}/model", "choice", "billing", "goals", "mixed", "pareto", "same_cost")
        + _tests(f"{_TESTS}/model", "training_cost")
        + _tests(f"{_TESTS}/views", "decision_table")
        + _tests(f"{_TESTS}/model/optex", "composition", "composition_search"),
    ),
    "clusters/ec2": Area(code=(f"{_PACKAGE}/clusters/ec2",), tests=(f"{_TESTS}/clusters/ec2",)),
}
