"""The name of an event, from the beginning of its line: most lines are never decoded."""

from __future__ import annotations

import msgspec

_BEGINNING = b'{"Event":"'
_NAME_AT = len(_BEGINNING)
_MOST_NAME_BYTES = 200

PASSED_OVER = frozenset(
    name.encode()
    for name in (
        "SparkListenerTaskStart",
        "SparkListenerTaskGettingResult",
        "SparkListenerStageExecutorMetrics",
        "SparkListenerExecutorMetricsUpdate",
        "SparkListenerSpeculativeTaskSubmitted",
        "SparkListenerUnschedulableTaskSetAdded",
        "SparkListenerUnschedulableTaskSetRemoved",
        "SparkListenerResourceProfileAdded",
        "SparkListenerMiscellaneousProcessAdded",
        "SparkListenerExecutorBlacklisted",
        "SparkListenerExecutorBlacklistedForStage",
        "SparkListenerExecutorUnblacklisted",
        "SparkListenerNodeBlacklisted",
        "SparkListenerNodeBlacklistedForStage",
        "SparkListenerNodeUnblacklisted",
        "SparkListenerExecutorExcluded",
        "SparkListenerExecutorExcludedForStage",
        "SparkListenerExecutorUnexcluded",
        "SparkListenerNodeExcluded",
        "SparkListenerNodeExcludedForStage",
        "SparkListenerNodeUnexcluded",
        "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveSQLMetricUpdates",
    )
)
"""Known, and not needed for the tables."""


class _Named(msgspec.Struct):
    name: str = msgspec.field(name="Event", default="")


def event_name(line: bytes) -> bytes:
    """The event's name; empty for a line that is none."""
    if line.startswith(_BEGINNING):
        return line[_NAME_AT : line.find(b'"', _NAME_AT, _NAME_AT + _MOST_NAME_BYTES)]
    if not line.lstrip().startswith(b"{"):
        return b""
    # Whoever has filtered the log may have written its JSON in another way.
    try:
        return msgspec.json.decode(line, type=_Named).name.encode()[:_MOST_NAME_BYTES]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return b""
