"""Many processes write to one store at once, some are killed: what a save returned for is there."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from airflow_provider_ernest.store.catalogue import key_of
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.store.store_samples import KINDS, LISTED, all_of

PROJECT = Path(__file__).parents[3]
WRITERS = 8
KILLED = {1, 3, 5, 6}
ROUNDS = 6
"""Of one document of each kind."""
KILLED_AFTER = 13
"""Documents; amid a round."""
JOBS = ["pca", "sort"]
ROOTS = [*["local path"] * 4, *["file URL"] * 3, "object storage"]

PROGRAM = """
import itertools, sys
from pathlib import Path
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.store.store_samples import KINDS, MADE

kind_of_root, root, writer, rounds = sys.argv[1:]
if kind_of_root == "local path":
    root = Path(root)
elif kind_of_root == "file URL":
    from upath import UPath
    root = UPath(f"file://{root}")
else:
    from airflow.sdk import ObjectStoragePath
    root = ObjectStoragePath(f"file://{root}")
store = ModelStore(root)
print("ready", flush=True)
sys.stdin.readline()
for number in itertools.count() if int(rounds) == 0 else range(int(rounds)):
    for kind in KINDS:
        name = f"{number:04d}-{writer}"
        store.save(MADE[kind](id=name, job=["pca", "sort"][number % 2]))
        print(kind, name, flush=True)
"""


def start(root, writer):
    rounds = 0 if writer in KILLED else ROUNDS
    arguments = [ROOTS[writer], str(root), str(writer), str(rounds)]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


def acknowledged(process, is_killed):
    """What it said it had saved, until its end; killed amid its work where it is to be."""
    saved = []
    for line in process.stdout:
        saved.append(tuple(line.split()))
        if is_killed and len(saved) == KILLED_AFTER:
            os.kill(process.pid, signal.SIGKILL)
    return saved


def test_eight_writers_of_which_some_are_killed_lose_nothing(tmp_path, caplog):
    root = tmp_path / "models"
    processes = [start(root, writer) for writer in range(WRITERS)]
    reader = ModelStore(root)
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        with ThreadPoolExecutor(max_workers=WRITERS) as pool:
            results = [
                pool.submit(acknowledged, process, writer in KILLED)
                for writer, process in enumerate(processes)
            ]
            while wait(results, timeout=0.05).not_done:
                # What can be seen meanwhile is whole, and there once.
                listed = [key_of(entry) for entry in reader.catalogue.entries()]
                assert len(set(listed)) == len(listed)
                assert all_of(reader, "mark", JOBS[0]) is not None
            saved = {pair for result in results for pair in result.result()}
        codes = [process.wait(60) for process in processes]
        errors = [process.stderr.read() for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()

    assert codes == [-signal.SIGKILL if writer in KILLED else 0 for writer in range(WRITERS)], errors
    assert len(saved) >= (WRITERS - len(KILLED)) * ROUNDS * len(KINDS) + len(KILLED) * KILLED_AFTER
    store = ModelStore(root)
    there = [(kind, document.id) for kind in KINDS for job in JOBS for document in all_of(store, kind, job)]
    assert len(set(there)) == len(there)
    assert saved <= set(there)
    for catalogue in (store.catalogue, reader.catalogue):
        listed = [(entry.kind, entry.id) for entry in catalogue.entries()]
        assert len(set(listed)) == len(listed)
        assert {pair for pair in saved if pair[0] in LISTED} <= set(listed) <= set(there)
    assert len(list(store.all_documents())) == len(there)
    assert caplog.records == [], "nothing torn was seen, and no temporary file"
    # Each killed process was at one document, which nobody was told is there.
    assert len(set(there) - saved) <= len(KILLED)
