"""Tasks that do not begin with the first free slot: repeated attempts and speculative copies.

The tables do not tell which attempts are of the same partition. The first repeated attempt is taken to be
that of the first one that failed, and so on.
"""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import IntColumn, TaskTable


def retries_of(tasks: TaskTable, places: IntColumn) -> dict[int, int]:
    """For each repeated attempt the failed one before it.

    Args:
        tasks: of the log.
        places: of a stage's tasks in the order in which they were launched.

    Returns:
        Indices of `places` by indices of `places`; the failed one always has the lower.
    """
    attempts = tasks.attempt[places]
    if not attempts.any():
        return {}
    by_finish = np.lexsort((places, tasks.finished_at[places]))
    failed = by_finish[~tasks.succeeded[places][by_finish]]
    repeated = np.flatnonzero(~tasks.speculative[places])
    found: dict[int, int] = {}
    for attempt in np.unique(attempts[attempts > 0]).tolist():
        again = repeated[attempts[repeated] == attempt].tolist()
        before = failed[attempts[failed] == attempt - 1].tolist()
        found |= {place: other for place, other in zip(again, before, strict=False) if other < place}
    return found


def copies_of(tasks: TaskTable, places: IntColumn) -> dict[int, float]:
    """For each speculative copy how long after the stage's first task it was launched.

    Returns:
        Medians of the stage's tasks' seconds, by indices of `places`.
    """
    copies = np.flatnonzero(tasks.speculative[places])
    if not len(copies):
        return {}
    launched = tasks.launched_at[places]
    median = max(float(np.median(tasks.seconds[places])), 0.001)
    return {int(copy): float(launched[copy] - launched.min()) / median for copy in copies}
