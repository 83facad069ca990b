"""Training beside production in simulation, and the whole program on tiny traces."""

import json

import pytest

from benchmarks.decisions import __main__ as program
from benchmarks.decisions import training_share
from benchmarks.decisions.goals import goals_of_training
from benchmarks.decisions.grown_jobs import LARGER_INPUT, LONGER
from benchmarks.decisions.report import training_table
from tests.unit.benchmarks.decision_situations import write_two_types
from tests.unit.benchmarks.test_accuracy_protocols import write_bell


@pytest.fixture
def short_training(monkeypatch):
    """One kind of job and length of production only, with two plans."""
    monkeypatch.setattr(training_share, "PRODUCTION_SECONDS", (3600.0,))
    monkeypatch.setattr(training_share, "GROWTHS", (LARGER_INPUT,))
    plans = (training_share.DEFAULT, training_share.UNTOLD)
    monkeypatch.setattr(training_share, "PLANS_OF", {LARGER_INPUT: plans})


def test_the_deadline_alone_makes_training_cheap_by_default(short_training):
    default, untold = training_share.measure(repetitions=1)

    assert default.share < default.bill < training_share.AIM < untold.share < untold.bill
    assert default.small_bills > 50.0
    assert default.decisions.kept > 90.0
    assert sum(training_share.DEFAULT in line for line in training_table([default, untold])) == 1


def test_a_smaller_cluster_makes_training_in_rounds_cheaper(monkeypatch):
    monkeypatch.setattr(training_share, "PRODUCTION_SECONDS", (10800.0,))
    monkeypatch.setattr(training_share, "GROWTHS", (LONGER,))
    plans = (training_share.IN_ROUNDS, training_share.IN_TWO_ON_TWO, training_share.TWO_AT_ONCE)
    monkeypatch.setattr(training_share, "PLANS_OF", {LONGER: plans})

    trained = four, two, at_once = training_share.measure(repetitions=1)

    assert two.bill < four.bill
    assert two.share < two.bill
    assert at_once.bill / at_once.share < two.bill / two.share
    figures = [(each.bill, each.share) for each in (four, two, at_once)]
    assert [goal.ours for goal in goals_of_training(trained)] == [one for pair in figures for one in pair]


def test_the_whole_program_prints_its_tables_and_goals(tmp_path, capsys, short_training):
    write_two_types(tmp_path)
    write_bell(tmp_path / "grep.spark.csv")

    code = program.main(
        [
            "--c3o",
            str(tmp_path),
            "--bell",
            str(tmp_path),
            "--quick",
            "--limits",
            "3",
            "--json",
            str(tmp_path / "out"),
        ]
    )

    printed = capsys.readouterr().out
    assert code == 0
    for title in (
        program.JUDGED,
        program.UNSEEN,
        program.FEW,
        program.IN_ROUNDS,
        program.BUDGETS,
        program.ALL_TYPES,
        program.BELL,
    ):
        assert f"== {title} (" in printed
    written = json.loads((tmp_path / "out").read_text())
    figures = {goal["figure"]: goal for goal in written["goals"]}
    assert figures["deadlines kept, at confidence 0.95"]["low"] == 98.0
    assert figures["training's bill, 60 min"]["met"] is True
    assert {record["rule"] for record in written[program.JUDGED]} >= {
        "oracle",
        "ours, 0.8",
        "original Ernest",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--c3o", "no/such/folder"], "There is no folder"),
        (["--price", "m4=cheap"], "is no price"),
        (["--limits", "0"], "--limits"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_computed(capsys, arguments, told):
    assert program.main(arguments) == 2
    assert told in capsys.readouterr().err
