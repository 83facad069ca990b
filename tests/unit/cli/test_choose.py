import json
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.documents import Alternative, Decision
from tests.unit.cli.conftest import seconds_of

PRICES = ["--price-per-hour", "m5.large=0.1", "--price-per-hour", "c5.large=0.22"]


def decided(capsys: pytest.CaptureFixture[str], argv: list[str]) -> Decision:
    """The decision that a command line prints."""
    assert main(["choose", *argv, "--format", "json"]) == 0
    return Decision.from_dict(json.loads(capsys.readouterr().out))


def test_the_best_of_all_types_is_chosen(two_models: list[str], capsys: pytest.CaptureFixture[str]):
    argv = [*two_models, "--machines", "1-12", *PRICES, "--deadline-seconds", "300"]
    decision = decided(capsys, argv)

    assert [(each.instance_type, each.machines) for each in decision.alternatives] == [
        (name, count) for name in ("m5.large", "c5.large") for count in range(1, 13)
    ]
    in_time = [each for each in decision.alternatives if each.probability >= 0.8]
    assert decision.predicted_cost == min(each.cost for each in in_time)
    # 900 s of work: four machines at 0.1 $ an hour, of which three take 314 s; two of the other cost more.
    assert (decision.config.instance_type, decision.config.machines) == ("m5.large", 4)
    assert decision.predicted_seconds == pytest.approx(seconds_of(4, 1.0), rel=1e-3)
    assert decision.predicted_cost == pytest.approx(4 * 0.1 / 3600 * seconds_of(4, 1.0), rel=0.01)

    assert main(["choose", *argv]) == 0
    table = capsys.readouterr().out
    assert "goal: cheapest within 300 s with a probability of 80 %" in table
    (line,) = (line for line in table.splitlines() if "<- chosen" in line)
    assert line.split()[:2] == ["m5.large", "4"]
    assert "4 machines of m5.large: " in table


def test_more_confidence_takes_more_machines(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [str(model_json), "--machines", "1-12", "--price-per-hour", "0.5", "--deadline-seconds", "205"]
    argv += ["--increment-seconds", "3600"]
    chosen = {
        confidence: decided(capsys, [*argv, "--confidence", confidence])
        for confidence in ("0.5", "0.8", "0.99")
    }

    machines = [decision.config.machines for decision in chosen.values()]
    assert machines == sorted(machines)
    assert machines[0] < machines[-1]
    for confidence, decision in chosen.items():
        assert decision.probability >= float(confidence)
        assert decision.confidence == float(confidence)


@pytest.mark.parametrize("confidence", ["0.4", "1", "95", "x"])
def test_what_is_no_confidence(model_json: Path, capsys: pytest.CaptureFixture[str], confidence: str):
    argv = ["choose", str(model_json), "--machines", "4", "--price-per-hour", "1", "--budget-dollars", "1"]
    with pytest.raises(SystemExit) as ended:
        main([*argv, "--confidence", confidence])
    assert ended.value.code == 2
    assert "is not a probability from 0.5 to below 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "(--deadline-seconds, --budget-dollars)=(None, None) is no goal"),
        (["--deadline-seconds", "300", "--budget-dollars", "1"], "(300.0, 1.0) is two goals"),
        (["--objective", "nicest"], "--objective='nicest' is no function"),
        (["--deadline-seconds", "-1"], "--deadline-seconds=-1.0 is not a finite number above 0"),
        (["--budget-dollars", "1", "--increment-seconds", "0"], "--increment-seconds=0.0 is"),
        (
            ["--budget-dollars", "1", "--expected-runs", "0"],
            "--expected-runs=0 is not a number of at least 1",
        ),
    ],
)
def test_goals_and_bills_that_cannot_be(
    model_json: Path, capsys: pytest.CaptureFixture[str], options: list[str], problem: str
):
    argv = ["choose", str(model_json), "--machines", "4", "--price-per-hour", "1", "--training-dollars", "1"]
    assert main([*argv, *options]) == 1
    assert problem in capsys.readouterr().err


