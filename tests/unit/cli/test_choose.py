import json
import re

import pytest

from airflow_provider_ernest.documents.decisions import Decision
from tests.unit.cli.conftest import seconds_of

PRICES = ["--price-per-hour", "m5.large=0.1", "--price-per-hour", "c5.large=0.22"]
ONE_PRICE = ["--price-per-hour", "0.5"]


@pytest.fixture
def choose(ernest):
    """The decision that a command line prints."""
    return lambda *argv: Decision.from_dict(json.loads(ernest("choose", *argv, "--format", "json").out))


def test_the_best_of_all_types_is_chosen(two_models, choose):
    decision = choose(*two_models, "--executors", "1-12", *PRICES, "--deadline-seconds", "300")

    assert [(each.instance_type, each.executors) for each in decision.alternatives] == [
        (name, count) for name in ("m5.large", "c5.large") for count in range(1, 13)
    ]
    in_time = [each for each in decision.alternatives if each.probability >= 0.8]
    assert decision.predicted_cost == min(each.cost for each in in_time)
    # 900 s of work: four machines at 0.1 $ an hour, of which three take 314 s; two of the other cost more.
    assert (decision.config.instance_type, decision.config.executors) == ("m5.large", 4)
    assert decision.predicted_seconds == pytest.approx(seconds_of(4, 1.0), rel=1e-3)
    assert decision.predicted_cost == pytest.approx(4 * 0.1 / 3600 * seconds_of(4, 1.0), rel=0.01)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "(--deadline-seconds, --budget-dollars)=(None, None) is no goal"),
        (["--deadline-seconds", "300", "--budget-dollars", "1"], "(300.0, 1.0) is two goals"),
        (["--objective", "nicest"], "--objective='nicest' is unknown"),
        (["--budget-dollars", "1", "--increment-seconds", "0"], "--increment-seconds=0.0 is"),
        (["--budget-dollars", "1", "--expected-runs", "0"], "--expected-runs=0 is not a number of at least"),
    ],
)
def test_goals_and_bills_that_cannot_be(model_json, ernest, options, problem):
    argv = ["choose", model_json, "--executors", "4", "--price-per-hour", "1", "--training-dollars", "1"]
    assert problem in ernest(*argv, *options, code=1).err


@pytest.mark.parametrize("prices", [["0.1"], ["m5.large=0.1"], ["m5.large=0.1", "c5.lrage=0.1"]])
def test_each_type_needs_its_price(two_models, ernest, prices):
    argv = ["choose", *two_models, "--executors", "4", "--deadline-seconds", "600"]
    said = ernest(*argv, *(f"--price-per-hour={price}" for price in prices), code=1).err
    assert "is not one for each type of machine that has a model: m5.large, c5.large" in said
    assert "Give --price-per-hour m5.large=... --price-per-hour c5.large=..." in said


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--price-per-hour=m5=x", "is neither dollars nor TYPE=DOLLARS"),
        ("--confidence=1", "is not a probability from 0.5 to below 1"),
    ],
)
def test_values_that_cannot_be_read(model_json, misunderstood, option, problem):
    argv = ["choose", model_json, "--executors", "4", "--price-per-hour", "1", "--budget-dollars", "1"]
    assert problem in misunderstood(*argv, option)


def test_two_models_of_one_type_are_refused(model_json, runs_csv, ernest):
    goal = ["--executors", "4", "--price-per-hour", "1", "--budget-dollars", "1"]
    said = ernest("choose", model_json, runs_csv, *goal, code=1).err
    assert f"MODEL=['{model_json}', '{runs_csv}'] are two of the type local" in said
    assert "names standard input twice" in ernest("choose", "-", "-", *goal, code=1).err


def test_all_that_is_billed(model_json, choose, ernest):
    argv = [model_json, "--executors", "4", *ONE_PRICE, "--deadline-seconds", "3000"]
    argv += ["--increment-seconds", "3600", "--boot-seconds", "120", "--master-price-per-hour", "0.25"]
    argv += ["--volume-gigabytes", "73", "--volume-price-per-gigabyte-month", "0.1"]
    argv += ["--training-dollars", "20", "--expected-runs", "50"]
    decision = choose(*argv)

    # Five disks of 73 GB at 0.1 $ for 730 hours are 0.05 $ per hour.
    assert decision.predicted_cost == pytest.approx(4 * 0.5 + 0.25 + 0.05 + 0.4)
    assert decision.billing.boot_seconds == 120
    said = ernest("choose", *argv).out
    assert "billed: $2.00 machines, $0.25 master, $0.05 volumes, $0.40 training" in said


def test_the_training_is_shared_by_the_runs_where_its_cost_is_known(model_json, choose, ernest):
    argv = [model_json, "--executors", "4", *ONE_PRICE, "--budget-dollars", "9", "--expected-runs", "10"]
    assert "--training-dollars=None is missing" in ernest("choose", *argv, code=1).err

    document = json.loads(model_json.read_text())
    seconds = sum(run["seconds"] for run in document["observations"])
    document["cluster"] = {
        "kind": "ec2",
        "name": "samples",
        "instance_type": "local",
        "executor_cores": 2,
        "price_per_hour": 0.36,
        "machines": [{"host": f"10.0.0.{index}", "price_per_hour": 0.36} for index in range(10)],
    }
    model_json.write_text(json.dumps(document))
    assert choose(*argv).cost_parts.training == pytest.approx(seconds * 0.001 / 10)


def test_where_the_goal_is_out_of_reach_one_within_it_is_named(model_json, ernest):
    argv = [model_json, "--executors", "1-12", *ONE_PRICE, "--deadline-seconds", "80"]
    refused = ernest("choose", *argv, code=1)
    (possible,) = re.findall(r"Possible: a deadline of ([\d.]+) s \(12 machines of ", refused.err)
    assert "<- chosen" in ernest("choose", *argv[:-1], possible).out
    assert ernest("choose", *argv, "--format", "json", code=1).out == ""
