"""Which store the commands look into, and what list says of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.configuration import expand_env_var

from airflow_provider_ernest.store.store import ModelStore
from tests.examples import decision_record, model, survey
from tests.unit.store.store_samples import save_all


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return save_all(ModelStore(tmp_path / "store"), model(0), decision_record(0)).root


@pytest.fixture
def run(ernest):
    """What a command of the store says, or which error it ends with."""

    def said(*argv, code=0):
        told = ernest("store", *argv, code=code)
        return told.err if code else told.out

    return said


@pytest.fixture
def rows(run):
    return lambda *argv: json.loads(run("list", *argv, "--format", "json"))["rows"]


def test_surveys_are_counted(root, run):
    save_all(ModelStore(root), survey(days=9), survey())
    assert f"2 surveys of event logs, the newest {survey().id}" in run("list", "--store", root)
    listed = json.loads(run("list", "--store", root, "--format", "json"))
    assert listed["surveys"] == [survey().id, survey(days=9).id]


def test_an_empty_store_and_one_where_nothing_matches(tmp_path, root, run):
    (tmp_path / "empty").mkdir()
    for options in (["--store", tmp_path / "empty"], ["--store", root, "--job", "no"]):
        assert run("list", *options) == "There is no model.\n"


def test_files_that_cannot_be_read_are_counted_in_one_line(root, run):
    (torn,) = (path for path in (root / "pca").rglob("*.json") if path.stem == model(0).id)
    torn.write_text('{"schema": 1, "model_id"')
    assert run("list", "--store", root).splitlines()[-1].startswith("1 file skipped: ")
    assert json.loads(run("list", "--store", root, "--format", "json"))["unreadable"] == [str(torn)]


def test_a_hostile_name_commands_no_terminal(tmp_path, run):
    save_all(ModelStore(tmp_path), model(0, job="a\x1b[2J\nb"))
    told = run("list", "--store", tmp_path)
    assert "\x1b" not in told
    assert len(told.splitlines()) == 2


@pytest.fixture
def nothing_configured(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("AIRFLOW")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("nothing_configured")
def test_the_store_is_the_option_then_the_environment_then_the_file_then_the_default(
    tmp_path, monkeypatch, run
):
    def listed(*options: object) -> str:
        return Path(json.loads(run("list", "--format", "json", *options))["store"]).name

    home = tmp_path / "home"
    places = [home / "ernest" / "store", *(tmp_path / name for name in ("in-file", "in-env", "option"))]
    for place in places:
        place.mkdir(parents=True)
    assert listed() == "store"
    (home / "airflow.cfg").write_text(f"[core]\nx = 50%\n[ernest]\nstore = {tmp_path}/in-file\n")
    assert listed() == "in-file"
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "in-env"))
    assert listed() == "in-env"
    assert listed("--store", tmp_path / "option") == "option"
    assert listed("--store", (tmp_path / "option").as_uri()) == "option"


@pytest.mark.usefixtures("nothing_configured")
@pytest.mark.parametrize("place", ["environment", "file"])
def test_variables_in_the_configuration_are_replaced_as_in_airflow(tmp_path, monkeypatch, place, run):
    monkeypatch.setenv("DATA", str(tmp_path))
    (tmp_path / "lake").mkdir()
    (tmp_path / "home").mkdir()
    if place == "environment":
        monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "${DATA}/lake")
    else:
        monkeypatch.setenv("AIRFLOW_CONFIG", "$DATA/home/own.cfg")
        (tmp_path / "home" / "own.cfg").write_text("[ernest]\nstore = $DATA/lake\n")

    listed = json.loads(run("list", "--format", "json"))["store"]
    assert listed == expand_env_var("${DATA}/lake") == str(tmp_path / "lake")
    # As in Airflow an empty variable means the default.
    (tmp_path / "home" / "ernest" / "store").mkdir(parents=True)
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "")
    assert json.loads(run("list", "--format", "json"))["store"] == str(tmp_path / "home" / "ernest" / "store")


@pytest.mark.usefixtures("nothing_configured")
@pytest.mark.parametrize("content", ["no ini", "[ernest]\nstore = %(x)s/\xff"])
def test_a_configuration_that_cannot_be_read_is_told(tmp_path, content, run):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "airflow.cfg").write_bytes(content.encode("latin-1"))
    assert "airflow.cfg cannot be read" in run("list", code=1)


@pytest.mark.parametrize("action", [["list"], ["prune", "--older-than", "1d", "--yes"]])
def test_a_store_that_is_not_there_is_named_and_not_made(tmp_path, monkeypatch, action, run):
    monkeypatch.chdir(tmp_path)
    assert f"There is no model store at {tmp_path / 'gone'}." in run(
        *action, "--store", tmp_path / "gone", code=1
    )
    assert list(tmp_path.iterdir()) == []


def test_storage_that_nobody_knows_is_named_and_no_folder_is_made(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    told = run("list", "--store", "hdfs-like://bucket/store", code=1)
    assert "The model store 'hdfs-like://bucket/store' cannot be opened" in told
    assert "hdfs-like" in told.splitlines()[0].partition("opened")[2]


def test_object_storage_works_without_airflow(rows):
    from upath import UPath

    save_all(ModelStore(UPath("memory://h6/store")), model(0))
    for address in ("memory://h6/store", "memory://aws_default@h6/store"):
        (row,) = rows("--store", address)
        assert row["model_id"] == model(0).id


def test_it_needs_no_airflow(root):
    program = (
        "import sys; from airflow_provider_ernest.command_line import main;"
        "code = [main(['store', *argv, '--store', sys.argv[1]]) for argv in (['list'], "
        "['prune', '--older-than', '1d', '--dry-run'])]; print(code, 'airflow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[0, 0] False"
