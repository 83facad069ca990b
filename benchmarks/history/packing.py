"""Packing the recorded logs: without what they tell of this machine, and without what no reader here uses.

A log's moments are moved to the day on which production would have started the run; durations stay as Spark
wrote them. All logs of a job are one archive, which is small because they are much alike.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import zstandard

from airflow_provider_ernest.eventlog.events import PASSED_OVER, event_name
from benchmarks.history.recording import RECORD_FILE
from benchmarks.history.schedule import RecordableRun

PACKED = Path(__file__).parent / "event_logs"
SUFFIX = ".tar.zst"

_LEVEL, _WINDOW_LOG = 19, 27
_KEPT_PROPERTIES = re.compile(
    r"spark\.(master|app\.name|app\.id|submit\.deployMode|task\.cpus|locality\.wait|cores\.max"
    r"|executor\.(id|cores|memory|instances|extraJavaOptions)|driver\.(memory|extraJavaOptions)|default\.parallelism"
    r"|(eventLog|dynamicAllocation)\..*(enabled|compress)|shuffle\..*|job\..*|jobGroup\..*|scheduler\..*"
    r"|rdd\..*|memory\..*|sql\.(?!warehouse).*|hadoop\.parquet\..*)"
)
_MOMENTS = {
    "Timestamp",
    "Submission Time",
    "Completion Time",
    "Launch Time",
    "Finish Time",
    "Getting Result Time",
    "time",
}
_DROPPED = (
    "Stage Infos",
    "Task Executor Metrics",
    "physicalPlanDescription",
    "simpleString",
    "details",
    "sparkPlanDescription",
    "jobTags",
)
_MOST_FRAMES = 3
_FOLDERS = re.compile(r"(?:file:/*|(?<![\w.:<-])/)(?:[\w.+@-]+/)+")
"""Of a path; its file's name stays."""


def pack(runs: Sequence[RecordableRun], folder: Path, into: Path = PACKED) -> list[Path]:
    """Pack the runs that have been recorded with those that were packed before; returns the archives.

    Args:
        runs: all that are planned.
        folder: that they were recorded in.
        into: where the archives are written, one for all logs of a job.
    """
    into.mkdir(parents=True, exist_ok=True)
    measured = _measured(folder)
    archives = []
    for job_id in sorted({run.job_id for run in runs}):
        archive = into / f"{job_id}{SUFFIX}"
        files = _files_of(archive) if archive.exists() else {}
        facts = {each["run"]: each for each in map(json.loads, files.pop(RECORD_FILE, b"").splitlines())}
        for run in runs:
            log = folder / "logs" / run.id
            if run.job_id == job_id and log.exists():
                files[run.id] = "".join(_packed_lines(run, log)).encode()
                facts[run.id] = _facts(run, measured.get(run.id, {}))
        if files:
            files = dict(sorted(files.items()))
            told = "".join(json.dumps(facts[name]) + "\n" for name in files)
            archive.write_bytes(_compressed(_tar([*files.items(), (RECORD_FILE, told.encode())])))
            archives.append(archive)
    return archives


def packed_runs(packed: Path = PACKED) -> set[str]:
    """Names of the runs that are packed."""
    names = {name for archive in packed.glob(f"*{SUFFIX}") for name in _files_of(archive)}
    return names - {RECORD_FILE}


def unpack(into: Path, *, packed: Path = PACKED) -> list[dict[str, Any]]:
    """Unpack all archives, a file for each log; returns what is known of each run, by its job and number."""
    facts = []
    for archive in sorted(packed.glob(f"*{SUFFIX}")):
        files = _files_of(archive)
        facts += [json.loads(line) for line in files.pop(RECORD_FILE).splitlines()]
        for name, text in files.items():
            (into / name).write_bytes(text)
    return facts


def _files_of(archive: Path) -> dict[str, bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    content = decompressor.stream_reader(archive.read_bytes()).read()
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
        members = [(member.name, tar.extractfile(member)) for member in tar]
        return {name: file.read() for name, file in members if file}


def _measured(folder: Path) -> dict[str, dict[str, Any]]:
    file = folder / RECORD_FILE
    told = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {each["run"]: each for each in told}


def _facts(run: RecordableRun, measured: Mapping[str, Any]) -> dict[str, Any]:
    """What no event log tells for sure."""
    return {
        "run": run.id,
        "job": run.job_id,
        "number": run.number,
        "machines": run.machines,
        "files": run.files,
        "fails": run.fails,
        **{name: measured[name] for name in ("busy_cores", "recorded_at") if name in measured},
    }


def _packed_lines(run: RecordableRun, log: Path) -> Iterator[str]:
    """The events of a log, as they are packed."""
    kept = [line for line in log.read_bytes().splitlines() if event_name(line) not in PASSED_OVER]
    events = [json.loads(line) for line in kept]
    start = next(event for event in events if event["Event"] == "SparkListenerApplicationStart")
    moved = int(run.day.timestamp()) * 1000 - start["Timestamp"]
    new_id = f"app-{datetime.fromtimestamp(run.day.timestamp(), UTC):%Y%m%d%H%M%S}-{run.number:04}"
    for event in events:
        text = json.dumps(_slim(event, moved, run), separators=(",", ":"), ensure_ascii=False)
        yield _FOLDERS.sub("", text.replace(start["App ID"], new_id)) + "\n"


def _slim(event: Any, moved: int, run: RecordableRun) -> Any:
    """An event, or a part of one, without what is not kept, and with its moments moved."""
    if isinstance(event, list):
        return [_slim(each, moved, run) for each in event]
    if not isinstance(event, dict):
        return event
    slim: dict[str, Any] = {}
    for name, value in event.items():
        if name in _MOMENTS and isinstance(value, int) and value > 0:
            slim[name] = value + moved
        elif name == "System Properties":
            slim[name] = {"sun.java.command": f"org.apache.spark.deploy.SparkSubmit {run.script}.py"}
        elif name in _SHORTENED:
            slim[name] = _SHORTENED[name](value)
        elif name not in _DROPPED:
            slim[name] = _slim(value, moved, run)
    return slim


def _kept(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if _KEPT_PROPERTIES.fullmatch(name)}


def _nothing(value: object) -> dict[str, Any]:
    return {}


_SHORTENED: Mapping[str, Callable[[Any], Any]] = {
    "Spark Properties": _kept,
    "Properties": _kept,
    "modifiedConfigs": _kept,
    "Hadoop Properties": _nothing,
    "Metrics Properties": _nothing,
    "Classpath Entries": _nothing,
    "metadata": _nothing,
    "User": lambda name: "spark",
    "Details": lambda frames: "\n".join(frames.splitlines()[:_MOST_FRAMES]),
    # Of what tasks added to, the reader asks for this alone.
    "Accumulables": lambda all_of_them: [each for each in all_of_them if "Python" in str(each.get("Name"))],
}


def _tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    """The same for the same files, whenever it is made."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return archive.getvalue()


def _compressed(content: bytes) -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL, window_log=_WINDOW_LOG, enable_ldm=True
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(content)
