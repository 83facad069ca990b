"""How much the next run of a job reads, relative to today's: as its user says, else as is forecast.

What a user can name is not what Spark reads: a query reads some columns of a table, an iterative job reads
its files again and again. But it reads in proportion. So what was named before each of the latest runs is
compared with what these read; before the first such run a number counts as it is if it is about what runs
read, and the forecast counts if it is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.runs import PastRun, amount_read
from airflow_provider_ernest.history.sizes import Today
from airflow_provider_ernest.learning.forecast import InputForecast
from airflow_provider_ernest.spark.input import Amount

SAME_AMOUNT = 2.0  # within so many times what runs read, either way, a number is taken for what they read
LATEST_NAMED = 10  # so many runs tell what share of what is named is read


@dataclass(frozen=True, kw_only=True)
class NextInput:
    """What the next run reads."""

    scale: float = 1.0  # relative to today's input
    log_spread: float | None = None  # standard deviation of log(scale); None for that of the latest runs
    told: str = ""  # how it is known, in a sentence; empty where nothing tells of any input


def next_input(
    today: Today,
    runs: Sequence[PastRun],
    *,
    moment: datetime,
    named: Amount | None = None,
    decisions: Sequence[DecisionRecord] = (),
) -> NextInput:
    """How much the run at a moment reads, by the runs that ended well, oldest first.

    The decisions are those of the job's earlier runs, with what was named before each.
    """
    read = [run for run in runs if run.input_bytes]
    if not today.input_bytes or not read:
        return NextInput()
    if named is not None:
        amount = named_amount(named, read)
        if amount is None:
            return _forecast(today, read, moment, "The table tells no number of what the past runs count. ")
        return _as_named(amount, today, read, moment, decisions)
    return _forecast(today, read, moment)


def named_amount(named: Amount, runs: Sequence[PastRun]) -> float | None:
    """The number that is counted as what the runs read is: in bytes, or in records."""
    tells_bytes = any(run.tells_bytes for run in runs)
    return (named.size_bytes or named.records) if tells_bytes else (named.records or named.size_bytes)


def _as_named(
    amount: float,
    today: Today,
    runs: Sequence[PastRun],
    moment: datetime,
    decisions: Sequence[DecisionRecord],
) -> NextInput:
    shares = _shares_read(runs, decisions)[-LATEST_NAMED:]
    if shares:
        logs = np.log(shares)
        share, spread = float(np.exp(np.median(logs))), float(np.std(logs))
        of_named = f", of which {words.counted(len(shares), 'run')} read {words.as_percent(share)}"
    elif 1 / SAME_AMOUNT <= amount / today.input_bytes <= SAME_AMOUNT:
        share, spread, of_named = 1.0, today.input_spread, ""
    else:
        usual = amount_read(today.input_bytes, runs)
        named = amount_read(amount, runs)
        why = f"{named} are named, and runs read about {usual}: the next ones tell what share. "
        return _forecast(today, runs, moment, why)
    scale = amount * share / today.input_bytes
    told = f"Its input is {amount_read(amount, runs)}, as named{of_named}: {_times(scale)}."
    return NextInput(scale=scale, log_spread=spread, told=told)


def _shares_read(runs: Sequence[PastRun], decisions: Sequence[DecisionRecord]) -> list[float]:
    """What share of what was named before each run it read, oldest first."""
    told = [(at, each.input_amount) for each in decisions if each.input_amount and (at := time_of(each.at))]
    shares = []
    before = datetime.min.replace(tzinfo=UTC)
    for run in runs:
        began = time_of(run.started_at) or before
        if since := [amount for at, amount in sorted(told) if before < at <= began]:
            shares.append(run.input_bytes / since[-1])
        before = began
    return shares


# Fewer runs, or runs within less time, do not tell how an input grows.
LEAST_RUNS, LEAST_DAYS = 5, 7.0


def forecast_of(runs: Sequence[PastRun]) -> InputForecast | None:
    """What the next runs read; None where the history does not tell."""
    told = {
        moment: run.input_bytes
        for run in runs
        if run.input_bytes and (moment := time_of(run.started_at)) is not None
    }
    if len(told) < LEAST_RUNS or max(told) - min(told) < timedelta(days=LEAST_DAYS):
        return None
    return InputForecast(told.keys(), [*told.values()])


def _forecast(today: Today, runs: Sequence[PastRun], moment: datetime, why: str = "") -> NextInput:
    every = forecast_of(runs)
    if every is None:
        usual = amount_read(today.input_bytes, runs)
        return NextInput(told=f"{why}Its input counts as usual, {usual}: few runs tell how it changes.")
    forecast = every.at(moment)
    low, high = (amount_read(bound, runs) for bound in forecast.likely)
    scale = forecast.amount / today.input_bytes
    told = f"{amount_read(forecast.amount, runs)} (80 %: {low} to {high}), {_times(scale)}"
    told = f"{why}Its input is forecast: {told}."
    return NextInput(scale=scale, log_spread=forecast.log_spread, told=told)


def _times(scale: float) -> str:
    return "as usual" if abs(math.log(scale)) < 0.02 else f"{words.number(scale)} times the usual"
