"""What the tests take from the paper (Ernest, NSDI 2016), and observations made of it."""

from collections.abc import Sequence

from airflow_provider_ernest.documents import Observation
from benchmarks.table1 import TABLE_1, seconds_of

__all__ = ["TABLE_1", "observe", "seconds_of"]


def observe(
    *, machines: Sequence[int], scale: Sequence[float] | float, seconds: Sequence[float], **fields: object
) -> list[Observation]:
    """Observations of runs; further fields are the same for all."""
    scales = [scale] * len(machines) if isinstance(scale, int | float) else scale
    return [
        Observation(index=index, machines=int(m), scale=float(s), seconds=float(t), **fields)
        for index, (m, s, t) in enumerate(zip(machines, scales, seconds, strict=True))
    ]
