"""What cannot be decided is said in the same words in a task's log, in its XCom and on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest import command_line

from .decisions import choose_operator

MACHINES = ("--machines", "1-8")


@pytest.fixture
def heard(context, ti, model, tmp_path, capsys):
    """What the task's error says, which Airflow logs, the XCom, and the program for the same question."""

    def ask(command: str, *options: str, **goal: Any) -> tuple[str, str, str]:
        file = tmp_path / "model.json"
        file.write_text(json.dumps(model))
        with pytest.raises(AirflowFailException) as refused:
            choose_operator(model, **goal).execute(context)
        assert command_line.main([command, str(file), *MACHINES, *options]) == 1
        said = " ".join(capsys.readouterr().err.split()).removeprefix(f"ernest {command}: ")
        return str(refused.value).partition(": ")[2], ti.pushed["failure"], said

    return ask


def test_a_goal_that_no_configuration_keeps(heard):
    options = ("--deadline-seconds", "3", "--price-per-hour", "0.35")

    logged, pushed, printed = heard("choose", *options, deadline_seconds=3)

    assert logged == pushed == printed
    assert printed.startswith("No allowed configuration ends within 3 s")
    assert printed.endswith("or train on another instance type.")


def test_a_price_that_is_not_known(heard):
    logged, pushed, printed = heard("choose", "--deadline-seconds", "60", price_per_hour=None)

    assert logged == pushed == printed.replace("--price-per-hour", "price_per_hour")
    assert "price_per_hour=None leaves open what a machine of type local costs." in pushed


@pytest.mark.parametrize("command", ["choose", "predict"])
def test_a_scale_that_the_model_cannot_predict(heard, command):
    options = ("--deadline-seconds", "60", "--price-per-hour", "0.35") if command == "choose" else ()

    logged, pushed, printed = heard(command, "--scale", "1e308", *options, scale=1e308)

    assert logged == pushed == printed.replace("--scale", "scale")
    assert pushed.startswith("scale=1e+308 is predicted to take inf s on 1 machine of local.")
