"""An account on the test bed, and stand-ins for what would run on its machines."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from airflow_provider_ernest.clusters.ec2 import readiness
from airflow_provider_ernest.clusters.ec2.cluster import ClusterResize, EC2Cluster
from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.clusters.ec2.instances import Instance
from airflow_provider_ernest.clusters.ec2.readiness import Means
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.spark.machines import Bandwidth
from tests.unit.spark_masters import FakeMaster


def instance(number, role="worker", state="running", attempt="1", **changes):
    """A machine as AWS would describe it."""
    made = Instance(
        id=f"i-{number}",
        state=state,
        role=role,
        private_address=f"10.0.0.{number}",
        instance_type="m5.large",
        market="on-demand",
        zone="us-east-1a",
        launched_at=datetime(2026, 1, 1, tzinfo=UTC),
        told_at=datetime(2026, 1, 1, 1, tzinfo=UTC),
        tags={"ernest:try": attempt},
    )
    return replace(made, **changes)


class LateAws:
    """A client of an AWS that knows no machine, to show it or to end it, until it was asked often enough."""

    def __init__(self, client, questions, *, unknown_ends=0):
        self._client = client
        self.questions = questions
        self.unknown_ends = unknown_ends  # so many it knows to show, and not yet to end

    def __getattr__(self, name):
        return getattr(self._client, name)

    def get_paginator(self, name):
        return SimpleNamespace(paginate=lambda **asked: self._pages(name, asked))

    def _pages(self, name, asked):
        for page in self._client.get_paginator(name).paginate(**asked):
            if name == "describe_instances" and self._is_early():
                page["Reservations"] = []
            yield page

    def terminate_instances(self, **asked):
        self.unknown_ends -= not (early := self._is_early())
        if early or self.unknown_ends >= 0:
            message = f"The instance IDs '{', '.join(asked['InstanceIds'])}' do not exist"
            error = {"Code": "InvalidInstanceID.NotFound", "Message": message}
            raise ClientError({"Error": error}, "TerminateInstances")
        return self._client.terminate_instances(**asked)

    def _is_early(self):
        self.questions -= 1
        return self.questions >= 0


def bandwidth(score):
    return Bandwidth(memory_gigabytes_per_second=10 * score, network_gigabytes_per_second=score, score=score)


def run_in_thread(call):
    """Call it in a thread; what it raises is in the list."""
    raised = []

    def run():
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Bed:
    """What most tests need: the account, clusters on it, and a look at what lives."""

    def __init__(self, api):
        self.api = api
        self.master = FakeMaster(api)
        self.slow = lambda host: False
        self.probed = []

    def client(self, service="ec2", *, attempts=1):
        return self.api.client(
            service, config=Config(retries={"mode": "standard", "total_max_attempts": attempts})
        )

    def spec(self, **changes):
        spec = EC2ClusterSpec(
            machines=3,
            instance_type="m5.large",
            image=self.api.image_id,
            subnets=self.api.subnet_ids,
            security_groups=(self.api.security_group_id,),
            start_timeout_seconds=60,
        )
        return replace(spec, **changes)

    def identity(self, try_number=1, task_id="create_cluster"):
        return ClusterIdentity(
            deployment="ours", dag_id="sizing", run_id="manual", task_id=task_id, try_number=try_number
        )

    def means(self, **changes):
        means = Means(
            client=self.client,
            probe=self.probe,
            log=logging.getLogger("task"),
            poll_seconds=0.05,
        )
        return replace(means, **changes)

    def cluster(self, spec=None, *, try_number=1, identity=None, **changes):
        identity = identity or self.identity(try_number)
        return EC2Cluster(spec or self.spec(), identity, self.means(**changes))

    def launched(self, spec=None, **how):
        cluster = self.cluster(spec, **how)
        cluster.launch()
        return cluster

    @contextlib.contextmanager
    def leaves_nothing(self, error, *, match=None):
        """What is done raises the error, and no machine lives afterwards."""
        with pytest.raises(error, match=match) as caught:
            yield caught
        assert not self.live()

    def resize(self, handle, size, *, try_number=1, spec=None, **changes):
        identity = self.identity(try_number, task_id="resize")
        return ClusterResize(
            handle, size, spec=spec or self.spec(), identity=identity, means=self.means(**changes)
        )

    def probe(self, handle):
        self.probed.append(handle)
        return {m.host: bandwidth(0.6 if self.slow(m.host) else 1.0) for m in handle.machines}

    def look(self, name, spec=None):
        return readiness.look(self.client(), name, spec or self.spec())

    def late_aws(self, questions, **options):
        """What makes clients of a late AWS, all of them one."""
        late = LateAws(self.client(), questions, **options)
        return late, lambda service="ec2": late

    def live(self, role=None):
        return self.api.live_instances(role=role)

    def live_ids(self, role=None):
        return {machine.instance_id for machine in self.live(role)}


@pytest.fixture
def bed(served_api, monkeypatch):
    served_api.reset()
    made = Bed(served_api)
    monkeypatch.setattr(readiness, "read_state", lambda *asked, **how: made.master(*asked, **how))
    # The test bed shows everything at once: what does not show in that time will not.
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.ending.SETTLE_SECONDS", 0.5)
    for module in ("launching._POLL_SECONDS", "cluster._POLL_SECONDS", "ending._UNSEEN_POLL_SECONDS"):
        monkeypatch.setattr(f"airflow_provider_ernest.clusters.ec2.{module}", 0.1)
    return made
