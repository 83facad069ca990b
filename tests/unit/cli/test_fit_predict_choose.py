import csv
import io
import json
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.documents import Decision, Model
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.cli.conftest import csv_of_runs, seconds_of


def test_fit_prints_the_model_and_writes_it(
    tmp_path: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "model.json"
    assert (
        main(["fit", str(runs_csv), "--job", "grep", "--instance-type", "m5", "--output", str(output)]) == 0
    )
    said = capsys.readouterr().out
    assert "scale/machines" in said
    assert "leave-one-out error" in said
    model = Model.from_dict(json.loads(output.read_text()))
    assert (model.job, model.instance_type, model.method) == ("grep", "m5", "averaging")


def test_a_model_on_standard_output_is_alone_there(runs_csv: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["fit", str(runs_csv), "--output", "-"]) == 0
    said = capsys.readouterr()
    assert Model.from_dict(json.loads(said.out)).job == "runs"
    assert "leave-one-out error" in said.err


def test_the_originals_method_finds_the_coefficients(tmp_path: Path, runs_csv: Path):
    output = tmp_path / "model.json"
    assert main(["fit", str(runs_csv), "--method", "classic", "--output", str(output)]) == 0
    found = {term.name: term.coefficient for term in Model.from_dict(json.loads(output.read_text())).terms}
    assert found == pytest.approx(
        {"1": 12.0, "scale/machines": 900.0, "log(machines)": 2.0, "machines": 0.0}, abs=1e-3
    )


def test_terms_and_the_drivers_share_are_passed_on(tmp_path: Path, runs_csv: Path):
    output = tmp_path / "model.json"
    argv = ["fit", str(runs_csv), "--terms", "1", "scale/machines", "max(machines - 4, 0)"]
    assert main([*argv, "--known-driver-share", "0", "--output", str(output)]) == 0
    model = Model.from_dict(json.loads(output.read_text()))
    assert [term.name for term in model.terms] == ["1", "scale/machines", "max(machines - 4, 0)"]
    assert model.driver_share == 0.0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ["--known-driver-share", "1", "--method", "classic"],
            "--known-driver-share=1.0 means nothing to --method classic",
        ),
        (["--known-driver-share", "2"], "is no probability"),
        (["--terms", "sqrt(nodes)"], "nodes"),
        (["--terms", "1", "1"], "names a term twice"),
    ],
)
def test_options_that_cannot_be(
    runs_csv: Path, capsys: pytest.CaptureFixture[str], options: list[str], problem: str
):
    assert main(["fit", str(runs_csv), *options]) == 1
    assert problem in capsys.readouterr().err


def test_too_few_runs_are_an_error_with_a_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "runs.csv"
    path.write_text("4,0.1,20\n8,0.1,15\n")
    assert main(["fit", str(path)]) == 1
    said = capsys.readouterr().err
    assert "2 distinct configurations" in said
    assert "Observe at least" in said
    path.write_text("#machines,fraction,seconds\n")
    assert main(["predict", str(path), "--machines", "4"]) == 1


