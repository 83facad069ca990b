import json

import pytest

from airflow_provider_ernest.cli.models import runs_of
from airflow_provider_ernest.documents.runs import Design

BOUNDS = ["design", "--max-executors", "8", "--executor-cores", "1", "--partitions", "400"]


@pytest.fixture
def designed(ernest, tmp_path):
    """The design of these options."""

    def design(*options):
        ernest(*BOUNDS, *options, "--output", tmp_path / "design.json", "--force")
        return Design.from_dict(json.loads((tmp_path / "design.json").read_text()))

    return design


def test_the_options_reach_the_design(designed):
    design = designed("--criterion", "A", "--min-runs", "7", "--max-runs", "7", "--iterations", "3")
    assert (design.criterion, design.weighting) == ("A", "absolute")
    assert len(design.experiments) == 7
    assert {run.iterations for run in design.experiments} == {3}
    assert designed("--target-executors", "8-64:8").criterion == "bayesian I"


def test_the_csv_of_an_iterative_job_keeps_its_iterations(ernest):
    said = ernest(*BOUNDS, "--iterations", "5", "--output", "-", "--format", "csv")
    assert said.out.startswith("#executors,fraction,seconds,iterations\n")
    assert all(line.endswith(",,5") for line in said.out.splitlines()[1:])
    assert "optimal design" in said.err
    (run, *_) = runs_of(said.out.replace(",,5", ",20,5"), "runs.csv").runs
    assert run.iterations == 5


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget", "0.001"], "budget"),
        (["--budget-share", "0.25"], "--budget-share=0.25 needs to know what production costs"),
        (["--cost", "dollars"], "--full-seconds-on-one-machine=None is missing"),
        (["--cost", "machine_seconds", "--full-seconds-on-one-machine", "0"], "=0.0 is not above 0"),
        (["--min-scale", "0.5"], "--min-scale=0.5 is more than max_scale=0.1"),
        (["--max-scale", "1.5"], "--max-scale=1.5 is more than the whole input"),
        (["--min-executors", "9"], "--min-executors=9 is more than max_executors=8"),
    ],
)
def test_what_cannot_be_designed(ernest, options, problem):
    assert problem in ernest(*BOUNDS, *options, code=1).err


@pytest.mark.parametrize(("cores", "warning"), [(1, ""), (10, "No sample run can be of a size over 4")])
def test_machines_that_the_sample_cannot_feed_are_warned_of(ernest, cores, warning):
    said = ernest(*BOUNDS, "--executor-cores", cores).err
    assert warning in said if warning else said == ""
