import json

from tests.unit.report_page import answers


def test_the_report_is_one_file(tmp_path, model_json, ernest):
    output = tmp_path / "report.html"
    said = ernest("report", model_json, "--output", output).out
    assert said == f"The report on grep is in {output}\n"
    assert output.read_text().startswith("<!doctype html>\n<html")
    curve = answers(output.read_text())["api/prediction"]["curve"]
    assert (curve[0]["executors"], curve[-1]["executors"]) == (1, 24), "twice the 12 that were observed"


def test_a_choice_is_reported(model_json, ernest):
    argv = ["report", model_json, "--executors", "1-12", "--price-per-hour", "0.5", "--output", "-"]
    page = ernest(*argv, "--deadline-seconds", "200").out
    assert answers(page)["api/prediction"]["goal"].startswith("best value within 3 min 20 s")
    assert page.endswith("</html>\n")
    out_of_reach = ernest(*argv, "--deadline-seconds", "1")
    words = "No allowed configuration ends within 1 s"
    assert f"warning: {words} in 80 % of runs" in out_of_reach.err
    assert answers(out_of_reach.out)["api/prediction"]["out_of_reach"].startswith(words)


def test_a_budget_needs_a_price(model_json, ernest):
    said = ernest("report", model_json, "--output", "-", "--budget-dollars", "1", code=1).err
    assert "--price-per-hour=None does not say what a machine of type local costs" in said


def test_names_in_a_models_file_cannot_command_the_terminal(model_json, tmp_path, ernest):
    document = json.loads(model_json.read_text())
    document.update(job="\x1b]0;owned\x07grep", warnings=["\x9b2J gone"])
    model_json.write_text(json.dumps(document))
    said = ernest("report", model_json, "--output", tmp_path / "report.html")
    assert not {"\x1b", "\x07", "\x9b"} & set(said.out + said.err)
