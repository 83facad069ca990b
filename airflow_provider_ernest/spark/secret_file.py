"""Spark's shared secret on its way to spark-submit: in a private file, never on a command line.

spark-submit takes it from a file of properties. Such a file replaces spark-defaults.conf (Spark 4 can read
both, with ``--load-spark-defaults``, which older ones refuse), so what it would have read is copied.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import weakref
from collections.abc import Mapping
from pathlib import Path

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.owned_folders import make_owned, runtime_folder

SECRET_PROPERTY = "spark.authenticate.secret"  # noqa: S105  the name of a property is no secret


class SecretFile:
    """A file of properties with the secret, in a directory of its own that only this user may enter.

    It must be removed when spark-submit has ended. At any other end of this process Python removes it; after
    a SIGKILL the next process that hands over a secret does, or the keeper of a local cluster at its end, or
    the reaper. See `owned_folders`.

    Args:
        secret: that Spark's processes share.
        replaced: content of the file that spark-submit would read otherwise.

    Raises:
        InvalidParameterError: a secret that a file of properties cannot hold. It is not shown.
        MissingResourceError: there is no place for it that only this user may enter.
    """

    def __init__(self, secret: str, *, replaced: bytes = b"") -> None:
        if not secret or secret != secret.strip() or not secret.isprintable():
            raise InvalidParameterError(
                "secret", "***", "is empty, begins or ends with a space, or has control characters"
            )
        folder = make_owned(runtime_folder())
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = folder / "spark.conf"
        # The last value of a key counts. A backslash at the end of the last line would join our first one.
        content = replaced + b"\n\n" + _property("spark.authenticate", "true")
        content += _property(SECRET_PROPERTY, secret)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

    def remove(self) -> None:
        """Remove it; may be repeated."""
        self._remove()


def replaced_properties(
    properties_file: str | None, *, spark_submit: str, environment: Mapping[str, str]
) -> bytes:
    """What spark-submit would read if it were not given another file of properties.

    Args:
        properties_file: the user's own, which replaces spark-defaults.conf.
        spark_submit: the program.
        environment: it runs with. What Spark's spark-env.sh changes in it is not seen here.

    Raises:
        MissingResourceError: the user's own file cannot be read.
    """
    if properties_file:
        try:
            return Path(properties_file).read_bytes()
        except OSError as error:
            raise MissingResourceError(
                f"properties_file={properties_file!r} cannot be read: {error.strerror}.",
                remedy="Name a file that exists on the Airflow worker.",
            ) from error
    directory = environment.get("SPARK_CONF_DIR")
    if not directory:
        home = environment.get("SPARK_HOME") or _home_of(spark_submit, environment)
        directory = str(Path(home, "conf")) if home else None
    defaults = Path(directory, "spark-defaults.conf") if directory else None
    return defaults.read_bytes() if defaults and defaults.is_file() else b""


def _home_of(spark_submit: str, environment: Mapping[str, str]) -> str | None:
    """The installation that a spark-submit without SPARK_HOME takes, as its script find-spark-home does."""
    program = shutil.which(spark_submit, path=environment.get("PATH"))
    if program is None:
        return None
    folder = Path(program).absolute().parent
    if not (folder / "find_spark_home.py").is_file():
        return str(folder.parent)
    package = importlib.util.find_spec("pyspark")
    return package.submodule_search_locations[0] if package and package.submodule_search_locations else None


def _property(key: str, value: str) -> bytes:
    """A line of a file of Java properties."""
    escaped = "".join(
        f"\\{character}" if character in "\\ " else character if character.isascii() else _unicode(character)
        for character in value
    )
    return f"{key}={escaped}\n".encode("ascii")


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
