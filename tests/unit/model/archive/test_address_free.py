import json
from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import (
    Alternative,
    InputFingerprint,
    Observation,
    RunConditions,
    TrainedMachine,
    TrainingCluster,
)
from airflow_provider_ernest.run_profile import Advice, Straggler
from airflow_provider_ernest.store.archive import address_free
from tests import examples

HOST, BUCKET, FOLDER = "10.3.2.1", "s3://planted-bucket/x", "/planted/folder/x"
TOLD = f"{BUCKET} on {HOST} was {FOLDER}."

CONDITIONS = RunConditions(
    spark="4.2.0",
    settings={"spark.hadoop.fs.s3a.bucket.planted.endpoint": "ab"},
    input=InputFingerprint(partitions=8),
)
RUN = Observation(index=0, machines=2, scale=0.1, seconds=5.0, event_log=FOLDER, hosts=(HOST, "planted-2"))
CLUSTER = TrainingCluster(
    kind="ec2",
    name="planted-cluster",
    instance_type="m5.large",
    cores_per_machine=2,
    machines=(TrainedMachine(host=HOST, instance_id="i-planted", culled_because=TOLD, score=1.0),),
)

ALTERNATIVE = Alternative(machines=2, instance_type="m5.large", seconds=1.0, cost=1.0, feasible=True)

ADVICE = Advice(subject="skew", text=TOLD, figure=f"planted-2 is slow. {TOLD}")


def straggler(host):
    return Straggler(
        stage_id=0,
        task_id=1,
        host=host,
        seconds=9.0,
        median_seconds=3.0,
        cause="slow host",
        evidence=f"{host} took 2.9 times as long as the others",
    )


PROFILE = examples.run_profile(
    event_log=BUCKET,
    headline=TOLD,
    stages=(examples.stage_profile(name=f"count at {FOLDER}:12"),),
    stragglers=(straggler("planted"), straggler("planted-2"), straggler("planted")),
    advice=(ADVICE,),
    warnings=(f"planted-2 was lost. {TOLD}",),
)
REPORT = examples.bottleneck_report()

DOCUMENTS = [
    examples.model(
        artifact=BUCKET,
        input_path=FOLDER,
        observations=(RUN,),
        warnings=(TOLD,),
        cluster=CLUSTER,
        conditions=CONDITIONS,
    ),
    examples.decision_record(
        reuse=TOLD,
        decision=replace(
            examples.decision_record().decision,
            warnings=(TOLD,),
            fallback_reason=TOLD,
            alternatives=(
                replace(ALTERNATIVE, extrapolates=TOLD),
                replace(ALTERNATIVE, memory_shortage=TOLD),
            ),
        ),
    ),
    examples.production_run(event_log=BUCKET, conditions=CONDITIONS),
    examples.observation_record(id="o", days=1, observation=RUN, conditions=CONDITIONS),
    examples.mark(id="k", days=1, cause="data", model_id="m", reason=TOLD),
    examples.profile_record(profile=PROFILE),
    replace(
        REPORT,
        headline=TOLD,
        advice=(replace(ADVICE, figure=TOLD),),
        warnings=(TOLD,),
        replay=replace(REPORT.replay, problem=TOLD),
    ),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_no_address_is_left(document):
    assert "planted" in json.dumps(document.to_dict())
    told = json.dumps(address_free(document).to_dict())
    for address in ("planted", HOST):
        assert address not in told


def test_what_a_model_predicts_with_is_left():
    model = address_free(DOCUMENTS[0])
    assert (model.terms, model.artifact_sha256, model.origin) == (
        DOCUMENTS[0].terms,
        DOCUMENTS[0].artifact_sha256,
        DOCUMENTS[0].origin,
    )
    assert (model.observations[0].seconds, len(set(model.observations[0].hosts))) == (5.0, 2)
    assert model.conditions == replace(CONDITIONS, settings=None)
    assert model.cluster.machines[0].score == 1.0


def test_which_stragglers_shared_a_host_can_still_be_seen():
    told = address_free(examples.profile_record(profile=PROFILE)).profile
    assert [each.host for each in told.stragglers] == ["machine-1", "machine-2", "machine-1"]
    assert told.stragglers[1].evidence == "machine-2 took 2.9 times as long as the others"
    assert told.warnings[0].startswith("machine-2 was lost.")
    assert (told.stages[0].name, told.seconds) == ("count at (address left out):12", PROFILE.seconds)


def test_hosts_that_are_named_as_numbered_ones_are_not_taken_for_one_another():
    hosts = ("machine-2", "machine-1", "machine-12")
    told = address_free(
        examples.profile_record(profile=examples.run_profile(stragglers=tuple(map(straggler, hosts))))
    ).profile
    for number, each in enumerate(told.stragglers, start=1):
        assert (each.host, each.evidence.partition(" ")[0]) == (f"machine-{number}", f"machine-{number}")


def test_an_unknown_kind_is_not_let_through():
    with pytest.raises(TypeError, match="RunConditions"):
        address_free(CONDITIONS)
