"""What the program ``ernest`` prints where there is no DAG: of files of runs, models and event logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.jobs import seconds
from tests.golden.names import program
from tests.golden.scrub import Scrubber
from tests.unit.report_page import answers

EVENT_LOG = Path(__file__).parent / "event_logs" / "shuffle.zstd"
BILLED = "--price-per-hour 0.192 --increment-seconds 60 --boot-seconds 90 --master-price-per-hour 0.1"
TWO_TYPES = "--price-per-hour m5.large=0.096 --price-per-hour c5.xlarge=0.17"

COMMANDS = {
    "design": "design --max-executors 8 --partitions 800 --executor-cores 4 --target-executors 4-32:4",
    "design_classic": "design --max-executors 8 --partitions 800 --executor-cores 4 --criterion A",
    "design_dollars": "design --max-executors 8 --partitions 800 --executor-cores 4 --cost dollars"
    " --full-seconds-on-one-machine 3600 --price-per-hour 0.2 --budget-share 0.1 --target-executors 4-32:4",
    "design_refused": "design --max-executors 0 --partitions 800 --executor-cores 4",
    "fit": "fit m5.csv --job nightly",
    "fit_classic": "fit m5.csv --job nightly --method classic",
    "fit_relative": "fit m5.csv --job nightly --method relative",
    "fit_inaccurate": "fit m5.csv --job nightly --max-error-percent 0.01",
    "predict": "predict m5.json --executors 4,8,16,32",
    "predict_scale": "predict m5.json --executors 4-12:4 --scale 1.5",
    "predict_runs": "predict m5.csv --executors 4,8",
    "choose": "choose m5.json --deadline-seconds 400 --executors 4-32:4 --price-per-hour 0.19",
    "choose_budget": "choose m5.json --budget-dollars 0.3 --executors 4-32:4 --price-per-hour 0.19",
    "choose_billed": f"choose m5.json --deadline-seconds 400 --executors 4-32:4 {BILLED}",
    "choose_many": "choose m5.json --objective balanced --executors 1-64 --price-per-hour 0.19",
    "choose_types": f"choose m5.json c5.json --deadline-seconds 400 --executors 4-16:4 {TWO_TYPES}",
    "choose_mixed": "choose m5.json c5.json --deadline-seconds 400 --objective cheapest --executors 1-8"
    f" --allow-mixed {TWO_TYPES}",
    "choose_out_of_reach": "choose m5.json --deadline-seconds 30 --executors 4-32:4 --price-per-hour 0.19",
    "choose_most_probable": "choose m5.json --deadline-seconds 30 --executors 4-32:4 --price-per-hour 0.19"
    " --most-probable",
    "no_such_file": "predict nowhere.json --executors 4",
    "analyze": "analyze shuffle.zstd --what-if network=2 --what-if cores=2 executors=6",
}
AS_JSON = ["predict", "predict_scale", "choose", "choose_types", "choose_mixed"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a job on two types of machine, a model of each, and an event log."""
    made = tmp_path_factory.mktemp("models")
    (made / "shuffle.zstd").write_bytes(EVENT_LOG.read_bytes())
    runs = [(8, 0.1), (8, 0.095), (7, 0.1), (8, 0.04375), (5, 0.02875), (1, 0.1), (4, 0.02), (1, 0.01)]
    for name, instance_type in (("m5", "m5.large"), ("c5", "c5.xlarge")):
        lines = [
            f"{executors},{scale},{seconds(executors, scale, instance_type, index=index)}"
            for index, (executors, scale) in enumerate(runs)
        ]
        file, model = made / f"{name}.csv", made / f"{name}.json"
        file.write_text("\n".join(["#machines,fraction,seconds", *lines]) + "\n")
        about = ["--job", "nightly", "--instance-type", instance_type]
        assert program()(["fit", str(file), *about, "--output", str(model)]) == 0
    return made


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command in that folder; returns the exit code, what it prints and what it complains of."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    capsys.readouterr()

    def called(command: str) -> tuple[int, str, str]:
        code = program()(command.split())
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return called


@pytest.mark.parametrize("name", COMMANDS)
def test_text(golden: Any, run: Any, folder: Path, name: str) -> None:
    code, out, err = run(COMMANDS[name])
    text = Scrubber(folder, folder).text(f"{out}--- on standard error:\n{err}--- exit code {code}")
    golden(f"program/{name}.txt", f"$ ernest {COMMANDS[name]}\n{text}")


@pytest.mark.parametrize("name", AS_JSON)
def test_json(golden: Any, run: Any, folder: Path, name: str) -> None:
    _, out, _ = run(f"{COMMANDS[name]} --format json")
    golden(f"program/{name}.json", Scrubber(folder, folder).data(json.loads(out)))


def test_files(golden: Any, run: Any, folder: Path) -> None:
    """The documents that commands write."""
    scrubber = Scrubber(folder, folder)
    run(f"{COMMANDS['design']} --output design.json --force")
    golden("program/written/design.json", scrubber.data(json.loads((folder / "design.json").read_text())))
    run(f"{COMMANDS['design']} --output design.csv --force")
    golden("program/written/design.csv", (folder / "design.csv").read_text())
    golden("program/written/model.json", scrubber.data(json.loads((folder / "m5.json").read_text())))
    run("analyze shuffle.zstd --output why.json --force")
    golden("program/written/analysis.json", scrubber.data(json.loads((folder / "why.json").read_text())))
    asked = "--executors 1-32 --price-per-hour 0.19 --deadline-seconds 400"
    run(f"report m5.json {asked} --output report.html --force")
    written = answers((folder / "report.html").read_text())
    golden("program/written/report.json", scrubber.data(written["api/prediction"]["answer"]))
