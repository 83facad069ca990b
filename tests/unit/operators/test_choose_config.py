import math
from threading import Event

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.clusters.base import ClusterHandle, Machine
from airflow_provider_ernest.model.documents import Origin
from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.results import Decision
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.model.training import train
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.locations import store_root
from tests.unit.operators.conftest import seconds


def choose_operator(model, **changes) -> ChooseConfigOperator:
    fields = {"price_per_hour": 0.35, "max_machines": 8, "deadline_seconds": 60, **changes}
    return ChooseConfigOperator(task_id="choose", model=model, **fields)


def cluster(machines: int, *, kind: str = "local", price_per_hour: float | None = None) -> dict:
    return ClusterHandle(
        kind=kind,
        name="nightly",
        master_url="spark://127.0.0.1:7077",
        web_url="http://127.0.0.1:8080",
        machines=tuple(
            Machine(
                worker_id=f"w{i}",
                host=f"127.0.1.{i + 1}",
                cores=1,
                memory_megabytes=900,
                price_per_hour=price_per_hour,
            )
            for i in range(machines)
        ),
    ).to_dict()


def test_cheapest_within_the_deadline_start_up_included(context, ti, model):
    decision = choose_operator(model).execute(context)

    in_time = [m for m in range(1, 9) if seconds(m, 1.0) + 5.0 <= 60]
    cheapest = min(in_time, key=lambda m: m * (seconds(m, 1.0) + 5.0))
    assert decision["config"]["machines"] == cheapest
    assert ti.pushed["machines"] == cheapest
    assert ti.pushed["predicted_seconds"] == pytest.approx(seconds(cheapest, 1.0) + 5.0, rel=1e-3)
    billed_seconds = math.ceil(ti.pushed["predicted_seconds"])
    assert ti.pushed["predicted_cost"] == pytest.approx(cheapest * 0.35 * billed_seconds / 3600)


def test_the_decision_says_how_certain_it_is(context, observations):
    averaged = train(observations, job="enrich").to_dict()
    decision = choose_operator(averaged).execute(context)

    low, high = decision["likely_seconds"]
    lower, higher = decision["nearly_certain_seconds"]
    assert lower < low < decision["predicted_seconds"] < high < higher
    assert all(len(one["likely_seconds"]) == 2 for one in decision["alternatives"])


def test_spark_conf_is_ready_for_a_stock_operator(context, ti, model):
    choose_operator(model, conf={"spark.cores.max": "99", "spark.ui.enabled": "false"}).execute(context)

    conf = ti.pushed["spark_conf"]
    assert conf["spark.cores.max"] == str(ti.pushed["machines"]), "what sizes the run wins"
    assert conf["spark.ui.enabled"] == "false"
    assert all(isinstance(value, str) for value in conf.values())


def test_on_a_running_cluster_its_memory_and_event_logs_are_asked_for(context, ti, model):
    choose_operator(model, cluster=cluster(8)).execute(context)

    assert ti.pushed["spark_conf"]["spark.executor.memory"] == "900m"
    assert ti.pushed["spark_conf"]["spark.eventLog.enabled"] == "true"


def test_more_machines_than_the_cluster_has_are_refused(context, model):
    with pytest.raises(AirflowFailException, match="max_machines=8 is outside the 1 to 4 machines"):
        choose_operator(model, cluster=cluster(4)).execute(context)


def test_a_cluster_that_can_grow_may_have_more_machines(context, ti, model):
    decision = choose_operator(model, cluster=cluster(2, kind="ec2"), deadline_seconds=35).execute(context)

    assert decision["config"]["machines"] > 2
    assert "spark.eventLog.dir" not in ti.pushed["spark_conf"], "production may run on another worker"


def test_the_price_is_that_of_the_clusters_machines_unless_given(context, ti, model):
    priced = cluster(8, price_per_hour=0.2)
    choose_operator(model, cluster=priced, price_per_hour=None).execute(context)
    cheap = ti.pushed["predicted_cost"]
    choose_operator(model, cluster=priced, price_per_hour="0.4").execute(context)
    assert ti.pushed["predicted_cost"] == pytest.approx(2 * cheap)


@pytest.mark.parametrize("changes", [{"cluster": cluster(8)}, {}])
def test_an_unknown_price_is_asked_for(context, model, changes):
    with pytest.raises(AirflowFailException, match=r"price_per_hour=None .* Give the dollars"):
        choose_operator(model, price_per_hour=None, **changes).execute(context)


def test_a_deadline_out_of_reach_names_the_best_within_reach(context, model):
    best = min(seconds(m, 1.0) + 5.0 for m in range(1, 9))
    with pytest.raises(AirflowFailException, match=f"InfeasibleGoalError: .*{best:.0f}"):
        choose_operator(model, deadline_seconds=5).execute(context)


def test_a_deadline_out_of_reach_takes_the_stated_fallback(context, ti, model, capsys):
    decision = choose_operator(model, deadline_seconds="5", fallback_machines="6").execute(context)

    assert decision["config"]["machines"] == 6
    assert ti.pushed["spark_conf"]["spark.cores.max"] == "6"
    assert "FALLBACK to 6 machines" in capsys.readouterr().out
    assert decision["fallback_reason"]


