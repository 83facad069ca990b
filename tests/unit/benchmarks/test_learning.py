"""The benchmark of learning, on tiny traces and with short simulations."""

import numpy as np
import pytest

from airflow_provider_ernest.learning.drift import evidence_of
from benchmarks.learning import __main__ as program
from benchmarks.learning import fit_time, measured_drift, simulated_drift
from benchmarks.learning.tests_of_drift import (
    first_alarm,
    sequential,
    three_of_five,
)
from tests.unit.benchmarks.decision_situations import write_two_types
from tests.unit.learning.test_drift import INSIDE, UNLIKELY, UNUSUAL


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


def test_the_whole_program_prints_its_tables(tmp_path, capsys, short):
    write_two_types(tmp_path)

    assert program.main(["--c3o", str(tmp_path), "--orders", "1", "--sequences", "20"]) == 0

    printed = capsys.readouterr().out
    titles = ("the next run", "what speaks", "false alarms", "delays", "drift on measured", "seconds to")
    assert not [title for title in titles if f"== {title}" not in printed]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--c3o", "no/such/folder"], "There is no folder"), (["--orders", "0"], "--orders")],
)
def test_what_cannot_be_is_refused_before_anything_is_computed(capsys, arguments, told):
    assert program.main(arguments) == 2
    assert told in capsys.readouterr().err
