"""What pip installs with the package, and what its page says."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hatch_build import long_description

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_provider_ernest"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOT_INSTALLED = {"_typeshed", PACKAGE.name}
"""Only for type checkers; shipped to machines beside what imports it; ours."""


def imported() -> set[str]:
    """All modules that the package imports but those of Python and of Airflow's providers."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
    return {
        name for name in found if name.partition(".")[0] not in {*sys.stdlib_module_names, *NOT_INSTALLED}
    }


def distributions(modules: set[str]) -> set[str]:
    """Of each module the distributions that it may be of."""
    known = packages_distributions()
    names = set()
    for module in modules:
        provider = re.match(r"airflow\.providers\.(amazon|apache\.spark|\w+\.compat|\w+)", module)
        if provider:
            names.add(f"apache-airflow-providers-{provider[1].replace('.', '-')}")
        else:
            top = module.partition(".")[0]
            names.add({"airflow": "apache-airflow"}.get(top) or known[top][0].lower().replace("_", "-"))
    return names


def test_all_that_is_imported_is_declared():
    """Airflow's next version may do without what it brings today."""
    extras = [
        each
        for extra in ("local", "ec2", "openlineage", "parquet", "delta", "iceberg")
        for each in PROJECT["optional-dependencies"][extra]
    ]
    declared = {Requirement(each).name for each in [*PROJECT["dependencies"], *extras]}
    # boto3 brings botocore in its own version, the provider of OpenLineage its client, and that of Spark
    # requests, whose class its authentication against YARN is.
    assert distributions(imported()) - declared <= {"botocore", "openlineage-python", "requests"}


def test_extras_that_messages_and_pages_name_are_there():
    texts = [*PACKAGE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {
        extra
        for path in texts
        for group in re.findall(r"airflow-provider-ernest\[([\w,]+)\]", path.read_text(encoding="utf-8"))
        for extra in group.split(",")
    }
    assert named <= {*PROJECT["optional-dependencies"]}


@pytest.mark.parametrize("source", [None, "https://forge.example/ernest"])
def test_the_long_description_leads_nowhere_within_the_repository(source):
    text = long_description((ROOT / "README.md").read_text(encoding="utf-8"), source)

    assert re.findall(r"\]\((?!https?://|#)", text) == []


def test_links_and_pictures_become_absolute():
    text = "[![a](docs/a.png)](docs/a.md) [b](docs/b.md#c), [d](https://d.example), [e](#e)"

    assert long_description(text, "https://f.example/g") == (
        "[![a](https://f.example/g/raw/HEAD/docs/a.png)](https://f.example/g/blob/HEAD/docs/a.md) "
        "[b](https://f.example/g/blob/HEAD/docs/b.md#c), [d](https://d.example), [e](#e)"
    )


def examples_in_the_wheel() -> list[str]:
    """The names that the example DAGs and their jobs have there."""
    tracked = subprocess.run(
        ["git", "ls-files", "dags"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name.replace("dags/", f"{PACKAGE.name}/example_dags/", 1) for name in tracked.stdout.split()]


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_a_wheel_has_the_example_dags_and_an_editable_installation_no_copies_of_them(version, tmp_path):
    import zipfile

    from hatchling.builders.wheel import WheelBuilder

    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=[version])
    names = zipfile.ZipFile(built).namelist()

    has = {name for name in names if name.startswith(f"{PACKAGE.name}/example_dags/")}
    there = {path.name for path in (ROOT / "dags").glob("example_*.py")}
    assert {Path(name).name for name in has if "/example_dags/example_" in name} == (
        there if version == "standard" else set()
    )
    assert any(name.endswith("example_dags/jobs/enrich_flights.py") for name in has) == (
        version == "standard"
    )


def test_a_release_that_lacks_a_file_or_has_one_too_many_is_refused(tmp_path):
    import tarfile
    import zipfile

    tracked = subprocess.run(
        ["git", "ls-files", PACKAGE.name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("not in a repository")
    names = tracked.stdout.split()
    with zipfile.ZipFile(tmp_path / "a-1.whl", "w") as wheel:
        for name in [*names[1:], *examples_in_the_wheel(), f"{PACKAGE.name}/secret.env"]:
            wheel.writestr(name, "")
    with tarfile.open(tmp_path / "a-1.tar.gz", "w:gz") as sdist:
        for name in names:
            sdist.add(ROOT / name, f"a-1/{name}")
    told = subprocess.run(
        [sys.executable, ".ci/release_contents.py", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 1
    assert told.stderr.split("\n")[:2] == [
        f"a-1.whl lacks {names[0]}",
        f"a-1.whl has {PACKAGE.name}/secret.env, which Git has not",
    ]


def test_spark_and_its_client_cannot_be_of_two_versions():
    """Their files have the same names: whichever is installed last overwrites the other's."""
    local = {
        each.name: str(each.specifier) for each in map(Requirement, PROJECT["optional-dependencies"]["local"])
    }

    assert local["pyspark"].startswith("==")
    assert local["pyspark-client"] == local["pyspark"]
