import json
import math
from dataclasses import replace
from threading import Event

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.operators.conftest import seconds
from tests.unit.operators.decisions import choose_operator, cluster, recorded


def test_cheapest_within_the_deadline_start_up_included(context, ti, model):
    decision = choose_operator(model).execute(context)

    in_time = [m for m in range(1, 9) if seconds(m, 1.0) + 5.0 <= 60]
    cheapest = min(in_time, key=lambda m: m * max(60.0, seconds(m, 1.0) + 5.0))
    assert decision["config"]["machines"] == cheapest
    assert ti.pushed["machines"] == cheapest
    assert ti.pushed["predicted_seconds"] == pytest.approx(seconds(cheapest, 1.0) + 5.0, rel=1e-3)
    billed_seconds = max(60, math.ceil(ti.pushed["predicted_seconds"]))
    assert ti.pushed["predicted_cost"] == pytest.approx(cheapest * 0.35 * billed_seconds / 3600)


def test_spark_conf_is_ready_for_a_stock_operator(context, ti, model):
    choose_operator(model, conf={"spark.cores.max": "99", "spark.driver.memory": "2g"}).execute(context)

    conf = ti.pushed["spark_conf"]
    assert conf["spark.cores.max"] == str(ti.pushed["machines"]), "what sizes the run wins"
    assert conf["spark.driver.memory"] == "2g"
    assert all(isinstance(value, str) for value in conf.values())


def test_of_the_jobs_own_properties_nothing_but_sizes_is_pushed_in_any_form(context, ti, model):
    own = {"spark.driver.host": "mine", "spark.sql.x": "mine", "spark.executor.memory": "{{ params.memory }}"}
    machines = [{**one, "cores": 4, "memory_megabytes": 9000} for one in cluster(8)["machines"]]
    handle = {**cluster(8), "machines": machines, "instance_type": "m5.xlarge", "cores_per_machine": 4}
    chosen = {**model, "instance_type": "m5.xlarge"}
    choose_operator(chosen, cluster=handle, conf=own).execute({**context, "params": {"memory": "3g"}})

    assert ti.pushed["unavailable"] == {}, "all forms are there"
    assert "mine" not in json.dumps(ti.pushed)
    for key in ("spark_conf", "yarn_conf", "kubernetes_conf"):
        assert ti.pushed[key]["spark.executor.memory"] in ("3g", "3072m")
        assert "spark.driver.host" not in ti.pushed[key], "which would win over the job's own"


def test_on_a_running_cluster_its_memory_and_event_logs_are_asked_for(context, ti, model):
    choose_operator(model, cluster=cluster(8)).execute(context)

    assert ti.pushed["spark_conf"]["spark.executor.memory"] == "900m"
    assert ti.pushed["spark_conf"]["spark.eventLog.enabled"] == "true"


def test_more_machines_than_the_cluster_has_are_refused(context, model):
    with pytest.raises(AirflowFailException, match="max_machines=8 is outside the 1 to 4 machines"):
        choose_operator(model, cluster=cluster(4)).execute(context)