def test_without_a_model_only_a_stated_fallback_goes_on(context, ti):
    with pytest.raises(AirflowFailException, match=r"no model.*fallback_machines"):
        choose_operator(None).execute(context)
    choose_operator(None, fallback_machines=3).execute(context)
    assert ti.pushed["machines"] == 3


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"budget_dollars": 1}, "deadline_seconds"),
        ({"deadline_seconds": None}, "deadline_seconds"),
        ({"deadline_seconds": "soon"}, "deadline_seconds='soon'"),
        ({"price_per_hour": "nan"}, "price_per_hour"),
        ({"max_machines": 0}, "machines"),
        ({"fallback_machines": 20}, "fallback_machines=20"),
    ],
)
def test_goals_that_cannot_be_are_named(context, model, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        choose_operator(model, **changes).execute(context)


@pytest.mark.parametrize(
    ("handle", "price"),
    [(cluster(8, kind="ec2", price_per_hour=0.4), 0.4), (cluster(8, kind="ec2"), None), ("null", None)],
)
def test_the_stated_fallback_needs_no_price(context, ti, model, handle, price):
    operator = choose_operator(
        None if handle == "null" else model,
        cluster=handle,
        price_per_hour=None,
        deadline_seconds=0.001,
        fallback_machines=2,
    )
    decision = operator.execute(context)
    assert decision["config"]["machines"] == ti.pushed["machines"] == 2
    assert decision["price_per_hour"] == (price and pytest.approx(price))
    assert decision["fallback_reason"]


def test_production_that_runs_elsewhere_may_have_more_machines_than_the_cluster(context, ti, model):
    choose_operator(model, cluster=cluster(2, kind="emr"), deadline_seconds=60).execute(context)
    assert ti.pushed["machines"] > 2


def recorded(job: str = "enrich", instance_type: str = "local") -> list[DecisionRecord]:
    return ModelStore(store_root()).decisions(job, instance_type)


def test_a_decision_is_kept_with_what_was_asked_for(context, ti, observations):
    model = train(observations, job="enrich", method="relative", artifact_sha256="ab" * 32)
    decision = choose_operator(model.to_dict(), deadline_seconds="70", min_machines=2, scale="1.1").execute(
        context
    )

    (record,) = recorded()
    assert ti.pushed["record"] == record.to_dict()
    assert record.decision == Decision.from_dict(decision)
    assert (record.job, record.model_id, record.artifact_sha256) == ("enrich", model.model_id, "ab" * 32)
    assert (record.deadline_seconds, record.budget_dollars) == (70.0, None)
    assert (record.min_machines, record.max_machines, record.scale) == (2, 8, 1.1)
    assert record.origin == Origin(dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id)


def test_the_job_and_the_store_may_be_named(context, model, tmp_path):
    choose_operator(model, job="nightly enrich", store=str(tmp_path / "mine")).execute(context)

    (record,) = ModelStore(tmp_path / "mine").decisions("nightly enrich", "local")
    assert record.job == "nightly enrich"
    assert not store_root().exists()


def test_a_fallback_is_kept_beside_the_model_that_could_not_reach_the_goal(context, model):
    choose_operator(model, deadline_seconds="5", fallback_machines="6").execute(context)

    (record,) = recorded()
    assert record.model_id == model["model_id"]
    assert (record.decision.model_id, record.decision.config.machines) == (None, 6)
    assert record.decision.config.instance_type == "local"
    assert record.decision.fallback_reason


def test_a_fallback_without_a_model_is_kept_under_the_job_that_is_named(context, ti):
    fields = {"job": "enrich", "fallback_machines": 3, "cluster": cluster(8), "iterations": 20}
    choose_operator(None, **fields).execute(context)

    (record,) = recorded()
    assert (record.model_id, record.artifact_sha256, record.iterations) == (None, None, 20)


def test_a_fallback_that_belongs_to_no_job_is_handed_on_but_not_kept(context, ti, capsys):
    choose_operator(None, fallback_machines=3).execute(context)

    assert ti.pushed["record"]["decision"]["config"]["machines"] == 3
    assert not store_root().exists()
    assert "not recorded: neither a model nor the parameter job" in capsys.readouterr().out


def test_a_fallback_needs_nothing_of_what_it_does_not_look_at(context, ti, capsys):
    """Such as a scale that a failed task was to tell."""
    choose_operator(None, job="enrich", fallback_machines=3, scale="None", iterations="many").execute(context)

    (record,) = recorded(instance_type="unknown")
    assert (record.scale, record.iterations, ti.pushed["machines"]) == (1.0, None, 3)
    assert "scale='None' is not a finite number" in capsys.readouterr().out


def test_a_fallback_to_machines_of_another_type_is_kept_under_that_type(context, ti, model):
    """Such as of a cluster that was started after the model was trained elsewhere."""
    handle = {**cluster(8, kind="ec2"), "instance_type": "m5.xlarge"}
    choose_operator(model, cluster=handle, deadline_seconds=1, fallback_machines=6).execute(context)

    (record,) = recorded(instance_type="m5.xlarge")
    assert record.instance_type == record.decision.config.instance_type == "m5.xlarge"
    assert record.model_id == model["model_id"]
    assert recorded() == []


def test_a_store_that_does_not_answer_holds_up_no_decision(context, ti, model, capsys, monkeypatch):
    answer = Event()
    monkeypatch.setattr(recording, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(ModelStore, "save_decision", lambda self, record: answer.wait(60))

    decision = choose_operator(model).execute(context)

    assert DecisionRecord.from_dict(ti.pushed["record"]).decision == Decision.from_dict(decision)
    assert "The decision is not recorded yet" in capsys.readouterr().out
    answer.set()


@pytest.mark.parametrize("root", ["/dev/null/store", "nowhere://models"])
def test_a_store_that_fails_is_no_reason_to_decide_nothing(context, ti, model, capsys, root):
    decision = choose_operator(model, store=root).execute(context)

    assert DecisionRecord.from_dict(ti.pushed["record"]).decision == Decision.from_dict(decision)
    assert "The decision is not recorded" in capsys.readouterr().out
