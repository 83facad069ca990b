import json

import pytest

from airflow_provider_ernest.cli.models import runs_of
from airflow_provider_ernest.design.rounds import Proposal
from airflow_provider_ernest.documents.runs import Design
from tests.unit.cli.conftest import csv_of_runs, seconds_of

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
        (["--next"], "--target-machines=None is missing"),
        (["--next", "--target-machines", "8", "--criterion", "A"], "--criterion='A' cannot be with --next"),
        (["--next", "--target-machines", "8", "--budget", "10"], "--budget=10.0 cannot be with --next"),
    ],
)
def test_what_cannot_be_designed(ernest, options, problem):
    assert problem in ernest(*BOUNDS, *options, code=1).err


@pytest.mark.parametrize(("cores", "warning"), [(1, ""), (10, "No sample run can have more than 4 machines")])
def test_machines_that_the_sample_cannot_feed_are_warned_of(ernest, cores, warning):
    said = ernest(*BOUNDS, "--cores-per-machine", cores).err
    assert warning in said if warning else said == ""


def test_runs_are_proposed_in_rounds_until_the_decision_is_clear(tmp_path, ernest):
    observed, output = tmp_path / "runs.csv", tmp_path / "next.json"
    observed.write_text("#machines,fraction,seconds\n")
    argv = [*BOUNDS, "--target-machines", "8,16", "--next", "--observed", observed]
    argv += ["--deadline-seconds", "120", "--expected-runs", "1000", "--output", output, "--force"]
    made = []
    for _ in range(13):
        said = ernest(*argv).out
        proposal = Proposal.from_dict(json.loads(output.read_text()))
        if not proposal.experiments:
            break
        made.append(len(proposal.experiments))
        with observed.open("a") as file:
            for run in proposal.experiments:
                file.write(f"{run.machines},{run.scale},{seconds_of(run.machines, run.scale)}\n")
    assert made[0] == 3
    assert set(made[1:]) <= {1}
    assert sum(made) <= 12
    assert said.startswith("Stop: ")


def test_the_next_round_is_a_csv_to_fill_in_and_tells_its_price(runs_csv, ernest):
    runs_csv.write_text("\n".join(csv_of_runs().splitlines()[:2]))
    argv = [*BOUNDS, "--target-machines", "8,16", "--next", "--observed", runs_csv]
    said = ernest(*argv, "--output", "-", "--format", "csv")
    assert said.out.startswith("#machines,fraction,seconds\n")
    assert said.err.startswith("Next: ")
    runs_csv.write_text(csv_of_runs())
    assert "$" in ernest(*argv, "--price-per-hour", "0.2").out
