from __future__ import annotations

import functools
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred
from airflow.sdk import DAG

from airflow_provider_ernest.clusters import probe
from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2 import cluster, readiness
from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    InvalidParameterError,
)
from airflow_provider_ernest.operators import ec2_cluster
from airflow_provider_ernest.operators.cluster import TerminateClusterOperator
from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator, EC2PreflightOperator
from airflow_provider_ernest.spark.machines import Bandwidth, MasterState
from airflow_provider_ernest.triggers.ec2_cluster import EC2ClusterReadyTrigger
from tests import examples
from tests.ec2_testbed import EC2Api
from tests.unit.spark_masters import master_state


class Spark:
    """The daemons that nothing boots here: each machine that lives has registered with the master."""

    def __init__(self, api: EC2Api) -> None:
        self._api = api
        self.is_up = True
        self.asked = False
        self.probes: list[dict[str, Any]] = []

    def read_state(self, web_url: str, *, timeout_seconds: float) -> MasterState:
        self.asked = True
        if not self.is_up:
            raise ClusterLostError("The Spark master does not answer.")
        return master_state(m.private_address or "" for m in self._api.live_instances(role="worker"))

    def probe_bandwidth(self, handle: ClusterHandle, **asked: Any) -> dict[str, Bandwidth]:
        self.probes.append(asked)
        hosts = [m.private_address for m in self._api.live_instances(role="worker")]
        # The first of them is slow.
        return {
            str(host): Bandwidth(
                memory_gigabytes_per_second=10.0 - 4 * (host == hosts[0]),
                network_gigabytes_per_second=1.0,
                score=1.0 - 0.4 * (host == hosts[0]),
            )
            for host in hosts
        }


@pytest.fixture
def spark(api: EC2Api, monkeypatch: pytest.MonkeyPatch) -> Spark:
    made = Spark(api)
    means = functools.partial(readiness.Means, poll_seconds=0.05)
    monkeypatch.setattr(readiness, "Means", means)
    monkeypatch.setattr(readiness, "read_state", made.read_state)
    monkeypatch.setattr(probe, "probe_bandwidth", made.probe_bandwidth)
    return made


def specification(api: EC2Api, **changes: Any) -> dict[str, Any]:
    fields = {
        "machines": 3,
        "instance_type": "m5.large",
        "image": api.image_id,
        "subnets": list(api.subnet_ids),
        "security_groups": [api.security_group_id],
        "over_allocation": 0.3,
    }
    return {**fields, **changes}


def create(api: EC2Api, *, spec: Any = None, **options: Any) -> EC2ClusterOperator:
    """The operator that starts such a cluster; `spec` is what its specification has instead."""
    given = specification(api, **(spec or {}))
    return EC2ClusterOperator(task_id="create", spec=given, **{"deferrable": False, **options})


def rendered(api: EC2Api, *, spec: Any, **options: Any) -> EC2ClusterOperator:
    """The same, where templates have rendered to these values."""
    operator = create(api, spec=dict.fromkeys(spec, "{{ later }}"), **options)
    operator.spec.update(spec)
    return operator


def living(api: EC2Api) -> int:
    return len(api.live_instances())


def secret_of(api: EC2Api, handle: dict[str, Any]) -> str:
    return cluster_secret(api.client("ec2"), handle["name"])


def test_launches_one_more_and_ends_the_slowest(api, spark, context, capsys):
    handle = ClusterHandle.from_dict(create(api).execute(context))

    assert len(handle.machines) == 3
    assert len(handle.culled) == 1
    assert living(api) == 4, "three workers and the master"
    assert handle.culled[0].machine.instance_id not in {m.instance_id for m in api.live_instances()}
    assert (handle.region, handle.aws_conn_id) == ("us-east-1", "aws_default")
    logged = capsys.readouterr().out
    assert handle.culled[0].machine.instance_id in logged
    assert "until it ends itself" in logged


