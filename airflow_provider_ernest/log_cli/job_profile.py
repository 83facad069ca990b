"""The option --job-profile: OptEx's profile of a job from the phases of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.log_cli.text_table import titled_table

if TYPE_CHECKING:
    from airflow_provider_ernest.model.optex.profile import JobProfile
    from airflow_provider_ernest.model.run_profile import RunProfile


def job_profile_of(profiles: Sequence[RunProfile]) -> JobProfile:
    """The profile of the job whose runs these are, at least one; its unit tasks are of the largest input."""
    from airflow_provider_ernest.model.optex.job_profiles import job_profile
    from airflow_provider_ernest.model.optex.regression import MeasuredRun

    return job_profile(
        [
            MeasuredRun(
                machines=profile.machines,
                phases=profile.phases,
                scale=profile.scale,
                iterations=profile.iterations or 1,
            )
            for profile in profiles
        ]
    )


def job_profile_lines(profile: JobProfile, *, machines: Sequence[int], iterations: int = 1) -> list[str]:
    """What the profile foretells of the whole input, phase by phase.

    Args:
        profile: of the job.
        machines: numbers of machines.
        iterations: of an iterative job.
    """
    from airflow_provider_ernest.model.optex.job_profiles import predicted_phases

    predicted = [
        (count, predicted_phases(profile, machines=count, iterations=iterations)) for count in machines
    ]
    return titled_table(
        "seconds at scale 1 by the job's profile (OptEx), start-up included",
        (
            "machines",
            "seconds",
            "initialisation",
            "preparation",
            "variable sharing",
            "computation",
            "communication",
        ),
        (
            (
                f"{count:,}",
                f"{phases.total_seconds:,.1f}",
                f"{phases.initialisation_seconds:,.1f}",
                f"{phases.preparation_seconds:,.1f}",
                f"{phases.variable_sharing_seconds:,.1f}",
                f"{phases.computation_seconds:,.1f}",
                f"{phases.communication_seconds:,.1f}",
            )
            for count, phases in predicted
        ),
    )
