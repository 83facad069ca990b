"""Plateaus, and inputs of another shape: what runs on fewer machines and smaller inputs cannot show."""

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.predict import predict_interval
from airflow_provider_ernest.prediction.training import train
from tests.examples import observe

WITHOUT = AveragingPrior(plateau=0.0, plateau_observed=0.0, other_shape=0.0)
"""What was believed before any of this was."""

OBSERVED = np.array([2, 3, 4, 6, 8])
FIXED, WORK = 10.0, 1200.0
JOBS = 80


def seconds_of(executors, *, begins):
    """Of work that no more than so many machines share."""
    return FIXED + WORK / np.minimum(executors, begins)


def noisy(exact, generator, *, noise=0.03):
    return exact * np.exp(noise * generator.standard_normal(np.shape(exact)))


def coverage(prior, *, begins, executors, level=0.8):
    """Of single runs on so many machines, over `JOBS` jobs whose plateau begins at each of some numbers."""
    generator = np.random.default_rng(11)
    within = []
    for start in np.resize(begins, JOBS):
        runs = {"executors": OBSERVED, "scale": np.ones(len(OBSERVED))}
        seconds = noisy(seconds_of(OBSERVED, begins=start), generator)
        predictor = TermAveraging(prior=prior).fit(**runs, seconds=seconds)
        (low,), (high,) = predictor.interval(executors=executors, scale=1.0, level=level)
        taken = noisy(seconds_of(executors, begins=start), generator)
        within.append(low < taken < high)
    return np.mean(within)


def test_a_plateau_that_was_observed_goes_on():
    seconds = noisy(seconds_of(OBSERVED, begins=5.0), np.random.default_rng(1))
    runs = {"executors": OBSERVED, "scale": 1.0, "seconds": seconds}
    truth = seconds_of(32, begins=5.0)

    (told,) = TermAveraging().fit(**runs).predict(executors=32, scale=1.0)
    (untold,) = TermAveraging(prior=WITHOUT).fit(**runs).predict(executors=32, scale=1.0)

    assert abs(told / truth - 1) < 0.08
    assert untold / truth < 0.85


@pytest.mark.parametrize(("worth", "said"), [(0.0, True), (0.2, True), (1.0, False)])
def test_where_more_executors_stopped_helping_is_said_and_goes_on(worth, said):
    executors = np.array([1, 2, 3, 4, 6, 8, 12, 16, 20, 24])

    def seconds(executors):
        busy = np.minimum(executors, 8) + worth * np.maximum(executors - 8, 0)
        return 20.0 + 600.0 / busy

    runs = observe(
        executors=executors,
        scale=1.0,
        seconds=noisy(seconds(executors), np.random.default_rng(3), noise=0.01),
    )
    model = train(runs, job="flat")

    assert any("Beyond a size of 8 more executors helped" in each for each in model.warnings) == said
    (low,), (high,) = predict_interval(model, executors=40, level=0.95)
    assert low < seconds(40) < high


def test_the_overhead_of_machines_is_no_plateau():
    """Samples of Ernest's regression (table 1 of the paper) that scatter by a tenth; 22.5 s are right."""
    predictor = TermAveraging().fit(
        executors=[16, 16, 6, 3, 6, 5, 1, 1],
        scale=[0.1, 0.09, 0.1, 0.1, 0.01, 0.01, 0.02, 0.01],
        seconds=[12.27, 11.94, 12.66, 25.18, 4.37, 4.61, 13.51, 7.48],
    )

    (seconds,) = predictor.predict(executors=64, scale=1.0)

    assert seconds == pytest.approx(22.5, rel=0.35)


@pytest.mark.parametrize("executors", [16, 32])
def test_intervals_leave_room_for_plateaus(executors):
    """Half of the jobs stop becoming faster within or soon after what was observed, the others never do."""
    begins = [5.0, 7.0, 10.0, 20.0, *[np.inf] * 4]

    held = coverage(AveragingPrior(), begins=begins, executors=executors)

    assert held > 0.58
    assert held > coverage(WITHOUT, begins=begins, executors=executors) + 0.03


# ---------------------------------------------------------------------------

MACHINES = [2, 4, 6, 2, 4, 6]
SCALES = [0.4, 0.4, 0.4, 0.5, 0.5, 0.5]


def samples(**fields):
    seconds = [FIXED + WORK * scale / count for count, scale in zip(MACHINES, SCALES, strict=True)]
    return observe(executors=MACHINES, scale=SCALES, seconds=seconds, **fields)


def log_widths(runs, **asked):
    low, high = predict_interval(train(runs, job="kmeans"), level=0.8, **asked)
    return np.log(high / low)


def test_of_an_input_far_larger_than_all_observed_nothing_is_claimed_to_15_percent():
    """Twice the largest, where those observed are nearly alike: another shape may be a third less work."""
    (within,) = log_widths(samples(), executors=6, scale=0.45)
    (beyond,) = log_widths(samples(), executors=6, scale=1.0)

    assert within < 2 * np.log(1.15) < beyond
    low, high = predict_interval(train(samples(), job="kmeans"), executors=6, level=0.95)
    exact = FIXED + WORK / 6
    assert low[0] < exact / 1.5
    assert exact * 1.5 < high[0]


def test_who_observed_very_different_inputs_may_trust_more():
    wide = observe(
        executors=[2, 4, 6] * 2, scale=[0.05] * 3 + [0.5] * 3, seconds=[40.0, 25.0, 20.0, 310.0, 160.0, 110.0]
    )

    assert log_widths(wide, executors=6, scale=1.0) < log_widths(samples(), executors=6, scale=1.0)


@pytest.mark.parametrize("told", [{"hosts": ("10.0.0.1",)}, {"row_width": 0.5}], ids=["samples", "rows"])
def test_where_the_shape_is_known_no_room_is_left_for_another(told):
    model = train(samples(**told), job="kmeans")

    assert model.prior.other_shape == 0
