import json
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.cli.runs_file import runs_of
from airflow_provider_ernest.design.sequential import Proposal
from airflow_provider_ernest.documents import Design
from tests.unit.cli.conftest import csv_of_runs, seconds_of

BOUNDS = [
    "design",
    *("--max-machines", "8"),
    *("--cores-per-machine", "1"),
    *("--partitions", "400"),
    *("--scale-steps", "6"),
]


def designed(path: Path) -> Design:
    return Design.from_dict(json.loads(path.read_text()))


def test_a_design_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "design.json"
    assert main([*BOUNDS, "--cores-per-machine", "4", "--output", str(output)]) == 0
    assert "bayesian D-optimal design" in capsys.readouterr().out
    design = designed(output)
    assert design.criterion == "bayesian D"
    assert all(run.partitions >= 4 * run.machines for run in design.experiments)


def test_the_options_reach_the_design(tmp_path: Path):
    output = tmp_path / "design.json"
    argv = [
        *BOUNDS,
        "--criterion",
        "A",
        "--terms",
        "1",
        "scale/machines",
        "--min-runs",
        "5",
        "--max-runs",
        "5",
    ]
    assert main([*argv, "--max-repetitions", "2", "--iterations", "3", "--output", str(output)]) == 0
    design = designed(output)
    assert (design.criterion, design.terms, design.weighting) == ("A", ("1", "scale/machines"), "absolute")
    assert len(design.experiments) == 5
    assert {run.iterations for run in design.experiments} == {3}


def test_targets_make_the_design_one_for_predictions(tmp_path: Path):
    output = tmp_path / "design.json"
    assert main([*BOUNDS, "--target-machines", "8-64:8", "--output", str(output)]) == 0
    assert designed(output).criterion == "bayesian I"


def test_the_csv_waits_for_its_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "runs.csv"
    assert main([*BOUNDS, "--output", str(output)]) == 0
    heading, *rows = output.read_text().splitlines()
    assert heading == "#machines,fraction,seconds"
    filled = []
    for row in rows:
        machines, scale, seconds = row.split(",")
        assert seconds == ""
        filled.append(f"{row}{seconds_of(int(machines), float(scale))}")
    output.write_text("\n".join([heading, *filled]))
    capsys.readouterr()
    assert main(["predict", str(output), "--machines", "8", "--scale", "1", "--format", "json"]) == 0
    (prediction,) = json.loads(capsys.readouterr().out)["predictions"]
    assert prediction["seconds"] == pytest.approx(seconds_of(8, 1.0), rel=0.1)


def test_the_csv_of_an_iterative_job_keeps_its_iterations(capsys: pytest.CaptureFixture[str]):
    assert main([*BOUNDS, "--iterations", "5", "--output", "-", "--format", "csv"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("#machines,fraction,seconds,iterations\n")
    assert all(line.endswith(",,5") for line in said.out.splitlines()[1:])
    assert "optimal design" in said.err
    (run, *_) = runs_of(said.out.replace(",,5", ",20,5"), "runs.csv")
    assert run.iterations == 5


def test_a_budget_as_a_share_of_production(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "design.json"
    cost = ["--cost", "dollars", "--full-seconds-on-one-machine", "36000", "--price-per-hour", "0.2"]
    assert main([*BOUNDS, *cost, "--budget-share", "0.25", "--output", str(output)]) == 0
    design = designed(output)
    assert design.budget == pytest.approx(0.25 * 36000 * 0.2 / 3600)
    assert design.cost <= design.budget
    assert main([*BOUNDS, "--budget-share", "0.25"]) == 1
    assert "--budget-share=0.25 needs to know what production costs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget", "0.001"], "budget"),
        (["--cost", "dollars"], "--full-seconds-on-one-machine=None is missing"),
        (["--min-scale", "0.5"], "--max-scale=0.1 is less than min_scale=0.5"),
        (["--next"], "--target-machines=None is missing"),
        (["--next", "--target-machines", "8", "--criterion", "A"], "--criterion='A' cannot be with --next"),
    ],
)
def test_what_cannot_be_designed(capsys: pytest.CaptureFixture[str], options: list[str], problem: str):
    assert main([*BOUNDS, *options]) == 1
    assert problem in capsys.readouterr().err


def test_machines_that_the_sample_cannot_feed_are_told(capsys: pytest.CaptureFixture[str]):
    assert main([*BOUNDS, "--cores-per-machine", "10"]) == 0
    assert "No sample run can have more than 4 machines" in capsys.readouterr().err


def test_a_target_below_all_samples_is_told(capsys: pytest.CaptureFixture[str]):
    argv = [*BOUNDS, "--min-scale", "0.02", "--target-machines", "8", "--target-scale"]
    assert main([*argv, "0.001"]) == 0
    assert "target scale 0.001 is less than any sample run may read, 0.02" in capsys.readouterr().err
    assert main([*argv, "1"]) == 0
    assert capsys.readouterr().err == ""


def test_runs_are_proposed_one_after_the_other_until_enough_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    observed, output = tmp_path / "runs.csv", tmp_path / "next.json"
    observed.write_text("#machines,fraction,seconds\n")
    argv = [
        *BOUNDS,
        "--target-machines",
        "8,16",
        "--target-scale",
        "0.5",
        "--next",
        "--observed",
        str(observed),
    ]
    for _ in range(13):
        assert main([*argv, "--budget", "1000", "--output", str(output), "--force"]) == 0
        proposal = Proposal.from_dict(json.loads(output.read_text()))
        if proposal.experiment is None:
            break
        run = proposal.experiment
        with observed.open("a") as file:
            file.write(f"{run.machines},{run.scale},{seconds_of(run.machines, run.scale)}\n")
    assert proposal.experiment is None
    assert "narrow enough" in proposal.reason
    assert proposal.relative_width is not None
    assert proposal.relative_width <= 0.3
    assert "Stop" in capsys.readouterr().out
    capsys.readouterr()
    assert main(["predict", str(observed), "--machines", "16", "--scale", "0.5", "--format", "json"]) == 0
    (prediction,) = json.loads(capsys.readouterr().out)["predictions"]
    assert prediction["high_seconds"] - prediction["low_seconds"] <= 0.3 * prediction["seconds"] * 1.001


def test_the_next_run_has_a_budget_by_default_and_a_csv(runs_csv: Path, capsys: pytest.CaptureFixture[str]):
    runs_csv.write_text("\n".join(csv_of_runs().splitlines()[:3]))
    argv = [*BOUNDS, "--target-machines", "8,16", "--next", "--observed", str(runs_csv)]
    assert main([*argv, "--output", "-", "--format", "csv"]) == 0
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    assert said.err.startswith("Next: ")