def test_the_secret_reaches_the_probe_and_nothing_that_is_kept(api, spark, context, caplog, capsys):
    caplog.set_level(logging.DEBUG, logger="airflow_provider_ernest")
    operator = create(api)
    handle = operator.execute(context)

    secret = secret_of(api, handle)
    assert spark.probes[0]["secret"] == secret
    assert secret not in json.dumps(handle)
    assert secret not in caplog.text
    assert secret not in capsys.readouterr().out
    assert secret not in str({name: getattr(operator, name) for name in operator.template_fields})


def test_numbers_flags_and_lists_may_come_as_the_texts_that_jinja_makes(api, spark, context):
    handle = rendered(
        api,
        spec={
            "machines": "2",
            "over_allocation": "0.0",
            "spot": "False",
            "volume_gigabytes": "None",
            "subnets": ",".join(api.subnet_ids),
            "security_groups": str([api.security_group_id]),
            "tags": '{"team": "data"}',
            "time_to_live_seconds": "3600.0",
        },
    ).execute(context)

    assert len(handle["machines"]) == 2
    assert {m.market for m in api.live_instances()} == {"on-demand"}
    assert {m.tags["team"] for m in api.live_instances()} == {"data"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": "many"}, "machines='many'"),
        ({"machines": None}, "machines=None"),
        ({"machines": ""}, "machines=''"),
        ({"image": "{{ nothing }}"}, "image='{{ nothing }}' is still a template"),
    ],
)
def test_what_cannot_be_is_named_before_anything_is_launched(api, spark, context, changes, named):
    with pytest.raises(AirflowFailException, match=named):
        rendered(api, spec=changes).execute(context)
    assert living(api) == 0
    assert not api.calls("RunInstances")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"aws_conn_id": "absent"}, "no Airflow connection 'absent'"),
        ({"deferrable": True, "poll_seconds": "often"}, "poll_seconds"),
    ],
)
def test_what_a_start_needs_is_read_before_anything_is_launched(api, spark, context, options, named):
    with pytest.raises(AirflowFailException, match=named):
        create(api, **options).execute(context)
    assert not api.calls("RunInstances")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": 0}, "machines=0"),
        ({"spark_user": "root"}, "spark_user='root'"),
        ({"instance_typ": "m5.large"}, "spec='instance_typ' is unknown"),
        ({"setup_script": "{{ ", "machines": "many"}, "machines='many'"),
    ],
)
def test_what_is_literal_is_checked_when_the_dag_file_is_parsed(api, changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        create(api, spec=changes)


def test_a_specification_is_rendered_whole_but_for_its_script(api):
    """In which Jinja would misread what is the shell's."""
    script = "echo ${#HOME} {{ machines }} {% raw"
    spec = EC2ClusterSpec(**specification(api, machines="{{ 1 + 1 }}", setup_script=script))
    with DAG("nightly", schedule=None):
        operator = EC2ClusterOperator(task_id="create", spec=spec)
    operator.render_template_fields({})
    assert operator.spec["machines"] == "2"
    spec = operator._spec()
    assert (spec.machines, spec.setup_script) == (2, script)


# Deferral


def deferred(operator: EC2ClusterOperator, context: Any) -> TaskDeferred:
    with pytest.raises(TaskDeferred) as caught:
        operator.execute(context)
    return caught.value


def test_a_deferred_start_waits_in_the_triggerer_and_goes_on_in_another_process(
    api, spark, context, monkeypatch
):
    asked = deferred(create(api, deferrable=True, spec={"start_timeout_seconds": 400}), context)
    assert asked.method_name == "execute_complete"
    assert isinstance(asked.trigger, EC2ClusterReadyTrigger)
    assert asked.trigger.deadline == pytest.approx(time.time() + 400, abs=60)
    assert living(api) == 5
    assert not spark.probes

    _, arguments = asked.trigger.serialize()
    assert cluster_secret(api.client("ec2"), asked.trigger.cluster_name) not in json.dumps(arguments)
    told = {name: arguments[name] for name in ("cluster_name", "spec")}
    ready = json.loads(json.dumps({"reason": "", **told}))
    # Templates and configuration may say something else by now: what was launched counts.
    monkeypatch.setenv("AIRFLOW__ERNEST__DEPLOYMENT", "another")
    handle = create(api, deferrable=True, spec={"machines": 7}).execute_complete(context, ready)

    assert len(handle["machines"]) == 3
    assert living(api) == 4
    assert len(api.calls("RunInstances")) == 2


def test_a_failure_event_ends_the_machines_and_shows_their_console(api, spark, context, capsys):
    trigger = deferred(create(api, deferrable=True), context).trigger
    told = {"cluster_name": trigger.cluster_name, "spec": trigger.spec}
    failed = {"reason": "it was not ready in time", **told}
    spark.is_up = False
    for machine in api.live_instances():
        api.set_console(machine.instance_id, "ernest: there is no Java")

    with pytest.raises(ClusterStartError, match=r"there is no Java"):
        create(api).execute_complete(context, failed)
    assert living(api) == 0
    assert "there is no Java" in capsys.readouterr().out


def test_a_report_that_fails_costs_no_cluster(api, spark, context, monkeypatch, capsys):
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(ec2_cluster, "cluster_lines", broken)
    assert len(create(api).execute(context)["machines"]) == 3
    assert "ZeroDivisionError" in capsys.readouterr().out


# Kills: the signal's handler runs in the middle of whatever the task does, and the task then goes on.


@contextmanager
def killed_once(operator: EC2ClusterOperator, condition: Callable[[], object]) -> Iterator[None]:
    """As Airflow kills a task: by a signal, whose handler calls on_kill wherever the main thread is."""
    over = threading.Event()

    def wait_and_kill() -> None:
        while not over.is_set():
            if condition():
                os.kill(os.getpid(), signal.SIGUSR1)
                return
            over.wait(0.02)

    before = signal.signal(signal.SIGUSR1, lambda *_: operator.on_kill())
    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)


