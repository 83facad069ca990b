"""The protocols of the accuracy benchmark, on made-up traces."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import bell, c3o, synthetic, units
from benchmarks.table1 import TABLE_1, seconds_of

C3O_HEADER = "instance_count machine_type slots memory data_size_MB"


def write_c3o(path: Path, *, columns: str, inputs: list[str], repetitions: int = 3) -> None:
    """Runs of 10 s per million of the first size column, spread over the machines, plus 20 s.

    `inputs` are values of data_size_MB and `columns`; repetitions take 0, 1, 2 ... s more.
    """
    lines = [f"{C3O_HEADER} {columns} gross_runtime"]
    for machines in (2, 4, 6, 8, 12):
        for values in inputs:
            size = float(values.split()[1]) / 1e6
            for extra in range(repetitions):
                seconds = 20 + 10 * size / machines + extra
                lines.append(f"{machines} m4 {8 * machines} {32 * machines} {values} {seconds}")
    path.write_text("\n".join(line.replace(" ", "\t") for line in lines) + "\n")


def lines_file(folder: Path, sizes: tuple[int, ...] = (1, 2, 3, 4, 5)) -> None:
    write_c3o(
        folder / "grep.tsv",
        columns="lines share",
        inputs=[f"{100 * size} {size}000000 {share}" for size in sizes for share in ("0.1", "0.9")],
    )


class TestC3o:
    def test_a_context_is_one_setting_of_what_is_neither_machines_nor_size(self, tmp_path: Path) -> None:
        lines_file(tmp_path)
        found = c3o.contexts(tmp_path)
        assert [context.setting for context in found] == [
            ("machine_type=m4", "memory/machine=32", f"share={share}", "slots/machine=8")
            for share in ("0.1", "0.9")
        ]
        assert found[0].sizes == pytest.approx((0.2, 0.4, 0.6, 0.8, 1.0))

    def test_trains_on_small_inputs_and_few_machines_and_predicts_the_rest(self, tmp_path: Path) -> None:
        lines_file(tmp_path)
        context = c3o.contexts(tmp_path)[0]
        train = c3o.trained(context)
        assert sorted(set(train.machines)) == [2, 4, 6]
        assert sorted(set(train.scale)) == pytest.approx([0.2, 0.4, 0.6])
        test, repetitions = c3o.tested(context)
        assert test.machines.tolist() == [8, 12]
        assert test.scale.tolist() == [1, 1]
        # The median of repetitions that take 0, 1 and 2 s more.
        assert test.seconds.tolist() == pytest.approx([20 + 50 / 8 + 1, 20 + 50 / 12 + 1])
        assert repetitions[0] == pytest.approx([20 + 50 / 8 + extra for extra in range(3)])

    def test_all_training_points_are_all_their_single_runs(self, tmp_path: Path) -> None:
        lines_file(tmp_path)
        context = c3o.contexts(tmp_path)[0]
        points, runs = c3o.trained(context), c3o.trained_runs(context)
        assert (len(points), len(runs)) == (9, 27)
        for machines, scale, seconds in zip(points.machines, points.scale, points.seconds, strict=True):
            single = runs.at((runs.machines == machines) & (runs.scale == scale)).seconds
            assert single.tolist() == pytest.approx([seconds - 1, seconds, seconds + 1])

    @pytest.mark.parametrize("table", c3o.COSTS)
    def test_no_point_that_was_left_out_is_cheaper(self, tmp_path: Path, table: str) -> None:
        lines_file(tmp_path)
        points = c3o.trained(c3o.contexts(tmp_path)[0])
        chosen = c3o.cheapest(points, 4, cost=c3o.COSTS[table])
        assert len(chosen) == 4
        assert (c3o.COSTS[table](points) < c3o.COSTS[table](chosen).max()).sum() == 3

    def test_no_run_is_both_trained_and_predicted(self, tmp_path: Path) -> None:
        lines_file(tmp_path, sizes=(1, 2))
        for one_round in c3o.rounds(c3o.contexts(tmp_path)):
            for case in one_round.cases:
                assert case.train.machines.max() < case.test.machines.min()
                assert case.train.scale.max() < case.test.scale.min()

    def test_the_scale_is_logical_not_megabytes(self, tmp_path: Path) -> None:
        inputs = ["900 1000000 10", "950 2000000 10", "1000 4000000 10", "1000 2000000 20"]
        write_c3o(tmp_path / "sgd.tsv", columns="observations features", inputs=inputs)
        (context,) = c3o.contexts(tmp_path)
        assert context.sizes == pytest.approx((0.25, 0.5, 1.0))

    def test_inputs_of_one_shape_have_as_many_features(self, tmp_path: Path) -> None:
        inputs = ["900 1000000 10", "950 2000000 10", "1000 4000000 10", "1000 2000000 20"]
        write_c3o(tmp_path / "sgd.tsv", columns="observations features", inputs=inputs)
        ten, twenty = c3o.contexts(tmp_path, one_shape=True)
        assert "features=10" in ten.setting
        assert "features=20" in twenty.setting
        assert (ten.sizes, twenty.sizes) == (pytest.approx((0.25, 0.5, 1.0)), (1.0,))
        # The method is told so, as it is by a DAG's samples and by a column `fraction`.
        assert c3o.trained(ten).of_one_input
        assert not any(c3o.trained(each).of_one_input for each in c3o.contexts(tmp_path))


def write_bell(path: Path, nodes: range = range(4, 61, 4), repetitions: int = 2) -> None:
    rows = [f"{n},{1000 * (30 + 2000 / n) + extra}" for n in nodes for extra in range(repetitions)]
    path.write_text("\n".join(["Nodes,Runtime", *rows]) + "\n")


class TestBell:
    def test_milliseconds_become_seconds(self, tmp_path: Path) -> None:
        write_bell(tmp_path / "grep.spark.csv")
        (trace,) = bell.traces(tmp_path)
        assert trace.job == "grep.spark"
        assert trace.system == "spark"
        assert trace.seconds[4] == pytest.approx((530.0, 530.001))

    def test_each_number_of_nodes_is_trained_once_and_the_rest_predicted(self, tmp_path: Path) -> None:
        write_bell(tmp_path / "grep.spark.csv")
        rounds = bell.rounds(bell.traces(tmp_path), repetitions=2)
        near = [case for r in rounds for case in r.cases if bell.FAR_EXTRAPOLATION not in case.splits]
        assert [len(case.train) for case in near] == [*range(3, 13)] * 2
        for case in near:
            assert sorted([*case.train.machines, *case.test.machines]) == list(range(4, 61, 4))
            low, high = case.train.machines.min(), case.train.machines.max()
            for machines, split in zip(case.test.machines, case.splits, strict=True):
                assert (split == bell.INTERPOLATION) == (low < machines < high)

    def test_far_extrapolation_goes_from_32_nodes_to_40_and_more(self, tmp_path: Path) -> None:
        write_bell(tmp_path / "grep.spark.csv")
        rounds = bell.rounds(bell.traces(tmp_path), repetitions=1)
        far = [case for r in rounds for case in r.cases if bell.FAR_EXTRAPOLATION in case.splits]
        assert [len(case.train) for case in far] == [3, 4, 5, 6, 7, 8]
        for case in far:
            assert case.train.machines.max() <= 32
            assert case.test.machines.tolist() == [40, 44, 48, 52, 56, 60]

    def test_jobs_of_one_system_are_one_deployment(self, tmp_path: Path) -> None:
        for name in ("grep.spark.csv", "sgd.spark.csv", "sort.flink.csv"):
            write_bell(tmp_path / name)
        rounds = bell.rounds(bell.traces(tmp_path), repetitions=1)
        assert {(r.deployment, tuple(case.job for case in r.cases)) for r in rounds} == {
            ("flink", ("sort.flink",)),
            ("spark", ("grep.spark", "sgd.spark")),
        }


class TestSynthetic:
    def test_eight_small_runs_of_each_job_of_table_1_and_the_whole_input_predicted(self) -> None:
        rounds = synthetic.rounds(repetitions=1)
        assert len(rounds) == len(synthetic.DESIGNS) * len(synthetic.NOISES)
        for one_round in rounds:
            assert [case.job for case in one_round.cases] == list(TABLE_1)
            for case in one_round.cases:
                assert len(case.train) == 8
                assert case.train.machines.max() <= 16
                assert case.train.scale.max() <= 0.1 + 1e-9
                truth = seconds_of(case.job, machines=[45, 64], scale=1.0)
                np.testing.assert_allclose(case.test.seconds, truth)


def test_units_are_told_for_each_protocol_and_number_of_machines():
    (first, *_) = synthetic.rounds(repetitions=1)

    lines = units.table([("synthetic", [first])])

    assert [line.split()[:2] for line in lines[2:]] == [["synthetic", str(count)] for count in units.MACHINES]
    assert units.ratios(first.cases).shape == (len(first.cases), len(units.MACHINES))
