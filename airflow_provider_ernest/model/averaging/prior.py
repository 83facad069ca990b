"""What is believed of a job before any of its runs: the prior of the averaging of terms.

The numbers say what is known of Spark jobs in general: fixed and spreading work are nearly always
there, a machine costs tenths of a second and not minutes. They were chosen with public traces at hand
(see docs/accuracy) and are round on purpose: none is fitted to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import Document, Observation
from airflow_provider_ernest.model.parameters import positive_number


@dataclass(frozen=True, kw_only=True)
class TermBelief(Document):
    """What is believed of one term.

    Attributes:
        name: the term's.
        probability: that it is part of a job's model.
        largest_seconds: about its largest coefficient (the standard deviation of a half-normal
            distribution), where that is a matter of the cluster and not of the job's length; else None.
    """

    name: str
    probability: float
    largest_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse certainty: no run could then say otherwise."""
        if not 0 < self.probability < 1:
            raise InvalidParameterError(
                f"probability of {self.name!r}",
                self.probability,
                "is not between 0 and 1",
                remedy="To leave a term out, do not name it among the terms.",
            )
        if self.largest_seconds is not None and not self.largest_seconds > 0:
            raise InvalidParameterError("largest_seconds", self.largest_seconds, "is not above 0")


BELIEFS: tuple[TermBelief, ...] = (
    TermBelief(name="1", probability=0.9),
    TermBelief(name="scale/machines", probability=0.95),
    TermBelief(name="scale", probability=0.15),
    TermBelief(name="scale/sqrt(machines)", probability=0.03),
    TermBelief(name="log(machines)", probability=0.5, largest_seconds=2.0),
    TermBelief(name="machines", probability=0.5, largest_seconds=0.1),
)


@dataclass(frozen=True, kw_only=True)
class AveragingPrior(Document):
    """Prior beliefs; probabilities and weights need not be normalised where they stand in a tuple.

    Attributes:
        beliefs: what is believed of the terms, by name.
        other_probability: the probability of terms not named there.
        largest_share: about the largest share of a run's time that one term explains (the standard
            deviation of a half-normal distribution).
        driver_share: the probability that one of the machines counted does no work because the driver
            or the application master has it. 0 where the machines are Spark's registered executors.
        noise: relative standard deviations of a run's time that are considered.
        noise_weights: how much each is believed.
        discrepancy: relative standard deviations of a smooth deviation of the job from all terms.
        discrepancy_weights: how much each is believed.
        machines_octaves: doublings of the machines over which such a deviation changes.
        scale_octaves: doublings of the scale over which it changes.
        memory_cut: the probabilities that the runs with the most, and with the two most, data per
            machine were in another regime (short of memory).
        disturbed_run: the probability that a conspicuous run was disturbed.
        disturbed_spread: the relative standard deviation of runs in another regime or disturbed.
    """

    beliefs: tuple[TermBelief, ...] = BELIEFS
    other_probability: float = 0.15
    largest_share: float = 0.5
    driver_share: float = 0.5
    noise: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.16)
    noise_weights: tuple[float, ...] = (1.0, 2.0, 2.0, 1.0, 0.5)
    discrepancy: tuple[float, ...] = (0.0, 0.05, 0.15, 0.4)
    discrepancy_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    machines_octaves: float = 2.0
    scale_octaves: float = 4.0
    memory_cut: tuple[float, ...] = (0.07, 0.03)
    disturbed_run: float = 0.025
    disturbed_spread: float = 0.7

    def __post_init__(self) -> None:
        """Refuse what is no probability, what is no width and levels without weights."""
        self._check_probabilities()
        for name in ("largest_share", "machines_octaves", "scale_octaves", "disturbed_spread"):
            positive_number(name, getattr(self, name))
        for name in ("noise", "discrepancy"):
            self._check_levels(name)
        if min(self.noise) <= 0:
            raise InvalidParameterError("noise", self.noise, "must be above 0: no run time is exact")

    def _check_probabilities(self) -> None:
        if not 0 <= self.driver_share <= 1:
            raise InvalidParameterError(
                "driver_share", self.driver_share, "is no probability", remedy="Give 0 to 1."
            )
        if not 0 < self.other_probability < 1:
            raise InvalidParameterError("other_probability", self.other_probability, "is not between 0 and 1")
        if not 0 <= self.disturbed_run < 1:
            raise InvalidParameterError("disturbed_run", self.disturbed_run, "is not at least 0 and below 1")
        if not all(0 <= probability < 1 for probability in self.memory_cut):
            raise InvalidParameterError("memory_cut", self.memory_cut, "is not at least 0 and below 1")

    def _check_levels(self, name: str) -> None:
        levels, weights = getattr(self, name), getattr(self, f"{name}_weights")
        if len(levels) != len(weights) or not levels:
            raise InvalidParameterError(
                f"{name}_weights", weights, f"has {len(weights)} values for {len(levels)} levels"
            )
        if not all(math.isfinite(level) and level >= 0 for level in levels):
            raise InvalidParameterError(name, levels, "must be finite and of at least 0")
        if not all(math.isfinite(weight) and weight > 0 for weight in weights):
            raise InvalidParameterError(f"{name}_weights", weights, "must be finite and above 0")

    def belief_in(self, term: str) -> TermBelief:
        """What is believed of the term."""
        known = {belief.name: belief for belief in self.beliefs}
        return known.get(term) or TermBelief(name=term, probability=self.other_probability)


def prior_for(observations: Sequence[Observation], prior: AveragingPrior | None = None) -> AveragingPrior:
    """The prior for a job, knowing that the driver takes no machine where executors were counted.

    Args:
        observations: the job's runs; those that name their hosts were counted by Spark's event log.
        prior: what is believed otherwise; None for the default.
    """
    known = prior or AveragingPrior()
    counted = bool(observations) and all(run.hosts for run in observations)
    return replace(known, driver_share=0.0) if counted else known
