"""The accuracy benchmark: what is trained on and predicted, what rivals find, and the sums of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.terms import OPTEX
from benchmarks.accuracy import optex, protocols
from benchmarks.accuracy.evaluation import Outcome, calibration_table, evaluate_rounds, summarise, tables
from benchmarks.accuracy.methods import (
    ORIGINAL,
    Bell,
    LeastSquares,
    OnlineAmdahl,
    PointForecast,
    all_methods,
    pool,
)
from benchmarks.accuracy.runs import Case, Runs, gather
from benchmarks.accuracy.traces import bell_traces, contexts
from benchmarks.accuracy.tuning import chosen_without, interval_score
from benchmarks.table1 import TABLE_1, seconds_of
from tests.unit.benchmarks.c3o_files import write_c3o

SHAPES = ["900 1000000 10", "950 2000000 10", "1000 4000000 10", "1000 2000000 20"]


@pytest.fixture
def lines_of_five_sizes(tmp_path: Path) -> Path:
    write_c3o(
        tmp_path / "grep.tsv",
        columns="lines share",
        inputs=[f"{100 * size} {size}000000 {share}" for size in range(1, 6) for share in ("0.1", "0.9")],
    )
    return tmp_path


def test_a_context_is_one_setting_of_what_is_neither_machines_nor_size(lines_of_five_sizes: Path):
    found = contexts(lines_of_five_sizes)
    assert [context.setting for context in found] == [
        ("machine_type=m4", "memory/machine=32", f"share={share}", "slots/machine=8")
        for share in ("0.1", "0.9")
    ]
    assert found[0].sizes == pytest.approx((0.2, 0.4, 0.6, 0.8, 1.0))


def test_c3o_trains_on_small_inputs_and_few_machines_and_predicts_the_rest(lines_of_five_sizes: Path):
    context = contexts(lines_of_five_sizes)[0]
    train = context.trained()
    assert sorted(set(train.machines)) == [2, 4, 6]
    assert sorted(set(train.scale)) == pytest.approx([0.2, 0.4, 0.6])
    assert (len(train), len(context.trained_runs())) == (9, 27)
    test, repetitions = context.tested()
    assert test.machines.tolist() == [8, 12]
    assert test.scale.tolist() == [1, 1]
    # The median of repetitions that take 0, 1 and 2 s more.
    assert test.seconds.tolist() == pytest.approx([20 + 50 / 8 + 1, 20 + 50 / 12 + 1])
    assert repetitions[0] == pytest.approx([20 + 50 / 8 + extra for extra in range(3)])


@pytest.mark.parametrize("table", protocols.COSTS)
def test_no_point_that_was_left_out_is_cheaper(lines_of_five_sizes: Path, table: str):
    context, cost = contexts(lines_of_five_sizes)[0], protocols.COSTS[table]
    chosen = context.cheapest(4, cost=cost)
    assert len(chosen) == 4
    assert (cost(context.trained()) < cost(chosen).max()).sum() == 3


def test_inputs_of_one_shape_have_as_many_features_and_the_scale_is_logical_not_megabytes(tmp_path: Path):
    write_c3o(tmp_path / "sgd.tsv", columns="observations features", inputs=SHAPES)
    (mixed,) = contexts(tmp_path)
    ten, twenty = contexts(tmp_path, one_shape=True)
    assert mixed.sizes == pytest.approx((0.25, 0.5, 1.0))
    assert (ten.setting[-1], twenty.setting[-1]) == ("row=10", "row=20")
    assert (ten.sizes, twenty.sizes) == (pytest.approx((0.25, 0.5, 1.0)), (1.0,))
    # The method is told so, as it is by a DAG's samples and by a column `fraction`.
    assert ten.trained().of_one_input
    assert not mixed.trained().of_one_input


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
        low, high = case.train.machines.min(), case.train.machines.max()
        assert not set(case.train.machines) & set(case.test.machines)
        for machines, split in zip(case.test.machines, case.splits, strict=True):
            if split == protocols.FAR_EXTRAPOLATION:
                assert high <= 32
                assert machines >= 40
            else:
                assert (split == protocols.INTERPOLATION) == (low < machines < high)


def test_synthetic_has_eight_small_runs_of_each_job_of_table_1_and_predicts_the_whole_input():
    rounds = protocols.synthetic_rounds(repetitions=1)
    assert len(rounds) == len(protocols.DESIGNS) * len(protocols.NOISES)
    assert [case.job for case in rounds[0]] == list(TABLE_1)
    for case in rounds[0]:
        assert len(case.train) == 8
        assert case.train.machines.max() <= 16
        assert case.train.scale.max() <= 0.1 + 1e-9
        np.testing.assert_allclose(case.test.seconds, seconds_of(case.job, machines=[45, 64], scale=1.0))


MACHINES = np.tile([1.0, 2.0, 4.0, 8.0], 3)
SCALE = np.repeat([0.1, 0.2, 0.4], 4)
TARGET = {"machines": np.array([16.0, 64.0]), "scale": np.array([1.0, 0.5])}


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
    forecast = method.fit(Runs(machines=MACHINES, scale=SCALE, seconds=law(MACHINES, SCALE)))
    expected = law(TARGET["machines"], TARGET["scale"])
    np.testing.assert_allclose(forecast.predict(**TARGET), expected, rtol=1e-3)


def test_runs_that_determine_little_are_predicted_from_or_refused():
    alike = gather([(2, 0.1, 10.0), (2, 0.2, 15.0), (2, 0.4, 24.0)])
    for method in all_methods():
        try:
            predicted = pool(method, [alike]).fit(alike).predict(**TARGET)
        except FitError:
            continue
        assert (predicted > 0).all(), method.name


class Constant:
    """Predicts the same for all; its interval reaches 10 s to both sides, twice that at 95 %."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds

    def fit(self, runs: Runs) -> Constant:
        return self

    def predict(self, *, machines, scale):
        return np.full(len(machines), self.seconds)

    def interval(self, *, machines, scale, level):
        reach, seconds = 10.0 if level < 0.9 else 20.0, self.predict(machines=machines, scale=scale)
        return seconds - reach, seconds + reach


