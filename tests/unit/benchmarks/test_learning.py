"""The benchmark of learning, on tiny traces and with short simulations."""

import numpy as np
import pytest

from airflow_provider_ernest.learning.drift import evidence_of
from benchmarks.learning import __main__ as program
from benchmarks.learning import fit_time, measured_drift, simulated_drift
from benchmarks.learning.prediction import Predicted, prediction_table, unfavourable
from benchmarks.learning.tests_of_drift import (
    binomial_after_each,
    first_alarm,
    sequential,
    three_of_five,
)
from tests.unit.benchmarks.decision_situations import write_two_types
from tests.unit.model.life.test_drift import INSIDE, UNLIKELY, UNUSUAL


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(simulated_drift, "RUNS", 50)
    monkeypatch.setattr(simulated_drift, "FOLLOWED", 20)
    monkeypatch.setattr(simulated_drift, "SCATTERS", (0.1,))
    monkeypatch.setattr(measured_drift, "GOOD_RUNS", 2)
    monkeypatch.setattr(measured_drift, "FOLLOWED", 4)
    monkeypatch.setattr(measured_drift, "SLOWER", (0.0, 1.0))
    monkeypatch.setattr(fit_time.fit_time_table, "__kwdefaults__", {"counts": (1,)})


def test_the_arrays_agree_with_the_packages_own_test():
    generator = np.random.default_rng(0)
    outcomes = generator.choice(3, p=(0.6, 0.2, 0.2), size=(50, 40))
    kinds = (INSIDE, UNLIKELY, UNUSUAL)
    drifts = [evidence_of([kinds[outcome] for outcome in row]) for row in outcomes]

    first = first_alarm(sequential(outcomes))
    assert [each.runs if each.is_drift else np.inf for each in drifts] == first.tolist()
    assert 0 < np.isfinite(first).sum() < 50


def test_three_of_five_are_those_of_the_last_five_runs():
    outcomes = np.array([[2, 0, 2, 0, 2, 0], [2, 2, 0, 0, 0, 2], [1, 1, 1, 1, 1, 1]])

    assert three_of_five(outcomes).tolist() == [
        [False, False, False, False, True, False],
        [False] * 6,
        [False] * 6,
    ]


def test_the_binomial_test_counts_all_runs_so_far():
    """Two of two are too many, two of ten at 5 % not."""
    outcomes = np.array([[2, 2, 0, 0, 0, 0, 0, 0, 0, 0]])

    alarms = binomial_after_each(outcomes)[0]
    assert alarms[1]
    assert not alarms[9]


def test_the_first_alarm_is_counted_from_the_change():
    alarms = np.array([[True, False, False, True], [True, False, False, False]])

    assert first_alarm(alarms).tolist() == [1.0, 1.0]
    assert first_alarm(alarms, after=2).tolist() == [2.0, np.inf]


def predicted(way, error, *, learned=1, inside=()):
    return Predicted(way=way, job="grep", learned=learned, error_percent=error, inside=inside, width=1.5)


def test_the_table_tells_errors_and_coverage_and_what_is_better():
    every = [
        predicted("no learning", 10.0),
        predicted("refit (ours)", 4.0, inside=(True, True)),
        predicted("refit (ours)", 7.0, inside=(False, True)),
        predicted("refit (ours)", 13.0, inside=(False, True)),
        predicted("one factor", 3.0),
    ]
    table = "\n".join(prediction_table("made up", every))

    assert "inside its 80%, in %" in table
    assert [line.split()[-1] for line in table.splitlines() if line.startswith("  refit (ours)  ")] == [
        "7.0",
        "8.0",
    ]
    assert unfavourable("made up", every) == [
        "  made up, grep, after 1: one factor 3.0 % (mean 3.0 %), refit (ours) 7.0 % (mean 8.0 %)"
    ]


def test_the_whole_program_prints_its_tables(tmp_path, capsys, short):
    write_two_types(tmp_path)

    assert program.main(["--c3o", str(tmp_path), "--orders", "1", "--sequences", "20"]) == 0

    printed = capsys.readouterr().out
    titles = ("the next run", "what speaks", "false alarms", "delays", "drift on measured", "seconds to")
    assert not [title for title in titles if f"== {title}" not in printed]


def test_without_traces_there_is_the_simulation_only(capsys, short):
    assert program.main(["--sequences", "20"]) == 0
    printed = capsys.readouterr().out
    assert "== false alarms" in printed
    assert "the next run" not in printed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--c3o", "no/such/folder"], "There is no folder"), (["--orders", "0"], "--orders")],
)
def test_what_cannot_be_is_refused_before_anything_is_computed(capsys, arguments, told):
    assert program.main(arguments) == 2
    assert told in capsys.readouterr().err