def test_an_inadequate_model_is_written_and_refused(
    tmp_path: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "model.json"
    argv = ["fit", str(runs_csv), "--output", str(output), "--max-error-percent", "0.0001"]
    assert main(argv) == 1
    assert "above the threshold of 0.0001 %" in capsys.readouterr().err
    assert output.exists()


def test_an_output_that_is_there_is_refused_before_any_work(
    runs_csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    argv = ["fit", str(tmp_path / "absent.csv"), "--output", str(runs_csv)]
    assert main(argv) == 1
    assert "exists already" in capsys.readouterr().err
    assert runs_csv.read_text() == csv_of_runs()


def test_predictions_come_near_the_job_that_the_runs_are_of(
    model_json: Path, capsys: pytest.CaptureFixture[str]
):
    argv = ["predict", str(model_json), "--machines", "8,12", "--scale", "0.5", "--level", "0.95"]
    assert main([*argv, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["level"] == 0.95
    for row in said["predictions"]:
        assert row["seconds"] == pytest.approx(seconds_of(row["machines"], 0.5), rel=0.1)
        assert row["low_seconds"] < row["seconds"] < row["high_seconds"]
        assert sum(row["term_seconds"].values()) == pytest.approx(row["seconds"])


def test_all_formats_tell_the_same(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["predict", str(model_json), "--machines", "4,40"]
    assert main([*argv, "--format", "json"]) == 0
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    assert main([*argv, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(argv) == 0
    table = capsys.readouterr().out
    for prediction, row in zip(predictions, rows, strict=True):
        assert float(row["seconds"]) == prediction["seconds"]
        assert float(row["scale/machines seconds"]) == prediction["term_seconds"]["scale/machines"]
        assert row["extrapolates"] == prediction["extrapolates"]
        assert f"{prediction['machines']:8d} {prediction['seconds']:10,.1f}" in table
    assert "40 machines: at most 12 were observed" in table


def test_runs_are_fitted_at_once_where_a_model_is_asked_for(
    runs_csv: Path, model_json: Path, capsys: pytest.CaptureFixture[str]
):
    tables = []
    for source in (runs_csv, model_json):
        assert main(["predict", str(source), "--machines", "1-8"]) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]


def test_iterations_need_a_model_trained_with_some(
    tmp_path: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["predict", str(runs_csv), "--machines", "4", "--iterations", "50"]) == 1
    assert "--iterations=50 is asked of a model" in capsys.readouterr().err
    path = tmp_path / "iterative.csv"
    lines = csv_of_runs(heading="").splitlines()
    path.write_text("\n".join(["machines,fraction,seconds,iterations", *(f"{line},5" for line in lines)]))
    seconds = []
    for iterations in ("5", "50"):
        argv = ["predict", str(path), "--machines", "4", "--iterations", iterations, "--format", "json"]
        assert main(argv) == 0
        seconds.append(json.loads(capsys.readouterr().out)["predictions"][0]["seconds"])
    assert seconds[1] > 5 * seconds[0], "spreading work dominates at scale 1"


def test_the_cheapest_within_a_deadline_is_chosen(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["choose", str(model_json), "--machines", "1-12", "--price-per-hour", "0.5"]
    assert main([*argv, "--deadline-seconds", "200", "--format", "json"]) == 0
    decision = Decision.from_dict(json.loads(capsys.readouterr().out))
    in_time = [each for each in decision.alternatives if each.probability >= 0.8]
    chosen = min(in_time, key=lambda each: each.cost / each.probability)
    assert decision.config.machines == chosen.machines
    assert decision.predicted_cost == chosen.cost
    assert main([*argv, "--budget-dollars", "0.5"]) == 0
    assert "<- chosen" in capsys.readouterr().out


def test_billing_by_the_hour_is_counted(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [
        "choose",
        str(model_json),
        "--machines",
        "4",
        "--price-per-hour",
        "0.5",
        "--deadline-seconds",
        "3000",
    ]
    assert main([*argv, "--increment-seconds", "3600", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["predicted_cost"] == pytest.approx(4 * 0.5)


def test_a_goal_out_of_reach_names_the_best(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = [
        "choose",
        str(model_json),
        "--machines",
        "1-12",
        "--price-per-hour",
        "0.5",
        "--deadline-seconds",
        "1",
    ]
    assert main(argv) == 1
    assert "the fastest is 12 machines" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"schema": 99}', "has schema 99"),
        ("{}", "This is no Model document"),
        ("{", "is not JSON"),
    ],
)
def test_what_is_no_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
):
    path = tmp_path / "model.json"
    path.write_text(text)
    assert main(["predict", str(path), "--machines", "4"]) == 1
    assert problem in capsys.readouterr().err


def test_a_file_of_the_model_store_is_read_as_it_was_stored(
    model_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    stored = ModelStore(tmp_path / "store").save(Model.from_dict(json.loads(model_json.read_text())))

    assert main(["predict", str(stored), "--machines", "2"]) == 0
    capsys.readouterr()

    stored.write_text(stored.read_text().replace('"grep"', '"grap"'))
    assert main(["predict", str(stored), "--machines", "2"]) == 1
    assert "does not agree with its digest" in capsys.readouterr().err


def test_a_model_without_observations_is_refused(model_json: Path, capsys: pytest.CaptureFixture[str]):
    document = json.loads(model_json.read_text())
    document["observations"] = []
    model_json.write_text(json.dumps(document))
    assert main(["predict", str(model_json), "--machines", "4"]) == 1
    assert "a model without observations" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("method", "place", "value", "problem"),
    [
        ("averaging", ("observations", 0, "seconds"), 5e-324, "cannot predict"),
        ("averaging", ("prior", "noise", 0), 1e-300, "cannot predict"),
        ("averaging", ("prior", "machines_octaves"), 5e-324, "cannot predict"),
        ("relative", ("observations", 0, "seconds"), 5e-324, "cannot predict"),
        ("classic", ("observations", 0, "seconds"), 1e308, "cannot predict"),
        ("classic", ("startup_seconds",), "inf", "startup_seconds=inf is not a finite number"),
        ("classic", ("observations", 0, "machines"), 10**400, "This is no Model document"),
    ],
)
def test_a_model_of_numbers_that_cannot_be_is_named(
    tmp_path: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str], method, place, value, problem
):
    path = tmp_path / "model.json"
    assert main(["fit", str(runs_csv), "--method", method, "--output", str(path)]) == 0
    document = json.loads(path.read_text())
    *way, last = place
    inner = document
    for step in way:
        inner = inner[step]
    inner[last] = value
    path.write_text(json.dumps(document))
    capsys.readouterr()

    assert main(["predict", str(path), "--machines", "8"]) == 1

    told = capsys.readouterr()
    assert problem in told.err
    assert told.out == ""
