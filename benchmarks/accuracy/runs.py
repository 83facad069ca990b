"""What every protocol is made of: runs, cases (train on these, predict those) and rounds of cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.numbers import FloatArray


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Some runs of one job, each field of shape (n,).

    Attributes:
        scale: the share of the largest input that each read.
        row_width: the data in a row, as a multiple of that in the rows of the predicted input; None where all
            inputs count as of one shape.
        of_one_input: all are samples of the predicted input, as those that a DAG makes.
        is_counted: Spark counted the executors, so that the driver is none of them.
    """

    executors: FloatArray
    scale: FloatArray
    seconds: FloatArray
    row_width: FloatArray | None = None
    of_one_input: bool = False
    is_counted: bool = False

    def __len__(self) -> int:
        return len(self.seconds)

    def at(self, which: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.generic]]) -> Runs:
        """The runs at these positions, or where this mask is true."""
        return replace(
            self,
            executors=self.executors[which],
            scale=self.scale[which],
            seconds=self.seconds[which],
            row_width=None if self.row_width is None else self.row_width[which],
        )

    def observations(self) -> list[Observation]:
        """The same as the package keeps them."""
        table = zip(self.executors.tolist(), self.scale.tolist(), self.seconds.tolist(), strict=True)
        return [
            Observation(index=index, executors=int(executors), scale=scale, seconds=seconds)
            for index, (executors, scale, seconds) in enumerate(table)
        ]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One prediction task.

    Attributes:
        condition: what its training runs were limited to, such as "5 points".
        test: the configurations to predict, with their expected times and, in `repetitions`, single runs.
        splits: for each of them, the name of the table that it counts in.
    """

    job: str
    condition: str
    train: Runs
    test: Runs
    repetitions: tuple[tuple[float, ...], ...]
    splits: tuple[str, ...]


Round = tuple[Case, ...]
"""Cases of one deployment at one moment: what a method may pool is their training runs."""


def gather(
    runs: Iterable[tuple[float, float, float]], *, of_one_input: bool = False, is_counted: bool = False
) -> Runs:
    """Runs from (machines, scale, seconds), in this order."""
    executors, scale, seconds = np.array(list(runs), dtype=np.float64).reshape(-1, 3).T
    return Runs(
        executors=executors, scale=scale, seconds=seconds, of_one_input=of_one_input, is_counted=is_counted
    )
