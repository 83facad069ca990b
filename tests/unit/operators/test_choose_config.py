from __future__ import annotations

import json
import math

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest import command_line
from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord, Refusal
from airflow_provider_ernest.documents.profiles import (
    SAMPLE,
    PhaseSeconds,
    ProfileRecord,
    RunProfile,
    StageProfile,
)
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.operators.conftest import seconds
from tests.unit.operators.decisions import choose_operator, cluster, recorded


def test_cheapest_within_the_deadline_start_up_included(context, ti, model):
    decision = choose_operator(model).execute(context)

    in_time = [m for m in range(1, 9) if seconds(m, 1.0) + 5.0 <= 60]
    cheapest = min(in_time, key=lambda m: m * max(60.0, seconds(m, 1.0) + 5.0))
    assert decision["config"]["executors"] == cheapest
    assert ti.pushed["executors"] == ti.pushed["machines"] == cheapest
    assert ti.pushed["predicted_seconds"] == pytest.approx(seconds(cheapest, 1.0) + 5.0, rel=1e-3)
    billed_seconds = max(60, math.ceil(ti.pushed["predicted_seconds"]))
    assert ti.pushed["predicted_cost"] == pytest.approx(cheapest * 0.35 * billed_seconds / 3600)


def test_spark_conf_is_ready_for_a_stock_operator(context, ti, model):
    choose_operator(model, conf={"spark.cores.max": "99", "spark.driver.memory": "2g"}).execute(context)

    conf = ti.pushed["spark_conf"]
    assert conf["spark.cores.max"] == str(ti.pushed["executors"]), "what sizes the run wins"
    assert conf["spark.driver.memory"] == "2g"
    assert all(isinstance(value, str) for value in conf.values())


def test_of_the_jobs_own_properties_nothing_but_sizes_is_pushed_in_any_form(context, ti, model):
    own = {"spark.driver.host": "mine", "spark.sql.x": "mine", "spark.executor.memory": "{{ params.memory }}"}
    executors = [{**one, "cores": 4, "memory_megabytes": 9000} for one in cluster(8)["machines"]]
    handle = {**cluster(8), "machines": executors, "instance_type": "m5.xlarge", "cores_per_machine": 4}
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


@pytest.mark.parametrize("kind", ["ec2", "emr"])
def test_a_cluster_that_can_grow_may_have_more_machines(context, ti, model, kind):
    decision = choose_operator(model, cluster=cluster(2, kind=kind), deadline_seconds=35).execute(context)

    assert decision["config"]["executors"] > 2
    assert "spark.eventLog.dir" not in ti.pushed.get("spark_conf", {}), "production may run on another worker"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"allowed_executors": "[9, 12]"}, r"allowed_executors=.* leaves none from 1 to 8"),
        (
            {"fallback_executors": 3, "allowed_executors": [2, 4]},
            "fallback_executors=3 is outside the 2, 4 exec",
        ),
        ({"billing": {"increment": 1}}, "billing='increment' is unknown"),
        ({"executor_cores": "several"}, "executor_cores='several'"),
        ({"cluster": cluster(4)}, "max_executors=8 is outside the 1 to 4 executors"),
        (
            {"price_per_hour": None, "deadline_seconds": None, "budget_dollars": 1},
            r"price_per_hour=None .* Give the dollars",
        ),
        ({"confidence": "sure", "fallback_executors": 2}, "confidence='sure'"),
        ({"iterations": 20, "fallback_executors": 2}, "iterations=20"),
    ],
)
def test_goals_that_cannot_be_are_named(context, ti, model, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        choose_operator(model, **changes).execute(context)
    assert ti.pushed.keys() == {"failure"}, "also where a fallback is stated"


@pytest.mark.parametrize("root", ["/dev/null/store", "nowhere://models"])
def test_a_store_that_fails_is_no_reason_to_decide_nothing(context, ti, model, capsys, monkeypatch, root):
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", root)
    decision = choose_operator(model).execute(context)

    assert DecisionRecord.from_dict(ti.pushed["record"]).decision == Decision.from_dict(decision)
    assert "The decision is not recorded" in capsys.readouterr().out


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
    executors = [{**one, "memory_megabytes": 4000} for one in cluster(8, kind=kind)["machines"]]
    handle = {**cluster(8, kind=kind), **there, "machines": executors}
    choose_operator(model, cluster=handle, conf={"spark.driver.host": "mine"}).execute(context)

    made = {key: str(ti.pushed[key]) for key in ("yarn_conf", "kubernetes_conf", "spark_arguments")}
    assert {key for key, value in made.items() if "/opt/python" in value} == keys
    assert not any("10.0.0.9" in value for value in made.values()), "the user's own wins"
    assert ti.pushed["yarn_conf"]["spark.executor.memory"] == "4000m"


def test_only_cores_that_were_told_are_of_other_types_too(context, ti, model):
    """A machine of another type need not be like those of the cluster that is there."""
    fields = {"cluster": cluster(8, kind="ec2"), "fallback_executors": 2, "deadline_seconds": 1}
    other = {**fields, "fallback_instance_type": "r5.4xlarge"}
    choose_operator(model, **other).execute(context)
    assert "spark_conf" not in ti.pushed

    choose_operator(model, **other, executor_cores=16).execute(context)
    assert ti.pushed["spark_conf"]["spark.cores.max"] == "32"


@pytest.mark.parametrize("changes", [{}, {"on_failure": "fail", "fallback_executors": 2}])
def test_a_deadline_out_of_reach_names_the_best_within_reach(context, model, changes):
    best = min(seconds(m, 1.0) + 5.0 for m in range(1, 9))
    with pytest.raises(AirflowFailException, match=f"InfeasibleGoalError: .*{best:.0f}"):
        choose_operator(model, deadline_seconds=5, **changes).execute(context)


@pytest.mark.parametrize("changes", [{}, {"on_failure": "most_probable"}])
def test_without_a_model_only_a_stated_fallback_goes_on(context, ti, changes):
    with pytest.raises(AirflowFailException, match=r"no model.*fallback_executors"):
        choose_operator(None, **changes).execute(context)
    choose_operator(None, fallback_executors=3, **changes).execute(context)
    assert ti.pushed["executors"] == 3


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
        fallback_executors=2,
    )
    decision = operator.execute(context)
    assert decision["config"]["executors"] == ti.pushed["executors"] == 2
    assert decision["price_per_hour"] == (price and pytest.approx(price))
    assert decision["fallback_reason"]


