"""What people read in logs: the figures of the documents, in lines that fit a screen."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import Design, Experiment
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.views.tables import design_table, model_table
from benchmarks.table1 import seconds_of
from tests.examples import observe

WIDTH = 110
MACHINES, SCALE = [1, 2, 4, 8, 16, 1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.02]
OBSERVATIONS = observe(
    machines=MACHINES, scale=SCALE, seconds=seconds_of("pca", machines=MACHINES, scale=SCALE)
)


@pytest.fixture(scope="module")
def averaged():
    return train(OBSERVATIONS, job="pca")


def test_a_design_says_what_it_is_good_for():
    design = Design(
        experiments=(Experiment(index=0, machines=4, scale=0.1, partitions=10),),
        terms=("1",),
        criterion="bayesian I",
        efficiency=0.9,
        cost=1.0,
        budget=2.0,
        cost_unit="dollars",
        candidates=80,
        weighting="relative",
    )

    assert design_table(design)[0].startswith(
        "bayesian I-optimal design for errors relative to the run's time"
    )
    assert "errors in seconds" in design_table(replace(design, weighting="absolute"))[0]


@pytest.mark.parametrize(
    ("costs", "shown"),
    [
        ((0.000731, 0.0123), ["0.00073", "0.01230"]),
        ((0.15, 2.0), ["0.15", "2.00"]),
        ((1.0, 24.25), ["1.0", "24.2"]),
        ((0.0, 3.0), ["0.0", "3.0"]),
    ],
)
def test_a_cost_of_a_fraction_of_a_cent_is_told(costs, shown):
    run = Experiment(index=0, machines=4, scale=0.1, partitions=10)
    design = Design(
        experiments=tuple(replace(run, cost=cost) for cost in costs),
        terms=("1",),
        criterion="A",
        efficiency=0.9,
        cost=sum(costs),
        budget=2 * sum(costs),
        cost_unit="dollars",
        candidates=80,
    )
    lines = design_table(design)

    assert [line.split()[-1] for line in lines[3:]] == shown
    assert "cost 0.0 of" not in lines[1]


def test_averaging_tells_how_probable_each_term_is(averaged):
    lines = model_table(averaged)

    for term in averaged.terms:
        (line,) = (line for line in lines if f" s x {term.name} " in line)
        assert line.split()[0] == f"{term.probability:.1%}"
        assert line.split()[1] == f"{term.coefficient:.4f}"
        assert line.endswith(term.meaning)
    assert f"scatter by {averaged.noise:.1%}" in "\n".join(lines)


@pytest.mark.parametrize(("share", "shown"), [(0.0, False), (0.009, False), (0.4, True)])
def test_the_driver_is_mentioned_only_where_it_may_take_a_machine(averaged, share, shown):
    lines = model_table(replace(averaged, driver_share=share))

    assert any("driver's with a probability of 40%" in line for line in lines) == shown
    assert any("driver" in line for line in lines) == shown


@pytest.mark.parametrize("method", ["relative", "classic"])
def test_methods_of_given_terms_have_no_probabilities_to_show(method):
    lines = model_table(train(OBSERVATIONS, job="pca", method=method))

    assert lines[0] == f"{method} least squares:"
    assert not any("probable" in line or "scatter" in line for line in lines)


def test_lines_fit_a_screen(averaged):
    extended = train(
        OBSERVATIONS, job="pca", method="relative", terms=["1", "scale*log2(1e9*scale)/machines"]
    )

    for line in (*model_table(averaged), *model_table(extended)):
        assert len(line) <= WIDTH
