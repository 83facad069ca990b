"""The terms are what their names say, and never negative; formulas are arithmetic and nothing else."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.terms import (
    ERNEST,
    TERMS,
    Formula,
    basis,
    term_named,
)


def test_the_four_terms_of_the_paper():
    (row,) = basis(ERNEST, executors=[8], scale=[0.5])

    assert row.tolist() == pytest.approx([1.0, 0.5 / 8, math.log(8), 8.0])


def test_no_term_is_ever_negative():
    executors, scale = np.meshgrid(np.arange(1, 101), np.geomspace(1e-6, 100, 50))
    rows = basis(tuple(TERMS), executors=executors.ravel(), scale=scale.ravel())

    assert rows.shape == (5000, len(TERMS))
    assert np.all(rows >= 0)
    assert np.all(np.isfinite(rows))


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        (("1", "cores^2"), r"'cores'.*prediction\.terms\.TERMS.*executors, scale"),
        (("scale/executors", "scale / executors"), "names a term twice"),
        (("scale - 0.5",), r"'scale - 0.5'.*is -0.4 for 2 executors and scale 0.1"),
        ((), "terms="),
    ],
    ids=["unknown", "twice", "negative somewhere", "none"],
)
def test_what_is_no_list_of_terms_is_refused(terms, says):
    with pytest.raises(InvalidParameterError, match=says):
        basis(terms, executors=[1, 2], scale=[0.5, 0.1])


def test_a_memory_cliff_begins_where_a_machine_has_more_than_it_holds():
    name = "max(scale/executors - 0.05, 0)"

    assert basis((name,), executors=[1, 2, 4], scale=0.1).ravel().tolist() == pytest.approx([0.05, 0.0, 0.0])
    assert "beyond 0.05 of the data" in term_named(name).meaning


MACHINES = np.array([1.0, 2.0, 8.0])
SCALE = np.array([0.1, 0.5, 1.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scale^2/executors", SCALE**2 / MACHINES),
        ("-executors^2 + 100", 100 - MACHINES**2),
        ("log(executors) + log2(executors)", np.log(MACHINES) + np.log2(MACHINES)),
        ("max(scale/executors - 0.05, 0)", np.maximum(SCALE / MACHINES - 0.05, 0)),
        ("min(executors, 4, 6)", np.minimum(MACHINES, 4)),
        ("3", np.full(3, 3.0)),
    ],
)
def test_formulas_are_read_as_a_person_reads_them(text, expected):
    assert Formula(text)(executors=MACHINES, scale=SCALE).tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "executors.__class__",
        "(lambda: 1)()",
        "[machines][0]",
        "executors if scale else 1",
        "log(executors, base=2)",
        "exec('1')",
        "max(executors)",
        "log(executors, 2)",
        "True",
        "'scale'",
        "machines = 1",
        "",
        "scale//executors",
        "(" * 150 + "1" + ")" * 150,
        "1+" * 150 + "1",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(InvalidParameterError, match="is neither a known term nor a formula"):
        Formula(text)


def test_huge_powers_end_at_once_and_are_not_finite():
    assert not np.isfinite(Formula("9^9^9^9^9")(executors=MACHINES, scale=SCALE)).any()
