import json

import pytest

from airflow_provider_ernest.cli.models import runs_of
from airflow_provider_ernest.documents.runs import Design
from tests.unit.cli.conftest import seconds_of

BOUNDS = ["design", "--max-machines", "8", "--cores-per-machine", "1", "--partitions", "400"]


@pytest.fixture
def designed(ernest, tmp_path):
    """The design of these options."""

    def design(*options):
        ernest(*BOUNDS, *options, "--output", tmp_path / "design.json", "--force")
        return Design.from_dict(json.loads((tmp_path / "design.json").read_text()))

    return design


def test_each_core_gets_a_partition(designed):
    design = designed("--cores-per-machine", "4")
    assert design.criterion == "bayesian D"
    assert all(run.partitions >= 4 * run.machines for run in design.experiments)


def test_the_options_reach_the_design(designed):
    design = designed("--criterion", "A", "--min-runs", "7", "--max-runs", "7", "--iterations", "3")
    assert (design.criterion, design.weighting) == ("A", "absolute")
    assert len(design.experiments) == 7
    assert {run.iterations for run in design.experiments} == {3}
    assert designed("--target-machines", "8-64:8").criterion == "bayesian I"


def test_the_csv_waits_for_its_seconds(tmp_path, ernest):
    output = tmp_path / "runs.csv"
    assert "bayesian D-optimal design" in ernest(*BOUNDS, "--output", output).out
    heading, *rows = output.read_text().splitlines()
    assert heading == "#machines,fraction,seconds"
    filled = []
    for row in rows:
        machines, scale, seconds = row.split(",")
        assert seconds == ""
        filled.append(f"{row}{seconds_of(int(machines), float(scale))}")
    output.write_text("\n".join([heading, *filled]))
    said = ernest("predict", output, "--machines", "8", "--scale", "1", "--format", "json").out
    (prediction,) = json.loads(said)["predictions"]
    assert prediction["seconds"] == pytest.approx(seconds_of(8, 1.0), rel=0.1)


def test_the_csv_of_an_iterative_job_keeps_its_iterations(ernest):
    said = ernest(*BOUNDS, "--iterations", "5", "--output", "-", "--format", "csv")
    assert said.out.startswith("#machines,fraction,seconds,iterations\n")
    assert all(line.endswith(",,5") for line in said.out.splitlines()[1:])
    assert "optimal design" in said.err
    (run, *_) = runs_of(said.out.replace(",,5", ",20,5"), "runs.csv").runs
    assert run.iterations == 5


def test_a_budget_as_a_share_of_production(designed):
    cost = ["--cost", "dollars", "--full-seconds-on-one-machine", "36000", "--price-per-hour", "0.2"]
    design = designed(*cost, "--budget-share", "0.25")
    assert design.budget == pytest.approx(0.25 * 36000 * 0.2 / 3600)
    assert design.cost <= design.budget


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget", "0.001"], "budget"),
        (["--budget-share", "0.25"], "--budget-share=0.25 needs to know what production costs"),
        (["--cost", "dollars"], "--full-seconds-on-one-machine=None is missing"),
        (["--min-scale", "0.5"], "--max-scale=0.1 is less than min_scale=0.5"),
    ],
)
def test_what_cannot_be_designed(ernest, options, problem):
    assert problem in ernest(*BOUNDS, *options, code=1).err


@pytest.mark.parametrize(("cores", "warning"), [(1, ""), (10, "No sample run can have more than 4 machines")])
def test_machines_that_the_sample_cannot_feed_are_warned_of(ernest, cores, warning):
    said = ernest(*BOUNDS, "--cores-per-machine", cores).err
    assert warning in said if warning else said == ""


def test_runs_that_were_made_count_as_information(runs_csv, designed):
    assert len(designed("--observed", runs_csv).experiments) < len(designed().experiments)
