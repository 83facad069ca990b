"""The test of drift: no false alarms, quick where the model is wrong, and nothing that grows."""

import random
import subprocess
import sys
from dataclasses import dataclass

import pytest

from airflow_provider_ernest.learning.drift import (
    ALTERNATIVES,
    OUTCOMES,
    THRESHOLD,
    DriftTest,
    Evidence,
    evidence_of,
    trusted,
)
from tests.examples import production_run


@dataclass(frozen=True)
class Run:
    is_unlikely: bool = False
    is_unusual: bool = False
    predicted_seconds: float | None = 50.0


INSIDE, UNLIKELY, UNUSUAL = Run(), Run(is_unlikely=True), Run(is_unlikely=True, is_unusual=True)
UNPREDICTED = Run(predicted_seconds=None)


def runs_until_drift(frequencies, generator, *, at_most):
    test = DriftTest()
    for count in range(1, at_most + 1):
        (run,) = generator.choices((INSIDE, UNLIKELY, UNUSUAL), frequencies)
        if test.add(run).is_drift:
            return count
    return at_most


def test_every_alternative_misses_more_often_than_a_right_model_in_every_respect():
    """So its ratios grow from outcome to outcome, and their mean is at most 1 where misses are fewer."""
    for alternative in ALTERNATIVES:
        ratios = [wrong / right for wrong, right in zip(alternative, OUTCOMES, strict=True)]
        assert sum(alternative) == pytest.approx(1.0)
        assert ratios == sorted(ratios)
        for fewer in (OUTCOMES, (1.0, 0.0, 0.0), (0.8, 0.2, 0.0), (0.95, 0.0, 0.05), (0.9, 0.08, 0.02)):
            assert sum(p * ratio for p, ratio in zip(fewer, ratios, strict=True)) <= 1.0 + 1e-12


def test_a_model_that_is_right_is_suspected_less_often_than_once_in_a_thousand_runs():
    generator = random.Random(1)
    lengths = [runs_until_drift(OUTCOMES, generator, at_most=10_000) for _ in range(60)]

    assert sum(lengths) / len(lengths) > THRESHOLD


def test_a_model_whose_intervals_are_too_wide_never_drifts():
    assert evidence_of([INSIDE] * 5000).value < 10.0
    generator = random.Random(2)
    assert runs_until_drift((0.95, 0.04, 0.01), generator, at_most=5000) == 5000


@pytest.mark.parametrize("before", [0, 1, 200, 5000])
def test_a_model_that_has_become_wrong_drifts_after_three_runs_however_long_it_was_right(before):
    runs = [INSIDE] * before + [UNUSUAL] * 3

    assert not evidence_of(runs[:-1]).is_drift
    assert evidence_of(runs).is_drift


def test_a_model_that_is_half_wrong_is_found_out_within_tens_of_runs():
    generator = random.Random(3)
    delays = sorted(runs_until_drift((0.5, 0.2, 0.3), generator, at_most=1000) for _ in range(101))

    assert delays[50] <= 20
    assert delays[-1] < 100


def test_drift_that_was_found_is_not_taken_back():
    evidence = evidence_of([UNUSUAL] * 3 + [INSIDE] * 50)

    assert evidence.is_drift
    assert (evidence.runs, evidence.unlikely, evidence.unusual) == (3, 3, 3)


def test_runs_without_a_prediction_do_not_count():
    assert evidence_of([UNPREDICTED] * 10) == Evidence()
    assert evidence_of([UNUSUAL, UNPREDICTED, INSIDE]) == evidence_of([UNUSUAL, INSIDE])


def test_it_takes_the_documents_of_runs():
    runs = [production_run(number, seconds=90.0) for number in range(3)]

    assert evidence_of(runs).is_drift
    assert evidence_of([production_run(1, predicted_seconds=None, nearly_certain_seconds=None)]).runs == 1
    assert evidence_of([production_run(1, **dict.fromkeys(NOTHING_PREDICTED))]).runs == 0


NOTHING_PREDICTED = ("predicted_seconds", "likely_seconds", "nearly_certain_seconds")


def test_what_may_be_the_beginning_of_a_drift_is_not_learned_from_until_it_is_none():
    assert trusted([INSIDE, UNLIKELY, INSIDE]) == 3
    assert trusted([INSIDE, INSIDE, UNUSUAL]) == 2
    assert trusted([INSIDE, UNUSUAL, INSIDE]) == 3
    assert trusted([INSIDE, UNUSUAL, UNUSUAL, UNLIKELY]) == 1
    assert trusted([]) == 0


def test_pages_load_no_mathematics_with_it():
    program = "import sys, airflow_provider_ernest.learning.freshness; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith(("numpy", "scipy"))]
