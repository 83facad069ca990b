"""A model goes on learning from production, and not from what it should not learn from."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.documents.runs import (
    InputFingerprint,
    Observation,
    ReplayedSize,
    RunConditions,
)
from airflow_provider_ernest.learning.production import MOST_REPEATED, MOST_RUNS, learn
from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds, standardised_errors
from airflow_provider_ernest.prediction.training import train
from tests.examples import production_run

CODE = "ab" * 32
TRAINED_ON = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (4, 0.05), (4, 0.1), (3, 0.08)]
CONDITIONS = RunConditions(
    spark="4.2.0", input=InputFingerprint(partitions=10, total_bytes=10**9, columns=4, format="csv")
)


def samples(*, iterations=None, startup=12.0):
    return [
        Observation(
            index=index,
            executors=executors,
            scale=scale,
            seconds=10.0 + 400.0 * scale / executors,
            startup_seconds=startup,
            iterations=iterations,
            hosts=tuple(f"10.0.0.{number}" for number in range(executors)),
        )
        for index, (executors, scale) in enumerate(TRAINED_ON)
    ]


@pytest.fixture(scope="module")
def model():
    return train(samples(), job="pca", instance_type="m5.large", artifact_sha256=CODE, conditions=CONDITIONS)


def production(number, *, executors=8, seconds=100.0, outside=False, **fields):
    """A run that took so long after a start-up of 15 s, as it was predicted or not."""
    whole = seconds + 15.0
    interval = (0.5 * whole, 0.6 * whole) if outside else (0.9 * whole, 1.1 * whole)
    return production_run(
        number,
        **{
            "executors": executors,
            "seconds": whole,
            "run_seconds": seconds,
            "startup_seconds": 15.0,
            "predicted_seconds": 60.0,
            "likely_seconds": interval,
            "nearly_certain_seconds": interval,
            "artifact_sha256": CODE,
            **fields,
        },
    )


def test_it_learns_what_production_takes(model):
    """Production has work that no sample run showed: 30 s on whatever machines."""
    runs = [production(number, seconds=90.0) for number in range(3)]
    learned = learn(model, runs)

    before, after = (float(predict_seconds(each, executors=8)[0]) for each in (model, learned))
    assert abs(after - 90.0) < 0.3 * abs(before - 90.0)
    assert float(predict_seconds(learned, executors=1, scale=0.1)[0]) == pytest.approx(50.0, rel=0.05)


def test_what_it_has_learned_from_is_told(model):
    runs = [production(number) for number in range(2)]
    learned = learn(model, runs)

    assert learned.base_model_id == model.id
    assert learned.learned_from == tuple(run.id for run in runs)
    assert learned.id > model.id
    assert learned.observations[: len(TRAINED_ON)] == model.observations
    assert [(run.executors, run.scale, run.seconds) for run in learned.observations[-2:]] == [
        (8, 1.0, 100.0)
    ] * 2
    assert [run.index for run in learned.observations] == list(range(len(TRAINED_ON) + 2))
    assert len(learned.validation.folds) == len(learned.observations)
    kept = ("job", "instance_type", "artifact_sha256", "conditions", "method", "trained_iterations")
    assert all(getattr(learned, name) == getattr(model, name) for name in kept)


def test_of_a_run_under_dynamic_allocation_its_replay_is_learned(model):
    """It had eight executors at most and took 100 s; on six all the time it would have taken 90 s."""
    size = ReplayedSize(executors=6, seconds=90.0, error=0.08)
    learned = learn(model, [production(0, is_dynamic=True, replayed=size)])

    run = learned.observations[-1]
    assert (run.executors, run.seconds, run.replay_error) == (6, 90.0, 0.08)
    assert learn(model, [production(0, is_dynamic=True)]) is None, "without a replay it tells nothing"


def test_it_goes_on_from_where_it_was(model):
    first = learn(model, [production(0)])
    second = learn(first, [production(0), production(1)])

    assert second.base_model_id == model.id
    assert second.learned_from == (production(0).id, production(1).id)
    at_once = learn(model, [production(0), production(1)])
    assert second.observations == at_once.observations
    assert second.amdahl == at_once.amdahl
    assert second.prior.noise == at_once.prior.noise
    assert second.prior.noise_weights == pytest.approx(at_once.prior.noise_weights)
    assert learn(model, []) is None is learn(first, [production(0)]), "there is nothing new"


def of_input(**changes):
    return {"conditions": replace(CONDITIONS, input=replace(CONDITIONS.input, **changes))}


@pytest.mark.parametrize(
    ("fields", "learns"),
    [
        ({"artifact_sha256": "cd" * 32}, False),
        ({"instance_type": "m5.xlarge"}, False),
        ({"job": "sort"}, False),
        ({"conditions": RunConditions(spark="4.3.0")}, False),
        (of_input(columns=9), False),
        ({"run_seconds": None, "seconds": 8.0}, False),
        ({"artifact_sha256": None}, True),
        ({"conditions": CONDITIONS}, True),
        (of_input(partitions=90, total_bytes=9 * 10**9), True),
    ],
    ids=str,
)
def test_only_what_is_known_to_be_another_run_teaches_nothing(model, fields, learns):
    assert (learn(model, [production(0, **fields)]) is not None) is learns


def test_nothing_is_learned_while_it_drifts_nor_from_what_may_be_its_beginning(model):
    runs = [production(number) for number in range(3)]
    odd, *more = [production(number, seconds=200.0, outside=True) for number in range(3, 6)]

    assert learn(model, [*runs, odd]).learned_from == tuple(run.id for run in runs)
    assert len(learn(model, [*runs, odd, production(4)]).learned_from) == 5, "it was none"
    assert learn(model, [*runs, odd, *more]) is None


def test_only_so_many_are_remembered_the_newest_and_fewer_where_each_repetition_counts(model):
    model = replace(model, method="relative", prior=None, terms=model.terms[:2])
    runs = [production(number, executors=2 + number) for number in range(MOST_RUNS + 3)]
    later = learn(learn(model, runs[:-3]), runs)

    assert later.learned_from == tuple(run.id for run in runs[3:])
    assert len(later.observations) == len(TRAINED_ON) + MOST_RUNS
    assert learn(later, runs) is None, "what was forgotten is not learned again"
    repeated = [production(number) for number in range(10)]
    learned = learn(model, repeated)
    assert learned.learned_from == tuple(run.id for run in repeated[-MOST_REPEATED:])
    assert learn(learned, repeated) is None


def test_one_configuration_again_and_again_says_little_of_others(model):
    learned = learn(model, [production(number, seconds=60.0 + 0.1 * (number % 5)) for number in range(40)])

    def width(of, executors):
        low, high = predict_interval(of, executors=executors, level=0.8)
        return float(np.log(high / low)[0])

    assert width(learned, 8) < width(model, 8)
    assert width(learned, 64) > 2.0 * width(learned, 8)


def test_intervals_grow_as_wide_as_production_scatters(model):
    quiet = learn(model, [production(number, seconds=60.0 + 0.1 * number) for number in range(8)])
    noisy = learn(
        model, [production(number, seconds=60.0 * (1.5 if number % 2 else 0.75)) for number in range(8)]
    )

    low, high = predict_interval(noisy, executors=8, level=0.8)
    assert low < 47.0
    assert high > 85.0
    assert noisy.noise > 4.0 * quiet.noise


@pytest.mark.parametrize("factor", [1.5, 2.0, 10.0])
def test_inputs_of_two_shapes_that_alternate_are_both_expected(model, factor):
    shapes = [60.0, 60.0 * factor, 60.0, 60.0, 60.0 * factor, 60.0, 60.0 * factor, 60.0]
    learned = learn(model, [production(number, seconds=each) for number, each in enumerate(shapes)])
    mean = 60.0 * factor ** (3 / 8)

    low, high = predict_interval(learned, executors=8, level=0.95)
    assert low[0] < 60.0
    assert high[0] > 60.0 * factor
    assert predict_seconds(learned, executors=8)[0] == pytest.approx(mean, rel=0.15 if factor < 10 else 0.4)


def test_what_it_said_of_each_run_before_is_kept_of_so_many(model):
    first = learn(model, [production(0, seconds=130.0)])
    second = learn(first, [production(0, seconds=130.0), production(1, seconds=130.0)])

    (before,) = first.standardised_errors
    assert before == pytest.approx(standardised_errors(model, executors=8, seconds=130.0)[0])
    assert before > 2.0
    assert second.standardised_errors[0] == before
    assert abs(second.standardised_errors[1]) < 1.0, "the first run had told it"
    full = replace(first, standardised_errors=(0.5,) * MOST_RUNS)
    errors = learn(full, [production(0, seconds=130.0), production(1)]).standardised_errors
    assert len(errors) == MOST_RUNS
    assert errors[:-1] == (0.5,) * (MOST_RUNS - 1)


def test_what_comes_again_on_so_many_machines_is_expected_on_them(model):
    """On 2 machines memory runs short: production always takes three times as long there, and only there."""
    times = [(8, 61.0), (2, 640.0), (4, 110.0), (2, 650.0), (8, 60.0), (2, 645.0), (4, 111.0)]
    learned = learn(
        model, [production(number, executors=each, seconds=took) for number, (each, took) in enumerate(times)]
    )

    low, high = predict_interval(learned, executors=2, level=0.95)
    assert predict_seconds(learned, executors=2)[0] == pytest.approx(645.0, rel=0.1)
    assert low[0] < 640.0 < high[0]
    assert predict_seconds(learned, executors=8)[0] == pytest.approx(60.0, rel=0.1)
    # The next night has a little more data, and is of the same machines.
    assert predict_seconds(learned, executors=2, scale=1.02)[0] == pytest.approx(655.0, rel=0.1)


def test_each_number_of_machines_may_have_some_time_of_its_own(model):
    """Partitions fill the slots of some numbers of machines better than those of others."""
    own = {4: 1.12, 6: 0.9, 8: 1.1, 10: 0.92}
    usual = {executors: (10.0 + 400.0 / executors) * factor for executors, factor in own.items()}
    runs = [
        production(number, executors=executors, seconds=usual[executors] * (1.01 if number % 2 else 0.99))
        for number, executors in enumerate([4, 6, 8, 10] * 4)
    ]
    learned = learn(model, runs)

    for executors, seconds in usual.items():
        assert predict_seconds(learned, executors=executors)[0] == pytest.approx(seconds, rel=0.03)


def test_the_start_up_becomes_productions_own(model):
    assert learn(model, [production(0)]).startup_seconds == 12.0, "one run may be an exception"
    assert learn(model, [production(number) for number in range(3)]).startup_seconds == 15.0


def test_of_an_iterative_job_runs_count_by_the_iterations_trained_with():
    model = train(samples(iterations=5), job="pca", instance_type="m5.large", artifact_sha256=CODE)
    predicted = float(predict_seconds(model, executors=8, iterations=50)[0])
    run = production(0, seconds=1.2 * predicted)

    learned = learn(model, [run], iterations={run.id: 50})

    assert learn(model, [run]) is None
    assert learned.observations[-1].iterations == 5
    trained = float(predict_seconds(model, executors=8)[0])
    assert learned.observations[-1].seconds == pytest.approx(1.2 * trained)
