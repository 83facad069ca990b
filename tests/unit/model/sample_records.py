"""Small documents of a store, without fitting anything."""

from airflow_provider_ernest.documents import (
    Configuration,
    Decision,
    DecisionRecord,
    FittedTerm,
    Model,
    Observation,
    Origin,
    ProductionRun,
    Validation,
)
from airflow_provider_ernest.store.catalogue import MODEL, CatalogueEntry

ORIGIN = Origin(
    dag_id="nightly", run_id="manual__2026-01-01", task_id="ernest.fit", map_index=2, try_number=3
)
WHEN = "2026-01-01T00:00:00+00:00"


def a_model(number=0, **fields):
    """A model as it could be stored; the number names it and orders it."""
    return Model(
        **{
            "id": f"20260101T{number:06d}.000000Z-ab",
            "job": "pca",
            "instance_type": "m5.large",
            "at": WHEN,
            "terms": (
                FittedTerm(name="1", meaning="fixed work", coefficient=2.0),
                FittedTerm(name="machines", meaning="all talk to all", coefficient=0.1, probability=0.2),
            ),
            "validation": Validation(
                folds=(), residual_sum_of_squares=1.0, median_error_percent=3.0, max_error_percent=9.0
            ),
            "observations": (Observation(index=0, machines=2, scale=0.1, seconds=5.0),),
            "artifact": "s3://jars/pca.jar",
            "artifact_sha256": "ab" * 32,
            "warnings": ("look out",),
            "origin": ORIGIN,
            **fields,
        }
    )


def a_decision(number=0, **fields):
    """A decision by the model of number 0."""
    return DecisionRecord(
        **{
            "id": f"20260102T{number:06d}.000000Z-cd",
            "at": WHEN,
            "job": "pca",
            "instance_type": "m5.large",
            "decision": Decision(
                config=Configuration(machines=8, instance_type="m5.large"),
                goal="cheapest within 60 s",
                predicted_seconds=50.0,
                warnings=("far from the samples",),
            ),
            "scale": 1.0,
            "min_machines": 1,
            "max_machines": 16,
            "model_id": a_model().id,
            "deadline_seconds": 60.0,
            "artifact_sha256": "ab" * 32,
            "origin": ORIGIN,
            **fields,
        }
    )


def a_production_run(number=0, **fields):
    """A production run by that decision, which took 55 s of 50 predicted."""
    return ProductionRun(
        **{
            "id": f"20260103T{number:06d}.000000Z-ef",
            "at": WHEN,
            "job": "pca",
            "instance_type": "m5.large",
            "machines": 8,
            "scale": 1.0,
            "seconds": 55.0,
            "predicted_seconds": 50.0,
            "likely_seconds": (47.0, 53.0),
            "nearly_certain_seconds": (44.0, 56.0),
            "model_id": a_model().id,
            "decision_id": a_decision().id,
            "artifact_sha256": "ab" * 32,
            "origin": ORIGIN,
            **fields,
        }
    )


def an_entry(name, **fields):
    """An entry of the catalogue with that id."""
    return CatalogueEntry(
        **{"kind": MODEL, "id": str(name), "job": "pca", "instance_type": "m5.large", "at": WHEN, **fields}
    )
