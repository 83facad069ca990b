"""Small traces with known times, in the form of C3O's."""

from __future__ import annotations

from pathlib import Path


def write_c3o(path: Path, *, columns: str, inputs: list[str], repetitions: int = 3) -> None:
    """Runs of 10 s per million of the first size column, spread over the machines, plus 20 s.

    `inputs` are values of data_size_MB and `columns`; repetitions take 0, 1, 2 ... s more.
    """
    lines = [f"instance_count machine_type slots memory data_size_MB {columns} gross_runtime"]
    for executors in (2, 4, 6, 8, 12):
        for values in inputs:
            size = float(values.split()[1]) / 1e6
            for extra in range(repetitions):
                seconds = 20 + 10 * size / executors + extra
                lines.append(f"{executors} m4 {8 * executors} {32 * executors} {values} {seconds}")
    path.write_text("\n".join(line.replace(" ", "\t") for line in lines) + "\n")
