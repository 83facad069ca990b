"""The Java and the Spark of this host that a local cluster is made of."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from airflow_provider_ernest.exceptions import ClusterStartError, MissingResourceError

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
        answer = _run([found, "-version"])
        answer.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        problem = f"{found} does not run: {error} {getattr(error, 'stderr', None) or ''}".rstrip()
        raise MissingResourceError(problem, remedy=_JAVA_REMEDY) from error
    version = answer.stderr.strip()
    major = re.search(r'version "(?:1\.)?(\d+)', version)
    if major is None or int(major[1]) < MIN_JAVA:
        raise MissingResourceError(f"Spark cannot run on {found}: it says {version!r}.", remedy=_JAVA_REMEDY)
    return Path(found)


def _run(
    command: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_JAVA_TIMEOUT_SECONDS,
        check=False,
    )


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


def scala_version(spark_home: Path) -> str:
    """The Scala version of a Spark installation: "2.13" where there is a spark-core_2.13-4.0.0.jar."""
    return next(spark_home.glob("jars/spark-core_*.jar")).name.removeprefix("spark-core_").partition("-")[0]


def daemon_command(java: Path, spark_home: Path, environment: Mapping[str, str]) -> list[str]:
    """The command line of a Spark daemon up to the name of its class.

    It comes from Spark's own launcher, as for ``spark-class``, since Java's module options differ between
    versions of Spark. The launcher reads SPARK_HOME, SPARK_CONF_DIR, SPARK_SCALA_VERSION, SPARK_DAEMON_MEMORY
    and SPARK_DAEMON_JAVA_OPTS of the environment that the daemon will run with.

    Raises:
        ClusterStartError: the launcher failed.
    """
    launcher = next(iter(spark_home.glob("jars/spark-launcher_*.jar")), None)
    if launcher is None:
        raise ClusterStartError(f"{spark_home} holds no spark-launcher JAR.", remedy=_SPARK_REMEDY)
    daemon_class = "org.apache.spark.deploy.worker.Worker"
    command = [str(java), "-cp", str(launcher), "org.apache.spark.launcher.Main", daemon_class]
    try:
        answer = _run(command, environment)
        answer.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or ""
        raise ClusterStartError(f"Spark's launcher failed: {error} {output}".rstrip()) from error
    # Its answer begins with an empty line; a NUL ends each argument.
    arguments = [argument for each in answer.stdout.split("\0") if (argument := each.strip("\n"))]
    if not arguments or arguments[-1] != daemon_class:
        raise ClusterStartError(f"Spark's launcher gave no command of a daemon: {answer.stdout!r}.")
    return arguments[:-1]
