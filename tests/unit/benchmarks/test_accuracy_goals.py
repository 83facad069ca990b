"""The goals of the accuracy benchmark: what counts as met."""

import pytest

from benchmarks.accuracy import bell, c3o, synthetic
from benchmarks.accuracy.evaluation import Outcome
from benchmarks.accuracy.goals import goals_of, goals_table
from benchmarks.accuracy.methods import ORIGINAL

DEFAULT_DESIGN = list(synthetic.DESIGNS)[-1]


def outcome(method: str, split: str, *, error: float, reach: float | None = None) -> Outcome:
    """A prediction for a run of 100 s that is `error` per cent off, with an interval of +- `reach` s."""
    predicted = 100.0 + error
    bounds = None if reach is None else ((predicted - reach, predicted + reach),) * 2
    return Outcome(
        method=method,
        job="job",
        condition="4 points",
        split=split,
        machines=8.0,
        scale=1.0,
        seconds=100.0,
        repetitions=(100.0,),
        predicted=predicted,
        bounds=bounds,
    )


def goals(split: str, **errors: float):
    """The goals of one table by the figure, where methods err so much; ORIGINAL is `original`."""
    methods = {name: (ORIGINAL if name == "original" else name) for name in errors}
    outcomes = [outcome(methods[name], split, error=error, reach=10.0) for name, error in errors.items()]
    return {goal.figure: goal for goal in goals_of("Protocol", outcomes)}


@pytest.mark.parametrize(
    ("split", "most"),
    [
        (c3o.ALL_POINTS, 4.5),
        (c3o.FEWEST_SECONDS, 6.0),
        (bell.INTERPOLATION, 4.0),
        (bell.FAR_EXTRAPOLATION, 12.0),
        (DEFAULT_DESIGN, 6.0),
    ],
)
def test_an_error_up_to_the_limit_of_its_table_meets_the_goal(split: str, most: float) -> None:
    assert goals(split, original=50, ours=most - 0.1)["mean error, %"].met is True
    assert goals(split, original=50, ours=-most - 0.1)["mean error, %"].met is False


def test_on_the_papers_models_ours_must_not_err_more_than_the_original() -> None:
    assert goals(DEFAULT_DESIGN, original=3, ours=4)["mean error, %"].met is False
    assert goals(c3o.ALL_POINTS, original=3, ours=4)["mean error, %"].met is True


def test_coverage_must_be_near_the_nominal_from_either_side() -> None:
    def met(within: int) -> bool | None:
        outcomes = [
            outcome("ours", "table", error=0.0 if number < within else 50.0, reach=10.0)
            for number in range(100)
        ]
        found = {goal.figure: goal for goal in goals_of("Protocol", outcomes)}
        return found["single runs in 80 %, %"].met

    assert [met(within) for within in (74, 75, 85, 86)] == [False, True, True, False]


def test_refusing_the_hard_ones_meets_no_goal() -> None:
    outcomes = [outcome("ours", c3o.ALL_POINTS, error=1), outcome("ours", c3o.ALL_POINTS, error=float("nan"))]
    found = goals_of("Protocol", outcomes)
    assert found[0].met is False
    assert any("missed, refused 1" in line for line in goals_table(found))
