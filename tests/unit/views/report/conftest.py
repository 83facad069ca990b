import math
import random

import pytest

from airflow_provider_ernest.documents import Model, Observation
from airflow_provider_ernest.prediction.training import train

RUNS = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]


def observations(**fields: object) -> list[Observation]:
    """A job of fixed work, work that spreads, and a tree of aggregations, with 3 % of noise."""
    noise = random.Random(11)
    return [
        Observation(
            index=index,
            machines=machines,
            scale=scale,
            seconds=(12 + 900 * scale / machines + 2 * math.log(machines)) * math.exp(noise.gauss(0, 0.03)),
            **{"startup_seconds": 5.0, **fields},  # type: ignore[arg-type]
        )
        for index, (machines, scale) in enumerate(RUNS)
    ]


@pytest.fixture(scope="session")
def model() -> Model:
    return train(observations(), job="grep", instance_type="m5.large", artifact_sha256="ab" * 32)
