"""Job profiles by category, from the phases that event logs tell (OptEx, section 4).

The paper profiles one representative job of each category (SQL, streaming, MLlib, GraphX) once, and takes
its profile for every job of that category. Here the representative is the job whose phases are most like
those of the category's others; a new job needs one run, and gets the representative's profile scaled to it.

The closed form has a job's unit tasks as given. Here they are those of the profile's `baseline_scale`, and
more input means as many times more of them (`at_scale`), or else a sample would foretell nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_ernest.exceptions import TooFewObservationsError
from airflow_provider_ernest.model.bottlenecks import ProfileRecord
from airflow_provider_ernest.model.document import Document
from airflow_provider_ernest.model.optex.profile import JobProfile, PhaseSeconds, phases
from airflow_provider_ernest.model.optex.regression import MeasuredRun, profile_from_phases
from airflow_provider_ernest.model.parameters import positive_number, whole_number


@dataclass(frozen=True, kw_only=True)
class CategoryProfile(Document):
    """What is known of all jobs of a category on one type of machine.

    Attributes:
        category: see `run_profile`.
        instance_type: the machines' type.
        representative_job: the job whose phases are most like those of the others.
        profile: of it; its `baseline_scale` is the input that its unit tasks are those of.
        phase_shares: of its time, on `reference_machines` and its largest input.
        reference_machines: on which the jobs were compared: in the middle of those that they ran on.
        distances: of each job to the representative: the share of the time, 0..1, that would have to move to
            other phases.
        profile_ids: of the representative's runs.
    """

    category: str
    instance_type: str
    representative_job: str
    profile: JobProfile
    phase_shares: PhaseSeconds
    reference_machines: int
    distances: dict[str, float]
    profile_ids: tuple[str, ...] = ()

    @property
    def jobs(self) -> tuple[str, ...]:
        """The category's jobs, the most alike first."""
        return tuple(sorted(self.distances, key=lambda job: (self.distances[job], job)))


def measured_run(record: ProfileRecord) -> MeasuredRun:
    """A run whose phases its event log told."""
    profile = record.profile
    return MeasuredRun(
        machines=profile.machines,
        phases=profile.phases,
        scale=profile.scale,
        iterations=profile.iterations or 1,
    )


def job_profile(runs: Sequence[MeasuredRun]) -> JobProfile:
    """The profile of one job; its unit tasks are those of the largest input that it read.

    Raises:
        TooFewObservationsError: there is no run.
    """
    if not runs:
        raise TooFewObservationsError("No run gives no profile.", remedy="Run the job once.")
    largest = max(run.scale for run in runs)
    return profile_from_phases([_with_tasks_of(run, largest) for run in runs])


def at_scale(profile: JobProfile, scale: float) -> JobProfile:
    """The profile for another input: so many times as many unit tasks.

    Args:
        profile: its unit tasks are those of its `baseline_scale`.
        scale: the input, in the same unit.

    Raises:
        InvalidParameterError: the scale is not above 0.
    """
    ratio = positive_number("scale", scale) / profile.baseline_scale
    return replace(profile, unit_task_seconds=tuple(ratio * seconds for seconds in profile.unit_task_seconds))


