import io
import json
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.command import read_text
from airflow_provider_ernest.cli.runs_file import runs_file_of
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidDocumentError, MissingResourceError
from tests.unit.cli.conftest import RUNS, csv_of_runs


def read_runs(name: str) -> list[Observation]:
    return runs_file_of(read_text(name), name).runs


def triples(runs: list[Observation]) -> list[tuple[int, float, float]]:
    return [(run.machines, run.scale, run.seconds) for run in runs]


@pytest.mark.parametrize(
    "heading",
    ["", "#machines,fraction,seconds", "#Cores,Input Fraction, Time (s)", "Machines, Scale, Seconds"],
)
def test_the_originals_csv_is_read_with_any_of_its_headings(heading: str):
    runs = runs_file_of(csv_of_runs(heading=heading), "runs.csv").runs
    assert [(run.machines, run.scale) for run in runs] == RUNS
    assert [run.index for run in runs] == list(range(len(RUNS)))


def test_a_heading_says_which_column_is_which():
    runs = runs_file_of("fraction,seconds,machines\n0.1,20,4\n", "runs.csv").runs
    assert triples(runs) == [(4, 0.1, 20.0)]


def test_further_columns_are_read_by_name():
    text = "machines,fraction,seconds,startup_seconds,iterations,instance_type\n4,0.1,20,3.5,10,m5.large\n"
    (run,) = runs_file_of(text, "runs.csv").runs
    assert (run.startup_seconds, run.iterations, run.instance_type) == (3.5, 10, "m5.large")


def test_comments_and_empty_lines_are_passed_over():
    text = "\ufeff# measured on Monday\n\n4,0.1,20\r\n# the network was slow\n 8 , 0.1 , 15 \n"
    path = "runs.csv"
    assert triples(runs_file_of(text.removeprefix("\ufeff"), path).runs) == [(4, 0.1, 20.0), (8, 0.1, 15.0)]


def test_a_byte_order_mark_is_no_part_of_the_first_number(tmp_path: Path):
    path = tmp_path / "runs.csv"
    path.write_bytes(b"\xef\xbb\xbf4,0.1,20\n")
    assert triples(read_runs(str(path))) == [(4, 0.1, 20.0)]


@pytest.mark.parametrize("job", [None, "etl"])
def test_a_line_that_ends_before_the_job_is_of_the_only_one(job: str | None):
    text = "machines,scale,seconds,job\n1,0.1,10,etl\n2,0.1,6\n"
    assert [run.machines for run in runs_file_of(text, "runs.csv", job).runs] == [1, 2]


def test_runs_without_seconds_are_left_out_and_told(capsys: pytest.CaptureFixture[str]):
    runs = runs_file_of("#machines,fraction,seconds\n4,0.1,\n8,0.1,15\n2,0.1\n", "runs.csv").runs
    assert triples(runs) == [(8, 0.1, 15.0)]
    assert runs[0].index == 1, "the index in its design"
    assert "2 of the 3 runs in runs.csv have no seconds yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.125,32,7.9\n", r"line 1: machines 0\.125 is not a whole number"),
        ("4,0.1,20\n8,0.1,fast\n", r"line 2: seconds 'fast' is not a number"),
        ("4,0.1,20\n8,0.1,-3\n", r"line 2: seconds=-3\.0 is not a finite number above 0"),
        ("4,0.1,nan\n", r"line 1: seconds=nan is not a finite"),
        ("inf,0.1,20\n", r"line 1: machines 'inf' is not a number"),
        ("4,0.1,20,7\n", r"line 1: there are 4 values for 3 columns"),
        (",0.1,20\n", r"line 1: machines or fraction is missing"),
        ("4\n", r"line 1: machines or fraction is missing"),
        (
            "nodes,fraction,seconds\n4,0.1,20\n",
            r"line 1: 'nodes' is neither a number nor the name of a column",
        ),
        ("machines,cores,fraction,seconds\n", r"heading must name machines and fraction, each once"),
        ("4;0,1;20\n", r"line 1: '4;0' is neither"),
        ("[1, 2", r"runs\.csv is not JSON"),
        ("[" * 100_000, r"runs\.csv is not JSON"),
        ('{"runs": []}', r"holds no list of observations"),
        ("[7]", r"run 0: An? Observation document must be a mapping"),
        ('[{"index": 0, "machines": 4, "scale": 0.1}]', r"run 0: This is no Observation document"),
    ],
)
def test_what_is_no_run_is_refused_with_its_place(text: str, problem: str):
    with pytest.raises(InvalidDocumentError, match=problem):
        runs_file_of(text, "runs.csv")


@pytest.mark.parametrize("heading", ["", "machines,fraction,seconds\n"])
def test_a_percentage_is_no_fraction(heading: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(InvalidDocumentError, match=r"the fraction 10 would be 1,000 %.*write 0\.1 for 10 %"):
        runs_file_of(f"{heading}4,10,20\n", "runs.csv")
    (grown,) = runs_file_of(f"{heading}4,1.5,20\n", "runs.csv").runs
    assert grown.scale == 1.5
    assert "a fraction of 1.5 is 150 % of the input" in capsys.readouterr().err


def test_a_scale_may_be_any(capsys: pytest.CaptureFixture[str]):
    (run,) = runs_file_of("machines,scale,seconds\n4,100,20\n", "runs.csv").runs
    assert run.scale == 100
    assert capsys.readouterr().err == ""


def test_json_runs_are_lists_of_observation_documents():
    run = Observation(index=3, machines=4, scale=0.1, seconds=20.0, startup_seconds=2.0, hosts=("a", "b"))
    assert runs_file_of(json.dumps([run.to_dict()]), "runs.json").runs == [run]


def test_the_runs_of_a_model_can_be_read_again(model_json: Path):
    assert [(run.machines, run.scale) for run in read_runs(str(model_json))] == RUNS


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"4,0.1,20\n")))
    assert triples(read_runs("-")) == [(4, 0.1, 20.0)]


def test_files_that_cannot_be_read_are_named(tmp_path: Path):
    with pytest.raises(MissingResourceError, match=r"absent\.csv cannot be read: No such file"):
        read_runs(str(tmp_path / "absent.csv"))
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidDocumentError, match=r"binary\.csv is not UTF-8 text"):
        read_runs(str(tmp_path / "binary.csv"))


def test_what_inputs_consist_of_tells_scale_and_rows():
    text = "machines,rows,features,seconds\n4,1e8,5,168\n4,2e8,5,266\n"
    runs = runs_file_of(text, "runs.csv", whole={"rows": 2e8, "features": 15.0}).runs
    assert [run.scale for run in runs] == pytest.approx([1 / 6, 1 / 3])
    assert [run.row_width for run in runs] == pytest.approx([1 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("machines,rows,seconds\n4,1e8,168\n", "must name machines and rows and features"),
        ("machines,rows,features,seconds\n4,1e8,,168\n", "rows or features is missing"),
        ("machines,rows,features,seconds\n4,1e8,0,168\n", "line 2: features 0 is not above 0"),
        ('[{"index": 0}]', "no CSV file"),
    ],
)
def test_inputs_that_do_not_tell_what_they_consist_of_are_refused(text: str, problem: str):
    with pytest.raises(InvalidDocumentError, match=problem):
        runs_file_of(text, "runs.csv", whole={"rows": 2e8, "features": 15.0})
