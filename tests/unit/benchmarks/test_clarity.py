from __future__ import annotations

import pytest

from airflow_provider_ernest.documents import profiles
from benchmarks.clarity.questions import QUESTIONS
from benchmarks.clarity.report import answers, report_lines
from benchmarks.clarity.running import SLOW_HOST_SETTING, log_of
from benchmarks.clarity.scenarios import SCENARIOS, WORKERS
from tests.unit.eventlog.logs import event_log, executor, task

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.base} {question.text}")
def test_a_question_is_answered_by_a_run_of_the_same_job(question):
    assert question.base != question.truth
    assert BY_NAME[question.base].job == BY_NAME[question.truth].job


def test_every_run_is_of_use_and_has_a_log_of_its_own(tmp_path):
    asked = {name for question in QUESTIONS for name in (question.base, question.truth)}
    assert asked == set(BY_NAME)
    assert len({log_of(tmp_path, scenario.name, 0) for scenario in SCENARIOS}) == len(SCENARIOS)
    assert all(scenario.machines <= WORKERS[scenario.cluster] for scenario in SCENARIOS)


def test_a_prediction_stands_beside_the_median_of_what_came():
    throttled = event_log([task(seconds=10.0, fetch_wait_seconds=6.0)])
    fast = [event_log([task(seconds=seconds)]) for seconds in (4.5, 5.0, 9.0)]
    [found] = answers({"shuffle": [throttled], "shuffle, no limit": fast}).to_dict("records")
    assert found["from the run"] == "shuffle"
    assert (found["was"], found["said"], found["came"]) == pytest.approx((10.0, 4.0, 5.0))
    assert (found["error"], found["guess"]) == pytest.approx((-20.0, 100.0))


def test_the_report_tells_what_was_said_and_whom_stragglers_were_put_down_to():
    slow = event_log(
        [task(executor=0, seconds=9.0, launched=9.0 * turn) for turn in range(3)]
        + [task(executor=1 + turn % 2, seconds=2.0, launched=2.0 * (turn // 2)) for turn in range(20)],
        executors=[executor(number) for number in range(3)],
        properties={SLOW_HOST_SETTING: "10.0.0.1"},
    )
    report = report_lines({"slow CPU": [slow], "slow CPU, none": [event_log([task(seconds=20.0)])]})
    lines = "\n".join(report).splitlines()
    place = lines.index("slow CPU: 10.0.0.1 was slow")
    assert lines[place + 1].strip() == "3 stragglers: 3 on 10.0.0.1; 3 slow host"
    assert any(profiles.CPU in line and line.startswith("slow CPU  ") for line in lines)
    assert any("no slow host" in line for line in lines)
