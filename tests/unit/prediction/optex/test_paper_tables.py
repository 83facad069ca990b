"""What the paper prints (its tables II to IV) beside what follows from its formulas.

The figures are single ones of those tables; `python -m benchmarks.accuracy --optex DIR` compares all of them.
"""

import pytest

from airflow_provider_ernest.prediction.optex import JobProfile, phases

# Table II: MLlib on m1.large, ALS. Unit tasks are mean, map, flatmap, first, count, distinct.
ALS = JobProfile(
    initialisation_seconds=20.0,
    preparation_seconds=13.0,
    baseline_variable_sharing_seconds=15.0,
    variable_sharing_coefficient=0.004,
    baseline_communication_seconds=11.0,
    communication_coefficient=0.07,
    unit_task_seconds=(0.100, 0.098, 0.072, 0.005, 0.124, 0.300),
    baseline_unit_tasks=6,
)


@pytest.mark.parametrize(
    ("iterations", "machines", "printed"), [(5, 5, 1.5), (5, 15, 4.5), (10, 20, 12.0), (20, 20, 24.0)]
)
def test_variable_sharing_is_as_in_table_3(iterations, machines, printed):
    of_run = phases(ALS, machines=machines, iterations=iterations)

    assert of_run.variable_sharing_seconds == pytest.approx(printed)


def test_an_estimate_is_the_sum_of_its_phases():
    # Table III, 5 iterations on 5 machines: communication 18 s and execution 16 s, computation 34 s together.
    of_run = phases(ALS, machines=5, iterations=5)
    fixed = of_run.initialisation_seconds + of_run.preparation_seconds + of_run.variable_sharing_seconds

    assert fixed + 18.0 + 16.0 == pytest.approx(68.52, abs=0.05)
    # The print of 20 iterations on 20 machines (68.52 s again) is not such a sum.
    fixed += (
        phases(ALS, machines=20, iterations=20).variable_sharing_seconds - of_run.variable_sharing_seconds
    )
    assert fixed + 6.2 + 6.0 == pytest.approx(69.2)


def test_execution_and_communication_of_table_3_are_not_those_of_its_profile():
    few, many = phases(ALS, machines=5, iterations=5), phases(ALS, machines=20, iterations=5)

    # The formula has execution and communication fall as 1/machines; printed are 16 and 2 s, 18 and 9.3 s.
    assert few.computation_seconds / many.computation_seconds == pytest.approx(4.0)
    assert few.communication_seconds / many.communication_seconds == pytest.approx(4.0)
    assert few.computation_seconds == pytest.approx(0.699)
    assert few.communication_seconds == pytest.approx(0.154)


def test_the_estimates_of_table_4_fall_with_the_square_of_the_machines_as_no_profile_does():
    # ALS, standalone: deadline, iterations, machines and estimate of six rows.
    printed = {(5, 4): 79.5, (5, 7): 58.96, (10, 6): 76.11, (10, 10): 58.76, (15, 6): 89.67, (20, 12): 62.56}

    for (iterations, machines), seconds in printed.items():
        assert seconds == pytest.approx(49.0 + 97.6 * iterations / machines**2, abs=0.05)
    # By the formula sharing alone grows by 3.6 s from 4 to 7 machines at 20 iterations, and so on.
    sharing = [phases(ALS, machines=m, iterations=20).variable_sharing_seconds for m in (4, 7)]
    assert sharing[1] - sharing[0] == pytest.approx(3.6)
