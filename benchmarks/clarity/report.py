"""The tables: what was predicted and what came, the favourable and the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

import pandas as pd

from airflow_provider_ernest.clarity.blocked_time import find_stragglers
from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import DISK, NETWORK
from airflow_provider_ernest.eventlog.tables import EventLog
from benchmarks.clarity.questions import QUESTIONS, clean_seconds
from benchmarks.clarity.running import SLOW_HOST_SETTING, Logs

THESIS_PERCENT = 28.0
"""Of most of the thesis' predictions the error is at most that."""

COLUMNS = ("analysis", "from the run", "what if", "was", "said", "came", "error", "guess")

HEADING = """
Predictions from one run's event log, in seconds: what was said of another run, and what came; errors in
per cent. The guess knows no better: nothing changes, or all work spreads evenly over machines and cores"""

RUNS_HEADING = """\
The runs. Clean seconds: median, lowest and highest of {}. In per cent: the replay's error as it was;
of the first, what an infinitely fast network or disk would win at most; and what binds it"""


def report_lines(logs: Logs) -> Iterator[str]:
    """The whole report."""
    yield RUNS_HEADING.format(max(map(len, logs.values())))
    yield shown(runs_table(logs))
    yield HEADING
    for analysis, asked in answers(logs).groupby("analysis", sort=False):
        yield f"\nPredictions: {analysis}"
        yield shown(asked.drop(columns="analysis").set_index(["from the run", "what if"]))
        errors, guesses = asked["error"].abs(), asked["guess"].abs()
        yield (
            f"Absolute error: median {errors.median():.0f} %, largest {errors.max():.0f} %, "
            f"{(errors <= THESIS_PERCENT).sum()} of {len(errors)} within {THESIS_PERCENT:.0f} %; "
            f"of the guess: median {guesses.median():.0f} %"
        )
    yield "\nStragglers where one host was slow; the worst by host and by cause"
    for name, of_runs in logs.items():
        for log in of_runs:
            if slow := log.properties.get(SLOW_HOST_SETTING):
                yield f"{name}: {slow} was slow\n  {_stragglers(log)}"


def answers(logs: Logs) -> pd.DataFrame:
    """A row for each question whose runs were made; seconds are medians over the repeats."""
    rows = []
    for question in QUESTIONS:
        base, truth = logs.get(question.base), logs.get(question.truth)
        if base and truth:
            came = median(map(clean_seconds, truth))
            said, guessed = median(map(question.predict, base)), median(map(question.naive, base))
            was = median(map(clean_seconds, base))
            errors = (100.0 * (said / came - 1.0), 100.0 * (guessed / came - 1.0))
            rows.append((question.analysis, question.base, question.text, was, said, came, *errors))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def runs_table(logs: Logs) -> pd.DataFrame:
    """What the analysis says of each run."""
    rows = {}
    for name, of_runs in logs.items():
        profiles = [profile_run(log) for log in of_runs]
        seconds = [profile.seconds for profile in profiles]
        won = {limit.resource: limit.improvement_percent for limit in profiles[0].limits}
        rows[name] = {
            "median": median(seconds),
            "lowest": min(seconds),
            "highest": max(seconds),
            "replay": median(profile.replay_error_percent for profile in profiles),
            "network": won[NETWORK],
            "disk": won[DISK],
            "bound by": profiles[0].bottleneck,
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def shown(table: pd.DataFrame) -> str:
    """As text: seconds with a decimal, what is in per cent without, errors with their sign."""
    signed, whole = "{:+.0f}".format, "{:.0f}".format
    ways = {"replay": "{:+.1f}".format, "error": signed, "guess": signed, "network": whole, "disk": whole}
    return str(table.to_string(float_format="{:.1f}".format, formatters=ways))


def _stragglers(log: EventLog) -> str:
    found = find_stragglers(log)
    if not found.count:
        return "no stragglers were found"
    hosts = Counter(straggler.host for straggler in found.worst).most_common()
    causes = ", ".join(f"{cause.tasks} {cause.cause}" for cause in found.causes)
    return f"{found.count} stragglers: {', '.join(f'{count} on {host}' for host, count in hosts)}; {causes}"
