"""Events as Spark writes them, of the few fields that a test is about."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

REAL = Path(__file__).parent / "event_logs"


def started(**fields: Any) -> dict[str, Any]:
    return {
        "Event": "SparkListenerApplicationStart",
        "App Name": "job",
        "App ID": "app-1",
        "Timestamp": 100_000,
        **fields,
    }


def ended(at: int = 160_000) -> dict[str, Any]:
    return {"Event": "SparkListenerApplicationEnd", "Timestamp": at}


def environment(**properties: str) -> dict[str, Any]:
    return {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": properties}


def executor(
    number: int | str, *, at: int = 101_000, host: str = "10.0.0.1", cores: int = 2, port: int | None = None
) -> dict[str, Any]:
    """Of a standalone cluster where a worker has a port."""
    urls = {} if port is None else {"stderr": f"http://{host}:{port}/logPage/?executorId={number}"}
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": at,
        "Executor ID": str(number),
        "Executor Info": {"Host": host, "Total Cores": cores, "Log Urls": urls},
    }


def removed(number: int, *, at: int = 130_000, reason: str = "Worker shutting down.\n") -> dict[str, Any]:
    return {
        "Event": "SparkListenerExecutorRemoved",
        "Timestamp": at,
        "Executor ID": str(number),
        "Removed Reason": reason,
    }


def manager(executor: str, memory: int = 1, *, event: str = "Added", **fields: Any) -> dict[str, Any]:
    return {
        "Event": f"SparkListenerBlockManager{event}",
        "Block Manager ID": {"Executor ID": executor},
        "Maximum Memory": memory,
        **fields,
    }


def block(
    block_id: str, memory: int = 1, disk: int = 0, *, executor: str = "0", level: Any = None
) -> dict[str, Any]:
    return {
        "Event": "SparkListenerBlockUpdated",
        "Block Updated Info": {
            "Block Manager ID": {"Executor ID": executor},
            "Block ID": block_id,
            "Storage Level": level or {"Use Memory": True},
            "Memory Size": memory,
            "Disk Size": disk,
        },
    }


def task(
    number: int,
    *,
    stage: int = 0,
    executor: str = "0",
    at: int = 110_000,
    until: int = 112_000,
    reason: str = "Success",
    metrics: Any = None,
    **info: Any,
) -> dict[str, Any]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Task Type": "ResultTask",
        "Task End Reason": {"Reason": reason},
        "Task Info": {
            "Task ID": number,
            "Index": number,
            "Attempt": 0,
            "Launch Time": at,
            "Finish Time": until,
            "Executor ID": executor,
            "Host": "10.0.0.1",
            "Locality": "ANY",
            "Speculative": False,
            "Getting Result Time": 0,
            **info,
        },
        "Task Metrics": metrics,
    }


def job(number: int, *stages: int, at: int = 105_000, **properties: str) -> dict[str, Any]:
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Submission Time": at,
        "Stage IDs": list(stages),
        "Properties": properties,
    }


def job_end(number: int, *, at: int = 120_000, result: str = "JobSucceeded") -> dict[str, Any]:
    return {
        "Event": "SparkListenerJobEnd",
        "Job ID": number,
        "Completion Time": at,
        "Job Result": {"Result": result},
    }


def stage(number: int, *, completed: int | None = None, attempt: int = 0, **info: Any) -> dict[str, Any]:
    return {
        "Event": f"SparkListenerStage{'Submitted' if completed is None else 'Completed'}",
        "Stage Info": {
            "Stage ID": number,
            "Stage Attempt ID": attempt,
            "Stage Name": f"count at job.py:{number}",
            "Number of Tasks": 2,
            "Parent IDs": [],
            "Submission Time": 106_000,
            "Completion Time": completed,
            **info,
        },
        "Properties": {},
    }


def line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def write(path: Path, *events: dict[str, Any] | bytes) -> Path:
    path.write_bytes(b"".join(each if isinstance(each, bytes) else line(each) for each in events))
    return path


def real_text() -> bytes:
    """What Spark 3.5 wrote of a small job, as it was before it was compressed."""
    return gzip.decompress((REAL / "spark-3.5.5.gz").read_bytes())
