import json
import re
import subprocess
import sys

import pytest

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from tests.unit.cli.conftest import LOG
from tests.unit.history.past_logs import log_of
from tests.unit.report_page import answers


@pytest.fixture
def analyze(ernest):
    """Runs `analyze`."""
    return lambda *argv, code=0: ernest("analyze", *argv, code=code)


def test_the_page(analyze, tmp_path):
    page = tmp_path / "why.html"
    out, _ = analyze(LOG, "--html", page)
    assert out.endswith(f"\nwritten: page in {page}\n")
    assert page.read_text().startswith("<!doctype html>\n<html")
    headline = profile_run(read_event_log(LOG)).headline
    assert answers(page.read_text())["api/clarity"]["sample"]["headline"] == headline


def test_the_profile_as_json_leaves_nothing_else_on_standard_output(analyze):
    out, err = analyze(LOG, "--output", "-")
    profile = RunProfile.from_dict(json.loads(out))
    assert profile.event_log == str(LOG)
    assert profile.headline in err.replace("\n  ", " ")


def test_other_machines(analyze):
    options = ["--executors", "1,3"]
    options += ["--what-if", "network=2", "disk=2", "--what-if", "cores=4"]
    out, _ = analyze(LOG, *options, "--output", "-")
    profile = RunProfile.from_dict(json.loads(out))
    assert [size.executors for size in profile.sizes] == [1, 3]
    assert [each.change for each in profile.what_ifs] == [
        "twice the network, twice the disks",
        "4 cores a machine",
    ]


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_a_log_that_was_cut_off_is_analysed_with_a_warning(keep, analyze, plain_log, tmp_path):
    cut = tmp_path / "app-1.inprogress"
    cut.write_bytes(plain_log[: int(keep * len(plain_log))])
    out, err = analyze(cut)
    assert "what could be won at most" in out
    assert "warning: Event log: the application's end is not in it" in err


@pytest.mark.parametrize("content", [b"\x00\xff" * 5000, b"machines,fraction,seconds\n1,0.1,5\n", None])
def test_what_is_no_event_log_or_not_there_is_refused_by_name(content, analyze, tmp_path):
    file = tmp_path / "log"
    if content is not None:
        file.write_bytes(content)
    out, err = analyze(file, code=1)
    assert out == ""
    assert err.startswith("ernest analyze: ")
    assert str(file) in err
    assert "Traceback" not in err


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder of a job's runs: each read more than the one before, and the third failed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "spark-events"
    folder.mkdir()
    for day in (1, 2, 3, 4):
        log = log_of(
            folder / f"app-{day}", f"etl 2026-01-0{day}", application=f"app-{day}", input_bytes=1000 * day
        )
        # Each began later than the one before.
        text = re.sub(r":(1\d{5})(?=[,}])", rf":{day}\1", log.read_text())
        log.write_text(text.replace("JobSucceeded", "JobFailed") if day == 3 else text)
    return folder


def test_two_runs_side_by_side_by_path_id_and_as_the_last_good_one(analyze, runs, tmp_path, plain_log):
    by_path = analyze(runs / "app-2", runs / "app-4").out
    assert by_path.startswith("app-4 took as long as app-2: ")
    assert "earlier: etl 2026-01-02 (app-2)\nlater: etl 2026-01-04 (app-4)\n" in by_path
    assert "of its input it read 2 times as much" in by_path
    assert analyze("app-2", "app-4", "--logs", runs).out == by_path
    assert analyze("last-good", runs / "app-4").out == by_path, "app-3 failed"
    document = json.loads(analyze("last-good", "app-4", "--logs", runs, "--output", "-").out)
    assert (document["earlier"], document["later"]) == ("app-2", "app-4")
    assert [RunProfile.from_dict(each).application_id for each in document["profiles"]] == ["app-2", "app-4"]


def test_a_run_that_cannot_be_found_is_named_with_what_to_do(analyze, runs):
    _, err = analyze("app-9", "app-4", "--logs", runs, code=1)
    assert f"No event log in {runs} has the name of the application 'app-9'." in err
    _, err = analyze("last-good", runs / "app-1", code=1)
    assert f"No earlier run of 'etl' that ended well is in {runs}." in err
    assert "--logs" in err


def test_the_page_of_two_runs(analyze, runs, tmp_path):
    page = tmp_path / "why.html"
    analyze(runs / "app-2", runs / "app-4", "--html", page)
    told = answers(page.read_text())["api/clarity"]
    assert told["sample"]["application_id"] == "app-4"
    assert told["comparison"]["headline"].startswith("app-4 took as long as app-2")


def test_hostile_names_command_neither_the_terminal_nor_the_page(analyze, plain_log, tmp_path):
    hostile = "\\u001b]0;owned\\u0007<script>alert(1)</script>"
    file, page = tmp_path / "log", tmp_path / "why.html"
    text = plain_log.decode().replace('"Stage Name":"', f'"Stage Name":"{hostile}')
    file.write_text(text.replace('"App Name":"', f'"App Name":"{hostile}'))
    out, err = analyze(file, "--html", page)
    both, _ = analyze(LOG, file)
    assert not {"\x1b", "\x07"} & set(out + err + both)
    assert "<script>alert(1)</script>" in out, "shown as it was written"
    stages = answers(page.read_text())["api/clarity"]["sample"]["stages"]
    assert any("<script>alert(1)</script>" in stage["name"] for stage in stages), "kept as it was written"


def test_nothing_is_overwritten_unless_asked(analyze, tmp_path):
    page = tmp_path / "why.html"
    page.write_text("mine")
    for option in ("--html", "--output"):
        out, err = analyze(LOG, option, page, code=1)
        assert out == ""
        assert "exists already" in err
        assert "--force" in err
    assert page.read_text() == "mine"
    analyze(LOG, "--html", page, "--force")
    assert page.read_text() != "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--html", "-"), "--html='-' is for the result"),
        ((LOG, LOG), "are more than two"),
        (("last-good",), "EVENTLOG='last-good' is not followed by one run"),
    ],
)
def test_options_that_do_not_go_together(options, message, analyze, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    out, err = analyze(LOG, *options, code=1)
    assert out == ""
    assert message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [
        (),
        (LOG, "--executors", "0"),
        *((LOG, "--what-if", change) for change in ("memory=2", "network", "network=0", "cores=1.5")),
    ],
)
def test_a_command_line_that_cannot_be_understood(options, misunderstood):
    misunderstood("analyze", *options)


def test_neither_airflow_nor_spark_is_loaded(tmp_path):
    program = (
        "import sys; from airflow_provider_ernest.command_line import main;"
        f"code = main(['analyze', {str(LOG)!r}, '--html', {str(tmp_path / 'why.html')!r}]);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    foreign = ("airflow.", "pyspark", "py4j", "boto3", "cvxpy", "pandas")
    assert not [name for name in done.stderr.split() if name.startswith(foreign)]
