from dataclasses import replace

from benchmarks.demo.report import report_lines


def test_prediction_is_put_against_reality_with_signed_errors(outcome):
    lines = report_lines(outcome)

    assert any("app-7 on 3 machines" in line for line in lines)
    (run,) = (line for line in lines if line.startswith("all machines there"))
    assert run.split()[6:9] == ["46.5", "58.1", "-20.0%"]
    (task,) = (line for line in lines if line.startswith("whole task"))
    assert task.split()[4:7] == ["51.5", "103.0", "-50.0%"]


def test_every_step_has_its_section(outcome):
    lines = report_lines(outcome)

    for title in (
        "The design",
        "The observations",
        "The model",
        "The decision",
        "Why it takes this long",
        "Predicted against actual",
    ):
        assert title in lines
    assert any("<- chosen" in line for line in lines)
    assert any("leave-one-out error" in line for line in lines)


def test_long_warnings_are_wrapped(outcome):
    warning = "The runs scatter around every smooth model. " * 6
    decision = replace(outcome.decision, warnings=(warning,))
    lines = report_lines(replace(outcome, decision=decision))

    assert any(line.startswith("! The runs scatter") for line in lines)
    assert max(map(len, lines)) <= 110


def test_intervals_say_whether_they_held(outcome):
    """The run took 58.1 s; start-up is part of the decision's intervals and not of this row."""
    decision = replace(
        outcome.decision,
        likely_seconds=(50.0, 60.0),
        nearly_certain_seconds=(40.0, 70.0),
        startup_seconds=5.0,
    )
    (run,) = (
        line
        for line in report_lines(replace(outcome, decision=decision))
        if line.startswith("all machines there")
    )

    assert "45.0 to 55.0 missed" in run
    assert "35.0 to 65.0 held" in run
