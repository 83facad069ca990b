"""Addresses without credentials, or left out altogether; names of stages and exceptions without secrets.

Users write passwords and signatures into addresses, which documents, logs and pages would show for years.
What names a place stays: the connection in ``s3://conn_id@bucket``, the container in
``abfss://container@account``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

_URL = re.compile(r"(?<![\w+.-])(?:[A-Za-z][\w+.-]*://|jdbc:)[^\s'\"<>]*")
"""An address in a text that may hold more than that."""

_COLON = r"(?::|%3[Aa])"
_PORT = r"\d{1,5}(?:[/?#,]|$)"

_USER_AND_PASSWORD = re.compile(rf"(?<=://)[^/?#@:]*?{_COLON}[^/?#]*@")
"""Before the last @ of the part that names the host."""

_PASSWORD_WITH_SLASH = re.compile(rf"(?<=://)[^/?#@:\[\]]+{_COLON}(?!/|{_PORT})[^@]*@")
"""Keys of AWS hold slashes; whoever writes one into an address as it is, ends the host's part with it."""

_TOKEN_AS_USER = re.compile(r"(?<=://)(?=[^/?#@]*\d)(?=[^/?#@]*[A-Za-z])[A-Za-z0-9_%+.~-]{20,}@")
"""A user's name alone, as access tokens stand in addresses of the web."""

_ORACLE = re.compile(r"(?<=:)[^:/@\s]+/[^@\s]+@(?=/{0,2}[\w\[(])")
"""``jdbc:oracle:thin:user/password@host``"""

_PARAMETER = re.compile(r"(?P<before>[?&;#(])(?P<name>[^=?&;#()]+)=(?P<value>[^&;#)]*)")

_SECRET_WORDS = re.compile(
    r"passw|pwd|passphrase|secret|token|signature|credential|authorization|apikey|accesskey|accountkey"
    r"|privatekey|sharedkey|encryptionkey|sessionid"
)
_SECRET_NAMES = {"auth", "jwt", "key", "pass", "pw", "sas", "sig"}

LEFT_OUT = "(address left out)"

_PLACE = re.compile(
    r"(?:[A-Za-z][\w+.-]{0,30}://|jdbc:)[^\s'\"<>]*"  # a URL; schemes of any length would take very long
    r"|(?<![\w.~)/])~?/[^\s'\"<>,;:()/]+(?:/[^\s'\"<>,;:()]*)+"  # /a/path
    r"|(?<![\w\\])[A-Za-z]:\\[^\s'\"<>]*"  # C:\a\path
    r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)(?::\d+)?"  # 10.0.0.1
    r"|(?<![\w.-])(?:[\w-]+\.)+(?:internal|local|lan|corp|com|net|org|io)(?::\d+)?(?![\w-])"  # a host
)


def names_a_secret(name: str) -> bool:
    """Whether a parameter's name tells that its value is secret, such as ``X-Amz-Signature``."""
    plain = re.sub(r"[^a-z0-9]", "", unquote(name).lower())
    return plain in _SECRET_NAMES or _SECRET_WORDS.search(plain) is not None


def without_credentials(address: str) -> str:
    """The address without ``user:password@`` and without parameters whose names tell of a secret.

    Of a text with addresses in it, such as an error's message, the rest stays as it is.
    """
    if _URL.match(address) and not re.search(r"\s", address):
        # One address, in which a quote may be a letter of the password.
        return _clean(address)
    return _URL.sub(lambda found: _clean(found[0]), address)


def without_addresses(text: str) -> str:
    """The text with `LEFT_OUT` instead of URLs, absolute paths, IP addresses and host names with a domain."""
    return _PLACE.sub(LEFT_OUT, text)


def _clean(url: str) -> str:
    if url.startswith("jdbc:"):
        url = _ORACLE.sub("", url)
    if url.startswith(("http://", "https://", "git+https://")):
        url = _TOKEN_AS_USER.sub("", url)
    for credentials in (_USER_AND_PASSWORD, _PASSWORD_WITH_SLASH):
        url = credentials.sub("", url)
    shown = _PARAMETER.sub(lambda found: found["before"] if names_a_secret(found["name"]) else found[0], url)
    if shown == url:
        return url
    # What stood after a parameter that is gone now stands after its own separator.
    shown = re.sub(r"\?[&;]+", "?", re.sub(r"([&;])[&;]+", r"\1", shown))
    return re.sub(r"[?&;#]+(?=#|$)", "", shown)


# Spark names a stage by its call site, such as "collect at job.py:12"; PySpark gives the file's whole path.
# But a program may set any text in its place, also one with data or a password in it.
MOST_LETTERS = 120
"""Of a stage's name; what is longer is cut, with an ellipsis."""

_CALL_SITE = re.compile(r"(?P<method>.*?) at (?P<file>.+):(?P<line>\d+)")
_FOLDERS = re.compile(r".*[/\\]")
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
_VALUE = r"(?P<value>[^\s,;&)]+)"
_ASSIGNED = re.compile(
    rf"(?P<name>[\w.-]+)(?P<between>\s*[=:]\s*(?:(?:basic|bearer)\s+)?){_VALUE}", re.IGNORECASE
)
_OPTION = re.compile(rf"(?P<name>(?<!\S)--?[\w.-]+)(?P<between>\s+){_VALUE}")

CALL_SITE_LEFT_OUT = "..."


def call_site(name: str) -> str:
    """A stage's name as Spark's event log has it, in one short line without folders, literals and secrets.

    Cleaning a name again changes nothing.
    """
    # A longer one is no call site, and would take long.
    line = " ".join(name[: 10 * MOST_LETTERS].split())
    found = _CALL_SITE.fullmatch(line)
    if found is not None:
        file = found["file"]
        # An address may follow "at", too; it stays one, without its credentials.
        short = file if "://" in file else _FOLDERS.sub("", file)
        line = f"{found['method']} at {short}:{found['line']}"
    return _without_secrets(line, most_letters=MOST_LETTERS)


def exception_line(line: str, *, arguments: Iterable[str] = ()) -> str:
    """A printed exception of a user's program without literals, the program's arguments and secrets.

    Its message may hold anything, of which the kind and most words remain: "ValueError: unknown zone ...".
    """
    line = " ".join(line[:3000].split())
    values = {
        part for each in arguments for part in (each, each.partition("=")[2] if each[:1] == "-" else "")
    }
    for value in sorted(values, key=len, reverse=True):
        # A shorter one, such as a number, would be found within words.
        if len(value) >= 3:
            line = line.replace(value, CALL_SITE_LEFT_OUT)
    return _without_secrets(line, most_letters=300)


def _without_secrets(line: str, *, most_letters: int) -> str:
    """The line cut to a length, without credentials, literals and secrets as in ``token=...``."""
    line = _LITERAL.sub(CALL_SITE_LEFT_OUT, without_credentials(line))
    for told in (_ASSIGNED, _OPTION):
        at = 0
        while found := told.search(line, at):
            # What is no secret may itself be the name of one: "error: token=abc".
            at = found.start("value")
            if names_a_secret(found["name"]):
                line = f"{line[:at]}{CALL_SITE_LEFT_OUT}{line[found.end('value') :]}"
                at += len(CALL_SITE_LEFT_OUT)
    if len(line) <= most_letters:
        return line
    return f"{line[: most_letters - len(CALL_SITE_LEFT_OUT)]}{CALL_SITE_LEFT_OUT}"