def test_a_fallback_without_a_model_is_kept_under_the_job_that_is_named(context, ti):
    fields = {"job": "enrich", "fallback_executors": 3, "cluster": cluster(8), "iterations": 20}
    choose_operator(None, **fields).execute(context)

    (record,) = recorded()
    assert (record.model_id, record.artifact_sha256, record.iterations) == (None, None, 20)


def test_a_fallback_that_belongs_to_no_job_is_handed_on_but_not_kept(context, ti, capsys):
    choose_operator(None, fallback_executors=3).execute(context)

    assert ti.pushed["record"]["decision"]["config"]["executors"] == 3
    assert not store_root().exists()
    assert "not recorded: neither a model nor the parameter job" in capsys.readouterr().out


def test_a_fallback_to_machines_of_another_type_is_kept_under_that_type(context, ti, model):
    """Such as of a cluster that was started after the model was trained elsewhere."""
    handle = {**cluster(8, kind="ec2"), "instance_type": "m5.xlarge"}
    choose_operator(model, cluster=handle, deadline_seconds=1, fallback_executors=6).execute(context)

    (record,) = recorded(instance_type="m5.xlarge")
    assert record.instance_type == record.decision.config.instance_type == "m5.xlarge"
    assert record.model_id == model["id"]
    assert recorded() == []


def test_a_model_that_cannot_be_read_counts_as_none(context, ti, model):
    """Such as one of a newer version of this package, in a store that is shared."""
    unreadable = {**model, "schema": 99}
    with pytest.raises(AirflowFailException, match=r"no model to choose by: .*schema 99"):
        choose_operator(unreadable).execute(context)

    decision = choose_operator(unreadable, fallback_executors=3).execute(context)
    assert "schema 99" in decision["fallback_reason"]


def test_the_reason_for_a_fallback_is_shown_everywhere(context, ti, capsys):
    why = "The leave-one-out error of the model is 41.0 % (median), above the threshold of 25 %."
    decision = choose_operator(None, job="enrich", fallback_executors=3, training_failure=why).execute(
        context
    )

    logged = capsys.readouterr().out
    assert "FALLBACK to 3 machines" in logged
    assert why in logged
    (record,) = recorded(instance_type="unknown")
    for told in (decision["fallback_reason"], ti.pushed["fallback_reason"], record.decision.fallback_reason):
        assert why in told


@pytest.mark.parametrize(
    ("changes", "is_warned"),
    [
        ({"executor_cores": 2}, True),
        ({"executor_cores": 2, "conf": {"spark.executor.memory": "4g"}}, False),
        ({"cluster": cluster(8)}, False),
    ],
)
def test_executors_of_spark_s_own_small_size_are_warned_of(context, ti, capsys, changes, is_warned):
    choose_operator(None, fallback_executors=3, **changes).execute(context)
    assert ("spark.executor.memory is not set" in capsys.readouterr().out) == is_warned
    assert ("spark.executor.memory" in ti.pushed["spark_conf"]) != is_warned


@pytest.mark.parametrize("fallback_executors", [None, 2])
def test_a_goal_out_of_reach_can_be_met_as_probably_as_possible(
    context, ti, model, capsys, fallback_executors
):
    decision = choose_operator(
        model, deadline_seconds=20, on_failure="most_probable", fallback_executors=fallback_executors
    ).execute(context)

    best = max(decision["alternatives"], key=lambda one: one["probability"])
    assert ti.pushed["executors"] == best["executors"]
    assert decision["predicted_seconds"] == pytest.approx(best["seconds"])
    assert ti.pushed["fallback_reason"] == decision["fallback_reason"]
    assert "No allowed configuration ends within 20 s" in decision["fallback_reason"]
    assert "MOST PROBABLE" in capsys.readouterr().out


