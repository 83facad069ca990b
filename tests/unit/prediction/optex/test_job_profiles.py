from __future__ import annotations

from dataclasses import astuple

import pytest

from airflow_provider_ernest.documents.profiles import MLLIB, SQL, PhaseSeconds
from airflow_provider_ernest.prediction.optex import (
    JobProfile,
    category_profiles,
    job_profile,
    phases,
    predicted_phases,
    profile_of_category,
    scaled_to_run,
)
from tests.examples import profile_record, run_profile

MEASURED = {
    2: (5.22, 5.87, 0.0, 65.28, 0.20),
    3: (10.60, 8.59, 0.0, 49.15, 0.29),
    4: (6.00, 8.80, 0.0, 34.39, 0.14),
    6: (11.48, 6.63, 0.0, 26.37, 0.25),
}
"""Phases by machines of a real job whose tasks wait for a service, from the event logs that
`python -m benchmarks.clarity` makes; on a machine with two cores, so that they vary by a tenth or two."""

OTHER_JOB = (3.25, 5.38, 0.0, 58.08, 3.34)
"""Of another such job, on 2 machines, with a slow network."""


def seconds(initialisation, preparation, sharing, computation, communication):
    return PhaseSeconds(
        initialisation_seconds=initialisation,
        preparation_seconds=preparation,
        variable_sharing_seconds=sharing,
        computation_seconds=computation,
        communication_seconds=communication,
    )


def record(job="pca", machines=2, of=(5.0, 5.0, 0.0, 80.0, 10.0), *, number=0, type_="m5.large", **fields):
    known = run_profile(**{"category": SQL, "scale": 1.0, **fields}, machines=machines, phases=seconds(*of))
    return profile_record(job=job, id=f"{job}-{number}", instance_type=type_, profile=known)


@pytest.mark.parametrize("profiled_on", MEASURED)
def test_one_real_run_tells_other_numbers_of_machines(profiled_on):
    profile = job_profile(
        [run_profile(machines=profiled_on, scale=1.0, phases=seconds(*MEASURED[profiled_on]))]
    )

    for machines, told in MEASURED.items():
        predicted = predicted_phases(profile, machines=machines).total_seconds
        assert predicted == pytest.approx(sum(told), rel=0.3)
    predicted = predicted_phases(profile, machines=profiled_on)
    assert predicted.total_seconds == pytest.approx(sum(MEASURED[profiled_on]))


def test_a_real_job_is_predicted_by_another_of_its_category_and_one_run_s_time():
    (category,) = category_profiles([record("waiting", 2, OTHER_JOB)])
    profile = scaled_to_run(category, seconds=sum(MEASURED[2]), machines=2)

    for machines, (start, *rest) in MEASURED.items():
        predicted = predicted_phases(profile, machines=machines)
        # The start of an executor takes longer on two cores the more of them start: not of interest here.
        assert start > 0
        assert predicted.total_seconds - predicted.initialisation_seconds == pytest.approx(sum(rest), rel=0.2)


def test_samples_of_several_sizes_agree_on_the_unit_tasks():
    """Twice the input is twice the tasks: 80 s on 2 machines at 10 %, 80 s on 4 at 20 %."""
    runs = [
        run_profile(machines=2, scale=0.1, phases=seconds(5, 5, 0, 80, 10)),
        run_profile(machines=4, scale=0.2, phases=seconds(5, 5, 0, 80, 10)),
    ]

    profile = job_profile(runs)

    assert profile.baseline_scale == 0.2
    assert profile.unit_task_seconds == pytest.approx((320.0,))
    full = predicted_phases(profile, machines=8, scale=1.0)
    assert full.computation_seconds == pytest.approx(160.0 * 10 / 8)
    assert full.communication_seconds == pytest.approx(20.0 * 10 / 8)
    assert full.initialisation_seconds == 5.0


def test_the_representative_is_the_job_that_the_others_are_most_like():
    records = [
        record("all start", of=(90, 5, 0, 5, 0)),
        record("most computes", of=(10, 5, 0, 80, 5)),
        record("some exchange", of=(10, 5, 0, 65, 20)),
        record("much exchange", of=(10, 5, 0, 45, 40)),
    ]

    (profile,) = category_profiles(records)

    assert profile.representative_job == "some exchange"
    assert profile.jobs == ("some exchange", "most computes", "much exchange", "all start")
    assert profile.distances["some exchange"] == 0.0
    assert profile.distances["most computes"] == pytest.approx(0.15)
    assert profile.phase_shares.total_seconds == pytest.approx(1.0)
    assert profile.phase_shares.communication_seconds == pytest.approx(0.20)
    assert profile.profile_ids == ("some exchange-0",)


def test_jobs_of_other_sizes_are_compared_on_the_same_machines():
    """The same job on 1 and on 8 machines: what spreads is another share of its time there."""
    small = record("small", 1, (10, 0, 0, 160, 0))
    large = record("large", 8, (10, 0, 0, 20, 0))

    (profile,) = category_profiles([small, large])

    assert profile.distances == pytest.approx({"small": 0.0, "large": 0.0})


def test_categories_and_types_of_machines_are_kept_apart():
    records = [
        record("a"),
        record("b", type_="c5.large"),
        record("c", category=MLLIB, number=1),
        record("c", category=MLLIB, number=0),
    ]

    profiles = category_profiles(records)

    assert [(each.category, each.instance_type, each.representative_job) for each in profiles] == [
        (MLLIB, "m5.large", "c"),
        (SQL, "c5.large", "b"),
        (SQL, "m5.large", "a"),
    ]
    assert profiles[0].profile_ids == ("c-0", "c-1")
    found = profile_of_category(profiles, category=SQL, instance_type="c5.large")
    assert found is profiles[1]
    assert profile_of_category(profiles, category=MLLIB, instance_type="c5.large") is None


def test_profiles_without_phases_are_passed_over():
    assert category_profiles([record(of=(0, 0, 0, 0, 0))]) == ()
    assert category_profiles([]) == ()


def test_a_new_job_keeps_the_cluster_s_start_and_shares_out_the_rest():
    (category,) = category_profiles([record(of=(5, 5, 2, 80, 8))])

    profile = scaled_to_run(category, seconds=10 + 3 * 90, machines=2)

    assert isinstance(profile, JobProfile)
    assert astuple(phases(profile, machines=2)) == pytest.approx((5.0, 5.0, 6.0, 240.0, 24.0))


def test_a_new_job_s_run_may_be_of_another_size():
    (category,) = category_profiles([record(of=(5, 5, 0, 80, 10), scale=1.0)])
    profile = scaled_to_run(category, seconds=10 + 9, machines=4, scale=0.1)

    assert predicted_phases(profile, machines=4, scale=0.1).total_seconds == pytest.approx(19.0)
    # 9 s of what spreads, on 4 machines, of a tenth: the representative had 4.5 s there.
    assert predicted_phases(profile, machines=2, scale=1.0).total_seconds == pytest.approx(10 + 2 * 90)
