"""Small traces with known times, in the form of C3O's."""

from __future__ import annotations

from pathlib import Path


def write_c3o(path: Path, *, columns: str, inputs: list[str], repetitions: int = 3) -> None:
    """Runs of 10 s per million of the first size column, spread over the machines, plus 20 s.

    `inputs` are values of data_size_MB and `columns`; repetitions take 0, 1, 2 ... s more.
    """
    lines = [f"instance_count machine_type slots memory data_size_MB {columns} gross_runtime"]
    for machines in (2, 4, 6, 8, 12):
        for values in inputs:
            size = float(values.split()[1]) / 1e6
            for extra in range(repetitions):
                seconds = 20 + 10 * size / machines + extra
                lines.append(f"{machines} m4 {8 * machines} {32 * machines} {values} {seconds}")
    path.write_text("\n".join(line.replace(" ", "\t") for line in lines) + "\n")


def write_two_types(folder: Path) -> None:
    """A job on two types, 20 s and 40 s per million lines of work; m4 also with a larger input."""
    lines = ["instance_count machine_type slots memory data_size_MB lines gross_runtime"]
    for name, sizes, per_million in (("m4.2xlarge", (1, 2, 3, 4), 40), ("c4.2xlarge", (1, 2, 3), 20)):
        for machines in (2, 4, 6, 8, 12):
            for size in sizes:
                for extra in range(3):
                    seconds = 30 + per_million * size / machines + extra
                    lines.append(
                        f"{machines} {name} {8 * machines} {32 * machines} {10_000 * size} "
                        f"{size}000000 {seconds}"
                    )
    (folder / "grep.tsv").write_text("\n".join(line.replace(" ", "\t") for line in lines) + "\n")
