"""Event logs without what they tell of the machine that they were written on."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEPT_PROPERTIES = re.compile(
    r"spark\.(master|app\.name|app\.id|submit\.deployMode|task\.cpus|executor\.(id|cores|memory)"
    r"|eventLog\..*(enabled|compress)|sql\..*|job\..*|jobGroup\..*|scheduler\..*|rdd\..*)"
)
_MOST_FRAMES = 3
_MACHINE_PARTS = ("Hadoop Properties", "System Properties", "Metrics Properties", "Classpath Entries")
_PATH = re.compile(r"(?:/[\w.+-]+)*/(job\.scala|python_job\.py)")
_OTHER_PATH = re.compile(r"(?<![\w./:<-])/(?:tmp|work|root|home|usr|opt|var)/[\w./+-]*")


def scrubbed(lines: Iterator[str]) -> Iterator[str]:
    """The events of a log; the rest of what they tell stays as Spark wrote it."""
    for line in lines:
        event = json.loads(line)
        for part in _MACHINE_PARTS:
            if part in event:
                event[part] = {}
        for part in ("Spark Properties", "Properties"):
            if event.get(part):
                event[part] = _kept(event[part])
        _shorten(event)
        text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
        yield _OTHER_PATH.sub("(path)", _PATH.sub(r"\1", text))


def _shorten(event: dict[str, Any]) -> None:
    """Cut the call sites of stages, most of a small log: in the shell they are very long."""
    for stage in [*event.get("Stage Infos", ()), *filter(None, [event.get("Stage Info")])]:
        stage["Details"] = "\n".join(stage["Details"].splitlines()[:_MOST_FRAMES])


def _kept(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in properties.items()
        if _KEPT_PROPERTIES.fullmatch(name) and not name.endswith((".dir", ".uri"))
    }


if __name__ == "__main__":
    print(*scrubbed(sys.stdin), sep="\n")
