import json
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.main import main


def test_the_report_is_one_file(tmp_path: Path, model_json: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "report.html"
    assert main(["report", str(model_json), "--output", str(output)]) == 0
    assert capsys.readouterr().out == f"The report on grep is in {output}\n"
    assert output.read_text().startswith("<!DOCTYPE html>\n<html")
    assert "1 to 24 machines of type local" in output.read_text(), "twice the 12 that were observed"


def test_a_choice_is_reported(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["report", str(model_json), "--machines", "1-12", "--price-per-hour", "0.5", "--output", "-"]
    assert main([*argv, "--deadline-seconds", "200"]) == 0
    page = capsys.readouterr().out
    assert "cheapest within 200 s" in page
    assert page.endswith("</html>\n")


def test_a_goal_out_of_reach_is_reported_with_a_warning(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["report", str(model_json), "--machines", "1-12", "--price-per-hour", "0.5", "--output", "-"]
    assert main([*argv, "--deadline-seconds", "1"]) == 0
    said = capsys.readouterr()
    assert "warning: No allowed configuration ends within 1 s with a probability of 80 %" in said.err
    assert "No allowed configuration ends within 1 s" in said.out


def test_all_that_is_billed_and_the_confidence_count(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["report", str(model_json), "--machines", "4", "--deadline-seconds", "3000", "--output", "-"]
    argv += ["--price-per-hour", "local=0.5", "--confidence", "0.95", "--increment-seconds", "3600"]
    assert main([*argv, "--training-dollars", "50", "--expected-runs", "10"]) == 0
    page = capsys.readouterr().out
    assert "cheapest within 3,000 s with a probability of 95 %" in page
    # Four machines for an hour, and a tenth of the training.
    assert "$7.00" in page or "7.00 $" in page


def test_a_price_of_another_type_is_refused(model_json: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["report", str(model_json), "--output", "-", "--price-per-hour", "m5.large=0.5"]
    assert main(argv) == 1
    assert "--price-per-hour='m5.large' is a type of machine without a model" in capsys.readouterr().err


def test_a_goal_needs_a_price(model_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    argv = ["report", str(model_json), "--output", str(tmp_path / "report.html"), "--budget-dollars", "1"]
    assert main(argv) == 1
    assert "--price-per-hour=None is missing" in capsys.readouterr().err


def test_a_hostile_job_name_stays_text(runs_csv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, output = tmp_path / "model.json", tmp_path / "report.html"
    name = "<script>alert(1)</script>"
    assert main(["fit", str(runs_csv), "--job", name, "--output", str(model)]) == 0
    assert main(["report", str(model), "--output", str(output)]) == 0
    page = output.read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_names_in_a_models_file_cannot_command_the_terminal(
    model_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    document = json.loads(model_json.read_text())
    document.update(job="\x1b]0;owned\x07grep", warnings=["\x9b2J gone"])
    model_json.write_text(json.dumps(document))
    assert main(["report", str(model_json), "--output", str(tmp_path / "report.html")]) == 0
    said = capsys.readouterr()
    assert not {"\x1b", "\x07", "\x9b"} & set(said.out + said.err)


def test_a_price_of_another_type_is_refused_with_a_remedy_that_exists(
    model_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    argv = ["report", str(model_json), "--output", str(tmp_path / "report.html")]
    assert main([*argv, "--price-per-hour", "c5.large=0.1"]) == 1
    said = capsys.readouterr().err
    assert "--price-per-hour='c5.large' is a type of machine without a model" in said
    assert "Name local." in said
    assert "--extrapolate-to" not in said
