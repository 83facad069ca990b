from airflow_provider_ernest.documents import Origin
from airflow_provider_ernest.operators.task_context import origin_of


def test_names_the_task_instance_and_its_attempt(ti, context):
    ti.map_index = 3
    ti.try_number = 2

    assert origin_of(context) == Origin(
        dag_id="nightly",
        run_id="manual__2026-01-01T00:00:00+00:00",
        task_id="ernest.step",
        map_index=3,
        try_number=2,
    )


def test_a_task_that_is_not_mapped_has_no_index(ti, context):
    ti.map_index = None
    assert origin_of(context).map_index == -1
