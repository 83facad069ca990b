"""How long a model takes to learn, by how much it remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.learning.update import MOST_RUNS, learn
from airflow_provider_ernest.prediction.training import train

SAMPLES = ((1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (4, 0.05), (4, 0.1), (3, 0.08))
LEARNED = (1, 10, MOST_RUNS)


def fit_time_table(*, clock: Callable[[], float], counts: Sequence[int] = LEARNED) -> list[str]:
    """Seconds of `learn`, where all runs are of one configuration, and where each is of another."""
    model = train(
        [
            Observation(index=index, machines=machines, scale=scale, seconds=10 + 400 * scale / machines)
            for index, (machines, scale) in enumerate(SAMPLES)
        ],
        job="pca",
    )
    lines = [
        "== seconds to learn, with cross-validation, from so many production runs ==",
        f"{'':34s}" + "".join(f"  {count:6d}" for count in counts),
    ]
    for name, growth in {"of one configuration": 0.0, "the input grows from run to run": 0.01}.items():
        seconds = []
        for count in counts:
            began = clock()
            learn(model, [_run(number, growth) for number in range(count)])
            seconds.append(clock() - began)
        lines.append(f"  {name:32s}" + "".join(f"  {each:6.2f}" for each in seconds))
    return [*lines, ""]


def _run(number: int, growth: float) -> ProductionRun:
    """One that takes two per cent more or less than the model says."""
    scale = 1.0 + growth * number
    seconds = (10 + 400 * scale / 8) * (1.02 if number % 2 else 0.98)
    return ProductionRun(
        id=f"p{number:04d}",
        at="",
        job="pca",
        instance_type="local",
        machines=8,
        scale=scale,
        seconds=seconds,
        run_seconds=seconds,
        startup_seconds=0.0,
    )
