"""What a model keeps of its cluster; what `ChooseConfigOperator` reads of other tasks, and pushes for others.

A module of its own since it loads the mathematics, which a DAG file that is parsed should not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import zip_longest
from typing import Any

from airflow.sdk import Context

from airflow_provider_ernest.clarity.bottleneck_report import profiles_of
from airflow_provider_ernest.clarity.replay_dynamic import bounds_to_try
from airflow_provider_ernest.clarity.replay_scaled import replay_allocations
from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.spec import EC2
from airflow_provider_ernest.clusters.emr.spec import EMR
from airflow_provider_ernest.clusters.existing import EXISTING
from airflow_provider_ernest.clusters.local_spec import LOCAL
from airflow_provider_ernest.decision.deciding import Offered
from airflow_provider_ernest.decision.forms import (
    HEAP,
    PROPERTIES,
    UNAVAILABLE,
    ExecutorGroup,
    ExecutorShape,
    Layout,
    groups_of,
    layout_on,
    outputs,
)
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.decision.trainings import TrainedType
from airflow_provider_ernest.design.exploration import (
    Standing,
    explored,
    next_exploration,
    not_recorded,
    what_it_told,
    within_tried,
)
from airflow_provider_ernest.documents.decisions import Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, TrainedMachine, TrainingCluster
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError, MissingResourceError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.task_context import event_logs
from airflow_provider_ernest.settings import Exploration, SizingGoal
from airflow_provider_ernest.settings.values import (
    NOTHING,
    count,
    number,
    optional,
    optional_document,
    optional_text,
)
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf

Type = TrainedType[ClusterHandle]

SPARK_CONF = "spark_conf"

ANY_TYPE = ""
"""Key for machines of any type that is not named."""

UNKNOWN = "unknown"
"""Name of a type that neither a model, a cluster nor the user names."""


def stated_cores(value: Any) -> dict[str, int]:
    """Return the cores of a machine by type; one number for all is under `ANY_TYPE`."""
    by_type = value if isinstance(value, Mapping) else {ANY_TYPE: value}
    read = {
        str(name): optional(count)(f"executor_cores[{name!r}]" if name else "executor_cores", cores)
        for name, cores in by_type.items()
    }
    return {name: cores for name, cores in read.items() if cores is not None}


def trained_types(*, models: Any, clusters: Any, failures: Any) -> list[Type]:
    """Return what came of each training; at least one entry, which may be empty.

    Each argument is one document (or text) or one per type, None where there is none; a mapping of failures
    also names the types. A model that cannot be read is missing: others or the fallback may still do.
    """
    names = [str(name) for name in failures] if isinstance(failures, Mapping) else []
    texts = [*failures.values()] if isinstance(failures, Mapping) else _listed(failures)
    read = [_model(document) for document in _listed(models)]
    given = [optional_document("cluster", cluster) for cluster in _listed(clusters)]
    handles = [ClusterHandle.from_dict(cluster) if cluster else None for cluster in given]
    if len(read) > 1 and 0 < len(handles) != len(read):
        by_type = {handle.instance_type: handle for handle in handles if handle}
        handles = [by_type.get(model.instance_type) if model else None for model, _ in read]
    types: list[Type] = []
    each_type = zip_longest(names, texts, read, handles)
    for index, (name, failure, fitted, handle) in enumerate(each_type):
        model, unreadable = fitted or (None, "")
        known = model or handle
        types.append(
            TrainedType(
                instance_type=known.instance_type if known else name or UNKNOWN,
                model=model,
                cluster=handle,
                failure=optional_text(failure) or unreadable,
                lacks_cluster=index < len(handles) and handle is None,
            )
        )
    return types or [TrainedType(instance_type=UNKNOWN, model=None, cluster=None)]


def _model(document: Any) -> tuple[Model | None, str]:
    """A model, or why it cannot be read."""
    given = optional_document("model", document)
    try:
        return (Model.from_dict(given) if given else None), ""
    except InvalidDocumentError as error:
        return None, str(error)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return [] if value in NOTHING else [value]


def with_stored_models(types: Sequence[Type], *, models: Any, growth: Any, reasons: Any) -> list[Type]:
    """Add the stored models that `FindModelOperator` pushed, by type, where none was trained since.

    Of a model of past runs alone only the growth is added, that of the next run's input.

    The newer model counts: a skipped task keeps the XComs of its earlier try, and a task that somebody
    cleared by hand has trained after the stored model was found.
    """
    grown = optional_document("input_growth", growth) or {}
    why = optional_document("reuse_reasons", reasons) or {}
    stored = {
        name: Model.from_dict(document)
        for name, document in (optional_document("stored_models", models) or {}).items()
    }

    def reused(each: Type) -> Type:
        name, model = each.instance_type, stored.get(each.instance_type)
        if each.model is not None and each.model.basis is not None:
            return replace(each, input_growth=number("input_growth", grown.get(name, 1.0)))
        if model is None or (each.model is not None and each.model.id > model.id):
            return each
        return replace(
            each,
            model=model,
            cluster=each.cluster or (remembered_handle(model.cluster) if model.cluster else None),
            lacks_cluster=False,
            reuse=str(why.get(name, "")),
            input_growth=number("input_growth", grown.get(name, 1.0)),
        )

    return [reused(each) for each in types]


def training_cluster(handle: ClusterHandle) -> TrainingCluster:
    """What a model keeps of its cluster, which ends: machines kept and culled, and the master."""
    culled = [_trained(one.machine, culled_because=one.reason or "not needed") for one in handle.culled]
    master = [_trained(handle.master, is_master=True)] if handle.master else []
    return TrainingCluster(
        kind=handle.kind,
        name=handle.name,
        instance_type=handle.instance_type,
        executor_cores=handle.cores_per_machine,
        price_per_hour=handle.price_per_hour,
        machines=(*map(_trained, handle.machines), *culled, *master),
        executor_memory_megabytes=min((one.memory_megabytes for one in handle.machines), default=None),
        master_price_per_hour=handle.master_price_per_hour,
        market=handle.market,
        executors_per_machine=handle.executors_per_machine,
    )


def planned_cluster(machine: Mapping[str, Any]) -> TrainingCluster | None:
    """The machine of a `FitModelOperator` for which no cluster was started; None if its cores are unknown."""
    stated = {name: None if value in NOTHING else value for name, value in machine.items()}
    if stated.get("executor_cores") is None:
        return None
    if stated["kind"] not in (EC2, EMR):
        # Others run their drivers with Airflow, or beside the workers.
        stated["master_price_per_hour"] = 0.0
    return TrainingCluster.from_dict({"name": "", **stated})


def _trained(machine: Machine, *, culled_because: str = "", is_master: bool = False) -> TrainedMachine:
    bandwidth = machine.bandwidth
    return TrainedMachine(
        host=machine.host,
        instance_id=machine.instance_id,
        memory_gigabytes_per_second=bandwidth.memory_gigabytes_per_second if bandwidth else None,
        network_gigabytes_per_second=bandwidth.network_gigabytes_per_second if bandwidth else None,
        score=bandwidth.score if bandwidth else None,
        culled_because=culled_because,
        price_per_hour=machine.price_per_hour,
        is_master=is_master,
    )


def remembered_handle(cluster: TrainingCluster) -> ClusterHandle | None:
    """An ended cluster with its machines' number, shape and price; None if their memory is unknown."""
    memory = cluster.executor_memory_megabytes
    if memory is None or not cluster.kept_machines:
        return None

    def machine(of: TrainedMachine) -> Machine:
        return Machine(
            cores=cluster.executor_cores,
            memory_megabytes=memory,
            price_per_hour=of.price_per_hour,
            market=cluster.market,
        )

    return ClusterHandle(
        kind=cluster.kind,
        name=cluster.name,
        master_url="",
        machines=tuple(map(machine, cluster.kept_machines)),
        instance_type=cluster.instance_type,
        cores_per_machine=cluster.executor_cores,
        master=next((machine(each) for each in cluster.machines if each.is_master), None),
        executors_per_machine=cluster.executors_per_machine,
    )


