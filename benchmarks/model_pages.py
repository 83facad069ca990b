"""What the pages of the models cost the server: ``python -m benchmarks.model_pages``.

Builds the page of a model and predicts at 7, 100 and 1,000 observations, beside 10,000 other models, without
browser, network and Airflow. Times are of this machine; the last column, a multiple of the first row of each
block, carries over to others. Observations repeat 40 configurations, as in training, unless the row says
otherwise.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.prediction.predict import fitted
from airflow_provider_ernest.prediction.terms import ERNEST
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.model import model_page
from airflow_provider_ernest.views.prediction import prediction
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.web.answers import JsonAnswer
from tests.browser.synthetic_jobs import PARTITIONS, R3_XLARGE, SyntheticJob, add_cheap_models

MODELS = 10_000
OBSERVATIONS = (7, 100, 1000)
MACHINES = (1, 2, 3, 4, 6, 8, 12, 16)
SCALES = (0.02, 0.04, 0.06, 0.08, 0.1)
REPETITIONS = 5
FIRST_SHOWN = 32
"""As many numbers of machines as a model page shows at first, where runs had up to 16."""

NOW = datetime.now(UTC)
Step = tuple[str, float]


def main() -> int:
    """Print the tables; returns the exit code."""
    print(__doc__)
    models = [
        train(_observations(number), job=f"{number}_observations", instance_type=R3_XLARGE.name)
        for number in OBSERVATIONS
    ]
    with TemporaryDirectory() as folder:
        store = ModelStore(Path(folder))
        add_cheap_models(store, models[0], MODELS, now=NOW, versions=1)
        for model in models:
            store.save(model)
        _print("the page of a model, beside all these", _pages(store, models))
        _print("a prediction", _predictions(store, models))
    return 0


def _print(title: str, steps: Iterator[Step] | list[Step]) -> None:
    print(f"{title:58s} {'ms':>9s}  {'of first':>8s}")
    first = None
    for name, seconds in steps:
        first = first or seconds
        print(f"  {name:56s} {1000 * seconds:9.1f}  {seconds / first:7.2f}x")
    print()


def _pages(store: ModelStore, models: list[Model]) -> Iterator[Step]:
    entries = store.catalogue.entries()
    for model in models:
        name = f"{len(model.observations):5,} observations"
        yield f"{name}, page as JSON", _seconds(partial(_page, store, model, entries))
        where = (model.job, model.instance_type, model.id)
        yield f"{name}, reading the model's file", _seconds(partial(store.load, Model, *where))


def _page(store: ModelStore, model: Model, entries: list[CatalogueEntry]) -> bytes:
    return _answer(model_page(store, model, entries, readable=lambda dag_id: True))


def _predictions(store: ModelStore, models: list[Model]) -> Iterator[Step]:
    for model in models:
        yield from _prediction_steps(store, model, f"{len(model.observations):5,} observations")
    runs = tuple(_observations(OBSERVATIONS[-1], distinct=True))
    # With Ernest's four terms: six are not told apart by least squares.
    terms = tuple(term for term in models[-1].terms if term.name in ERNEST)
    distinct = replace(models[-1], id="distinct", method="relative", observations=runs, terms=terms)
    yield from _prediction_steps(store, distinct, f"{len(runs):5,} configurations, relative")
    yield "import of the mathematics, once in a process", _import_seconds()


def _prediction_steps(store: ModelStore, model: Model, name: str) -> Iterator[Step]:
    fitted.cache_clear()
    scale = iter(range(1, 1000))

    def predict(executors: int = FIRST_SHOWN) -> None:
        request = PredictionRequest(
            # Another one each time: what was answered before is kept.
            scale=0.9 + next(scale) / 1000,
            max_executors=executors,
            price_per_hour=0.333,
            deadline_seconds=300.0,
        )
        _answer(prediction(store, model, request, entries=[], readable=lambda dag_id: True))

    yield f"{name}, the first, of {FIRST_SHOWN} machines", _once(predict)
    yield f"{name}, another scale", _seconds(predict)
    yield f"{name}, of 200 machines", _seconds(lambda: predict(200))


def _import_seconds() -> float:
    """In a new process, less what that takes anyway."""

    def seconds(*modules: str) -> float:
        code = f"import {', '.join(f'airflow_provider_ernest.views.{name}' for name in modules)}"
        return _seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return seconds("prediction_request", "prediction") - seconds("prediction_request")


def _once(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _seconds(action: Callable[[], object]) -> float:
    """The least of some repetitions: what else the machine does only adds to it."""
    return min(_once(action) for _ in range(REPETITIONS))


def _answer(answer: object) -> bytes:
    return bytes(JsonAnswer(answer).body)


def _observations(number: int, *, distinct: bool = False) -> list[Observation]:
    job, hosts = SyntheticJob(), tuple(f"10.0.0.{host}" for host in range(max(MACHINES)))
    configurations = [(executors, scale) for scale in SCALES for executors in MACHINES]
    # Seven of them that differ in both.
    order = [(index * 11) % len(configurations) for index in range(len(configurations))]
    runs = []
    for index in range(number):
        executors, scale = configurations[order[index % len(order)]]
        scale = scale + index / 100_000 if distinct else scale
        experiment = Experiment(
            index=index, executors=executors, scale=scale, partitions=round(scale * PARTITIONS)
        )
        runs.append(job.observe(experiment, R3_XLARGE, hosts=hosts, origin=None, when=NOW))
    return runs


if __name__ == "__main__":
    sys.exit(main())
