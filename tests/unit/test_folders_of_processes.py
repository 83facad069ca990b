from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.operators.sample_run import staged_sample
from airflow_provider_ernest.processes import FOREIGN_SECONDS, make_owned, runtime_folder, sweep
from airflow_provider_ernest.settings import SampledInput
from airflow_provider_ernest.spark.submit import SecretFile

SECRET = "4d" * 32

# What a task holds while its driver runs; then it waits to be killed.
TASK = """
import signal, sys
from pathlib import Path
from airflow_provider_ernest.documents.runs import Experiment
from airflow_provider_ernest.operators.sample_run import staged_sample
from airflow_provider_ernest.settings import SampledInput
from airflow_provider_ernest.spark.submit import SecretFile
home, method = Path(sys.argv[1]), sys.argv[2]
secret = SecretFile(sys.argv[3])
with staged_sample(
    Experiment(index=0, executors=1, scale=0.5, partitions=2),
    SampledInput(path=str(home / "input"), sampling=method),
    folder=home / "d" / "r" / "t", minimum_files=1,
) as sample:
    print(secret.path, sample.input, sep="\\n", flush=True)
    signal.pause()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with an input of four files of ten lines."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "input").mkdir()
    for number in range(4):
        (tmp_path / "input" / f"part-{number}.csv").write_text("a line\n" * 10)
    return tmp_path


def killed_task(home: Path, method: str) -> tuple[Path, Path]:
    """Where a task that was killed by SIGKILL has left its secret and its sample."""
    process = subprocess.Popen(
        [sys.executable, "-c", TASK, str(home), method, SECRET], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    secret, sample = (Path(process.stdout.readline().strip()) for _ in range(2))
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert SECRET in secret.read_text()
    assert list(sample.iterdir())
    return secret, sample


def staged(home: Path, method: str):
    """A sample of the same task."""
    return staged_sample(
        Experiment(index=0, executors=1, scale=0.5, partitions=2),
        SampledInput(path=str(home / "input"), sampling=method),
        folder=home / "d" / "r" / "t",
        minimum_files=1,
    )


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(("method", "sample_mode"), [("first_rows", 0o700), ("files", 0o755)])
def test_what_a_killed_task_has_left_goes_with_the_next_one(home, method, sample_mode):
    ours = SecretFile("0f" * 32)
    secret, sample = killed_task(home, method)
    assert (mode(runtime_folder()), mode(secret.parent), mode(secret)) == (0o700, 0o700, 0o600)
    assert mode(sample) == sample_mode
    assert "try" not in str(sample)

    with staged(home, method):
        assert not sample.exists()
    another = SecretFile("0e" * 32)

    assert not (home / "d" / "r" / "t").exists()
    assert ours.path.exists(), "its process still runs"
    assert set(runtime_folder().iterdir()) == {ours.path.parent, another.path.parent}


def test_a_sweep_finds_samples_where_the_tasks_put_them(home):
    _, sample = killed_task(home, "first_rows")
    ours = make_owned(home / "d" / "r" / "other")
    (home / "d" / "r" / "t" / "of-somebody").mkdir()

    assert sweep(home, pattern="*/*/*/*", dry_run=True) == [sample]
    assert sample.exists()
    assert sweep(home, pattern="*/*/*/*") == [sample]
    assert not sample.exists()
    assert ours.exists()
    assert (home / "d" / "r" / "t" / "of-somebody").exists()


def test_a_sweep_passes_over_folders_that_go_meanwhile(home, monkeypatch):
    _, sample = killed_task(home, "first_rows")
    (home / "d" / "r" / "ending").mkdir()
    scan = os.scandir

    def scan_late(path="."):
        if str(path).endswith("ending"):
            Path(path).rmdir()
        return scan(path)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert sweep(home, pattern="*/*/*/*") == [sample]
    assert not (home / "d" / "r" / "ending").exists()


def test_an_attempt_that_outlives_its_retry_leaves_the_sample_of_the_retry(home):
    """As where a heartbeat was lost: Airflow starts the next one, and then ends the first."""
    with ExitStack() as first, ExitStack() as retry:
        first.enter_context(staged(home, "first_rows"))
        sample = Path(retry.enter_context(staged(home, "first_rows")).input)
        first.close()
        assert list(sample.iterdir())
    assert not (home / "d" / "r" / "t").exists()


@pytest.mark.parametrize(("age_seconds", "stays"), [(60, True), (FOREIGN_SECONDS + 60, False)])
def test_of_another_host_only_what_is_old_goes(home, age_seconds, stays):
    foreign = home / f"elsewhere.example.com.{os.getpid()}.1700000000000.abc"
    foreign.mkdir()
    os.utime(foreign, times=(time.time() - age_seconds,) * 2)
    sweep(home)
    assert foreign.exists() == stays


def test_a_reused_process_id_is_not_taken_for_the_owner(home):
    ours = make_owned(home)
    host, pid, created, rest = ours.name.rsplit(".", 3)
    earlier = home / f"{host}.{pid}.{int(created) - 60_000}.{rest}"
    earlier.mkdir()
    assert sweep(home) == [earlier]


def test_a_runtime_folder_of_another_user_is_not_used(home, monkeypatch):
    (home / f"ernest-{os.geteuid()}").symlink_to(home / "input")
    with pytest.raises(MissingResourceError, match=r"not a folder of this user.*XDG_RUNTIME_DIR"):
        runtime_folder()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "input"))
    assert runtime_folder() == home / "input" / "ernest"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "absent"))
    monkeypatch.setattr("tempfile.tempdir", str(home / "absent"))
    with pytest.raises(MissingResourceError, match=r"ernest-\d+ cannot be used: No such file"):
        runtime_folder()