class Refusing:
    name = "refusing"

    def fit(self, runs: Runs) -> PointForecast:
        raise FitError("Too little.")


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


def test_a_refusal_is_counted_not_hidden():
    figures = summarise(evaluate_rounds("title", [(case("a", trained=1, tested=[50, 60]),)], [Refusing()]))
    assert figures["refused"] == 2
    assert math.isnan(figures["mean"])


def test_pooling_sees_the_training_runs_of_the_whole_round_and_no_other():
    cases = case("a", trained=10, tested=[1000]), case("b", trained=30, tested=[2000])
    assert [each.predicted for each in evaluate_rounds("title", [cases], [Pooling()])] == [20, 20]


def test_tells_where_ours_is_not_the_best_and_what_its_intervals_hold():
    cases = case("a", trained=1, tested=[100, 110]), case("b", trained=1, tested=[200])
    methods = [Constant("good", 100.0), Constant("ours", 150.0), Refusing()]
    outcomes = evaluate_rounds("title", [cases], methods)
    told = tables("Protocol", outcomes)
    assert "table, a: ours 43.2, good 4.5" in told
    assert "table, b: ours" not in told
    assert "table, a, 1 point: 8 machines" in told
    assert "(+50 %)" in told
    calibration = calibration_table(outcomes).loc["all of them"]
    assert (calibration["runs"], calibration["in 80%"], calibration["77 to 88"]) == (6, 0.0, "too few")


def outcome(*repetitions: float, low: float, high: float) -> Outcome:
    return Outcome(
        method="ours",
        job="sort",
        condition="",
        split="",
        machines=4,
        scale=1,
        seconds=10,
        repetitions=repetitions,
        predicted=10,
        bounds=((low, high), (low / 2, high * 2)),
    )


def test_the_score_is_the_width_and_ten_times_what_lies_outside():
    assert interval_score(outcome(9, 11, low=8, high=12)) == pytest.approx(math.log(1.5))
    missed = interval_score(outcome(24, low=8, high=12))
    assert missed == pytest.approx(math.log(1.5) + 10 * math.log(2))


def test_neither_a_job_nor_another_protocol_of_its_trace_has_a_vote_on_its_constants():
    scores = pd.DataFrame(
        {
            "defaults": {"C3O, sort": 1.0, "C3O, one shape, sort": 1.0, "Bell, sort": 1.0},
            "suits C3O": {"C3O, sort": 0.1, "C3O, one shape, sort": 0.1, "Bell, sort": 1.1},
        }
    ).T
    chosen = chosen_without(scores, {job: job.partition(",")[0] for job in scores})
    assert chosen["C3O, sort"] == chosen["C3O, one shape, sort"] == "defaults"
    assert chosen["Bell, sort"] == "suits C3O"


def test_the_tables_of_optex_are_trained_by_few_machines_and_iterations():
    rows = [
        optex.Row(
            table="IV",
            job="ALS",
            iterations=iterations,
            machines=machines,
            estimated=1,
            recorded=2,
            printed={},
        )
        for iterations in (5, 10)
        for machines in (2, 4, 8, 12)
    ]
    found = optex.Job(name="ALS, standalone", rows=tuple(rows)).case()
    assert set(found.train.machines) == {2, 4}
    assert set(found.train.scale) == {0.5}
    predicted = set(zip(found.test.machines, found.test.scale, found.splits, strict=True))
    assert predicted == {
        *((machines, 0.5, optex.MORE_MACHINES) for machines in (8, 12)),
        *((machines, 1.0, optex.MORE_ITERATIONS) for machines in (2, 4)),
        *((machines, 1.0, optex.BOTH) for machines in (8, 12)),
    }
