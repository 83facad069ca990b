"""What has changed between two surveys of the same logs, job by job: found, saved, slower, soon late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ernest.documents.surveys import Survey, SurveyedJob
from airflow_provider_ernest.views.survey import is_change, lateness, proposal, weeks_until
from airflow_provider_ernest.words import as_percent, counted, dollars, executors, number, unit

FOUND, SAVED, SLOWER, LATE, NEW, GONE = KINDS = ("found", "saved", "slower", "late", "new", "gone")
"""A saving is proposed that was not before; a change of size saves, as measured by the runs since; runs take
longer without more input; a job will be late soon; its runs are the first that are known, or are no more."""

LONGER = 1.15  # by so much more time, the input's growth taken off, a job is told to be slower
SOON_WEEKS = 8  # a job that will be late within them is told


@dataclass(frozen=True, kw_only=True)
class SurveyChange:
    """What has changed about a job.

    Attributes:
        kind: one of `KINDS`.
        dollars_per_month: saved, or to be saved; null where no price is known, and where nothing is.
        executor_hours_per_month: likewise.
    """

    job: str
    kind: str
    sentence: str
    dollars_per_month: float | None = None
    executor_hours_per_month: float | None = None


def changes_between(before: Survey, after: Survey) -> list[SurveyChange]:
    """All changes, those worth most first; each has its sentence."""
    known, now = ({job.job: job for job in survey.jobs} for survey in (before, after))
    found: list[SurveyChange] = []
    for name, job in now.items():
        if (old := known.get(name)) is None:
            runs = counted(job.runs, "run")
            found.append(SurveyChange(job=name, kind=NEW, sentence=f"{runs} are the first that are known."))
        else:
            found += _of_job(old, job)
        found += _late(known.get(name), job, before=before.at, after=after.at)
    found += [
        SurveyChange(job=name, kind=GONE, sentence="It has no run any more in the logs that are looked at.")
        for name in known.keys() - now.keys()
    ]
    order = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(found, key=lambda each: (-_worth(each), order[each.kind], each.job))


def _worth(change: SurveyChange) -> float:
    return abs(change.dollars_per_month or change.executor_hours_per_month or 0.0)


def _of_job(old: SurveyedJob, job: SurveyedJob) -> Iterator[SurveyChange]:
    if old.executors != job.executors and (saved := _saved(old, job)) is not None:
        yield saved
    is_new = is_change(job) and (not is_change(old) or old.executors != job.executors)
    if is_new and (job.saved_share or 0.0) > 0:
        yield SurveyChange(
            job=job.job,
            kind=FOUND,
            sentence=proposal(job, is_money=job.price_per_hour is not None),
            dollars_per_month=job.saved_per_month,
            executor_hours_per_month=job.saved_executor_hours_per_month,
        )
    if old.executors == job.executors and old.seconds and job.seconds:
        grown = max(1.0, (job.input_bytes or 0) / old.input_bytes) if old.input_bytes else 1.0
        if (times := job.seconds / old.seconds / grown) >= LONGER:
            besides = f", beyond the input's growth of {as_percent(grown - 1)}" if grown > 1.01 else ""
            yield SurveyChange(
                job=job.job,
                kind=SLOWER,
                sentence=f"A run takes {as_percent(times - 1)} longer on as many{besides}; see "
                "`ernest analyze last-good`.",
            )


def _saved(old: SurveyedJob, job: SurveyedJob) -> SurveyChange | None:
    """What another size has saved, by what the runs took before and since; None where nothing tells."""
    if None in (old.executors, job.executors) or not (old.runs_per_month and job.runs_per_month):
        return None
    if old.executor_hours_per_month is None or job.executor_hours_per_month is None:
        return None
    was = old.executor_hours_per_month / old.runs_per_month
    hours = (was - job.executor_hours_per_month / job.runs_per_month) * job.runs_per_month
    money = None if job.price_per_hour is None else hours * job.price_per_hour
    amount = f"{number(abs(hours))} {unit(job.executors_per_machine)}-hours"
    amount = amount if money is None else dollars(abs(money))
    on = executors(job.executors, executors_per_machine=job.executors_per_machine)
    does = "saves" if hours >= 0 else "costs"
    return SurveyChange(
        job=job.job,
        kind=SAVED,
        sentence=f"It runs on {on} instead of {old.executors}, which {does} {amount} a month, as measured.",
        dollars_per_month=money,
        executor_hours_per_month=hours,
    )


def _late(old: SurveyedJob | None, job: SurveyedJob, *, before: str, after: str) -> Iterator[SurveyChange]:
    def is_soon(each: SurveyedJob | None, at: str) -> bool:
        from_day = each.lateness.from_day if each and each.lateness else ""
        return bool(from_day) and weeks_until(from_day, at) <= SOON_WEEKS

    if is_soon(job, after) and not is_soon(old, before):
        yield SurveyChange(job=job.job, kind=LATE, sentence=lateness(job, after))
