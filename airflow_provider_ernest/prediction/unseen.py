"""What no run could show: plateaus beyond the observed machines, other shapes beyond the observed inputs.

Times stop falling where tasks run out, or where the driver or a shared store is the limit. Inputs that are
much larger than all observed ones may consist of other rows. Runs on fewer machines, or on smaller inputs,
tell neither. So each draw of the posterior gets a place from where on it is so; predictions that lie further
are made with it. How near these places are follows from how far the runs lie apart: who has seen a job over
many doublings may trust it for a few more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.draws import DRAWS
from airflow_provider_ernest.prediction.evidence import Points

OCTAVES_OF_ONE = 0.25
"""Doublings that a single number of machines, or a single input, counts for as having been observed."""

STEEPNESS = 3.0
"""Near the observed range hardly anything changes, far from it nearly everything may."""

FURTHEST_OCTAVES = 60.0
"""Further than any cluster or input: such a draw sees no change at all."""

SEED = 1


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """From where on each of k draws is another law's, shape (k,) each.

    Attributes:
        most_workers: beyond these, more machines do no work that spreads.
        least_scale, most_scale: inputs outside may be of another shape than those observed.
        shape_spread: the standard deviation of log(seconds) of an input of another shape.
    """

    most_workers: FloatArray
    least_scale: FloatArray
    most_scale: FloatArray
    shape_spread: float

    def variance(self, scale: FloatArray) -> FloatArray:
        """Of log(seconds) by the shape of inputs of n scales, by draw, shape (k, n)."""
        is_other = (scale > self.most_scale[:, None]) | (scale < self.least_scale[:, None])
        return np.asarray(is_other * self.shape_spread**2, dtype=np.float64)


def unseen(points: Points, prior: AveragingPrior, *, places: IntArray) -> Unseen:
    """What it says of each of the draws' places, shape (k,), is independent of the others and of all else."""
    generator = np.random.default_rng(SEED)
    even = (np.arange(DRAWS) + 0.5) / DRAWS
    beyond, larger, smaller = (generator.permutation(even)[places] for _ in range(3))
    least_workers, most_workers = float(points.workers.min()), float(points.workers.max())
    least_scale, most_scale = float(points.scale.min()), float(points.scale.max())
    scales = float(np.log2(most_scale / least_scale))
    return Unseen(
        most_workers=most_workers
        * np.exp2(octaves_until(beyond, prior.plateau, seen=float(np.log2(most_workers / least_workers)))),
        most_scale=most_scale * np.exp2(octaves_until(larger, prior.other_shape, seen=scales)),
        least_scale=least_scale / np.exp2(octaves_until(smaller, prior.other_shape, seen=scales)),
        shape_spread=prior.other_shape_spread,
    )


def octaves_until(even: FloatArray, probability: float, *, seen: float) -> FloatArray:
    """How many doublings beyond `seen` ones a change comes, at quantiles of its distribution, shape (k,).

    With the probability there is one at all, half of these within as many doublings as were seen. The place
    is log-logistic: heavy-tailed, and the same whatever the unit.

    Args:
        even: the quantiles, each above 0 and below 1.
        probability: of any change, below 1.
        seen: doublings between the least and the most that was observed.
    """
    octaves = np.full(len(even), FURTHEST_OCTAVES)
    comes = even < probability
    quantiles = even[comes] / probability if probability > 0 else even[comes]
    times = (quantiles / (1.0 - quantiles)) ** (1.0 / STEEPNESS)
    octaves[comes] = np.minimum((OCTAVES_OF_ONE + seen) * times, FURTHEST_OCTAVES)
    return octaves
