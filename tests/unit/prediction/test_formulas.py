"""Formulas are arithmetic on machines and scale, and nothing else."""

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.terms import Formula

MACHINES = np.array([1.0, 2.0, 8.0])
SCALE = np.array([0.1, 0.5, 1.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scale^2/machines", SCALE**2 / MACHINES),
        ("scale**2 / machines", SCALE**2 / MACHINES),
        ("2^machines", 2**MACHINES),
        ("-machines^2 + 100", 100 - MACHINES**2),
        ("log(machines) + log2(machines)", np.log(MACHINES) + np.log2(MACHINES)),
        ("max(scale/machines - 0.05, 0)", np.maximum(SCALE / MACHINES - 0.05, 0)),
        ("min(machines, 4, 6)", np.minimum(MACHINES, 4)),
        ("sqrt(scale)", np.sqrt(SCALE)),
        ("3", np.full(3, 3.0)),
    ],
)
def test_formulas_are_read_as_a_person_reads_them(text, expected):
    assert Formula(text)(machines=MACHINES, scale=SCALE).tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "machines.__class__",
        "(lambda: 1)()",
        "[machines][0]",
        "machines if scale else 1",
        "log(machines, base=2)",
        "exec('1')",
        "max(machines)",
        "log(machines, 2)",
        "True",
        "'scale'",
        "machines = 1",
        "",
        "scale//machines",
        "(" * 150 + "1" + ")" * 150,
        "1+" * 150 + "1",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(InvalidParameterError, match="is neither a known term nor a formula"):
        Formula(text)


def test_huge_powers_end_at_once_and_are_not_finite():
    assert not np.isfinite(Formula("9^9^9^9^9")(machines=MACHINES, scale=SCALE)).any()
