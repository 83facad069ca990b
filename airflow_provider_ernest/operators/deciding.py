"""What the decision is made of and what becomes of it: the outputs of other tasks, and those for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EC2, EMR, EXISTING, LOCAL, ClusterHandle
from airflow_provider_ernest.decision.deciding import TrainedType
from airflow_provider_ernest.decision.forms.all_forms import UNAVAILABLE, outputs
from airflow_provider_ernest.decision.forms.machines import HEAP, MachineShape, groups_of, layout_on
from airflow_provider_ernest.documents import Decision, DecisionRecord, Model, new_id
from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.operators.fit_model import remembered_handle
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.operators.recording import record_in_time
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf
from airflow_provider_ernest.stated import (
    NOTHING,
    count,
    document,
    number,
    optional,
    optional_document,
    optional_text,
    settings_of,
)
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store_location import store_root

if TYPE_CHECKING:
    from collections.abc import Collection

    from airflow.sdk import Context

    from airflow_provider_ernest.decision.forms.machines import Layout, MachineGroup
    from airflow_provider_ernest.documents import Origin
    from airflow_provider_ernest.settings import UntrainedType

Type = TrainedType[ClusterHandle]
"""With the cluster as its task has handed it on."""


def rendered_goal(given: Any, *, has_model: bool, log: Any) -> SizingGoal:
    """The goal as it was rendered.

    Args:
        given: the operator's template field.
        has_model: there is a model to choose by. Without one only the fallback can be taken, which needs no
            scale: what a failed task was to tell must not hinder it.
        log: the logger that a scale is told to which cannot be read.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    try:
        return settings_of(SizingGoal, given, "goal")
    except InvalidParameterError as error:
        if has_model or error.parameter != "scale":
            raise
        goal = settings_of(SizingGoal, {**document("goal", given), "scale": 1.0}, "goal")
        if goal.fallback_machines is None:
            raise
        log.warning("%s It is recorded as 1.0.", error)
        return goal


def rendered_iterations(given: Any, goal: SizingGoal, *, has_model: bool, log: Any) -> int | None:
    """The iterations of production, which likewise need not be known where only the fallback can be taken.

    Raises:
        InvalidParameterError: they cannot be.
    """
    try:
        iterations: int | None = optional(count)("iterations", given)
        return iterations
    except InvalidParameterError as error:
        if has_model or goal.fallback_machines is None:
            raise
        log.warning("%s They are not recorded.", error)
        return None


@dataclass(frozen=True, kw_only=True)
class StatedCores:
    """The cores of machines, as the user states them.

    Attributes:
        of_all: of machines of any type that `by_type` has not; None where that is not stated.
        by_type: of those of one type.
    """

    of_all: int | None = None
    by_type: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, value: Any) -> StatedCores:
        """Of a number, or a mapping by type of machine.

        Raises:
            InvalidParameterError: it is neither.
        """
        if not isinstance(value, Mapping):
            return cls(of_all=optional(count)("cores_per_machine", value))
        read = {
            str(name): optional(count)(f"cores_per_machine[{name!r}]", cores) for name, cores in value.items()
        }
        return cls(by_type={name: cores for name, cores in read.items() if cores is not None})


# The types of machines that were to be trained: for each its model, or why there is none.


UNKNOWN = "unknown"
"""The name of a type that neither a model, a cluster nor the user tells."""


def trained_types(*, models: Any, clusters: Any, failures: Any) -> list[Type]:
    """What came of each training; at least one entry, which may have nothing.

    Args:
        models: one `Model` document or one for each type, None where there is none.
        clusters: likewise the `ClusterHandle` documents, also as JSON texts.
        failures: likewise the texts that the trainings failed with; a mapping names the types, too.

    Raises:
        InvalidParameterError, InvalidDocumentError: one is no document, or a cluster is none.
    """
    names: list[str] = []
    if isinstance(failures, Mapping):
        names, failures = [str(name) for name in failures], list(failures.values())
    texts = [optional_text(text) or "" for text in _listed(failures)]
    read = [_model(document) for document in _listed(models)]
    fitted = [model for model, _ in read]
    handles = [_handle(document) for document in _listed(clusters)]
    count = max(1, len(names), len(fitted), len(texts), len(handles) if len(fitted) < 2 else 0)
    if len(handles) not in (0, count):
        handles = _by_type(fitted, handles)
    return [
        _trained(
            model=_at(fitted, index, None),
            handle=_at(handles, index, None),
            failure=_at(texts, index, "") or _at(read, index, (None, ""))[1],
            name=_at(names, index, UNKNOWN),
            lacks_cluster=index < len(handles) and handles[index] is None,
        )
        for index in range(count)
    ]


