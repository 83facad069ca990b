"""What is said of each thing in the store."""

from airflow_provider_ernest.store.catalogue import CatalogueEntry, entry_of
from tests import examples


def test_a_model_in_a_few_words():
    model = examples.model()

    assert entry_of(model) == CatalogueEntry(
        kind="model",
        id=model.id,
        job="pca",
        instance_type="m5.large",
        at=examples.WHEN,
        dag_id="nightly",
        model_id=model.id,
        method="relative",
        terms=("1",),
        median_error_percent=3.0,
        max_error_percent=9.0,
        observations=1,
        warnings=1,
        artifact="s3://jars/pca.jar",
        artifact_sha256="ab" * 32,
    )


def test_a_production_run_in_a_few_words():
    run = examples.production_run(seconds=60.0)

    assert entry_of(run) == CatalogueEntry(
        kind="production",
        id=run.id,
        job="pca",
        instance_type="m5.large",
        at=examples.WHEN,
        dag_id="nightly",
        model_id=run.model_id,
        artifact_sha256="ab" * 32,
        machines=8,
        seconds=60.0,
        predicted_seconds=50.0,
        is_unusual=True,
        is_unlikely=True,
    )
