"""Checks that sdist and wheel hold what Git has, and nothing else: `python .ci/release_contents.py dist`.

The wheel has the example DAGs, too.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = "airflow_provider_ernest/"
EXAMPLES = ("dags/", f"{PACKAGE}example_dags/")


def differences(there: set[str], expected: set[str], what: str) -> list[str]:
    """A line for each file that is too few or too many."""
    missing = [f"{what} lacks {name}" for name in sorted(expected - there)]
    return missing + [f"{what} has {name}, which Git has not" for name in sorted(there - expected)]


def problems(dist: Path) -> list[str]:
    """What is wrong with the sdist and the wheel in a folder."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    of_package = {name for name in tracked if name.startswith(PACKAGE)}
    examples = {name.replace(*EXAMPLES, 1) for name in tracked if name.startswith(EXAMPLES[0])}
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    return [
        *differences(in_wheel, of_package | examples, wheel.name),
        *differences({name for name in in_sdist if name.startswith(PACKAGE)}, of_package, sdist.name),
    ]


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    if found:
        sys.exit("\n".join(found))
    sys.stdout.write("sdist and wheel hold what Git has.\n")