def test_killed_before_anything_is_launched(api, spark, context):
    operator = create(api)
    operator.on_kill()
    with pytest.raises(ClusterStartError):
        operator.execute(context)
    assert living(api) == 0


@pytest.mark.parametrize("deferrable", [True, False])
def test_killed_while_machines_are_launched(api, spark, context, deferrable):
    operator = create(api, deferrable=deferrable)
    api.fail("RunInstances", when="hang", seconds=2, skip=1)
    with killed_once(operator, lambda: len(api.calls("RunInstances")) == 2), pytest.raises(ClusterError):
        operator.execute(context)
    assert len(api.instances()) == 5, "the answer to the launch came after the kill"
    assert living(api) == 0


def test_killed_after_the_launch_and_before_the_deferral(api, spark, context, monkeypatch):
    operator = create(api, deferrable=True)
    launch = cluster.EC2Cluster.launch

    def launch_and_be_killed(opened: cluster.EC2Cluster) -> None:
        launch(opened)
        operator.on_kill()

    monkeypatch.setattr(cluster.EC2Cluster, "launch", launch_and_be_killed)
    with pytest.raises(ClusterStartError):
        operator.execute(context)
    assert living(api) == 0


def test_killed_while_the_machines_are_waited_for(api, spark, context):
    operator = create(api)
    spark.is_up = False
    with killed_once(operator, lambda: spark.asked), pytest.raises(ClusterStartError):
        operator.execute(context)
    assert living(api) == 0


def test_killed_during_the_probe_ends_driver_and_machines(api, spark, context, monkeypatch):
    operator, ended = create(api), []

    class Hook:
        def end(self) -> None:
            ended.append(living(api))

    def probe_bandwidth(handle: ClusterHandle, **asked: Any) -> dict[str, Bandwidth]:
        asked["on_submit"](Hook())
        operator.on_kill()
        raise ClusterStartError("The bandwidth probe failed: it was ended.")

    monkeypatch.setattr(probe, "probe_bandwidth", probe_bandwidth)
    with pytest.raises(ClusterStartError):
        operator.execute(context)
    assert ended == [0], "the machines first: they cost money"
    assert living(api) == 0


# Resize and teardown


