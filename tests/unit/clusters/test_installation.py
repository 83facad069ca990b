import sys

import pytest

from airflow_provider_ernest.clusters.installation import find_java, find_spark_home
from airflow_provider_ernest.exceptions import MissingResourceError


def install_java(home, *, says, exit_code=0):
    """A program that answers like a java of some version."""
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {exit_code}\n")
    java.chmod(0o755)
    return java


def test_java_home_comes_first(tmp_path, monkeypatch):
    java = install_java(tmp_path, says='openjdk version "17.0.15" 2025-04-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == java


def test_without_java_home_the_path_is_searched(tmp_path, monkeypatch):
    java = install_java(tmp_path, says='openjdk version "25-ea"')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java() == java


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_a_java_that_is_too_old_is_refused_with_its_version(tmp_path, monkeypatch, version):
    install_java(tmp_path, says=f'openjdk version "{version}"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingResourceError, match=f"{version}.*at least version 17"):
        find_java()


def test_a_java_home_without_java_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(MissingResourceError, match=r"JAVA_HOME='.*nowhere'.*Install a Java"):
        find_java()


def test_no_java_at_all_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingResourceError, match="no java on the PATH"):
        find_java()


def test_a_java_that_fails_is_refused_with_what_it_says(tmp_path, monkeypatch):
    install_java(tmp_path, says="cannot map memory", exit_code=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingResourceError, match="cannot map memory"):
        find_java()


def test_a_pyspark_without_jars_is_refused_with_the_remedy(tmp_path, monkeypatch):
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "pyspark", raising=False)
    with pytest.raises(MissingResourceError, match=r"no JARs.*airflow-provider-ernest\[local\]"):
        find_spark_home()


def test_a_missing_pyspark_is_refused_with_the_remedy(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(__import__("sys").modules, "pyspark", raising=False)
    with pytest.raises(MissingResourceError, match="pyspark is not installed"):
        find_spark_home()


@pytest.mark.parametrize(("jar_version", "warns"), [("4.2.0", False), ("4.3.0", True)])
def test_python_files_and_jars_of_two_versions_are_told(tmp_path, monkeypatch, caplog, jar_version, warns):
    (tmp_path / "pyspark" / "jars").mkdir(parents=True)
    (tmp_path / "pyspark" / "__init__.py").write_text("")
    (tmp_path / "pyspark" / "version.py").write_text("__version__: str = '4.2.0'\n")
    (tmp_path / "pyspark" / "jars" / f"spark-core_2.13-{jar_version}.jar").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)  # another test module may have imported it

    find_spark_home()

    assert ("pyspark-client" in caplog.text) == warns
