"""When an event counts as stored."""

from __future__ import annotations

import asyncio

import pytest

from airflow_provider_ernest.triggers.jar_hash import (
    SECONDS_BETWEEN_MESSAGES,
    UNANSWERED_SECONDS,
    handed_over,
)


class Airflow:
    """Answers questions; the errors come first."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.course: list[object] = []

    def ask(self) -> None:
        self.course.append("asked")
        if self.errors:
            raise self.errors.pop(0)

    async def sleep(self, seconds: float) -> None:
        self.course.append(seconds)

    def wait(self) -> list[object]:
        asyncio.run(handed_over(ask=self.ask, sleep=self.sleep))
        return self.course


def test_after_the_time_to_send_the_parent_must_answer_twice():
    course = Airflow().wait()
    waited = course[1:-2]
    assert course == ["asked", *waited, "asked", "asked"]
    assert sum(waited) > 2 * SECONDS_BETWEEN_MESSAGES


def test_it_waits_while_nobody_answers():
    course = Airflow(OSError("away"), OSError("away")).wait()
    unanswered = ["asked", SECONDS_BETWEEN_MESSAGES] * 2
    assert course == unanswered + Airflow().wait()


@pytest.mark.parametrize("error", [ImportError("moved"), AttributeError("renamed"), NameError("not here")])
def test_an_airflow_that_cannot_be_asked_gets_more_time(error):
    assert Airflow(error).wait() == ["asked", UNANSWERED_SECONDS]


def test_outside_of_a_triggerer_there_is_nobody_to_ask():
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    asyncio.run(handed_over(sleep=sleep))
    assert slept == [UNANSWERED_SECONDS]