MOST_EXPLORED = 100  # decisions and runs that are looked at: more than a month of daily ones


def with_allocations(offered: Offered, goal: SizingGoal, *, iterations: int | None, log: Any) -> Offered:
    """Add what each type's runs say of dynamic allocation, by their stored profiles."""

    def completed(offer: Offer) -> Offer:
        profiles = _profiles(offer.model, log=log)
        allocations = replay_allocations(
            profiles,
            allowed=bounds_to_try(offer.counts),
            scale=goal.scale * offer.input_growth,
            executor_cores=max((each.slots // each.executors for each in profiles), default=1),
            iterations=iterations,
        )
        return replace(offer, allocations=allocations)

    return replace(offered, offers=[completed(offer) for offer in offered.offers])


def _profiles(model: Model, *, log: Any) -> list[RunProfile]:
    try:
        records = profiles_of(model.observations, job=model.job, store=model_store())
    except ErnestError as error:
        log.warning("The profiles of the job's runs cannot be read: %s", error)
        return []
    return [record.profile for record in records]


def only_tried(goal: SizingGoal, offered: Offered) -> Offered:
    """The sizes between those that were tried: others are taken by explorations first."""
    if len(offered.offers) != 1:
        return offered
    return replace(offered, offers=[within_tried(goal, offered.offers[0])])


def with_exploration(
    decision: Decision,
    limits: Exploration,
    *,
    goal: SizingGoal,
    offered: Offered,
    runs_per_month: float | None,
    today: date,
    iterations: int | None,
    log: Any,
) -> Decision:
    """The decision, or another size for this run, to learn from it; what the one before told is logged."""
    if len(offered.offers) != 1:
        log.warning("No exploration: it is for one type of machine.")
        return decision
    (offer,), store = offered.offers, model_store()
    job, name = offer.model.job, offer.type_name
    records = store.newest(DecisionRecord, job, name, limit=MOST_EXPLORED)
    by_id = {record.id: record for record in records}
    runs = [
        (run, by_id[run.decision_id])
        for run in store.newest(ProductionRun, job, name, limit=MOST_EXPLORED)
        if run.decision_id in by_id
    ]
    if runs and (told := what_it_told(runs[-1][0], runs[-1][1].decision, decision)):
        log.info("%s", told)
    ran = {record.id for _, record in runs}
    unknown = [record for record in records if record.id not in ran]
    exploration = not_recorded(decision, [each for each in unknown if each.id > max(ran, default="")])
    exploration = exploration or next_exploration(
        limits,
        goal=goal,
        decision=decision,
        offer=offer,
        standing=Standing.of(runs, today, not_recorded=unknown),
        runs_per_month=runs_per_month,
        today=today,
        iterations=iterations,
    )
    log.info("%s", exploration.reason)
    return explored(decision, exploration, goal=goal, offer=offer, iterations=iterations)


def decided_outputs(
    record: DecisionRecord,
    *,
    goal: SizingGoal,
    types: Sequence[Type],
    cores: Mapping[str, int],
    conf: Mapping[str, str],
    stated: Collection[str],
    context: Context,
    log: Any,
) -> dict[str, Any]:
    """Return the XComs by key; a form that is impossible is absent, and ``unavailable`` says why.

    The cores are those of `stated_cores`. `conf` are the job's own sizes of executors and driver
    (`decision.forms.OWN_SIZES`): no other property is pushed, since anybody may read XComs. `stated` are the
    names of all of its properties, which win over the cluster's.
    """
    decision = record.decision
    shapes = shapes_of(decision, types, cores=cores)
    handle = handle_for(decision, types)
    there = _conf_there(handle, stated)
    made = outputs(decision, shapes, conf=conf, conf_there=there)
    try:
        groups = groups_of(decision, shapes)
        layout = layout_on(groups)
        cluster = {
            **(handle.spark_conf() if handle else {}),
            **({} if HEAP in conf else _memory(groups, layout)),
            # Only a driver on this machine can write into a folder of it.
            **(event_log_conf(str(event_logs(context))) if handle and handle.kind == LOCAL else {}),
        }
        made[SPARK_CONF] = {
            **{name: value for name, value in cluster.items() if name not in stated},
            **conf,
            **sizing_conf(executors=layout.count, executor_cores=layout.cores, bounds=decision.bounds),
        }
        if HEAP not in made[SPARK_CONF]:
            log.warning(
                "%s is not set for production, since the memory of its machines is unknown: unless the "
                "cluster sets it, executors get Spark's default of 1 GB.",
                HEAP,
            )
    except ErnestError as error:
        made[UNAVAILABLE][SPARK_CONF] = str(error)
        log.warning("There is no %s for production: %s", SPARK_CONF, error)
    return {
        **made,
        "config": decision.config.to_dict(),
        "executors": decision.config.executors,
        **({} if decision.config.machines is None else {"machines": decision.config.machines}),
        **({} if decision.bounds is None else {"bounds": decision.bounds.to_dict()}),
        "instance_type": decision.config.instance_type,
        "predicted_seconds": decision.predicted_seconds,
        **({} if decision.predicted_cost is None else {"predicted_cost": decision.predicted_cost}),
        "basis": decision.basis,
        **({} if decision.exploration is None else {"exploration": decision.exploration.to_dict()}),
        "fallback_reason": decision.fallback_reason or "",
        "record": record.to_dict(),
    }


def todays_size(stated: Any, goal: SizingGoal) -> int | None:
    """The executors that the job's own properties ask for, if the goal allows them; None otherwise."""
    return int(stated) if str(stated).isdecimal() and int(stated) in goal.executors else None


def outputs_of_own_executors(decision: Decision, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The XComs that are properties, for so many executors of the shape that the job gives them anyway."""
    sized = sizing_conf(executors=decision.config.executors, executor_cores=None)
    own = {str(name): str(value) for name, value in sizes.items()}
    return {key: {**own, **sized} for key in PROPERTIES}


def outputs_without_size(sizes: Mapping[str, Any], types: Sequence[Type]) -> dict[str, Any]:
    """The XComs by key where production keeps the size that it has: only the job's own sizes."""
    why = next((each.why_missing for each in types), UNKNOWN)
    reason = why[:1].upper() + why[1:]
    own = {str(name): str(value) for name, value in sizes.items()}
    remedy = "State fallback_executors for operators that need a number from the first run on."
    forms = ("executors", "emr_instance_groups", "emr_serverless", "glue", "databricks_cluster")
    return {
        **dict.fromkeys(PROPERTIES, own),
        UNAVAILABLE: dict.fromkeys(forms, f"{reason} {remedy}"),
        "fallback_reason": reason,
        "basis": reason,
    }


def handle_for(decision: Decision, types: Sequence[Type]) -> ClusterHandle | None:
    """The cluster of the decided type; for a mix, of the type with most machines."""
    parts = decision.composition or (decision.config,)
    main = max(parts, key=lambda part: part.executors).instance_type
    for each in types:
        if each.cluster and main in (each.instance_type, each.cluster.instance_type):
            return each.cluster
    return None


def _conf_there(handle: ClusterHandle | None, stated: Collection[str]) -> dict[str, dict[str, str]]:
    """Properties that the sample runs' cluster needs, such as its Python, by the output for it."""
    if handle is None:
        return {}
    if handle.kind == EMR:
        key = "spark_arguments"
    elif handle.kind == EXISTING and handle.master_url == "yarn":
        key = "yarn_conf"
    elif handle.kind == EXISTING and handle.master_url.startswith("k8s://"):
        key = "kubernetes_conf"
    else:
        return {}
    there = handle.spark_conf().items()
    # The memory of executors is computed for each output.
    return {key: {name: value for name, value in there if name != HEAP and name not in stated}}


def _memory(groups: Sequence[ExecutorGroup], layout: Layout) -> dict[str, str]:
    """Memory of an executor: its share of its machine's; absent if unknown."""
    rooms: list[int] = []
    for group, share in zip(groups, layout.shares, strict=True):
        memory = group.known_shape.memory_megabytes
        if memory is None and len(groups) == 1:
            return {}
        if memory is None:
            raise MissingResourceError(
                f"The memory of a machine of type {group.instance_type!r} is unknown, and executors of the "
                "mix share it.",
                remedy=f"Set {HEAP} in the job's conf.",
            )
        rooms.append(memory // share)
    return {HEAP: f"{min(rooms)}m"}


def shapes_of(
    decision: Decision, types: Sequence[Type], *, cores: Mapping[str, int]
) -> dict[str, ExecutorShape]:
    """Return the machines of each type; absent if unknown.

    Taken from the existing cluster, else from the user, else from the machines that the model was trained on.
    """
    clusters = [each.cluster for each in types if each.cluster]
    shapes = {handle.instance_type: _shape(handle) for handle in reversed(clusters)}
    for each in types:
        if each.cluster:
            # The model may be of machines that have ended; production runs on those of the cluster.
            shapes.setdefault(each.instance_type, _shape(each.cluster))
    known = {name: number for name, number in cores.items() if name != ANY_TYPE}
    of_all = cores.get(ANY_TYPE)
    for each in types:
        trained_on = _trained_on(each.model)
        if trained_on and known.get(each.instance_type, of_all) in (None, trained_on.cores):
            shapes.setdefault(each.instance_type, trained_on)
    if of_all is not None:
        parts = decision.composition or (decision.config,)
        known = {**{part.instance_type: of_all for part in parts}, **known}
    return {**{name: ExecutorShape(cores=each_has) for name, each_has in known.items()}, **shapes}


def _trained_on(model: Model | None) -> ExecutorShape | None:
    """The machines that a model's runs were made on; None if it does not know them."""
    if model is None:
        return None
    if model.cluster is not None:
        return ExecutorShape(
            cores=model.cluster.executor_cores,
            memory_megabytes=model.cluster.executor_memory_megabytes,
            is_standalone=model.cluster.kind in (LOCAL, EC2),
        )
    cores = model.conditions.executor_cores if model.conditions else None
    return ExecutorShape(cores=cores) if cores else None


def _shape(handle: ClusterHandle) -> ExecutorShape:
    return ExecutorShape(
        cores=handle.cores_per_machine,
        memory_megabytes=min(machine.memory_megabytes for machine in handle.machines),
        is_standalone=handle.kind in (LOCAL, EC2) or handle.web_url is not None,
    )
