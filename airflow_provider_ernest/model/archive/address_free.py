"""Stored documents without addresses: what of a model can be sent to somebody else.

Times, sizes, machines' types, hashes and the names of jobs, DAGs and tasks stay. Hosts get numbers, for it
counts whether they are known. Of settings not even names stay: buckets and hosts stand in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

from airflow_provider_ernest.addresses import without_addresses
from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.documents import Observation, RunConditions
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ObservationRecord, ProductionRun
from airflow_provider_ernest.model.results import Alternative, Model
from airflow_provider_ernest.model.run_profile import Advice, RunProfile, StageProfile, Straggler
from airflow_provider_ernest.model.training_cluster import TrainingCluster


@singledispatch
def address_free(document: Any) -> Any:
    """A copy of a stored document without addresses.

    Raises:
        TypeError: it is of a kind whose addresses are not known.
    """
    raise TypeError(f"No addresses are known of a {type(document).__name__}.")


@address_free.register
def _(model: Model) -> Model:
    return replace(
        model,
        artifact=None,
        input_path=None,
        observations=tuple(_observation(run) for run in model.observations),
        warnings=tuple(without_addresses(warning) for warning in model.warnings),
        cluster=_cluster(model.cluster) if model.cluster else None,
        conditions=_conditions(model.conditions),
    )


@address_free.register
def _(record: DecisionRecord) -> DecisionRecord:
    decision = record.decision
    reason = decision.fallback_reason
    return replace(
        record,
        reuse=without_addresses(record.reuse),
        decision=replace(
            decision,
            warnings=tuple(without_addresses(warning) for warning in decision.warnings),
            fallback_reason=None if reason is None else without_addresses(reason),
            alternatives=tuple(_alternative(each) for each in decision.alternatives),
        ),
    )


@address_free.register
def _(run: ProductionRun) -> ProductionRun:
    return replace(run, event_log=None, conditions=_conditions(run.conditions))


@address_free.register
def _(record: ObservationRecord) -> ObservationRecord:
    return replace(
        record,
        observation=_observation(record.observation),
        conditions=_conditions(record.conditions),
    )


@address_free.register
def _(mark: ModelMark) -> ModelMark:
    return replace(mark, reason=without_addresses(mark.reason))


@address_free.register
def _(record: ProfileRecord) -> ProfileRecord:
    return replace(record, profile=_profile(record.profile))


@address_free.register
def _(report: BottleneckReport) -> BottleneckReport:
    replay = report.replay
    return replace(
        report,
        headline=without_addresses(report.headline),
        advice=tuple(_advice(each, {}) for each in report.advice),
        warnings=tuple(without_addresses(warning) for warning in report.warnings),
        replay=None if replay is None else replace(replay, problem=without_addresses(replay.problem)),
    )


def _profile(profile: RunProfile) -> RunProfile:
    hosts = dict.fromkeys(straggler.host for straggler in profile.stragglers)
    numbered = {host: _host(number) for number, host in enumerate(hosts)}
    return replace(
        profile,
        event_log=None,
        headline=_told(profile.headline, numbered),
        stages=tuple(_stage(stage) for stage in profile.stages),
        stragglers=tuple(_straggler(each, numbered) for each in profile.stragglers),
        advice=tuple(_advice(each, numbered) for each in profile.advice),
        warnings=tuple(_told(warning, numbered) for warning in profile.warnings),
    )


def _stage(stage: StageProfile) -> StageProfile:
    return replace(stage, name=without_addresses(stage.name))


def _straggler(straggler: Straggler, numbered: Mapping[str, str]) -> Straggler:
    return replace(straggler, host=numbered[straggler.host], evidence=_told(straggler.evidence, numbered))


def _advice(advice: Advice, numbered: Mapping[str, str]) -> Advice:
    return replace(advice, text=_told(advice.text, numbered), figure=_told(advice.figure, numbered))


def _told(sentence: str, numbered: Mapping[str, str]) -> str:
    """A sentence in which hosts, also those without a domain, have their numbers."""
    # The longest first, for one host's name may begin another's; all at once, for it may be another's number.
    names = sorted(filter(None, numbered), key=len, reverse=True)
    if names:
        sentence = re.sub("|".join(map(re.escape, names)), lambda found: numbered[found[0]], sentence)
    return without_addresses(sentence)


def _alternative(alternative: Alternative) -> Alternative:
    return replace(
        alternative,
        extrapolates=without_addresses(alternative.extrapolates),
        memory_shortage=without_addresses(alternative.memory_shortage),
    )


def _observation(run: Observation) -> Observation:
    return replace(run, event_log=None, hosts=tuple(_host(number) for number, _ in enumerate(run.hosts)))


def _cluster(cluster: TrainingCluster) -> TrainingCluster:
    machines = (
        replace(
            machine,
            host=_host(number),
            instance_id=None,
            culled_because=without_addresses(machine.culled_because),
        )
        for number, machine in enumerate(cluster.machines)
    )
    return replace(cluster, name=cluster.kind, machines=tuple(machines))


def _conditions(conditions: RunConditions | None) -> RunConditions | None:
    return None if conditions is None else replace(conditions, settings=None)


def _host(number: int) -> str:
    return f"machine-{number + 1}"