def _trained(
    *, model: Model | None, handle: ClusterHandle | None, failure: str, name: str, lacks_cluster: bool
) -> Type:
    told_by = model or handle
    return TrainedType(
        instance_type=told_by.instance_type if told_by else name,
        model=model,
        cluster=handle,
        failure=failure,
        lacks_cluster=lacks_cluster,
    )


def _by_type(models: Sequence[Model | None], handles: Sequence[ClusterHandle | None]) -> list[Any]:
    """For each model the handle of a cluster of its type, where they are not given one for each."""
    known = {handle.instance_type: handle for handle in handles if handle}
    return [known.get(model.instance_type) if model else None for model in models]


def _model(document: Any) -> tuple[Model | None, str]:
    """A model, or why it cannot be read: it counts as none then, for there may be others, or a fallback."""
    given = optional_document("model", document)
    try:
        return (Model.from_dict(given) if given else None), ""
    except InvalidDocumentError as error:
        return None, str(error)


def _handle(document: Any) -> ClusterHandle | None:
    given = optional_document("cluster", document)
    return ClusterHandle.from_dict(given) if given else None


def _listed(value: Any) -> list[Any]:
    """One for each; a single one may be given as such."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return [] if value in NOTHING else [value]


def _at(values: Sequence[Any], index: int, otherwise: Any) -> Any:
    return values[index] if index < len(values) else otherwise


# Types of machines whose training was skipped, since a stored model still holds.


def with_stored_models(types: Sequence[Type], *, models: Any, growth: Any, reasons: Any) -> list[Type]:
    """The types, with stored models where none was trained since.

    The newer model counts. A task that is skipped keeps what an earlier attempt of the DAG run has returned,
    and one that somebody has cleared by itself has trained since the stored model was found.

    Args:
        types: what came of each training.
        models: the stored `Model` documents by type, also as JSON text; None where nobody looked for any.
        growth: of the input since then, likewise.
        reasons: why each was reused, likewise.

    Raises:
        InvalidParameterError, InvalidDocumentError: one of them is something else.
    """
    stored = optional_document("stored_models", models) or {}
    grown = optional_document("input_growth", growth) or {}
    why = optional_document("reuse_reasons", reasons) or {}
    found = {name: Model.from_dict(document) for name, document in stored.items()}
    return [
        _reused(
            each,
            found[each.instance_type],
            growth=number("input_growth", grown.get(each.instance_type, 1.0)),
            reason=str(why.get(each.instance_type, "")),
        )
        if each.instance_type in found and not _is_newer(each, found[each.instance_type])
        else each
        for each in types
    ]


def _is_newer(each: Type, stored: Model) -> bool:
    return each.model is not None and each.model.id > stored.id


def _reused(each: Type, model: Model, *, growth: float, reason: str) -> Type:
    handle = each.cluster or (remembered_handle(model.cluster) if model.cluster else None)
    return replace(each, model=model, cluster=handle, lacks_cluster=False, reuse=reason, input_growth=growth)


# The Spark properties that a decision comes to, and the machines that they are for.


def decided_conf(
    decision: Decision,
    *,
    shapes: Mapping[str, MachineShape],
    handle: ClusterHandle | None,
    conf: Mapping[str, str],
    stated: Collection[str],
    context: Context,
) -> dict[str, str]:
    """What a cluster needs and the job's own do not state, and the sizing, to win over the job's own.

    Args:
        decision: what was decided.
        shapes: of the types of machines that were decided on.
        handle: of a cluster of that type, where there is one.
        conf: what the job's own say of the sizes of executors and driver.
        stated: names of all of the job's own.
        context: of the task that decides.

    Raises:
        MissingResourceError: nothing tells the cores of a machine, or the memory of one of a mix.
    """
    groups = groups_of(decision, shapes)
    layout = layout_on(groups)
    cluster = {
        **(handle.spark_conf() if handle else {}),
        **({} if HEAP in conf else _memory(groups, layout)),
        # Only a driver on this machine can write into a folder of it.
        **(event_log_conf(str(event_logs(context))) if handle and handle.kind == LOCAL else {}),
    }
    return {
        **{name: value for name, value in cluster.items() if name not in stated},
        **conf,
        **sizing_conf(machines=layout.count, cores_per_machine=layout.cores),
    }


def shapes_of(
    decision: Decision,
    types: Sequence[Type],
    *,
    cores: StatedCores,
    untrained: Sequence[UntrainedType],
) -> dict[str, MachineShape]:
    """The machines of each type; absent where nobody tells.

    As the cluster that is there tells, else as the user does, else as those were that the model is of.

    Args:
        decision: what was decided.
        types: what came of each training.
        cores: as the user tells.
        untrained: types that may be chosen without a training.
    """
    shapes: dict[str, MachineShape] = {}
    for each in types:
        if each.cluster:
            shapes.setdefault(each.cluster.instance_type, _shape(each.cluster))
            # The model may be of machines that are not there any more, and production of those that are.
            shapes.setdefault(each.instance_type, _shape(each.cluster))
    told = dict(cores.by_type)
    for each in types:
        trained_on = _trained_on(each.model)
        stated = told.get(each.instance_type, cores.of_all)
        if trained_on and stated in (None, trained_on.cores):
            shapes.setdefault(each.instance_type, trained_on)
    _tell_untrained(told, shapes, untrained)
    if cores.of_all is not None:
        for part in decision.composition or (decision.config,):
            told.setdefault(part.instance_type, cores.of_all)
    for name, known in told.items():
        shapes.setdefault(name, MachineShape(cores=known))
    return shapes


def _tell_untrained(
    told: dict[str, int], shapes: Mapping[str, MachineShape], untrained: Sequence[UntrainedType]
) -> None:
    """Add the cores of types that were not trained: as stated, else those of the type that each is like."""
    for one in untrained:
        like = shapes.get(one.like)
        cores = one.cores_per_machine or (like.cores if like else told.get(one.like))
        if cores:
            told.setdefault(one.instance_type, cores)


def _trained_on(model: Model | None) -> MachineShape | None:
    """The machines that a model's runs were made on; None where it does not know them."""
    if model is None:
        return None
    if model.cluster is not None:
        return MachineShape(
            cores=model.cluster.cores_per_machine,
            memory_megabytes=model.cluster.memory_megabytes_per_machine,
            is_standalone=model.cluster.kind in (LOCAL, EC2),
        )
    cores = model.conditions.cores_per_machine if model.conditions else None
    return MachineShape(cores=cores) if cores else None


