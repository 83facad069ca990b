"""Names of Spark's stages, as documents keep them: where in the code a stage was asked for, and nothing else.

Spark names a stage by its call site, such as "collect at job.py:12"; PySpark gives the file's whole path. But
a program may set any text in its place, also one with data or a password in it.
"""

from __future__ import annotations

import re

from airflow_provider_ernest.addresses import names_a_secret, without_credentials

MOST_LETTERS = 120
"""Of a name; what is longer is cut, with an ellipsis."""

_CALL_SITE = re.compile(r"(?P<method>.*?) at (?P<file>.+):(?P<line>\d+)")
_FOLDERS = re.compile(r".*[/\\]")
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
_VALUE = r"(?P<value>[^\s,;&)]+)"
_ASSIGNED = re.compile(
    rf"(?P<name>[\w.-]+)(?P<between>\s*[=:]\s*(?:(?:basic|bearer)\s+)?){_VALUE}", re.IGNORECASE
)
_OPTION = re.compile(rf"(?P<name>(?<!\S)--?[\w.-]+)(?P<between>\s+){_VALUE}")

LEFT_OUT = "..."


def call_site(name: str) -> str:
    """The name of a stage in one short line, without folders, literals and what is said to be secret.

    Cleaning a name again changes nothing.

    Args:
        name: as Spark's event log tells it.
    """
    # A longer one is no call site, and would take long.
    line = " ".join(name[: 10 * MOST_LETTERS].split())
    found = _CALL_SITE.fullmatch(line)
    if found is not None:
        file = found["file"]
        # An address may follow "at", too; it stays one, without its credentials.
        short = file if "://" in file else _FOLDERS.sub("", file)
        line = f"{found['method']} at {short}:{found['line']}"
    line = _LITERAL.sub(LEFT_OUT, without_credentials(line))
    for told in (_ASSIGNED, _OPTION):
        line = told.sub(_shown, line)
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - len(LEFT_OUT)]}{LEFT_OUT}"


def _shown(found: re.Match[str]) -> str:
    if not names_a_secret(found["name"]):
        return found[0]
    return f"{found['name']}{found['between']}{LEFT_OUT}"
