"""Models that a page must bear: with markup for names, and with what no page can compute."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ernest.model.results import FittedTerm, Model


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
    )


def of_a_newer_version(model: Model) -> Model:
    """With a term that this version does not know."""
    term = FittedTerm(name="entangled(machines)", meaning="what nobody here knows", coefficient=1.0)
    return replace(model, terms=(*model.terms, term))
