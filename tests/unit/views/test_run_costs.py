"""What a training cost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_ernest.documents import Billing
from airflow_provider_ernest.views.dag_run import Group, RunRecord, groups_of
from airflow_provider_ernest.views.run_costs import share_of_production, training_of
from airflow_provider_ernest.views.run_documents import Documents, documents_of
from tests.unit.views.run_examples import NOON, NOW, PRICE, decision, example_run, never_run

MACHINE_MINUTE = 0.2 / 60
"""Dollars of the example's cluster."""
ENDED = {"state": None, "started_at": None, "ended_at": None}


def told(run: RunRecord) -> tuple[Group, Documents]:
    (group,) = groups_of(run)
    return group, documents_of(run, group)


def training(run: RunRecord) -> Any:
    return training_of(*told(run), now=NOW)


def with_cluster(run: RunRecord, **changes: Any) -> RunRecord:
    key = ("ernest.create_cluster", -1, "return_value")
    return replace(run, values={**run.values, key: {**run.values[key], **changes}})


def decided(**changes: Any) -> RunRecord:
    """The run with another decision."""
    run = example_run()
    key = ("ernest.choose_config", -1, "return_value")
    return replace(run, values={**run.values, key: decision(**changes).to_dict()})


def test_all_machines_until_the_decision_and_culled_ones_until_the_cluster_was_ready():
    found = training(example_run())
    assert found.seconds == 30 * 60.0
    assert found.machines == 6
    # Four workers and the master for 30 minutes, the culled one for five.
    assert found.cost == pytest.approx(MACHINE_MINUTE * (5 * 30 + 1 * 5))


def test_each_machine_at_its_own_price():
    expensive = {"price_per_hour": 0.2 * 3}
    cheap = {"price_per_hour": 0.2}
    run = with_cluster(example_run(), machines=[expensive, cheap], master=cheap, culled=[])
    assert training(run).cost == pytest.approx(MACHINE_MINUTE * (3 + 1 + 1) * 30)


def test_without_prices_of_the_cluster_the_decisions_price_counts():
    run = with_cluster(example_run(), machines=[{}, {}], master=None, culled=[])
    assert training(run).cost == pytest.approx(MACHINE_MINUTE * 2 * 30)


def test_without_any_price_the_cost_is_unknown_and_the_time_is_not():
    run = with_cluster(example_run(without=("choose_config",)), machines=[{}, {}], master=None, culled=[])
    assert training(run).cost is None
    assert training(run).seconds == 30 * 60.0


def test_a_price_that_is_missing_for_one_machine_alone():
    run = example_run(without=("choose_config",))
    run = with_cluster(run, machines=[{"price_per_hour": 0.2}, {}], master=None, culled=[])
    assert training(run).cost is None


def test_a_cluster_that_is_free_costs_nothing():
    run = with_cluster(example_run(), machines=[{"price_per_hour": 0}], master=None, culled=[])
    assert training(run).cost == 0


def test_while_the_training_runs_it_costs_until_now():
    run = example_run(
        changed=dict.fromkeys(("fit_model", "choose_config", "production", "terminate_cluster"), ENDED),
        without=("fit_model", "choose_config"),
    )
    found = training(run)
    assert found.seconds == 120 * 60.0
    assert found.cost == pytest.approx(MACHINE_MINUTE * (5 * 120 + 5))


def test_without_a_decision_machines_are_paid_until_they_are_ended():
    run = example_run(
        changed={"fit_model": {"state": "failed"}, **never_run("choose_config", "production")},
        without=("fit_model", "choose_config"),
    )
    # Airflow notes a time for a decision that was never made: 12:20. The teardown ended at 12:32.
    assert training(run).seconds == 32 * 60.0


def test_a_teardown_that_still_runs_is_not_the_end():
    run = example_run(
        changed={
            "fit_model": {"state": "failed"},
            **never_run("choose_config", "production"),
            "terminate_cluster": {"state": "running", "ended_at": None},
        },
        without=("fit_model", "choose_config"),
    )
    assert training(run).seconds == 120 * 60.0


def test_what_comes_after_the_decision_is_not_of_the_training():
    late = {"ended_at": NOON + timedelta(hours=5)}
    assert training(example_run(changed={"terminate_cluster": late})).seconds == 30 * 60.0


def test_runs_that_were_tried_again_count_by_the_time_that_they_took():
    run = example_run(changed={"sample_run": {"try_number": 3}})
    assert training(run) == training(example_run())


def test_a_cluster_whose_start_failed_is_of_unknown_cost():
    run = example_run(
        changed={
            "create_cluster": {"state": "failed"},
            **never_run("sample_run", "fit_model", "choose_config"),
        },
        without=("create_cluster", "sample_run", "fit_model", "choose_config"),
    )
    found = training(run)
    assert found.cost is found.machines is None
    assert found.seconds is not None


class TestShareOfProduction:
    def share(self, run: RunRecord) -> float | None:
        group, documents = told(run)
        return share_of_production(group, [documents], training_of(group, documents, now=NOW))

    def test_of_what_production_cost(self):
        assert self.share(example_run()) == pytest.approx(100 * (5 * 30 + 5) / (8 * 10))

    def test_of_all_that_is_billed_for_production(self):
        """A quarter of an hour is billed of its ten minutes and the two to boot, for a master, too."""
        billing = Billing(
            price_per_hour=PRICE,
            increment_seconds=900.0,
            boot_seconds=120.0,
            master_price_per_hour=0.3,
            training_dollars=7.0,
        )
        whole = (8 * PRICE + 0.3) / 4
        share = pytest.approx(100 * MACHINE_MINUTE * (5 * 30 + 5) / whole)
        assert self.share(decided(billing=billing)) == share

    def test_a_bill_that_cannot_be_reckoned(self):
        billing = Billing(price_per_hour=PRICE, increment_seconds=5e-324)
        assert self.share(decided(billing=billing)) == self.share(decided(predicted_cost=0.28))

    def test_of_what_it_is_predicted_to_cost_where_it_has_not_succeeded(self):
        predicted = pytest.approx(100 * MACHINE_MINUTE * (5 * 30 + 5) / 0.28)
        assert self.share(example_run(changed={"production": {"state": "failed"}})) == predicted
        assert (
            self.share(example_run(changed={"production": {"state": "running", "ended_at": None}}))
            == predicted
        )

    def test_unknown_without_a_decision(self):
        assert self.share(example_run(without=("choose_config",))) is None
