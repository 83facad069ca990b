"""The terms are what their names say, and never negative."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.terms import (
    ERNEST,
    TERMS,
    Term,
    basis,
    memory_cliff,
    register,
    term_named,
)


def test_the_four_terms_of_the_paper():
    (row,) = basis(ERNEST, machines=[8], scale=[0.5])

    assert row.tolist() == pytest.approx([1.0, 0.5 / 8, math.log(8), 8.0])


def test_no_term_is_ever_negative():
    machines, scale = np.meshgrid(np.arange(1, 101), np.geomspace(1e-6, 100, 50))
    rows = basis(tuple(TERMS), machines=machines.ravel(), scale=scale.ravel())

    assert rows.shape == (5000, len(TERMS))
    assert np.all(rows >= 0)
    assert np.all(np.isfinite(rows))


def test_an_unknown_term_says_what_terms_there_are_and_what_a_formula_may_hold():
    with pytest.raises(InvalidParameterError, match=r"'cores'.*prediction\.terms\.TERMS.*machines, scale"):
        basis(("1", "cores^2"), machines=[1], scale=[1.0])


def test_spaces_make_no_other_term():
    with pytest.raises(InvalidParameterError, match="names a term twice"):
        basis(("scale/machines", "scale / machines"), machines=[1], scale=[1.0])


def test_a_term_that_is_negative_somewhere_is_refused_with_the_place():
    with pytest.raises(InvalidParameterError, match=r"'scale - 0.5'.*is -0.4 for 2 machines and scale 0.1"):
        basis(("scale - 0.5",), machines=[1, 2], scale=[0.5, 0.1])


def test_a_registered_function_is_a_term_of_this_process():
    term = Term("weekday", "what Mondays cost", lambda *, machines, scale: np.full_like(machines, 7.0))
    register(term)
    register(term)

    assert basis(("weekday",), machines=[3], scale=[1.0]).tolist() == [[7.0]]
    with pytest.raises(InvalidParameterError, match="is the name of another term"):
        register(Term("weekday", "something else", term.column))


def test_only_work_that_spreads_is_done_by_the_machines_that_work():
    (row,) = basis(("scale/machines", "machines"), machines=[4], scale=[1.0], workers=[3])

    assert row.tolist() == pytest.approx([1 / 3, 4.0])


@pytest.mark.parametrize("terms", [(), ("1", "1")])
def test_no_term_and_repeated_terms_are_refused(terms):
    with pytest.raises(InvalidParameterError, match="terms="):
        basis(terms, machines=[1], scale=[1.0])


def test_a_memory_cliff_begins_where_a_machine_has_more_than_it_holds():
    name = memory_cliff(0.05)

    assert basis((name,), machines=[1, 2, 4], scale=0.1).ravel().tolist() == pytest.approx([0.05, 0.0, 0.0])
    assert "beyond 0.05 of the data" in term_named(name).meaning