def handle_for(decision: Decision, types: Sequence[Type]) -> ClusterHandle | None:
    """The cluster whose properties production needs: of the type, or most machines of a mix, decided on."""
    parts = decision.composition or (decision.config,)
    main = max(parts, key=lambda part: part.machines).instance_type
    return next(
        (
            each.cluster
            for each in types
            if each.cluster and main in (each.instance_type, each.cluster.instance_type)
        ),
        None,
    )


def _shape(handle: ClusterHandle) -> MachineShape:
    return MachineShape(
        cores=handle.cores_per_machine,
        memory_megabytes=min(machine.memory_megabytes for machine in handle.machines),
        is_standalone=handle.kind in (LOCAL, EC2) or handle.web_url is not None,
    )


def _memory(groups: Sequence[MachineGroup], layout: Layout) -> dict[str, str]:
    """The memory of each executor: all of its machine's, or its share of it in a mix; absent where unknown.

    Raises:
        MissingResourceError: nothing tells it of one type of a mix.
    """
    rooms: list[int] = []
    for group, share in zip(groups, layout.shares, strict=True):
        memory = group.known_shape.memory_megabytes
        if memory is None and len(groups) == 1:
            return {}
        if memory is None:
            raise MissingResourceError(
                f"Nothing tells the memory of a machine of type {group.instance_type!r}, which executors of "
                "the mix share.",
                remedy=f"Set {HEAP} in the job's conf.",
            )
        rooms.append(memory // share)
    return {HEAP: f"{min(rooms)}m"}


# All that the decision hands on, by the XCom key under which it does.


SPARK_CONF = "spark_conf"


def decided_outputs(
    record: DecisionRecord,
    *,
    goal: SizingGoal,
    types: Sequence[Type],
    cores: StatedCores,
    conf: Mapping[str, str],
    stated: Collection[str],
    context: Context,
    log: Any,
) -> dict[str, Any]:
    """What is pushed; what cannot be said is absent, and ``unavailable`` says why.

    Args:
        record: of the decision.
        goal: what was asked for.
        types: what came of each training.
        cores: of machines, as the user states them.
        conf: what the job's own Spark properties say of the sizes of executors and driver, see
            `downstream.memory.OWN_SIZES`. Of the others nothing is pushed, for anybody may read XComs.
        stated: names of all of the job's own, which win over what a cluster tells of them.
        context: of the task that decides.
        log: the logger that is warned of what ``spark_conf`` lacks.
    """
    decision = record.decision
    shapes = shapes_of(decision, types, cores=cores, untrained=goal.untrained_types)
    handle = handle_for(decision, types)
    made = outputs(
        decision,
        shapes,
        conf=conf,
        dynamic_allocation=goal.dynamic_allocation,
        conf_there=_conf_there(handle, stated),
    )
    try:
        made[SPARK_CONF] = decided_conf(
            decision, shapes=shapes, handle=handle, conf=conf, stated=stated, context=context
        )
        if HEAP not in made[SPARK_CONF]:
            log.warning(
                "%s is not set for production, since nothing tells the memory of its machines: unless the "
                "cluster that it runs on does, executors get Spark's default of 1 GB.",
                HEAP,
            )
    except ErnestError as error:
        made[UNAVAILABLE][SPARK_CONF] = str(error)
        log.warning("There is no %s for production: %s", SPARK_CONF, error)
    return {
        **made,
        "config": decision.config.to_dict(),
        "machines": decision.config.machines,
        "instance_type": decision.config.instance_type,
        "predicted_seconds": decision.predicted_seconds,
        "predicted_cost": decision.predicted_cost,
        "fallback_reason": decision.fallback_reason or "",
        "record": record.to_dict(),
    }


def _conf_there(handle: ClusterHandle | None, stated: Collection[str]) -> dict[str, dict[str, str]]:
    """What applications need where the sample runs were made, by the outputs for production there.

    Such as the Python of the machines. Not the memory of executors, which is computed for each output.
    """
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
    return {key: {name: value for name, value in there if name != HEAP and name not in stated}}


# The record of a decision: what was asked for and what was decided.


def record_of(
    decision: Decision,
    *,
    goal: SizingGoal,
    types: Sequence[Type],
    iterations: int | None,
    job: str | None,
    origin: Origin,
) -> DecisionRecord:
    """The record of a decision that was just made.

    Args:
        decision: what was decided.
        goal: what was asked for.
        types: what came of each training. The model that decided is one of theirs; where a fallback was
            taken, the first is recorded in spite of which it was.
        iterations: of the production run.
        job: the job's name; None for the models'. Empty in the record where neither tells.
        origin: the task instance that decided.
    """
    now = datetime.now(UTC)
    trained = [each for each in types if each.model]
    models = [each.model for each in trained if each.model]
    of_model = next(
        (each for each in trained if each.model and each.model.id == decision.model_id),
        next(iter(trained), None),
    )
    model = of_model.model if of_model else None
    has_limits = goal.deadline_seconds is not None or goal.budget_dollars is not None
    return DecisionRecord(
        id=new_id(now),
        at=now.isoformat(),
        job=job or (model.job if model else ""),
        instance_type=decision.config.instance_type,
        decision=decision,
        scale=goal.scale * (of_model.input_growth if of_model else 1.0),
        model_id=model.id if model else None,
        iterations=iterations,
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
        min_machines=goal.machines[0],
        max_machines=goal.machines[-1],
        artifact_sha256=model.artifact_sha256 if model else None,
        origin=origin,
        confidence=goal.confidence if has_limits else None,
        objective=goal.objective,
        allowed_machines=() if goal.allowed_machines is None else goal.machines,
        model_ids=tuple(each.id for each in models),
        reuse=of_model.reuse if of_model else "",
    )


def keep_decision(record: DecisionRecord, *, store: str | None, log: Any) -> None:
    """Save a record, see `record_in_time`: production waits for the decision, not for its record.

    Args:
        record: of the decision.
        store: root of the model store; None for the configured one.
        log: the logger that the warning goes to.
    """
    if not record.job:
        log.warning("The decision is not recorded: neither a model nor the parameter job names its job.")
        return
    record_in_time(lambda: ModelStore(store_root(store)).save_decision(record), what="The decision", log=log)