def predicted_phases(
    profile: JobProfile, *, machines: int, scale: float = 1.0, iterations: int = 1
) -> PhaseSeconds:
    """The seconds of each phase of a run on another input, start-up among them.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    return phases(at_scale(profile, scale), machines=machines, iterations=iterations, scale=scale)


def category_profiles(records: Sequence[ProfileRecord]) -> tuple[CategoryProfile, ...]:
    """The profiles of all categories and types of machines that there are runs of, in their order.

    Args:
        records: profiles of runs, of any jobs; those without phases are passed over.
    """
    groups: dict[tuple[str, str], list[ProfileRecord]] = defaultdict(list)
    for record in records:
        if record.profile.phases.total_seconds > 0:
            groups[record.profile.category, record.instance_type].append(record)
    return tuple(
        _category_profile(category, instance_type, groups[category, instance_type])
        for category, instance_type in sorted(groups)
    )


def profile_of_category(
    profiles: Sequence[CategoryProfile], *, category: str, instance_type: str
) -> CategoryProfile | None:
    """The profile of a category on a type of machine; None where there is none."""
    for profile in profiles:
        if (profile.category, profile.instance_type) == (category, instance_type):
            return profile
    return None


def scaled_to_run(
    category: CategoryProfile, *, seconds: float, machines: int, scale: float = 1.0, iterations: int = 1
) -> JobProfile:
    """The profile of a new job of a category, of which one run's time is known.

    Starting and preparing take what they took the representative: they are the cluster's, not the job's. What
    is left of the run's time is shared out as the representative's is. Where the run's own phases are known,
    `job_profile` is better.

    Args:
        category: of the job.
        seconds: of the run, start-up included.
        machines: that it ran on.
        scale: that it read.
        iterations: that it made.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    seconds = positive_number("seconds", seconds)
    whole_number("machines", machines)
    known = predicted_phases(category.profile, machines=machines, scale=scale, iterations=iterations)
    fixed = known.initialisation_seconds + known.preparation_seconds
    spread = known.total_seconds - fixed
    profile = category.profile
    if spread <= 0 or seconds <= fixed:
        # A run shorter than the representative's start, or a representative that does nothing else.
        return _times(profile, seconds / known.total_seconds, fixed_too=True)
    return _times(profile, (seconds - fixed) / spread)


def _times(profile: JobProfile, factor: float, *, fixed_too: bool = False) -> JobProfile:
    """The profile of a job that takes so many times as long; coeff and cf_commn are for that in the paper."""
    fixed = factor if fixed_too else 1.0
    return replace(
        profile,
        initialisation_seconds=fixed * profile.initialisation_seconds,
        preparation_seconds=fixed * profile.preparation_seconds,
        variable_sharing_coefficient=factor * profile.variable_sharing_coefficient,
        communication_coefficient=factor * profile.communication_coefficient,
        unit_task_seconds=tuple(factor * seconds for seconds in profile.unit_task_seconds),
    )


def _with_tasks_of(run: MeasuredRun, scale: float) -> MeasuredRun:
    """The run with the computation of as many unit tasks as that input makes."""
    computed = replace(run.phases, computation_seconds=run.phases.computation_seconds * scale / run.scale)
    return replace(run, phases=computed)


def _category_profile(category: str, instance_type: str, records: Sequence[ProfileRecord]) -> CategoryProfile:
    by_job: dict[str, list[ProfileRecord]] = defaultdict(list)
    for record in records:
        by_job[record.job].append(record)
    profiles = {job: job_profile([measured_run(each) for each in runs]) for job, runs in by_job.items()}
    machines = _middle(sorted(record.profile.machines for record in records))
    shares = {job: _phase_shares(profile, machines) for job, profile in profiles.items()}
    job = min(
        sorted(shares), key=lambda each: sum(_distance(shares[each], other) for other in shares.values())
    )
    return CategoryProfile(
        category=category,
        instance_type=instance_type,
        representative_job=job,
        profile=profiles[job],
        phase_shares=shares[job],
        reference_machines=machines,
        distances={other: _distance(shares[job], shares[other]) for other in sorted(shares)},
        profile_ids=tuple(sorted(record.profile_id for record in by_job[job])),
    )


def _phase_shares(profile: JobProfile, machines: int) -> PhaseSeconds:
    """The share of each phase in a run on so many machines; they add up to 1."""
    seconds = predicted_phases(profile, machines=machines, scale=profile.baseline_scale)
    names = PhaseSeconds.__dataclass_fields__
    return PhaseSeconds(**{name: getattr(seconds, name) / seconds.total_seconds for name in names})


def _distance(one: PhaseSeconds, other: PhaseSeconds) -> float:
    """Half the sum of the differences of two jobs' shares: what would have to move, 0..1."""
    names = PhaseSeconds.__dataclass_fields__
    return 0.5 * float(sum(abs(getattr(one, name) - getattr(other, name)) for name in names))


def _middle(values: Sequence[int]) -> int:
    return values[len(values) // 2]
