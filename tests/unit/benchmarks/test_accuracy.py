"""The accuracy benchmark: what is trained on and predicted, what rivals find, and the sums of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from airflow_provider_ernest.prediction.terms import OPTEX
from benchmarks.accuracy import protocols
from benchmarks.accuracy.evaluation import evaluate_rounds, summarise
from benchmarks.accuracy.methods import ORIGINAL, Bell, LeastSquares, OnlineAmdahl
from benchmarks.accuracy.runs import Case, Runs, gather
from benchmarks.accuracy.traces import bell_traces, contexts
from tests.unit.benchmarks.c3o_files import write_c3o


@pytest.fixture
def lines_of_five_sizes(tmp_path: Path) -> Path:
    write_c3o(
        tmp_path / "grep.tsv",
        columns="lines share",
        inputs=[f"{100 * size} {size}000000 {share}" for size in range(1, 6) for share in ("0.1", "0.9")],
    )
    return tmp_path


def test_c3o_trains_on_small_inputs_and_few_machines_and_predicts_the_rest(lines_of_five_sizes: Path):
    context = contexts(lines_of_five_sizes)[0]
    train = context.trained()
    assert sorted(set(train.executors)) == [2, 4, 6]
    assert sorted(set(train.scale)) == pytest.approx([0.2, 0.4, 0.6])
    assert (len(train), len(context.trained_runs())) == (9, 27)
    test, repetitions = context.tested()
    assert test.executors.tolist() == [8, 12]
    assert test.scale.tolist() == [1, 1]
    # The median of repetitions that take 0, 1 and 2 s more.
    assert test.seconds.tolist() == pytest.approx([20 + 50 / 8 + 1, 20 + 50 / 12 + 1])
    assert repetitions[0] == pytest.approx([20 + 50 / 8 + extra for extra in range(3)])


def test_bell_trains_each_number_of_nodes_once_and_predicts_the_rest(tmp_path: Path):
    rows = [f"{n},{1000 * (30 + 2000 / n) + extra}" for n in range(4, 61, 4) for extra in range(2)]
    for name in ("grep.spark.csv", "sgd.spark.csv", "sort.flink.csv"):
        (tmp_path / name).write_text("\n".join(["Nodes,Runtime", *rows]) + "\n")
    traces = bell_traces(tmp_path)
    assert traces["grep.spark"][4] == pytest.approx((530.0, 530.001))
    rounds = protocols.bell_rounds(traces, repetitions=1)
    deployments = {tuple(case.job for case in cases) for cases in rounds}
    assert deployments == {("sort.flink",), ("grep.spark", "sgd.spark")}
    for case in (case for cases in rounds for case in cases):
        low, high = case.train.executors.min(), case.train.executors.max()
        assert not set(case.train.executors) & set(case.test.executors)
        for executors, split in zip(case.test.executors, case.splits, strict=True):
            if split == protocols.FAR_EXTRAPOLATION:
                assert high <= 32
                assert executors >= 40
            else:
                assert (split == protocols.INTERPOLATION) == (low < executors < high)


MACHINES = np.tile([1.0, 2.0, 4.0, 8.0], 3)
SCALE = np.repeat([0.1, 0.2, 0.4], 4)
TARGET = {"executors": np.array([16.0, 64.0]), "scale": np.array([1.0, 0.5])}


@pytest.mark.parametrize(
    ("method", "law"),
    [
        (ORIGINAL, lambda m, s: 5 + 300 * s / m + 2 * np.log(m) + 0.1 * m),
        (LeastSquares("OptEx", terms=OPTEX), lambda m, s: 5 + 0.3 * m + 20 / m + 300 * s / m),
        (OnlineAmdahl(), lambda m, s: (5 + 300 * s) * (0.2 + 0.8 / m)),
        (Bell(), lambda m, s: 5 + 300 * s / m + 2 * np.log(m) + 0.1 * m),
    ],
)
def test_a_law_of_the_form_is_found_exactly(method, law):
    forecast = method.fit(Runs(executors=MACHINES, scale=SCALE, seconds=law(MACHINES, SCALE)))
    expected = law(TARGET["executors"], TARGET["scale"])
    np.testing.assert_allclose(forecast.predict(**TARGET), expected, rtol=1e-3)


class Constant:
    """Predicts the same for all; its interval reaches 10 s to both sides, twice that at 95 %."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds

    def fit(self, runs: Runs) -> Constant:
        return self

    def predict(self, *, executors, scale):
        return np.full(len(executors), self.seconds)

    def interval(self, *, executors, scale, level):
        reach, seconds = 10.0 if level < 0.9 else 20.0, self.predict(executors=executors, scale=scale)
        return seconds - reach, seconds + reach


class Pooling:
    """Predicts the mean of all training runs of the deployment."""

    name = "pooling"

    def pool(self, jobs: Sequence[Runs]) -> Constant:
        return Constant(self.name, float(np.mean([seconds for runs in jobs for seconds in runs.seconds])))


def case(job: str, *, trained: float, tested: Sequence[float]) -> Case:
    return Case(
        job=job,
        condition="1 point",
        train=gather([(2, 0.5, trained)]),
        test=gather((8, 1.0, seconds) for seconds in tested),
        repetitions=tuple((seconds - 1, seconds + 1) for seconds in tested),
        splits=("table",) * len(tested),
    )


def test_sums_up_errors_coverage_and_width():
    tested = case("a", trained=1, tested=[100, 80, 125, 100])
    figures = summarise(evaluate_rounds("title", [(tested,)], [Constant("c", 100.0)]))
    assert (figures["mean"], figures["median"], figures["bias"]) == pytest.approx((11.25, 10, 0))
    assert (figures["expected in 80%"], figures["expected in 95%"]) == pytest.approx((50, 75))
    assert (figures["width 80%"], figures["width 95%"]) == pytest.approx((20, 40))
    # Single runs of 79, 81 and of 99, 101: the wider interval holds one of the former.
    assert (figures["in 80%"], figures["in 95%"]) == pytest.approx((50, 62.5))


def test_pooling_sees_the_training_runs_of_the_whole_round_and_no_other():
    cases = case("a", trained=10, tested=[1000]), case("b", trained=30, tested=[2000])
    assert [each.predicted for each in evaluate_rounds("title", [cases], [Pooling()])] == [20, 20]
