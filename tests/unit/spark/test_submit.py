from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError, SampleRunError
from airflow_provider_ernest.spark.submit import ErnestSubmitHook, SecretFile

SECRET = "s3cr3t-of-the-cluster"

# It says what it was given; the file of properties as it is while it runs.
SPARK_SUBMIT = """\
#!{python}
import os, stat, sys
print("arguments:", *sys.argv[1:])
with open({seen!r} + ".arguments", "w") as file:
    file.write(" ".join(sys.argv))
if "--properties-file" in sys.argv:
    path = sys.argv[sys.argv.index("--properties-file") + 1]
    with open(path) as file, open({seen!r}, "w") as seen:
        seen.write(file.read())
    mode = stat.S_IMODE(os.stat(path).st_mode), stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)
    print("modes: %o %o" % mode)
sys.exit({exit_code})
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A spark-submit that only tells what it got; the file of properties that it read, if any."""
    seen = tmp_path / "seen.conf"
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    exit_code = getattr(request, "param", 0)
    program.write_text(SPARK_SUBMIT.format(python=sys.executable, seen=str(seen), exit_code=exit_code))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    return seen


def hook(**changes) -> ErnestSubmitHook:
    fields = {"master_url": "spark://127.0.0.1:7077", "conf": {}, "application_args": [], "name": "job"}
    return ErnestSubmitHook(**{**fields, **changes})


def properties(seen: Path) -> dict[str, str]:
    """The file's simple properties; the last value of a key counts, as in Java."""
    pairs = (line.replace("=", " ", 1).split(None, 1) for line in seen.read_text().splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


@pytest.mark.parametrize(
    "how", [{"secret": SECRET}, {"conf": {"spark.authenticate.secret": SECRET}}], ids=["secret", "conf"]
)
def test_the_secret_is_handed_over_in_a_private_file_that_is_removed(
    seen, temporary, capfd, monkeypatch, how
):
    masked: list[str] = []
    monkeypatch.setattr("airflow.sdk.log.mask_secret", masked.append)
    hook(**how).run("job.py")
    assert masked == [SECRET]
    log = "".join(capfd.readouterr())
    assert properties(seen) == {"spark.authenticate": "true", "spark.authenticate.secret": SECRET}
    assert "arguments: --master spark://127.0.0.1:7077" in log
    assert "modes: 600 700" in log
    assert SECRET not in log
    assert SECRET not in seen.with_name("seen.conf.arguments").read_text()
    assert not list(temporary.glob("*/*"))


@pytest.mark.parametrize("seen", [1], indirect=True)
def test_the_file_is_removed_when_the_application_fails(seen, temporary):
    with pytest.raises(SampleRunError, match="exit code 1") as failure:
        hook(secret=SECRET).run("job.py")
    assert seen.exists()
    assert not list(temporary.glob("*/*"))
    assert SECRET not in str(failure.value)
    assert SECRET not in str(failure.value.__cause__)


def test_the_file_is_removed_when_the_task_is_killed(seen, temporary, monkeypatch):
    submission = hook(secret=SECRET)

    def killed(*_: object, **__: object) -> None:
        assert len(list(temporary.iterdir())) == 1
        submission.end()
        assert not list(temporary.glob("*/*"))
        raise KeyboardInterrupt

    monkeypatch.setattr(submission, "submit", killed)
    with pytest.raises(KeyboardInterrupt):
        submission.run("job.py")


def test_what_was_ended_before_is_not_submitted(seen):
    submission = hook()
    assert submission.end() == []
    with pytest.raises(SampleRunError, match="ended before it was submitted"):
        submission.run("job.py")
    assert not seen.with_name("seen.conf.arguments").exists()


def test_a_kill_while_the_process_is_being_started_ends_it(seen, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "spark-submit"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    submission = hook()
    build = submission._build_spark_submit_command

    def killed_meanwhile(application: str) -> list[str]:
        submission.end()
        return build(application)

    monkeypatch.setattr(submission, "_build_spark_submit_command", killed_meanwhile)
    with pytest.raises(SampleRunError, match="exit code -15"):
        submission.run("job.py")


def test_a_missing_spark_submit_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingResourceError, match=r"no program 'spark-submit'.*PATH"):
        hook().run("job.py")


def test_the_users_own_properties_are_carried_over(seen, temporary, tmp_path):
    own = tmp_path / "own.conf"
    own.write_text("spark.authenticate.secret other\nspark.mine 1\nspark.last 2\\")
    hook(secret=SECRET, options={"properties_file": str(own)}).run("job.py")
    found = properties(seen)
    assert found["spark.mine"] == "1"
    assert found["spark.authenticate.secret"] == SECRET
    assert own.read_text().startswith("spark.authenticate.secret other"), "the user's file is untouched"
    with pytest.raises(MissingResourceError, match=r"properties_file='/no/such\.conf' cannot be read"):
        hook(secret=SECRET, options={"properties_file": "/no/such.conf"}).run("job.py")

    hook().run("job.py")
    assert "--properties-file" not in seen.with_name("seen.conf.arguments").read_text()


def test_of_an_installation_by_pip_the_packages_own_defaults_count(seen, temporary):
    """Its spark-submit lies beside find_spark_home.py, and conf of the folder above is not Spark's."""
    (seen.parent / "bin" / "find_spark_home.py").touch()
    (seen.parent / "conf").mkdir()
    (seen.parent / "conf" / "spark-defaults.conf").write_text("spark.not.read 1\n")
    hook(secret=SECRET).run("job.py")
    assert "spark.not.read" not in seen.read_text()


@pytest.mark.parametrize("where", ["SPARK_CONF_DIR", "SPARK_HOME", "env_vars", "beside"])
def test_spark_defaults_are_carried_over(seen, temporary, tmp_path, monkeypatch, where):
    folder = tmp_path / "conf"  # the parent of bin/spark-submit is Spark's home
    folder.mkdir()
    (folder / "spark-defaults.conf").write_text("spark.default kept\n")
    options = {}
    if where == "env_vars":
        options = {"env_vars": {"SPARK_CONF_DIR": str(folder), "PATH": os.environ["PATH"]}}
    elif where != "beside":
        monkeypatch.setenv(where, str(folder if where == "SPARK_CONF_DIR" else tmp_path))
    hook(secret=SECRET, options=options).run("job.py")
    assert properties(seen)["spark.default"] == "kept"


@pytest.mark.parametrize("secret", ["", " padded", "padded ", "two\nlines"])
def test_a_secret_that_a_file_cannot_hold_is_refused_and_not_shown(secret, temporary):
    with pytest.raises(InvalidParameterError, match=r"secret='\*\*\*' is empty") as failure:
        SecretFile(secret)
    assert "padded" not in str(failure.value)
    assert "lines" not in str(failure.value)
    assert not list(temporary.glob("*/*"))


@pytest.mark.parametrize(
    ("secret", "line"),
    [
        ("with space", r"with\ space"),
        ("back\\slash", r"back\\slash"),
        ("a=b:c#d!e", "a=b:c#d!e"),
        ("schlüssel", r"schl\u00fcssel"),
    ],
)
def test_the_secret_is_written_as_java_reads_it(secret, line, temporary):
    file = SecretFile(secret)
    assert file.path.read_text().endswith(f"spark.authenticate.secret={line}\n")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.remove()
    file.remove()
    assert not list(temporary.glob("*/*"))
