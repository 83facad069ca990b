"""Files of runs: what is read from which layout, and what is refused with its place."""

import io
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.models import read_runs, runs_of
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidDocumentError, MissingResourceError
from tests.unit.cli.conftest import RUNS, csv_of_runs


def triples(runs: list[Observation]) -> list[tuple[int, float, float]]:
    return [(run.executors, run.scale, run.seconds) for run in runs]


@pytest.mark.parametrize("heading", ["", "#machines,fraction,seconds", "#Cores, Scale, Time"])
def test_the_originals_csv_is_read_with_any_of_its_headings(heading: str):
    runs = runs_of(csv_of_runs(heading=heading), "runs.csv").runs
    assert [(run.executors, run.scale) for run in runs] == RUNS
    assert [run.index for run in runs] == list(range(len(RUNS)))


def test_columns_are_read_by_name_in_any_order():
    text = "fraction,seconds,machines,startup_seconds,iterations,instance_type,row_width\n"
    (run,) = runs_of(f"{text}0.1,20,4,3.5,10,m5.large,0.5\n", "runs.csv").runs
    assert triples([run]) == [(4, 0.1, 20.0)]
    assert (run.startup_seconds, run.iterations, run.instance_type, run.row_width) == (
        3.5,
        10,
        "m5.large",
        0.5,
    )


@pytest.mark.parametrize(
    ("columns", "is_one"),
    [
        ("machines,fraction,seconds", True),
        ("machines,scale,seconds", False),
        ("machines,scale,seconds,row_width", True),
        ("machines,scale,seconds,row_width,left_out", False),
    ],
)
def test_rows_differ_in_shape_unless_all_read_one_input_or_it_is_stated(columns: str, is_one: bool):
    """What ``history`` tells of rows is measured, and not all there is to them."""
    assert runs_of(f"{columns}\n4,0.1,20\n", "runs.csv").has_one_shape is is_one


def test_comments_empty_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path):
    path = tmp_path / "runs.csv"
    path.write_bytes(b"\xef\xbb\xbf# measured on Monday\n\n4,0.1,20\r\n# slow\n 8 , 0.1 , 15 \n")
    assert triples(read_runs(str(path)).runs) == [(4, 0.1, 20.0), (8, 0.1, 15.0)]
    path.write_bytes(b"\xef\xbb\xbf4,0.1,20\n")
    assert triples(read_runs(str(path)).runs) == [(4, 0.1, 20.0)]


@pytest.mark.parametrize("job", [None, "etl"])
def test_a_line_that_ends_before_the_job_is_of_the_only_one(job: str | None):
    text = "machines,scale,seconds,job\n1,0.1,10,etl\n2,0.1,6\n"
    assert [run.executors for run in runs_of(text, "runs.csv", job).runs] == [1, 2]


def test_runs_without_seconds_are_left_out_and_told(capsys: pytest.CaptureFixture[str]):
    runs = runs_of("#machines,fraction,seconds\n4,0.1,\n8,0.1,15\n2,0.1\n", "runs.csv").runs
    assert triples(runs) == [(8, 0.1, 15.0)]
    assert runs[0].index == 1, "the index in its design"
    assert "2 of the 3 runs in runs.csv have no seconds yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0.125,32,7.9\n", r"line 1: executors 0\.125 is not a whole number"),
        ("4,0.1,20\n8,0.1,fast\n", r"line 2: seconds 'fast' is not a number"),
        ("4,0.1,20\n8,0.1,-3\n", r"line 2: seconds=-3\.0 is not a finite number above 0"),
        ("4,0.1,nan\n", r"line 1: seconds=nan is not a finite"),
        ("inf,0.1,20\n", r"line 1: executors 'inf' is not a number"),
        ("4,0.1,20,7\n", r"line 1: there are 4 values for 3 columns"),
        (",0.1,20\n", r"line 1: executors or fraction is missing"),
        ("4\n", r"line 1: executors or fraction is missing"),
        (
            "nodes,fraction,seconds\n4,0.1,20\n",
            r"line 1: 'nodes' is neither a number nor the name of a column",
        ),
        ("executors,cores,fraction,seconds\n", r"heading must name executors and fraction, each once"),
        ("4;0,1;20\n", r"line 1: '4;0' is neither"),
    ],
)
def test_what_is_no_run_is_refused_with_its_place(text: str, problem: str):
    with pytest.raises(InvalidDocumentError, match=problem):
        runs_of(text, "runs.csv")


@pytest.mark.parametrize("heading", ["", "machines,fraction,seconds\n"])
def test_a_percentage_is_no_fraction(heading: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(InvalidDocumentError, match=r"the fraction 10 would be 1,000 %.*write 0\.1 for 10 %"):
        runs_of(f"{heading}4,10,20\n", "runs.csv")
    (grown,) = runs_of(f"{heading}4,1.5,20\n", "runs.csv").runs
    assert grown.scale == 1.5
    assert "a fraction of 1.5 is 150 % of the input" in capsys.readouterr().err


def test_a_scale_may_be_any(capsys: pytest.CaptureFixture[str]):
    (run,) = runs_of("machines,scale,seconds\n4,100,20\n", "runs.csv").runs
    assert run.scale == 100
    assert capsys.readouterr().err == ""


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"4,0.1,20\n")))
    assert triples(read_runs("-").runs) == [(4, 0.1, 20.0)]


@pytest.mark.parametrize("content", [b"[1, 2", b"[" * 100_000, b'{"runs": []}', b"[7]"])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, content: bytes):
    with pytest.raises(MissingResourceError, match=r"absent\.csv cannot be read: No such file"):
        read_runs(str(tmp_path / "absent.csv"))
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidDocumentError, match=r"binary\.csv is not UTF-8 text"):
        read_runs(str(tmp_path / "binary.csv"))
    (tmp_path / "runs.json").write_bytes(content)
    with pytest.raises(
        InvalidDocumentError, match=r"runs\.json: (This is not JSON|This is no Model|A Model)"
    ):
        read_runs(str(tmp_path / "runs.json"))
