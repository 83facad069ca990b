"""What is seen of a handful of jobs: XComs, stored documents, answers of the pages, texts of the program."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.golden.dag_runs import api_server
from tests.golden.jobs import JOBS, Sized, size
from tests.golden.names import program
from tests.golden.scrub import ID, Scrubber
from tests.golden.spark_submit import NOTES

TYPES = {"several_types": ["m5.large", "c5.xlarge"], "on_a_lake": ["lake"]}
WITH_MODEL = sorted({*JOBS} - {"fallen_back"})


@pytest.fixture(scope="module")
def sized_jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sized]:
    """All jobs, each sized once."""
    logging.disable(logging.WARNING)
    try:
        return {name: size(name, tmp_path_factory.mktemp(name)) for name in JOBS}
    finally:
        logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def server(sized_jobs: dict[str, Sized]) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        runs = [each.runs for each in sized_jobs.values()]
        with api_server(runs, monkeypatch) as client:
            yield client


@pytest.fixture
def sized(sized_jobs: dict[str, Sized], job: str, monkeypatch: pytest.MonkeyPatch) -> Sized:
    """The job of that name; its store is the one that Airflow is configured with."""
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(sized_jobs[job].store))
    return sized_jobs[job]


@pytest.fixture
def scrubber(sized: Sized) -> Scrubber:
    return Scrubber(sized.folder, sized.store)


@pytest.mark.parametrize("job", JOBS)
def test_xcoms_of_the_last_run(golden: Any, sized: Sized, scrubber: Scrubber, job: str) -> None:
    run = sized.runs[-1]
    seen = {task: run.pushed(task) for task in run.executed}
    golden(f"{job}/xcoms.json", scrubber.data({"xcoms": seen, "refusal": sized.refusal}))


@pytest.mark.parametrize("job", JOBS)
def test_the_store(golden: Any, sized: Sized, scrubber: Scrubber, job: str) -> None:
    """All files by name, and the newest document of each folder as it was written."""
    files = [path for path in sized.store.rglob("*.json") if ID.fullmatch(path.stem)]
    newest = {path.parent: path for path in sorted(files, key=lambda each: each.name)}
    seen = {
        "files": sorted(scrubber.text(str(path.relative_to(sized.store))) for path in files),
        "newest": {
            str(path.relative_to(sized.store)): json.loads(path.read_text()) for path in newest.values()
        },
    }
    golden(f"{job}/store.json", scrubber.data(seen))


def test_submissions(golden: Any, sized_jobs: dict[str, Sized]) -> None:
    """What spark-submit is called with for a sample run and for production."""
    sized = sized_jobs["on_a_lake"]
    calls = [json.loads(line) for line in (sized.folder / NOTES).read_text().splitlines()]
    lines = ["sample run:", *calls[0], "", "production:", *calls[-1]]
    golden("on_a_lake/submissions.txt", Scrubber(sized.folder, sized.store).text("\n".join(lines)))


QUESTIONS = ["model", "clarity", "prediction"]
FURTHER_QUESTIONS = {
    "prediction_stated": "prediction?deadline_seconds=500&confidence=0.95&price_per_hour=0.25"
    "&min_executors=2&max_executors=12&scale=1.2",
    "prediction_out_of_reach": "prediction?deadline_seconds=60",
    "prediction_billed": "prediction?objective=balanced&billing_increment_seconds=3600&boot_seconds=90",
    "prediction_refused": "prediction?deadline_seconds=0",
}


@pytest.mark.parametrize(
    ("job", "name"),
    [
        *((job, name) for job in WITH_MODEL for name in QUESTIONS),
        *((job, name) for job in ("one_type", "several_types") for name in FURTHER_QUESTIONS),
    ],
)
def test_the_page_of_a_model(
    golden: Any, sized: Sized, scrubber: Scrubber, server: TestClient, job: str, name: str
) -> None:
    route, _, parameters = FURTHER_QUESTIONS.get(name, name).partition("?")
    seen = {}
    for instance_type in TYPES.get(job, ["local"]):
        asked = {"job": job, "instance_type": instance_type}
        asked |= dict(each.split("=") for each in parameters.split("&") if each)
        answer = server.get(f"/api/{route}", params=asked)
        seen[instance_type] = {"status": answer.status_code, "answer": answer.json()}
    golden(f"{job}/api/{name}.json", scrubber.data(seen))


@pytest.mark.parametrize("job", JOBS)
def test_the_page_of_all_models(
    golden: Any, sized: Sized, scrubber: Scrubber, server: TestClient, job: str
) -> None:
    golden(f"{job}/api/models.json", scrubber.data(server.get("/api/models").json()))


@pytest.mark.parametrize("job", JOBS)
def test_the_page_of_the_last_run(
    golden: Any, sized: Sized, scrubber: Scrubber, server: TestClient, job: str
) -> None:
    run = sized.runs[-1]
    about = {"dag_id": run.dag.dag_id, "run_id": run.run_id}
    golden(f"{job}/api/run.json", scrubber.data(server.get("/api/run", params=about).json()))


STORE_COMMANDS = {
    "list": "store list",
    "prune": "store prune --older-than 90d --dry-run",
}


@pytest.mark.parametrize("command", STORE_COMMANDS)
@pytest.mark.parametrize("job", JOBS)
def test_the_program_on_the_store(
    golden: Any, sized: Sized, scrubber: Scrubber, capsys: pytest.CaptureFixture[str], job: str, command: str
) -> None:
    words = STORE_COMMANDS[command].format(job=job).split()
    options = ["--store", str(sized.store)]
    code = program()([*words, *options])
    seen = capsys.readouterr()
    text = scrubber.text(f"{seen.out}{seen.err}exit code {code}")
    if command.startswith("list"):
        # On a busy machine minutes may pass, which are written otherwise, and make the column wider.
        text = re.sub(r"  (?:now|\d+ min)  ", "  now  ", re.sub(" {2,}", "  ", text))
    golden(f"{job}/cli/store_{command}.txt", text)
    program()([*words, *options, "--format", "json"])
    golden(f"{job}/cli/store_{command}.json", scrubber.data(json.loads(capsys.readouterr().out)))