@pytest.mark.parametrize("kind", ["ec2", "emr"])
def test_a_cluster_that_can_grow_may_have_more_machines(context, ti, model, kind):
    decision = choose_operator(model, cluster=cluster(2, kind=kind), deadline_seconds=35).execute(context)

    assert decision["config"]["machines"] > 2
    assert "spark.eventLog.dir" not in ti.pushed.get("spark_conf", {}), "production may run on another worker"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"allowed_machines": "[9, 12]"}, r"allowed_machines=.* leaves none from 1 to 8"),
        (
            {"fallback_machines": 3, "allowed_machines": [2, 4]},
            "fallback_machines=3 is outside the 2, 4 mach",
        ),
        ({"billing": {"increment": 1}}, "billing='increment' is unknown"),
        (
            {"untrained_types": [{"instance_type": "m5.large"}]},
            r"untrained_types.* lacks like and",
        ),
        ({"cores_per_machine": "several"}, "cores_per_machine='several'"),
    ],
)
def test_goals_that_cannot_be_are_named(context, model, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        choose_operator(model, **changes).execute(context)


def test_a_decision_is_kept_with_what_was_asked_for(context, ti, observations):
    model = train(observations, job="enrich", method="relative", artifact_sha256="ab" * 32)
    decision = choose_operator(model.to_dict(), deadline_seconds="70", min_machines=2, scale="1.1").execute(
        context
    )

    (record,) = recorded()
    assert ti.pushed["record"] == record.to_dict()
    assert record.decision == Decision.from_dict(decision)
    assert (record.job, record.model_id, record.artifact_sha256) == ("enrich", model.id, "ab" * 32)
    assert (record.deadline_seconds, record.budget_dollars) == (70.0, None)
    assert (record.min_machines, record.max_machines, record.scale) == (2, 8, 1.1)
    assert record.origin == Origin(dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id)


def test_a_store_that_does_not_answer_holds_up_no_decision(context, ti, model, capsys, monkeypatch):
    answer = Event()
    monkeypatch.setattr(recording, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(ModelStore, "save", lambda self, record: answer.wait(60))

    decision = choose_operator(model).execute(context)

    assert DecisionRecord.from_dict(ti.pushed["record"]).decision == Decision.from_dict(decision)
    assert "The decision is not recorded yet" in capsys.readouterr().out
    answer.set()


@pytest.mark.parametrize("root", ["/dev/null/store", "nowhere://models"])
def test_a_store_that_fails_is_no_reason_to_decide_nothing(context, ti, model, capsys, root):
    decision = choose_operator(model, store=root).execute(context)

    assert DecisionRecord.from_dict(ti.pushed["record"]).decision == Decision.from_dict(decision)
    assert "The decision is not recorded" in capsys.readouterr().out


def test_the_goal_is_kept_as_surely_as_was_asked_for(context, ti, observations):
    """By the median of runs that scatter, fewer machines seem enough."""
    noisy = [replace(one, seconds=one.seconds * (1.25 if one.index % 2 else 0.8)) for one in observations]
    noisy = [replace(one, hosts=tuple(f"10.0.0.{n}" for n in range(one.machines))) for one in noisy]
    model = train(noisy, job="enrich").to_dict()

    by_median = choose_operator(model, deadline_seconds=80, confidence=0.5).execute(context)
    surely = choose_operator(model, deadline_seconds=80, confidence="0.95").execute(context)

    assert by_median["config"]["machines"] < surely["config"]["machines"]
    assert by_median["probability"] < 0.95 <= surely["probability"]
    assert (surely["confidence"], choose_operator(model).goal["confidence"]) == (0.95, 0.8)


def test_only_allowed_numbers_of_machines_are_chosen(context, ti, model):
    choose_operator(model, allowed_machines="2,4,8,16", max_machines=8).execute(context)
    (record,) = recorded()

    assert [one.machines for one in record.decision.alternatives] == [2, 4, 8]
    assert ti.pushed["machines"] == 4
    assert (record.allowed_machines, record.min_machines, record.max_machines) == ((2, 4, 8), 2, 8)


def most_machines(alternative):
    """An objective of a user's."""
    return -alternative.machines


@pytest.mark.parametrize(
    ("objective", "machines"), [("fastest", 8), ("cheapest", 3), (f"{__name__}.most_machines", 8)]
)
def test_the_objective_says_what_is_best(context, ti, model, objective, machines):
    choose_operator(model, objective=objective, budget_dollars=1).execute(context)

    assert ti.pushed["machines"] == machines
    (record,) = recorded()
    assert (record.objective, record.confidence) == (objective, 0.8)
    assert (record.deadline_seconds, record.budget_dollars) == (60.0, 1.0)


def test_without_limits_no_confidence_is_recorded(context, ti, model):
    choose_operator(model, objective="balanced", deadline_seconds=None).execute(context)

    (record,) = recorded()
    assert (record.objective, record.confidence, record.decision.confidence) == ("balanced", None, None)


def test_what_cannot_be_said_is_not_pushed_and_so_fails_who_reads_it(context, ti, model):
    """A cluster of EMR has no machines of type "local"."""
    choose_operator(model).execute(context)

    assert "emr_instance_groups" not in ti.pushed
    assert "local" in ti.pushed["unavailable"]["emr_instance_groups"]
    assert None not in [value for key, value in ti.pushed.items() if not key.startswith("predicted")]


@pytest.mark.parametrize(
    ("kind", "master", "keys"),
    [
        ("existing", "yarn", {"yarn_conf"}),
        ("existing", "k8s://https://10.0.0.1:6443", {"kubernetes_conf"}),
        ("existing", "spark://10.0.0.1:7077", set()),
        ("emr", "yarn", {"spark_arguments"}),
    ],
)
def test_production_on_the_cluster_of_the_sample_runs_has_their_properties(
    context, ti, model, kind, master, keys
):
    """Its Python and where to find the driver; another cluster knows neither."""
    there = {"python": "/opt/python", "driver_host": "10.0.0.9", "master_url": master, "web_url": None}
    machines = [{**one, "memory_megabytes": 4000} for one in cluster(8, kind=kind)["machines"]]
    handle = {**cluster(8, kind=kind), **there, "machines": machines}
    choose_operator(model, cluster=handle, conf={"spark.driver.host": "mine"}).execute(context)

    made = {key: str(ti.pushed[key]) for key in ("yarn_conf", "kubernetes_conf", "spark_arguments")}
    assert {key for key, value in made.items() if "/opt/python" in value} == keys
    assert not any("10.0.0.9" in value for value in made.values()), "the user's own wins"
    assert ti.pushed["yarn_conf"]["spark.executor.memory"] == "4000m"


def test_only_cores_that_were_told_are_of_other_types_too(context, ti, model):
    """A machine of another type need not be like those of the cluster that is there."""
    fields = {"cluster": cluster(8, kind="ec2"), "fallback_machines": 2, "deadline_seconds": 1}
    other = {**fields, "fallback_instance_type": "r5.4xlarge"}
    choose_operator(model, **other).execute(context)
    assert "spark_conf" not in ti.pushed

    choose_operator(model, **other, cores_per_machine=16).execute(context)
    assert ti.pushed["spark_conf"]["spark.cores.max"] == "32"
