"""The Java and the Spark of this host that a local cluster is made of."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from airflow_provider_ernest.exceptions import MissingResourceError

MIN_JAVA = 17

_JAVA_TIMEOUT_SECONDS = 30.0
_JAVA_REMEDY = f"Install a Java runtime of at least version {MIN_JAVA} and set JAVA_HOME to its directory."
_SPARK_REMEDY = "Install it together with this package: pip install 'airflow-provider-ernest[local]'."


def find_java() -> Path:
    """The ``java`` program: that of JAVA_HOME where it is set, else the one on the PATH.

    Raises:
        MissingResourceError: there is none, or it does not run, or is too old for Spark.
    """
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if not found or not os.access(found, os.X_OK):
        where = f"JAVA_HOME={home!r} has no program bin/java" if home else "There is no java on the PATH"
        raise MissingResourceError(f"{where}; Spark needs one.", remedy=_JAVA_REMEDY)
    try:
        answer = subprocess.run(
            [found, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_JAVA_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        problem = f"{found} does not run: {error} {getattr(error, 'stderr', None) or ''}".rstrip()
        raise MissingResourceError(problem, remedy=_JAVA_REMEDY) from error
    version = answer.stderr.strip()
    major = re.search(r'version "(?:1\.)?(\d+)', version)
    if major is None or int(major[1]) < MIN_JAVA:
        raise MissingResourceError(f"Spark cannot run on {found}: it says {version!r}.", remedy=_JAVA_REMEDY)
    return Path(found)


def find_spark_home() -> Path:
    """The directory of the installed pyspark package, which holds Spark itself.

    Raises:
        MissingResourceError: pyspark is not installed, or without Spark's JARs.
    """
    package = importlib.util.find_spec("pyspark")
    if package is None or not package.submodule_search_locations:
        raise MissingResourceError("The Python package pyspark is not installed.", remedy=_SPARK_REMEDY)
    home = Path(package.submodule_search_locations[0])
    if next(home.glob("jars/spark-core_*.jar"), None) is None:
        raise MissingResourceError(
            f"{home} holds no JARs of Spark: pyspark-client is installed there without pyspark.",
            remedy=_SPARK_REMEDY,
        )
    return home


def find_spark_submit() -> Path:
    """The ``spark-submit`` on the PATH, below SPARK_HOME, or of the pyspark that this Python has.

    The last helps where an environment's programs are not on the PATH, as in a service that starts Python by
    its path.

    Raises:
        MissingResourceError: there is none.
    """
    home = os.environ.get("SPARK_HOME")
    for folder in (os.environ.get("PATH"), home and f"{home}/bin"):
        if folder and (found := shutil.which("spark-submit", path=folder)):
            return Path(found)
    try:
        return find_spark_home() / "bin" / "spark-submit"
    except MissingResourceError as error:
        raise MissingResourceError(
            "There is no spark-submit on the PATH, below SPARK_HOME, nor in a pyspark of this Python.",
            remedy="Install Spark, or pip install 'airflow-provider-ernest[local]', on Airflow's workers.",
        ) from error
