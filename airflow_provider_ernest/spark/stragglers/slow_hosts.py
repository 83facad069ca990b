"""Hosts whose tasks take longer for the same work than those of the others, in all stages that they ran."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.spark.log_reading.tables import FloatColumn, IntColumn
from airflow_provider_ernest.spark.replay.grouped import medians

_LEAST_RATIO = 1.25
"""Hosts of one cluster differ by some percent in any case."""

_LEAST_TASKS = 3
"""Fewer tell nothing of their host."""

_STANDARD_ERRORS = 3.0
_MEDIAN_EFFICIENCY = 1.2533
_DEVIATIONS_PER_MEDIAN_DEVIATION = 1.4826


@dataclass(frozen=True, kw_only=True)
class SlowHost:
    """A host that is slow.

    Attributes:
        ratio: of its tasks' seconds to those of the others for the same work; medians.
        tasks: that this rests on.
    """

    ratio: float
    tasks: int


def slow_hosts(ratios: FloatColumn, hosts: IntColumn, *, count: int) -> dict[int, SlowHost]:
    """The hosts that are slower than the others by more than chance and usual differences make.

    Args:
        ratios: of each task its seconds over the median of its stage, for the same work; of shape (tasks,).
        hosts: the number of each task's host, from 0 to count - 1.
        count: of hosts.

    Returns:
        By the number of the host; empty where there are no two to compare.
    """
    logarithms = np.log(np.maximum(ratios, 1e-6))
    centres = medians(logarithms, hosts, count)
    sizes = np.bincount(hosts, minlength=count)
    known = np.flatnonzero(sizes >= _LEAST_TASKS)
    found = {}
    for host in known.tolist():
        others = centres[known[known != host]]
        if not len(others):
            continue
        deviation = float(np.median(np.abs(logarithms[hosts == host] - centres[host])))
        error = _MEDIAN_EFFICIENCY * _DEVIATIONS_PER_MEDIAN_DEVIATION * deviation / math.sqrt(sizes[host])
        slower = float(centres[host] - np.median(others))
        if slower > max(math.log(_LEAST_RATIO), _STANDARD_ERRORS * error):
            found[host] = SlowHost(ratio=math.exp(slower), tasks=int(sizes[host]))
    return found
