"""Models that a page must bear: with markup for names, of little, and with what no page can compute."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from airflow_provider_ernest.documents.models import FittedTerm, Model
from airflow_provider_ernest.documents.runs import InputFingerprint, Observation, RunConditions
from airflow_provider_ernest.prediction.training import train
from tests.browser.synthetic_jobs import R3_XLARGE, SyntheticJob


def hostile(model: Model) -> Model:
    """Whatever a user can name is markup."""
    first, *others = model.observations
    first = replace(
        first,
        hosts=("<script>alert(1)</script>",),
        event_log="javascript:alert(1)",
        application_id='=HYPERLINK("http://localhost/")',
    )
    assert model.cluster is not None
    machine, *rest = model.cluster.machines
    cluster = replace(model.cluster, machines=(replace(machine, host="<b>host</b>"), *rest))
    return replace(
        model,
        observations=(first, *others),
        cluster=cluster,
        artifact="../../<svg onload=alert(1)>.jar",
        input_path="javascript:alert(1)",
        warnings=("<img src=x onerror=alert(1)> is what a job said of itself.",),
        conditions=RunConditions(
            spark="<img src=x onerror=alert(1)>",
            settings={"<b>spark.setting</b>": "00"},
            input=InputFingerprint(partitions=4, total_bytes=4000, format="<i>csv</i>"),
        ),
    )


def of_a_newer_version(model: Model) -> Model:
    """With a term that this version does not know."""
    term = FittedTerm(name="entangled(machines)", meaning="what nobody here knows", coefficient=1.0)
    return replace(model, terms=(*model.terms, term))


def of_the_command_line() -> Model:
    """What ``ernest fit`` makes of a table of runs: no origin, design, cluster or price."""
    job, random = SyntheticJob(), Random(2)
    runs = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]
    observations = [
        Observation(
            index=index,
            machines=machines,
            scale=scale,
            seconds=job.measure(R3_XLARGE, machines=machines, scale=scale) * random.gauss(1, 0.01),
            instance_type="local",
        )
        for index, (machines, scale) in enumerate(runs)
    ]
    return train(observations, job="ad_hoc_clicks", method="relative")
