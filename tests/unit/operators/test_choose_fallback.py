"""What is taken where nothing can be chosen, and that production never starts without a size."""

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import DAG, BaseOperator

from airflow_provider_ernest.documents.decisions import DecisionRecord, Refusal
from airflow_provider_ernest.hooks.store_location import store_root
from tests.unit.operators.conftest import seconds
from tests.unit.operators.decisions import choose_operator, cluster, recorded


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
    assert record.model_id == model["id"]
    assert recorded() == []


def test_a_model_that_cannot_be_read_counts_as_none(context, ti, model):
    """Such as one of a newer version of this package, in a store that is shared."""
    unreadable = {**model, "schema": 99}
    with pytest.raises(AirflowFailException, match=r"no model to choose by: .*schema 99"):
        choose_operator(unreadable).execute(context)

    decision = choose_operator(unreadable, fallback_machines=3).execute(context)
    assert "schema 99" in decision["fallback_reason"]


def test_the_reason_for_a_fallback_is_shown_everywhere(context, ti, capsys):
    """In the log, in XCom, in the decision and in its record."""
    why = "The leave-one-out error of the model is 41.0 % (median), above the threshold of 25 %."
    decision = choose_operator(None, job="enrich", fallback_machines=3, training_failure=why).execute(context)

    logged = capsys.readouterr().out
    assert "FALLBACK to 3 machines" in logged
    assert why in logged
    (record,) = recorded(instance_type="unknown")
    for told in (decision["fallback_reason"], ti.pushed["fallback_reason"], record.decision.fallback_reason):
        assert why in told


@pytest.mark.parametrize(
    ("changes", "is_warned"),
    [
        ({"cores_per_machine": 2}, True),
        ({"cores_per_machine": 2, "conf": {"spark.executor.memory": "4g"}}, False),
        ({"cluster": cluster(8)}, False),
    ],
)
def test_executors_of_spark_s_own_small_size_are_warned_of(context, ti, capsys, changes, is_warned):
    choose_operator(None, fallback_machines=3, **changes).execute(context)
    assert ("spark.executor.memory is not set" in capsys.readouterr().out) == is_warned
    assert ("spark.executor.memory" in ti.pushed["spark_conf"]) != is_warned


def test_a_fallback_pushes_all_that_production_may_read(context, ti, model):
    choose_operator(model, cluster=cluster(8, kind="ec2"), price_per_hour=1).execute(context)
    chosen = set(ti.pushed)
    ti.pushed.clear()
    choose_operator(None, cluster=cluster(8, kind="ec2"), fallback_machines=3).execute(context)

    assert set(ti.pushed) == chosen
    assert (ti.pushed["predicted_seconds"], ti.pushed["predicted_cost"]) == (None, None)


@pytest.mark.parametrize("fallback_machines", [None, 2])
def test_a_goal_out_of_reach_can_be_met_as_probably_as_possible(
    context, ti, model, capsys, fallback_machines
):
    decision = choose_operator(
        model, deadline_seconds=20, on_failure="most_probable", fallback_machines=fallback_machines
    ).execute(context)

    best = max(decision["alternatives"], key=lambda one: one["probability"])
    assert ti.pushed["machines"] == best["machines"]
    assert decision["predicted_seconds"] == pytest.approx(best["seconds"])
    assert ti.pushed["fallback_reason"] == decision["fallback_reason"]
    assert "No allowed configuration ends within 20 s" in decision["fallback_reason"]
    assert "MOST PROBABLE" in capsys.readouterr().out


def test_without_a_model_nothing_is_most_probable(context, ti):
    with pytest.raises(AirflowFailException, match="no model"):
        choose_operator(None, on_failure="most_probable").execute(context)
    choose_operator(None, on_failure="most_probable", fallback_machines=2).execute(context)
    assert ti.pushed["machines"] == 2


def test_a_fallback_may_be_stated_and_not_be_wanted(context, model):
    with pytest.raises(AirflowFailException, match="InfeasibleGoalError"):
        choose_operator(model, deadline_seconds=5, on_failure="fail", fallback_machines=2).execute(context)


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
    assert ti.pushed["machines"] == refusal.earliest_deadline.machines


def test_a_stated_fallback_keeps_what_there_was_to_choose_from(context, ti, model):
    choose_operator(model, deadline_seconds=5, fallback_machines=2).execute(context)
    assert "refusal" not in ti.pushed
    decision = DecisionRecord.from_dict(ti.pushed["record"]).decision
    assert decision.alternatives
    assert not any(each.feasible for each in decision.alternatives)


def test_no_fallback_covers_up_a_wrong_parameter(context, ti, model):
    with pytest.raises(AirflowFailException, match="confidence='sure'"):
        choose_operator(model, confidence="sure", fallback_machines=2).execute(context)
    with pytest.raises(AirflowFailException, match="iterations=20"):
        choose_operator(model, iterations=20, fallback_machines=2).execute(context)
    assert ti.pushed.keys() == {"failure"}


def reader_of(choose):
    """A production task that reads its size, and starts whatever became of the tasks before it."""

    class Production(BaseOperator):
        template_fields = ("conf",)

        def __init__(self, *, conf, **kwargs):
            super().__init__(**kwargs)
            self.conf = conf

    return Production(task_id="production", conf=choose.output["spark_conf"], trigger_rule="all_done")


def test_production_never_starts_without_a_size(model):
    """Where the decision failed or was skipped, there is no such XCom."""

    class TaskInstance:
        dag_id = "nightly"

        def xcom_pull(self, *, task_ids, key, default=None, map_indexes=None):
            assert (task_ids, key) == ("choose", "spark_conf")
            return default

    with DAG("nightly", schedule=None):
        production = reader_of(choose_operator(model))

    with pytest.raises(AirflowException, match=r"spark_conf.* is not found"):
        production.render_template_fields({"ti": TaskInstance()})
