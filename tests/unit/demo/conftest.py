import pytest

from airflow_provider_ernest.decision.choice import choose
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import Billing, Design, Experiment, Observation
from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow
from airflow_provider_ernest.prediction.training import train
from benchmarks.demo.report import Outcome
from tests.unit.eventlog.logs import task_table
from tests.unit.views.bottleneck_examples import report as bottleneck_report

POINTS = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (3, 0.1), (4, 0.05), (4, 0.1)]


def seconds(machines, scale):
    return 2.0 + 120.0 * scale / machines + 1.5 * machines


@pytest.fixture
def outcome():
    """A run on three machines that took a quarter longer than the exactly known job should."""
    observations = [
        Observation(index=i, machines=m, scale=s, seconds=seconds(m, s), startup_seconds=5.0)
        for i, (m, s) in enumerate(POINTS)
    ]
    model = train(observations, job="enrich", method="relative")
    offer = Offer(model=model, machines=range(1, 7), billing=Billing(price_per_hour=0.35))
    decision = choose(offer, goal=Goal(deadline_seconds=60))
    executors = [
        ExecutorRow(
            number=port,
            executor_id=str(port),
            host="127.0.1.1",
            worker=f"127.0.1.1:{port}",
            cores=1,
            added_at=100.0,
        )
        for port in range(3)
    ]
    return Outcome(
        design=Design(
            experiments=tuple(
                Experiment(index=i, machines=m, scale=s, partitions=10) for i, (m, s) in enumerate(POINTS)
            ),
            terms=("1", "scale/machines", "log(machines)", "machines"),
            criterion="A",
            efficiency=0.93,
            cost=27.0,
            budget=30.0,
            cost_unit="cheapest runs",
            candidates=40,
        ),
        model=model,
        decision=decision,
        production=EventLog(
            application_id="app-7",
            started_at=100.0,
            ended_at=100.0 + 1.25 * seconds(3, 1.0),
            executors=tuple(executors),
            task_columns=task_table(),
        ),
        bottlenecks=bottleneck_report(),
        production_task_seconds=2 * (seconds(3, 1.0) + 5.0),
    )
