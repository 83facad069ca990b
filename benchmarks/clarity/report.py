"""The tables: what was predicted and what came, the favourable and the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.stragglers import find_stragglers
from airflow_provider_ernest.documents.profiles import DISK, NETWORK, RunProfile
from airflow_provider_ernest.eventlog.tables import EventLog
from benchmarks.clarity.command import Logs
from benchmarks.clarity.questions import QUESTIONS, Question, clean_seconds
from benchmarks.clarity.running import SLOW_HOST_SETTING
from benchmarks.clarity.scenarios import SCENARIOS

THESIS_PERCENT = 28.0
"""Of most of the thesis' predictions the error is at most that."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A question's prediction beside the truth; each is the median over the repeats, in seconds.

    Attributes:
        question: that was asked.
        was: the run that was analysed.
        predicted: from it.
        naive: from it, by somebody who knows no better.
        truth: the run that was predicted.
    """

    question: Question
    was: float
    predicted: float
    naive: float
    truth: float

    @property
    def error_percent(self) -> float:
        """Signed, of the prediction."""
        return 100.0 * (self.predicted / self.truth - 1.0)

    @property
    def naive_error_percent(self) -> float:
        """Likewise, of the other."""
        return 100.0 * (self.naive / self.truth - 1.0)


def answers(logs: Logs) -> list[Answer]:
    """All questions whose runs were made."""
    found = []
    for question in QUESTIONS:
        base, truth = logs.get(question.base), logs.get(question.truth)
        if base and truth:
            found.append(
                Answer(
                    question=question,
                    was=median(map(clean_seconds, base)),
                    predicted=median(map(question.predict, base)),
                    naive=median(map(question.naive, base)),
                    truth=median(map(clean_seconds, truth)),
                )
            )
    return found


def report_lines(logs: Logs) -> Iterator[str]:
    """The whole report."""
    yield from _run_lines(logs)
    found = answers(logs)
    yield ""
    yield "Predictions from one run's event log, in seconds: what was said of another run, and what came. The"
    yield "guess knows no better: nothing changes, or all work spreads evenly over machines and cores"
    for analysis in dict.fromkeys(answer.question.analysis for answer in found):
        yield ""
        yield from _answer_lines(analysis, [a for a in found if a.question.analysis == analysis])
    yield ""
    yield from _slow_host_lines(logs)


def _run_lines(logs: Logs) -> Iterator[str]:
    """What the analysis says of each run."""
    repeats = max(map(len, logs.values()))
    yield f"The runs. Clean seconds: median, lowest and highest of {repeats}; error of the replay as it was;"
    yield "of the first, what an infinitely fast network or disk would win at most, and what binds it"
    yield f"{'run':18}  median  lowest  highest  replay  network   disk  bound by"
    for scenario in SCENARIOS:
        if scenario.name in logs:
            profiles = [profile_run(log) for log in logs[scenario.name]]
            yield f"{scenario.name:18}  {_run_cells(profiles)}"


def _run_cells(profiles: Sequence[RunProfile]) -> str:
    seconds = [profile.seconds for profile in profiles]
    first = profiles[0]
    won = {limit.resource: limit.improvement_percent for limit in first.limits}
    return (
        f"{median(seconds):6.1f}  {min(seconds):6.1f}  {max(seconds):7.1f}  "
        f"{median(profile.replay_error_percent for profile in profiles):+5.1f}%  "
        f"{won[NETWORK]:6.0f}%  {won[DISK]:4.0f}%  {first.bottleneck}"
    )


def _answer_lines(analysis: str, of_analysis: Sequence[Answer]) -> Iterator[str]:
    yield f"Predictions: {analysis}"
    yield f"{'from the run':18}  {'what if':32}     was    said    came   error   guess"
    for answer in of_analysis:
        asked = f"{answer.question.base:18}  {answer.question.text:32}"
        seconds = f"{answer.was:6.1f}  {answer.predicted:6.1f}  {answer.truth:6.1f}"
        yield f"{asked}  {seconds}  {answer.error_percent:+5.0f}%  {answer.naive_error_percent:+5.0f}%"
    errors = [abs(answer.error_percent) for answer in of_analysis]
    within = sum(error <= THESIS_PERCENT for error in errors)
    guessed = median(abs(answer.naive_error_percent) for answer in of_analysis)
    yield (
        f"Absolute error: median {median(errors):.0f} %, largest {max(errors):.0f} %, {within} of "
        f"{len(errors)} within {THESIS_PERCENT:.0f} %; of the guess: median {guessed:.0f} %"
    )


def _slow_host_lines(logs: Logs) -> Iterator[str]:
    """Whether stragglers are put down to the host that was slow."""
    yield "Stragglers where one host was slow; the worst by host and by cause"
    for name, of_runs in logs.items():
        for log in of_runs:
            if slow := log.properties.get(SLOW_HOST_SETTING):
                yield f"{name}: {slow} was slow"
                yield f"  {_stragglers(log)}"


def _stragglers(log: EventLog) -> str:
    found = find_stragglers(log)
    if not found.count:
        return "no stragglers were found"
    hosts = Counter(straggler.host for straggler in found.worst).most_common()
    causes = ", ".join(f"{cause.tasks} {cause.cause}" for cause in found.causes)
    return f"{found.count} stragglers: {', '.join(f'{count} on {host}' for host, count in hosts)}; {causes}"