def test_a_goal_out_of_reach_leaves_what_there_was_to_choose_from(context, ti, model):
    with pytest.raises(AirflowFailException, match="InfeasibleGoalError"):
        choose_operator(model, deadline_seconds=5, confidence=0.9).execute(context)

    refusal = Refusal.from_dict(ti.pushed["refusal"])
    assert (refusal.deadline_seconds, refusal.confidence) == (5, 0.9)
    assert refusal.nearest in refusal.alternatives
    assert refusal.earliest_deadline.limit > 5
    assert refusal.model_id == model["id"]
    assert ti.pushed["failure"].startswith(f"{refusal.reason} Extend the deadline")
    choose_operator(model, deadline_seconds=refusal.earliest_deadline.limit, confidence=0.9).execute(context)
    assert ti.pushed["executors"] == refusal.earliest_deadline.executors


def test_a_stated_fallback_keeps_what_there_was_to_choose_from(context, ti, model):
    choose_operator(model, deadline_seconds=5, fallback_executors=2).execute(context)
    assert "refusal" not in ti.pushed
    decision = DecisionRecord.from_dict(ti.pushed["record"]).decision
    assert decision.alternatives
    assert not any(each.feasible for each in decision.alternatives)


@pytest.mark.parametrize(
    ("command", "options", "goal", "begins"),
    [
        (
            "choose",
            ("--deadline-seconds", "3", "--price-per-hour", "0.35"),
            {"deadline_seconds": 3},
            "No allowed configuration ends within 3 s",
        ),
        (
            "predict",
            ("--scale", "1e308"),
            {"scale": 1e308},
            "scale=1e+308 is predicted to take inf s at size 1 of local.",
        ),
    ],
)
def test_the_log_the_xcom_and_the_command_line_say_the_same(
    context, ti, model, tmp_path, capsys, command, options, goal, begins
):
    file = tmp_path / "model.json"
    file.write_text(json.dumps(model))
    with pytest.raises(AirflowFailException) as refused:
        choose_operator(model, **goal).execute(context)
    assert command_line.main([command, str(file), "--executors", "1-8", *options]) == 1

    printed = " ".join(capsys.readouterr().err.split()).removeprefix(f"ernest {command}: ")
    logged, pushed = str(refused.value).partition(": ")[2], ti.pushed["failure"]
    assert logged == pushed == printed.replace("--scale", "scale")
    assert pushed.startswith(begins)


def keep_profile(model, scale: float = 1.0) -> None:
    """That of the model's first run: 64 tasks of 5 s on two executors."""
    run = model["observations"][0]
    stage = StageProfile(
        stage_id=0,
        name="count",
        tasks=64,
        began_seconds=0.0,
        ended_seconds=160.0,
        task_seconds=320.0,
        quantiles_seconds=(5.0,) * 5,
        mean_seconds=5.0,
    )
    profile = RunProfile(
        application_id=run["application_id"],
        executors=2,
        slots=2,
        scale=scale,
        seconds=160.0,
        replayed_seconds=160.0,
        phases=PhaseSeconds(**dict.fromkeys(PhaseSeconds.__dataclass_fields__, 32.0)),
        tasks=64,
        stages=(stage,),
    )
    ModelStore(store_root()).save(
        ProfileRecord(**new_stamp(), job="enrich", instance_type="local", purpose=SAMPLE, profile=profile)
    )


def test_bounds_of_dynamic_allocation_are_decided_on_by_a_run_s_profile(context, ti, model):
    model["observations"][0]["application_id"] = "app-1"
    keep_profile(model)
    choose_operator(model, cluster=cluster(8), allocation="dynamic").execute(context)

    bounds = ti.pushed["bounds"]
    assert bounds["minimum"] <= bounds["initial"] <= bounds["maximum"] == ti.pushed["executors"]
    for key in ("spark_conf", "yarn_conf", "kubernetes_conf"):
        conf = ti.pushed[key]
        assert conf["spark.dynamicAllocation.enabled"] == "true"
        assert conf["spark.dynamicAllocation.minExecutors"] == str(bounds["minimum"])
        assert conf["spark.dynamicAllocation.initialExecutors"] == str(bounds["initial"])
        assert conf["spark.dynamicAllocation.maxExecutors"] == str(bounds["maximum"])
        assert conf["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"
        assert "spark.cores.max" not in conf, "for which tasks would wait"
    assert {"glue", "databricks_cluster"} <= set(ti.pushed["unavailable"])
    (record,) = recorded()
    assert record.decision.bounds is not None
    assert record.decision.bounds.to_dict() == bounds


def test_without_a_profile_no_bounds_are_decided_on_and_it_is_said_what_is_missing(context, ti, model):
    with pytest.raises(AirflowFailException, match="neither a profile of one nor an event log"):
        choose_operator(model, allocation="dynamic").execute(context)