def test_a_cluster_grows_and_shrinks_to_the_chosen_size_and_ends_as_one(api, spark, context, ti):
    small = create(api).execute(context)
    ti.task_id = "ernest.resize_cluster"

    large = create(api, cluster=small, size="5").execute(context)
    assert len(large["machines"]) == 5
    assert living(api) == 6
    assert large["name"] == small["name"]

    one = create(api, cluster=json.dumps(large), size=1, spec={"smallest_acceptable": 2}).execute(context)
    assert len(one["machines"]) == 1
    assert living(api) == 2

    TerminateClusterOperator(task_id="end", cluster=small).execute(context)
    assert living(api) == 0
    TerminateClusterOperator(task_id="end", cluster=small).execute(context)


def test_a_resize_that_fails_keeps_the_old_machines_and_no_new_ones(api, spark, context, ti):
    small = create(api).execute(context)
    old = {m.instance_id for m in api.live_instances()}
    ti.task_id = "ernest.resize_cluster"
    api.set_capacity("m5.large", 1)

    with pytest.raises(ClusterStartError):
        create(api, cluster=small, size=9).execute(context)
    assert {m.instance_id for m in api.live_instances()} == old


@pytest.mark.parametrize(
    ("given", "size", "named"),
    [
        (None, 3, r"cluster=None .* output of the task"),
        ("None", None, "cluster='None' is empty"),
        ("None", "", "cluster='None' is empty"),
        ("there", None, "size=None"),
    ],
)
def test_a_resize_without_its_cluster_or_its_size_launches_nothing(api, spark, context, given, size, named):
    """As where somebody has marked the task that starts the cluster as a success, and there is no XCom."""
    there = create(api).execute(context) if given == "there" else given
    before = len(api.calls("RunInstances"))

    with pytest.raises(AirflowFailException, match=named):
        create(api, cluster=there, size=size).execute(context)
    assert len(api.calls("RunInstances")) == before


# Preflight


def test_the_check_tells_cores_and_price_and_launches_nothing(api, context, ti):
    facts = EC2PreflightOperator(
        task_id="check", spec=specification(api, machines=2, image=api.image_parameter)
    ).execute(context)

    assert facts == ti.pushed
    assert facts["cores_per_machine"] == 2
    assert facts["price_per_hour"] > 0
    assert facts["master_price_per_hour"] == facts["price_per_hour"], "of the same type, which is not said"
    assert facts["market"] == "on-demand"
    assert not api.instances()


@pytest.mark.parametrize("is_open", [True, False])
def test_the_check_finds_what_would_fail_later(api, context, is_open):
    if is_open:
        spec = specification(api, security_groups=[api.open_security_group_id])
        named = r"security_groups=.*lets in all of 0\.0\.0\.0/0"
    else:
        spec, named = specification(api), r"RunInstances in us-east-1: Unauth.*docs/iam_policy"
        api.fail("RunInstances", code="UnauthorizedOperation", status=403, message="You are not authorized.")
    with pytest.raises(AirflowFailException, match=named):
        EC2PreflightOperator(task_id="check", spec=spec).execute(context)


def test_a_size_without_a_cluster_is_a_resize_that_forgot_it(api):
    with pytest.raises(InvalidParameterError, match=r"size=5 is that of no cluster.* Give the cluster"):
        create(api, size=5)


NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def priced(price_per_hour: float | None) -> ClusterHandle:
    workers = (examples.machine(2, price_per_hour=price_per_hour), examples.machine(3, price_per_hour=0.1))
    ends = (NOON + timedelta(hours=2)).isoformat()
    there = examples.cluster(machines=0, master=examples.machine(1, price_per_hour=0.3), expires_at=ends)
    return replace(there, machines=workers)


def test_what_it_costs_per_hour_and_at_most_and_an_unknown_price_is_not_made_up():
    told = "\n".join(ec2_cluster.cluster_lines(priced(0.1), now=NOON))
    assert "$0.50 per hour with the master, at most $1.00 until it ends itself" in told
    told = "\n".join(ec2_cluster.cluster_lines(priced(None), now=NOON))
    assert "what it costs is unknown" in told
    assert "$" not in told
