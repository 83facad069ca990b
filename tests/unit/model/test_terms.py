"""The terms are what their names say, and never negative."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.terms import ERNEST, TERMS, basis


def test_the_four_terms_of_the_paper():
    (row,) = basis(ERNEST, machines=[8], scale=[0.5])

    assert row.tolist() == pytest.approx([1.0, 0.5 / 8, math.log(8), 8.0])


def test_each_name_is_its_formula():
    for name, term in TERMS.items():
        formula = name.replace("^", "**")
        names = {"machines": 9.0, "scale": 0.25, "log": math.log, "sqrt": math.sqrt}
        (value,) = term.column(machines=np.array([9.0]), scale=np.array([0.25]))

        assert value == pytest.approx(eval(formula, {"__builtins__": {}}, names)), name
        assert term.name == name
        assert term.meaning


def test_no_term_is_ever_negative():
    machines, scale = np.meshgrid(np.arange(1, 101), np.geomspace(1e-6, 100, 50))
    rows = basis(tuple(TERMS), machines=machines.ravel(), scale=scale.ravel())

    assert rows.shape == (5000, len(TERMS))
    assert np.all(rows >= 0)
    assert np.all(np.isfinite(rows))


def test_an_unknown_term_lists_the_known_ones():
    with pytest.raises(InvalidParameterError, match=r'"scale/machines".*"log\(machines\)"'):
        basis(("1", "machines^2"), machines=[1], scale=[1.0])


@pytest.mark.parametrize("terms", [(), ("1", "1")])
def test_no_term_and_repeated_terms_are_refused(terms):
    with pytest.raises(InvalidParameterError, match="terms="):
        basis(terms, machines=[1], scale=[1.0])


def test_machines_and_scale_cannot_be_swapped_by_position():
    with pytest.raises(TypeError):
        basis(ERNEST, [0.1], [4])


def test_the_library_cannot_be_changed():
    with pytest.raises(TypeError):
        TERMS["1"] = TERMS["scale"]
