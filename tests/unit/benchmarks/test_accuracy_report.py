"""The sums and tables of the accuracy benchmark, and the whole program on tiny traces."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import FitError
from benchmarks.accuracy import __main__ as program
from benchmarks.accuracy.evaluation import evaluate_rounds, summarise
from benchmarks.accuracy.forms import LeastSquares
from benchmarks.accuracy.report import tables
from benchmarks.accuracy.runs import Case, Round, Runs, gather
from tests.unit.benchmarks.test_accuracy_protocols import lines_file, write_bell


class Constant:
    """Predicts the same for all; its interval reaches 10 s to both sides, twice that at 95 %."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.seconds = seconds

    def fit(self, **_: object) -> "Constant":
        return self

    def predict(self, *, machines, scale):
        return np.full(len(machines), self.seconds)

    def interval(self, *, machines, scale, level):
        reach = 10.0 if level < 0.9 else 20.0
        seconds = self.predict(machines=machines, scale=scale)
        return seconds - reach, seconds + reach


class Refusing:
    name = "refusing"

    def fit(self, **_: object):
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


def one_round(*cases: Case) -> list[Round]:
    return [Round(deployment="here", cases=cases)]


class TestEvaluation:
    def test_sums_up_errors_coverage_and_width(self) -> None:
        outcomes = evaluate_rounds(
            one_round(case("a", trained=1, tested=[100, 80, 125, 100])), [Constant("c", 100.0)]
        )
        summary = summarise(outcomes)
        assert summary.predictions == 4
        assert summary.refused == 0
        assert summary.mean == pytest.approx((0 + 25 + 20 + 0) / 4)
        assert summary.median == pytest.approx(10)
        assert summary.expected_coverage == pytest.approx((50, 75))
        assert summary.width == pytest.approx((20, 40))
        # Single runs of 79, 81 and of 99, 101: the wider interval holds one of the former.
        assert summary.coverage == pytest.approx((50, 62.5))

    def test_a_refusal_is_counted_not_hidden(self) -> None:
        summary = summarise(evaluate_rounds(one_round(case("a", trained=1, tested=[50, 60])), [Refusing()]))
        assert (summary.predictions, summary.refused, summary.mean, summary.coverage) == (2, 2, None, None)

    def test_pooling_sees_the_training_runs_of_the_whole_round_and_no_other(self) -> None:
        cases = [case("a", trained=10, tested=[1000]), case("b", trained=30, tested=[2000])]
        outcomes = evaluate_rounds(one_round(*cases), [Pooling()])
        assert [outcome.predicted for outcome in outcomes] == [20, 20]
        assert {outcome.method for outcome in outcomes} == {"pooling"}


class TestReport:
    def outcomes(self):
        cases = [case("a", trained=1, tested=[100, 110]), case("b", trained=1, tested=[200])]
        return evaluate_rounds(
            one_round(*cases), [Constant("good", 100.0), Constant("ours", 150.0), Refusing()]
        )

    def test_shows_where_ours_is_not_the_best(self) -> None:
        lines = tables("Protocol", self.outcomes())
        assert "  table, a: ours 43.2, good 4.5" in lines
        assert not any(line.startswith("  table, b: ours") for line in lines)
        assert any("table, a, 1 point: 8 machines" in line and "(+50 %)" in line for line in lines)


class TestProgram:
    def test_prints_all_protocols_and_writes_json(self, tmp_path: Path, monkeypatch, capsys) -> None:
        lines_file(tmp_path)
        write_bell(tmp_path / "grep.spark.csv")
        few = [
            LeastSquares(name, terms=("1", "scale/machines"), weighting="relative")
            for name in ("base", "ours")
        ]
        monkeypatch.setattr(program, "all_methods", lambda: few)
        target = tmp_path / "out.json"
        folder = str(tmp_path)
        assert program.main(["--c3o", folder, "--bell", folder, "--quick", "--json", str(target)]) == 0
        printed = capsys.readouterr()
        assert "== C3O ==" in printed.out
        assert "Bell: interpolation" in printed.out
        assert "synthetic: default design" in printed.out
        assert "rounds done" in printed.err
        results = json.loads(target.read_text())
        assert set(results) == {"C3O", "Bell", "synthetic", "plateaus", "milliseconds", "goals"}
        assert "inputs of one shape" not in printed.out
        assert "single runs in 95 %" in printed.out.partition("== goals ==")[2]
        assert "== calibration over all protocols: ours" in printed.out
        # The made-up traces follow the model but for their repetitions' second.
        assert all(record["mean"] < 5 for record in results["C3O"])
        assert all(math.isfinite(record["mean"]) for record in results["synthetic"])

    def test_calibration_alone_pools_all_protocols(self, tmp_path: Path, capsys) -> None:
        lines_file(tmp_path)
        write_bell(tmp_path / "grep.spark.csv")
        folder = str(tmp_path)
        assert program.main(["--c3o", folder, "--bell", folder, "--quick", "--calibration"]) == 0
        _, heads, *rows = capsys.readouterr().out.rstrip().splitlines()
        assert "promised 77 to 88" in heads
        counts = {row.partition("  ")[0]: int(row.split(" | ")[0].split()[-1]) for row in rows}
        assert counts.pop("all of them") == sum(counts.values())
        assert {name.partition(":")[0] for name in counts} == {"C3O", "Bell", "synthetic", "plateaus"}

    def test_a_wrong_folder_is_an_error_in_words(self, tmp_path: Path, capsys) -> None:
        assert program.main(["--c3o", str(tmp_path), "--quick"]) == 2
        assert "holds no *.tsv file" in capsys.readouterr().err
