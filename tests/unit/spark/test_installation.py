import sys

import pytest

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.installation import find_java, find_spark_home


def install_java(home, *, says, exit_code=0):
    """A program that answers like a java of some version."""
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {exit_code}\n")
    java.chmod(0o755)
    return java


def test_java_home_comes_before_the_path(tmp_path, monkeypatch):
    on_path = install_java(tmp_path, says='openjdk version "25-ea"')
    at_home = install_java(tmp_path / "home", says='openjdk version "17.0.15" 2025-04-15')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == at_home
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == on_path


def test_a_java_that_is_too_old_is_refused_with_its_version(tmp_path, monkeypatch):
    for version in ("1.8.0_392", "11.0.2", "16"):
        install_java(tmp_path / version, says=f'openjdk version "{version}"')
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / version))
        with pytest.raises(MissingResourceError, match=f"{version}.*at least version 17"):
            find_java()


@pytest.mark.parametrize(
    ("java_home", "installed", "named"),
    [
        ("{}/nowhere", False, r"JAVA_HOME='.*nowhere'.*Install a Java"),
        (None, False, "no java on the PATH"),
        ("{}", True, "cannot map memory"),
    ],
)
def test_where_no_java_works_the_reason_is_told(tmp_path, monkeypatch, java_home, installed, named):
    if installed:
        install_java(tmp_path, says="cannot map memory", exit_code=1)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if java_home:
        monkeypatch.setenv("JAVA_HOME", java_home.format(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingResourceError, match=named):
        find_java()


@pytest.mark.parametrize(
    ("is_installed", "named"),
    [(True, r"no JARs.*airflow-provider-ernest\[local\]"), (False, "pyspark is not installed")],
)
def test_a_pyspark_that_cannot_run_spark_is_refused_with_the_remedy(
    tmp_path, monkeypatch, is_installed, named
):
    if is_installed:
        (tmp_path / "pyspark").mkdir()
        (tmp_path / "pyspark" / "__init__.py").write_text("")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    with pytest.raises(MissingResourceError, match=named):
        find_spark_home()