def test_objectives_within_both_limits(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [str(model_json), "--machines", "1-12", "--price-per-hour", "0.5"]
    limits = ["--deadline-seconds", "400", "--budget-dollars", "0.2"]
    cheapest, fastest, balanced = (
        decided(capsys, [*argv, *limits, "--objective", name]) for name in ("cheapest", "fastest", "balanced")
    )

    feasible = [each for each in cheapest.alternatives if each.feasible]
    assert cheapest.predicted_cost == min(each.cost for each in feasible)
    assert fastest.predicted_seconds == min(each.seconds for each in feasible)
    product = balanced.predicted_cost * balanced.predicted_seconds
    assert product == pytest.approx(min(each.cost * each.seconds for each in feasible))
    assert fastest.config.machines > cheapest.config.machines
    anything = decided(capsys, [*argv, "--objective", "fastest"])
    assert anything.config.machines == 12


def test_a_function_of_ones_own_is_an_objective(
    model_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "our_objectives.py").write_text("def near_five(each): return abs(each.machines - 5)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    argv = [str(model_json), "--machines", "1-12", "--price-per-hour", "0.5"]
    decision = decided(capsys, [*argv, "--objective", "our_objectives.near_five"])

    assert decision.config.machines == 5
    assert decision.goal == "near_five"


@pytest.mark.parametrize(
    ("prices", "problem"),
    [
        (
            ["0.1"],
            "--price-per-hour=0.1 is for no type in particular, and m5.large and c5.large must have one",
        ),
        (["m5.large=0.1"], "--price-per-hour=None is missing for c5.large"),
        (
            ["m5.large=0.1", "c5.lrage=0.1"],
            "--price-per-hour='c5.lrage' is a type of machine without a model",
        ),
    ],
)
def test_each_type_needs_its_price(
    two_models: list[str], capsys: pytest.CaptureFixture[str], prices: list[str], problem: str
):
    argv = ["choose", *two_models, "--machines", "4", "--deadline-seconds", "600"]
    assert main([*argv, *(f"--price-per-hour={price}" for price in prices)]) == 1
    said = capsys.readouterr().err
    assert problem in said
    assert "--price-per-hour c5.large=..." in said or "Name one of m5.large, c5.large" in said


@pytest.mark.parametrize("option", ["--price-per-hour==1", "--price-per-hour=m5=x", "--machines==4"])
def test_values_by_type_that_cannot_be_read(model_json: Path, option: str):
    with pytest.raises(SystemExit) as ended:
        main(["choose", str(model_json), "--machines", "4", "--price-per-hour", "1", option])
    assert ended.value.code == 2


def test_a_type_may_have_its_own_numbers(two_models: list[str], capsys: pytest.CaptureFixture[str]):
    argv = [*two_models, *PRICES, "--objective", "fastest", "--machines", "2-4", "--machines", "c5.large=1,6"]
    decision = decided(capsys, argv)

    considered = [(each.instance_type, each.machines) for each in decision.alternatives]
    assert considered == [("m5.large", 2), ("m5.large", 3), ("m5.large", 4), ("c5.large", 1), ("c5.large", 6)]


def test_two_models_of_one_type_are_refused(
    model_json: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str]
):
    argv = ["choose", str(model_json), str(runs_csv), "--machines", "4", "--price-per-hour", "1"]
    assert main([*argv, "--budget-dollars", "1"]) == 1
    said = capsys.readouterr().err
    assert f"MODEL=['{model_json}', '{runs_csv}'] are two of the type local" in said
    assert (
        main(["choose", "-", "-", "--machines", "4", "--price-per-hour", "1", "--budget-dollars", "1"]) == 1
    )
    assert "names standard input twice" in capsys.readouterr().err


def test_all_that_is_billed(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [str(model_json), "--machines", "4", "--price-per-hour", "0.5", "--deadline-seconds", "3000"]
    argv += [
        "--increment-seconds",
        "3600",
        "--boot-seconds",
        "120",
        "--master-price-per-hour",
        "0.25",
    ]
    argv += ["--volume-gigabytes", "73", "--volume-price-per-gigabyte-month", "0.1"]
    argv += ["--training-dollars", "20", "--expected-runs", "50"]
    decision = decided(capsys, argv)

    # Five disks of 73 GB at 0.1 $ for 730 hours are 0.05 $ per hour.
    assert decision.predicted_cost == pytest.approx(4 * 0.5 + 0.25 + 0.05 + 0.4)
    assert decision.billing.boot_seconds == 120
    assert main(["choose", *argv]) == 0
    said = capsys.readouterr().out
    assert "of which 2.00000 $ machines, 0.25000 $ master, 0.05000 $ volumes, 0.40000 $ training" in said


def test_a_minute_is_billed_unless_told_otherwise(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [str(model_json), "--machines", "8", "--price-per-hour", "3600", "--deadline-seconds", "300"]
    argv += ["--scale", "0.01"]
    least, none = decided(capsys, argv), decided(capsys, [*argv, "--minimum-seconds", "0"])

    assert least.predicted_cost == pytest.approx(8 * 60)
    assert none.predicted_cost < 8 * 30


def test_the_boot_is_part_of_the_deadline(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [str(model_json), "--machines", "1-12", "--price-per-hour", "0.5", "--deadline-seconds", "400"]
    without, with_boot = decided(capsys, argv), decided(capsys, [*argv, "--boot-seconds", "200"])

    assert with_boot.config.machines > without.config.machines
    assert with_boot.predicted_seconds + 200 <= 400


def test_the_training_is_shared_by_the_runs_where_its_cost_is_known(
    model_json: Path, capsys: pytest.CaptureFixture[str]
):
    argv = ["choose", str(model_json), "--machines", "4", "--price-per-hour", "0.5", "--budget-dollars", "9"]
    assert main([*argv, "--expected-runs", "10"]) == 1
    assert "--training-dollars=None is missing" in capsys.readouterr().err

    document = json.loads(model_json.read_text())
    seconds = sum(run["seconds"] for run in document["observations"])
    document["cluster"] = {
        "kind": "ec2",
        "name": "samples",
        "instance_type": "local",
        "cores_per_machine": 2,
        "price_per_hour": 0.36,
        "machines": [{"host": f"10.0.0.{index}", "price_per_hour": 0.36} for index in range(10)],
    }
    model_json.write_text(json.dumps(document))
    decision = decided(capsys, [*argv[1:], "--expected-runs", "10"])
    assert decision.cost_parts.training == pytest.approx(seconds * 0.001 / 10)


def test_a_type_that_was_not_trained_is_marked(two_models: list[str], capsys: pytest.CaptureFixture[str]):
    argv = [*two_models, *PRICES, "--machines", "4,8", "--objective", "fastest"]
    first, named = "r5.large=2@0.13", "r5.xlarge=2xc5.large@0.25"
    decision = decided(capsys, [*argv, "--extrapolate-to", first, "--extrapolate-to", named])

    told = {(each.instance_type, each.machines): each for each in decision.alternatives}
    # Twice the speed of m5.large is that of c5.large; twice that of c5.large four times that.
    assert told["r5.large", 4].seconds == pytest.approx(told["c5.large", 4].seconds, rel=0.02)
    assert told["r5.xlarge", 4].seconds == pytest.approx(seconds_of(4, 1.0, speed=4.0), rel=0.02)
    assert told["r5.xlarge", 4].cost == pytest.approx(
        4 * 0.25 / 3600 * max(60, told["r5.xlarge", 4].seconds), rel=0.03
    )
    assert told["r5.xlarge", 4].extrapolates.startswith(
        "r5.xlarge was not trained: taken as c5.large with 2 times the speed"
    )
    assert told["m5.large", 4].extrapolates == ""
    assert main(["choose", *argv, "--extrapolate-to", named]) == 0
    said = capsys.readouterr()
    assert "warning: r5.xlarge was not trained" in said.err
    assert "[r5.xlarge was not" in said.out


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("r5.large=2xm6.large@0.1", "--extrapolate-to='m6.large' is likened to, and has no model"),
        ("c5.large=2@0.1", "--extrapolate-to='c5.large' is of a type that has a model"),
        (
            "r5.large=2@0.1 r5.large=3@0.1 z1d.large=2@0.1",
            "--extrapolate-to='r5.large' is of a type that is named twice",
        ),
        ("r5.large=0@0.1", "relative_speed=0.0 is not a finite number above 0"),
    ],
)
def test_extrapolations_that_cannot_be(
    two_models: list[str], capsys: pytest.CaptureFixture[str], value: str, problem: str
):
    argv = ["choose", *two_models, *PRICES, "--machines", "4", "--budget-dollars", "1"]
    for each in value.split():
        argv += ["--extrapolate-to", each]
    assert main(argv) == 1
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("value", ["r5.large", "r5.large=2", "=2@1", "r5.large=x@1", "r5.large=1.2.3@1"])
def test_extrapolations_that_cannot_be_read(model_json: Path, capsys: pytest.CaptureFixture[str], value: str):
    with pytest.raises(SystemExit) as ended:
        main(
            ["choose", str(model_json), "--machines", "4", "--price-per-hour", "1", "--extrapolate-to", value]
        )
    assert ended.value.code == 2
    assert "is not TYPE=SPEED@DOLLARS" in capsys.readouterr().err


def test_a_mix_is_considered_where_it_is_allowed(two_models: list[str], capsys: pytest.CaptureFixture[str]):
    argv = [*two_models, "--price-per-hour", "m5.large=0.08", "--price-per-hour", "c5.large=0.22"]
    argv += ["--machines", "m5.large=1-4", "--machines", "c5.large=1-12", "--deadline-seconds", "130"]
    alone, mixed = decided(capsys, argv), decided(capsys, [*argv, "--allow-mixed"])

    assert not alone.composition
    assert mixed.predicted_cost < alone.predicted_cost
    counts = {part.instance_type: part.machines for part in mixed.composition}
    assert sorted(counts) == ["c5.large", "m5.large"]
    assert mixed.config.instance_type == " + ".join(
        f"{part.machines} {part.instance_type}" for part in mixed.composition
    )
    hourly = counts["m5.large"] * 0.08 + counts["c5.large"] * 0.22
    assert mixed.predicted_cost == pytest.approx(hourly / 3600 * mixed.predicted_seconds, rel=0.01)
    assert main(["choose", *argv, "--allow-mixed"]) == 0
    assert f"\n{mixed.config.instance_type}: " in capsys.readouterr().out


def test_only_the_front_is_shown(two_models: list[str], capsys: pytest.CaptureFixture[str]):
    argv = [*two_models, *PRICES, "--machines", "1-12", "--deadline-seconds", "300"]
    all_of_them, front = decided(capsys, argv), decided(capsys, [*argv, "--pareto"])

    beaten = [
        each
        for each in all_of_them.alternatives
        if any(
            other.seconds <= each.seconds and other.cost <= each.cost and other != each
            for other in all_of_them.alternatives
        )
    ]
    assert 0 < len(front.alternatives) < 24
    assert list(front.alternatives) == [each for each in all_of_them.alternatives if each not in beaten]


def test_where_only_the_front_is_shown_the_chosen_one_and_its_type_still_are(
    two_models: list[str], capsys: pytest.CaptureFixture[str]
):
    """At 0.11 $ an hour the other type beats all machines of m5.large, of which only it has five."""
    argv = ["choose", *two_models, "--price-per-hour", "m5.large=0.1", "--price-per-hour", "c5.large=0.11"]
    argv += ["--machines", "1-5", "--objective", "cheapest", "--pareto"]
    assert main(argv) == 0
    said = capsys.readouterr().out
    assert "m5.large" not in said
    assert " machines of c5.large: " in said or "1 machine of c5.large: " in said
    (line,) = (line for line in said.splitlines() if "<- chosen" in line)
    assert line.split()[0] == "c5.large"

    beaten = "tests.unit.cli.test_choose.slowest"
    assert main([*argv[:-3], "--objective", beaten, "--pareto"]) == 0
    said = capsys.readouterr().out
    (line,) = (line for line in said.splitlines() if "<- chosen" in line)
    assert line.split()[:2] == ["m5.large", "1"]
    assert main([*argv[:-3], "--objective", beaten, "--pareto", "--format", "json"]) == 0
    decision = Decision.from_dict(json.loads(capsys.readouterr().out))
    assert [each.machines for each in decision.alternatives if not each.is_pareto] == [1]


def slowest(alternative: Alternative) -> float:
    """An objective that nobody has."""
    return -alternative.seconds


def test_without_a_limit_no_probability_is_told(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["choose", str(model_json), "--machines", "1-5", "--price-per-hour", "0.1"]
    assert main([*argv, "--objective", "fastest"]) == 0
    said = capsys.readouterr().out
    assert "probability  " not in said
    assert "keeps to the goal" not in said
    assert "asked for" not in said


def test_the_types_at_the_same_dollars_per_hour(two_models: list[str], capsys: pytest.CaptureFixture[str]):
    argv = ["choose", *two_models, *PRICES, "--machines", "1-24", "--deadline-seconds", "300"]
    assert main([*argv, "--dollars-per-hour", "2.2", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["same_cost"]
    assert row["dollars_per_hour"] == 2.2
    assert [(each["instance_type"], each["machines"]) for each in row["types"]] == [
        ("m5.large", 22),
        ("c5.large", 10),
    ]
    for each, speed in zip(row["types"], (1.0, 2.0), strict=True):
        assert each["dollars_per_hour"] == pytest.approx(2.2)
        assert each["seconds"] == pytest.approx(seconds_of(each["machines"], 1.0, speed=speed), rel=1e-3)
    assert main([*argv, "--same-cost"]) == 0
    said = capsys.readouterr().out
    assert "the same dollars per hour" in said
    assert said.count("<- fastest") >= 3
    assert main([*argv, "--dollars-per-hour", "0.01"]) == 1
    assert "--dollars-per-hour=0.01 pays for no allowed number of machines" in capsys.readouterr().err


def test_the_most_probable_where_the_goal_is_out_of_reach(
    model_json: Path, capsys: pytest.CaptureFixture[str]
):
    argv = ["choose", str(model_json), "--machines", "1-12", "--price-per-hour", "0.5"]
    argv += ["--deadline-seconds", "80"]
    assert main(argv) == 1
    assert "No allowed configuration ends within 80 s" in capsys.readouterr().err
    assert main([*argv, "--most-probable"]) == 0
    said = capsys.readouterr()
    assert "warning: No allowed configuration ends within 80 s with a probability of 80 %" in said.err
    (line,) = (line for line in said.out.splitlines() if "<- fallback" in line)
    assert line.split()[0] == "12"
    assert "below 80 %" in line
    assert main([*argv, "--most-probable", "--format", "json"]) == 0
    decision = Decision.from_dict(json.loads(capsys.readouterr().out))
    assert decision.fallback_reason.startswith("No allowed configuration ends within 80 s")
    assert decision.probability == max(each.probability for each in decision.alternatives)


def test_only_machines_that_hold_the_data(model_json: Path, capsys: pytest.CaptureFixture[str]):
    document, gigabyte = json.loads(model_json.read_text()), 1_000_000_000
    for run in document["observations"]:
        wanted = int(40 * gigabyte * run["scale"])
        run["metrics"] = {
            "tasks": 100,
            "slots": 2 * run["machines"],
            "executor_run_seconds": 100.0,
            "garbage_collection_seconds": 1.0,
            "input_bytes": gigabyte,
            "shuffle_read_bytes": 0,
            "spilled_bytes": 0,
            "storage_memory_bytes": 5 * gigabyte * run["machines"],
            "cache_wanted_bytes": wanted,
            "cached_bytes": wanted,
            "cached_on_disk_bytes": 0,
        }
    model_json.write_text(json.dumps(document))
    argv = [str(model_json), "--machines", "1-12", "--price-per-hour", "0.5", "--objective", "cheapest"]
    any_of_them, holding = decided(capsys, argv), decided(capsys, [*argv, "--only-in-memory"])

    # 40 GB of cache in 5 GB of each machine.
    assert any_of_them.config.machines < 8
    assert holding.config.machines >= 8
    late = ["choose", *argv[:-2], "--only-in-memory", "--deadline-seconds"]
    assert main([*late[:3], "1-4", *late[4:], "9999"]) == 1
    assert "None of the allowed machines can hold the data in memory" in capsys.readouterr().err
    assert main([*late, "80"]) == 1
    assert "No allowed configuration that holds the data in memory ends within" in capsys.readouterr().err
    assert main(["choose", *argv]) == 0
    assert "of the data to be cached" in capsys.readouterr().out
