"""The decision, or what is taken where there can be none: production must know its size, or not start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ernest.clusters.base import EC2, EMR, EXISTING, LOCAL, ClusterHandle
from airflow_provider_ernest.decision.choice import choose_among, consider, decide_on
from airflow_provider_ernest.decision.forms.all_forms import UNAVAILABLE, outputs
from airflow_provider_ernest.decision.forms.machines import HEAP, MachineShape, groups_of, layout_on
from airflow_provider_ernest.decision.goals import Goal, load_objective
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import (
    Billing,
    Configuration,
    Decision,
    DecisionRecord,
    Model,
    new_id,
    training_dollars,
)
from airflow_provider_ernest.exceptions import (
    ErnestError,
    InfeasibleGoalError,
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.operators.fit_model import remembered_handle
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.operators.recording import record_in_time
from airflow_provider_ernest.setting_checks import require_likeness
from airflow_provider_ernest.settings import (
    BILLING_READERS,
    FAIL,
    MOST_PROBABLE,
    UntrainedType,
    reaction_to_failure,
    rendered_type,
    require_fallback_among,
)
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf
from airflow_provider_ernest.stated import (
    NOTHING,
    in_words,
    machine_counts,
    number,
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
    prices,
    read_fields,
    refuse_unknown,
)
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store_location import store_root

if TYPE_CHECKING:
    from collections.abc import Collection

    from airflow.sdk import Context

    from airflow_provider_ernest.decision.forms.machines import Layout, MachineGroup
    from airflow_provider_ernest.documents import Origin
    from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator


# ---------------------------------------------------------------------------
# What may be chosen: the types of machines that have a model and a price, with what each is billed.


GIVE_PRICE = "Give the dollars for one machine and hour."


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What may be chosen.

    Attributes:
        offers: at least one.
        warnings: which types are not among them, and why.
    """

    offers: tuple[Offer, ...]
    warnings: tuple[str, ...]


def offered(question: Question, types: Sequence[TrainedType]) -> Offered:
    """The offers of a question.

    Args:
        question: what is asked.
        types: what came of each training.

    Raises:
        InvalidParameterError: a single cluster has fewer machines than were allowed, or a type that was not
            trained is like none.
        MissingResourceError: nothing can be offered: there is no model, or no price.
    """
    _check_untrained(question, types)
    training = sum(training_dollars(each.model) or 0.0 for each in types if each.model)
    offers: dict[str, Offer] = {}
    warnings: list[str] = []
    for each in types:
        try:
            offer = _of_trained(each, question, training, machines_for(each, question, among=types))
        except MissingResourceError as error:
            if len(types) == 1:
                raise
            warnings.append(f"{each.instance_type} is not among the choices: {error.message}")
            continue
        if offers.setdefault(offer.type_name, offer) is not offer:
            warnings.append(f"A second model of {offer.type_name} is not looked at.")
    for untrained in question.untrained_types:
        like = offers.get(untrained.like)
        if like is None:
            warnings.append(
                f"{untrained.instance_type} is not among the choices: neither is {untrained.like}, "
                "which it is like."
            )
        else:
            offers.setdefault(untrained.instance_type, _of_untrained(untrained, like, question, types))
    if not offers:
        raise MissingResourceError(" ".join(warnings), remedy="Set fallback_machines to go on without.")
    warnings += _about_training(question, types)
    return Offered(offers=tuple(offers.values()), warnings=tuple(warnings))


def machines_for(
    trained: TrainedType, question: Question, *, among: Sequence[TrainedType]
) -> tuple[int, ...]:
    """The allowed numbers of machines that the cluster of a type can have.

    Args:
        trained: the type.
        question: tells what is allowed.
        among: all types. Where it is the only one, its cluster must have all that are allowed; among others,
            it is offered with those that it has.

    Raises:
        InvalidParameterError: the only cluster has fewer.
    """
    handle, machines = trained.handle, question.machines
    if handle is None or not handle.limits_production or machines[-1] <= len(handle.machines):
        return machines
    if handle.kind == LOCAL and not handle.master_url:  # it has ended; the next one may be larger
        return machines
    most = len(handle.machines)
    if len(among) > 1:
        return tuple(count for count in machines if count <= most)
    raise InvalidParameterError(
        "allowed_machines" if question.has_allowed_machines else "max_machines",
        machines[-1],
        f"is outside the 1 to {most} machines that production may have",
        remedy="Correct it, or allow or start more machines.",
    )


def price_of(trained: TrainedType, question: Question) -> float | None:
    """Dollars for one machine of a type and hour; None where unknown."""
    given = question.prices.get(trained.instance_type, question.price_per_hour)
    return given if given is not None or trained.handle is None else trained.handle.price_per_hour


def _of_trained(
    trained: TrainedType, question: Question, training: float, machines: tuple[int, ...]
) -> Offer:
    if trained.model is None:
        raise MissingResourceError(
            f"There is no model to choose by: {trained.why_missing.rstrip('.')}.",
            remedy="Set fallback_machines to go on without one.",
        )
    price = price_of(trained, question)
    if price is None:
        raise MissingResourceError(
            f"price_per_hour={dict(question.prices) or None} leaves open what a machine of type "
            f"{trained.instance_type} costs, and no cluster tells it.",
            remedy=GIVE_PRICE,
        )
    if not machines:
        raise MissingResourceError(
            f"its cluster has none of the {in_words(question.machines)} machines that are allowed."
        )
    return Offer(
        model=trained.model,
        machines=machines,
        billing=question.billing.billing(
            price_per_hour=price, handle=trained.handle, training_dollars=training
        ),
        input_growth=trained.input_growth,
    )


def _of_untrained(
    untrained: UntrainedType, like: Offer, question: Question, types: Sequence[TrainedType]
) -> Offer:
    handle = next((each.handle for each in types if each.instance_type == untrained.like), None)
    return Offer(
        model=like.model,
        machines=question.machines,
        billing=question.billing.billing(
            price_per_hour=float(untrained.price_per_hour),
            handle=handle,
            training_dollars=like.billing.training_dollars,
        ),
        instance_type=untrained.instance_type,
        relative_speed=float(untrained.relative_speed),
        input_growth=like.input_growth,
    )


def _check_untrained(question: Question, types: Sequence[TrainedType]) -> None:
    names = [each.instance_type for each in types]
    for untrained in question.untrained_types:
        require_likeness(untrained.instance_type, untrained.like, names)


def _about_training(question: Question, types: Sequence[TrainedType]) -> list[str]:
    if question.billing.expected_runs is None:
        return []
    return [
        f"What the sample runs on {each.instance_type} cost is not known and not counted."
        for each in types
        if each.model and training_dollars(each.model) is None
    ]


# ---------------------------------------------------------------------------


def decide(
    question: Question,
    types: Sequence[TrainedType],
    *,
    allow_mixed: bool,
    only_in_memory: bool,
    log: Any,
) -> Decision:
    """Choose; where that is impossible do what the question says.

    Args:
        question: what is asked.
        types: what came of each training.
        allow_mixed: consider clusters of several trained types, too.
        only_in_memory: leave out machines that cannot hold the data.
        log: the logger that a loud warning goes to.

    Raises:
        InvalidParameterError: a parameter cannot be; no fallback helps there.
        ErnestError: nothing can be chosen, and there is no fallback.
    """
    fallback, machines = question.fallback, _machines_of_fallback(question, types)
    if fallback is not None and fallback.machines not in machines:
        raise InvalidParameterError(
            "fallback_machines",
            fallback.machines,
            f"is outside the {in_words(machines) or 'no'} machines that its cluster can have",
            remedy="Correct it, or start more machines.",
        )
    left_out: tuple[str, ...] = ()
    try:
        found = offered(question, types)
        left_out = found.warnings
        return _chosen(found, question, allow_mixed=allow_mixed, only_in_memory=only_in_memory, log=log)
    except InvalidParameterError:
        raise
    except ErnestError as error:
        if fallback is None or question.reaction == FAIL:
            for warning in left_out:
                log.warning("%s", warning)
            raise
        log.warning("FALLBACK to %d machines: %s", fallback.machines, error.message)
        decision = _fallen_back(fallback, question, types, error)
        return replace(decision, warnings=(*decision.warnings, *left_out))


def type_of_fallback(question: Question, types: Sequence[TrainedType]) -> TrainedType:
    """The training of the fallback's type; where it is not told, or was not trained, the first."""
    named = question.fallback.instance_type if question.fallback else None
    return next((each for each in types if each.instance_type == named), types[0])


def _machines_of_fallback(question: Question, types: Sequence[TrainedType]) -> tuple[int, ...]:
    """Those that its cluster can have, if it is one of those that were trained."""
    trained = type_of_fallback(question, types)
    named = question.fallback.instance_type if question.fallback else None
    if named is not None and trained.instance_type != named:
        return question.machines
    return machines_for(trained, question, among=types)


def _chosen(
    found: Offered, question: Question, *, allow_mixed: bool, only_in_memory: bool, log: Any
) -> Decision:
    goal = question.goal
    alternatives = consider(
        found.offers,
        goal=goal,
        scale=question.scale,
        iterations=question.iterations,
        allow_mixed=allow_mixed,
        only_in_memory=only_in_memory,
    )
    try:
        decision = choose_among(alternatives, found.offers, goal=goal, only_in_memory=only_in_memory)
    except InfeasibleGoalError as error:
        if question.reaction != MOST_PROBABLE or error.most_probable is None:
            raise
        log.warning("MOST PROBABLE configuration instead of one that keeps to the goal: %s", error)
        decision = decide_on(
            error.most_probable, alternatives, found.offers, goal=goal, fallback_reason=error.message
        )
    return replace(decision, warnings=(*found.warnings, *decision.warnings))


def _fallen_back(
    fallback: Fallback, question: Question, types: Sequence[TrainedType], error: ErnestError
) -> Decision:
    trained = type_of_fallback(question, types)
    # Of a cluster that is there already, whatever the model was trained on.
    at_hand = trained.handle.instance_type if trained.handle else trained.instance_type
    instance_type = fallback.instance_type or at_hand
    is_trained = instance_type in (at_hand, trained.instance_type)
    price = price_of(trained, question) if is_trained else _price_of_another(instance_type, question)
    return Decision(
        config=Configuration(machines=fallback.machines, instance_type=instance_type),
        goal=question.goal.describe(),
        price_per_hour=price,
        billing=None
        if price is None
        else question.billing.billing(
            price_per_hour=price, handle=trained.handle if is_trained else None, training_dollars=0.0
        ),
        fallback_reason=error.message,
        warnings=(f"The stated fallback of {fallback.machines} machines was taken: {error.message}",),
        confidence=question.goal.confidence,
    )


def _price_of_another(instance_type: str, question: Question) -> float | None:
    """Dollars for one machine and hour of a type that was not trained; None where unknown."""
    for untrained in question.untrained_types:
        if untrained.instance_type == instance_type:
            return float(untrained.price_per_hour)
    return question.prices.get(instance_type, question.price_per_hour)


# ---------------------------------------------------------------------------
# How machines are billed: what the user says of it, completed by what their cluster tells.


ON_DEMAND = "on-demand"


class Terms:
    """The fields of `BillingTerms`, read and checked.

    Args:
        given: by name; those that are left out have their defaults.

    Raises:
        InvalidParameterError: one is unknown or cannot be.

    Attributes:
        expected_runs: production runs that share the cost of the sample runs; None to leave that out.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        refuse_unknown("billing", given, BILLING_READERS)
        read = read_fields(given, BILLING_READERS)
        self._master: float | None = read.pop("master_price_per_hour", None)
        self._market: str | None = read.pop("market", None)
        self.expected_runs: int | None = read.pop("expected_runs", None)
        self._numbers = read

    def billing(
        self, *, price_per_hour: float, handle: ClusterHandle | None, training_dollars: float
    ) -> Billing:
        """How the machines of a type are paid for.

        Args:
            price_per_hour: dollars for one of them and hour.
            handle: of the cluster of that type that the sample runs were made on, or that production has.
            training_dollars: what all sample runs cost.
        """
        return Billing(
            price_per_hour=price_per_hour,
            master_price_per_hour=self._master_price(handle),
            market=self._market or _market(handle),
            training_dollars=0.0 if self.expected_runs is None else training_dollars,
            expected_runs=1 if self.expected_runs is None else self.expected_runs,
            **self._numbers,
        )

    def _master_price(self, handle: ClusterHandle | None) -> float:
        if self._master is not None:
            return self._master
        return (handle.master.price_per_hour or 0.0) if handle and handle.master else 0.0


def _market(handle: ClusterHandle | None) -> str:
    """In which the machines were bought; a cluster may hold some of each."""
    markets = {machine.market for machine in handle.machines if machine.market} if handle else set()
    return " and ".join(sorted(markets)) or ON_DEMAND


# ---------------------------------------------------------------------------
# What is asked of the decision: its operator's template fields, read and checked before anything else.


Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """What is taken where nothing can be chosen.

    Attributes:
        machines: how many.
        instance_type: of which type; None for the first that was to be trained.
    """

    machines: int
    instance_type: str | None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What production must keep to, what it may have, and what to do where that cannot be.

    Attributes:
        goal: to keep to.
        machines: the numbers of machines that are allowed.
        has_allowed_machines: they were stated one by one.
        price_per_hour: of all types of machines; None for what `prices` or the clusters tell.
        prices: by type.
        billing: what is billed beside the hours of the machines.
        untrained_types: to be considered, too.
        cores_per_machine: of types that neither a cluster nor `cores` tells of; None where it is not stated.
        cores: of a machine, by type.
        scale: of production.
        iterations: of production.
        reaction: "fail", "fallback" or "most_probable".
        fallback: None where none is stated.
    """

    goal: Goal
    machines: tuple[int, ...]
    has_allowed_machines: bool
    price_per_hour: float | None
    prices: Mapping[str, float]
    billing: Terms
    untrained_types: tuple[UntrainedType, ...]
    cores_per_machine: int | None
    cores: Mapping[str, int]
    scale: float
    iterations: int | None
    reaction: str
    fallback: Fallback | None


def read_question(asker: ChooseConfigOperator, *, has_model: bool) -> Question:
    """Read all parameters.

    Args:
        asker: whose template fields they are, rendered.
        has_model: there is a model to choose by. Without one only the fallback can be taken, which needs
            neither scale nor iterations: what a failed task was to tell must not hinder it.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    machines = machine_counts(
        minimum=asker.min_machines, maximum=asker.max_machines, allowed=asker.allowed_machines
    )
    fallback = _fallback(asker, machines)
    only_noted = not has_model and fallback is not None
    price, prices_by_type = prices("price_per_hour", asker.price_per_hour)
    cores, cores_by_type = _cores(asker.cores_per_machine)
    return Question(
        goal=_goal(asker),
        machines=machines,
        has_allowed_machines=asker.allowed_machines not in NOTHING,
        price_per_hour=price,
        prices=prices_by_type,
        billing=Terms(asker.billing),
        untrained_types=tuple(rendered_type(each) for each in asker.untrained_types),
        cores_per_machine=cores,
        cores=cores_by_type,
        scale=_read(asker, number, "scale", 1.0, only_noted=only_noted),
        iterations=_read(asker, optional_whole_number, "iterations", None, only_noted=only_noted),
        reaction=reaction_to_failure(optional_text(asker.on_failure), has_fallback=fallback is not None),
        fallback=fallback,
    )


def _read(
    asker: ChooseConfigOperator,
    read: Callable[[str, Any], Value],
    parameter: str,
    otherwise: Value,
    *,
    only_noted: bool,
) -> Value:
    """A parameter, which must be readable only where something is chosen by it."""
    try:
        return read(parameter, getattr(asker, parameter))
    except InvalidParameterError as error:
        if not only_noted:
            raise
        asker.log.warning("%s It is recorded as %s.", error, otherwise)
        return otherwise


def _goal(asker: ChooseConfigOperator) -> Goal:
    objective = optional_text(asker.objective)
    return Goal(
        deadline_seconds=optional_number("deadline_seconds", asker.deadline_seconds),
        budget_dollars=optional_number("budget_dollars", asker.budget_dollars),
        confidence=number("confidence", asker.confidence),
        objective=None if objective is None else load_objective(objective),
    )


def _fallback(asker: ChooseConfigOperator, machines: tuple[int, ...]) -> Fallback | None:
    count = optional_whole_number("fallback_machines", asker.fallback_machines)
    require_fallback_among(machines, count)
    if count is None:
        return None
    return Fallback(machines=count, instance_type=optional_text(asker.fallback_instance_type))


def _cores(value: Any) -> tuple[int | None, Mapping[str, int]]:
    """The cores of machines of all types, and those by type, as they are stated."""
    if not isinstance(value, Mapping):
        of_all = optional_whole_number("cores_per_machine", value)
        if of_all is not None and of_all < 1:
            raise InvalidParameterError("cores_per_machine", of_all, "is not a number of at least 1")
        return of_all, {}
    known = {
        str(name): optional_whole_number(f"cores_per_machine[{name!r}]", cores)
        for name, cores in value.items()
    }
    return None, {name: cores for name, cores in known.items() if cores is not None}


# ---------------------------------------------------------------------------
# The types of machines that were to be trained: for each what came of it, its model or why there is none.


UNKNOWN = "unknown"
"""The name of a type that neither a model, a cluster nor the user tells."""

UNTOLD = "its training failed or was skipped (see the tasks sample_run and fit_model)"

NO_CLUSTER = "Its cluster did not start (see the tasks find_model, design, check_cluster and create_cluster)"


@dataclass(frozen=True, kw_only=True)
class TrainedType:
    """A type of machine that was to be trained.

    Attributes:
        instance_type: its name.
        model: None where there is none.
        handle: of the cluster of that type; None where there is none.
        failure: why there is no model; empty where nothing tells.
        lacks_cluster: it was to have one, and has none.
        reuse: why its model is an earlier run's; empty where it was trained now.
        input_growth: how many times the input that the model was trained for today's is.
    """

    instance_type: str
    model: Model | None
    handle: ClusterHandle | None
    failure: str = ""
    lacks_cluster: bool = False
    reuse: str = ""
    input_growth: float = 1.0

    @property
    def why_missing(self) -> str:
        """Why there is no model, to end a sentence."""
        if self.lacks_cluster:
            # Of which the task that fits the model knows only that there were no runs.
            return f"{self.failure} {NO_CLUSTER}" if self.failure else NO_CLUSTER[0].lower() + NO_CLUSTER[1:]
        return self.failure or UNTOLD


def trained_types(*, models: Any, clusters: Any, failures: Any) -> list[TrainedType]:
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
) -> TrainedType:
    told_by = model or handle
    return TrainedType(
        instance_type=told_by.instance_type if told_by else name,
        model=model,
        handle=handle,
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


# ---------------------------------------------------------------------------
# Types of machines whose training was skipped, since a stored model speaks for the job.


def with_stored_models(
    types: Sequence[TrainedType], *, models: Any, growth: Any, reasons: Any
) -> list[TrainedType]:
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


def _is_newer(each: TrainedType, stored: Model) -> bool:
    return each.model is not None and each.model.model_id > stored.model_id


def _reused(each: TrainedType, model: Model, *, growth: float, reason: str) -> TrainedType:
    handle = each.handle or (remembered_handle(model.cluster) if model.cluster else None)
    return replace(each, model=model, handle=handle, lacks_cluster=False, reuse=reason, input_growth=growth)


# ---------------------------------------------------------------------------
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
    decision: Decision, types: Sequence[TrainedType], question: Question
) -> dict[str, MachineShape]:
    """The machines of each type; absent where nobody tells.

    As the cluster that is there tells, else as the user does, else as those were that the model is of.

    Args:
        decision: what was decided.
        types: what came of each training.
        question: what was asked.
    """
    shapes: dict[str, MachineShape] = {}
    for each in types:
        if each.handle:
            shapes.setdefault(each.handle.instance_type, _shape(each.handle))
            # The model may be of machines that are not there any more, and production of those that are.
            shapes.setdefault(each.instance_type, _shape(each.handle))
    told = dict(question.cores)
    for each in types:
        trained_on = _trained_on(each.model)
        stated = told.get(each.instance_type, question.cores_per_machine)
        if trained_on and stated in (None, trained_on.cores):
            shapes.setdefault(each.instance_type, trained_on)
    _tell_untrained(told, shapes, question)
    if question.cores_per_machine is not None:
        for part in decision.composition or (decision.config,):
            told.setdefault(part.instance_type, question.cores_per_machine)
    for name, cores in told.items():
        shapes.setdefault(name, MachineShape(cores=cores))
    return shapes


def _tell_untrained(told: dict[str, int], shapes: Mapping[str, MachineShape], question: Question) -> None:
    """Add the cores of types that were not trained: as stated, else those of the type that each is like."""
    for one in question.untrained_types:
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


def handle_for(decision: Decision, types: Sequence[TrainedType]) -> ClusterHandle | None:
    """The cluster whose properties production needs: of the type, or most machines of a mix, decided on."""
    parts = decision.composition or (decision.config,)
    main = max(parts, key=lambda part: part.machines).instance_type
    return next(
        (
            each.handle
            for each in types
            if each.handle and main in (each.instance_type, each.handle.instance_type)
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


# ---------------------------------------------------------------------------
# All that the decision hands on, by the XCom key under which it does.


SPARK_CONF = "spark_conf"


def decided_outputs(
    record: DecisionRecord,
    *,
    question: Question,
    types: Sequence[TrainedType],
    conf: Mapping[str, str],
    stated: Collection[str],
    dynamic_allocation: bool,
    context: Context,
    log: Any,
) -> dict[str, Any]:
    """What is pushed; what cannot be said is absent, and ``unavailable`` says why.

    Args:
        record: of the decision.
        question: what was asked.
        types: what came of each training.
        conf: what the job's own Spark properties say of the sizes of executors and driver, see
            `downstream.memory.OWN_SIZES`. Of the others nothing is pushed, for anybody may read XComs.
        stated: names of all of the job's own, which win over what a cluster tells of them.
        dynamic_allocation: on, and bounded to the choice, in the outputs for others than a standalone master.
        context: of the task that decides.
        log: the logger that is warned of what ``spark_conf`` lacks.
    """
    decision = record.decision
    shapes, handle = shapes_of(decision, types, question), handle_for(decision, types)
    made = outputs(
        decision,
        shapes,
        conf=conf,
        dynamic_allocation=dynamic_allocation,
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

    Such as the Python of the machines. Not the memory of executors, which is reckoned for each output.
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


# ---------------------------------------------------------------------------
# The record of a decision: what was asked for and what was decided.


def record_of(
    decision: Decision,
    *,
    question: Question,
    types: Sequence[TrainedType],
    job: str | None,
    objective: str | None,
    origin: Origin,
) -> DecisionRecord:
    """The record of a decision that was just made.

    Args:
        decision: what was decided.
        question: what was asked for.
        types: what came of each training. The model that decided is one of theirs; where a fallback was
            taken, the first is recorded in spite of which it was.
        job: the job's name; None for the models'. Empty in the record where neither tells.
        objective: as it was stated; None where deadline or budget said what is best.
        origin: the task instance that decided.
    """
    now = datetime.now(UTC)
    trained = [each for each in types if each.model]
    models = [each.model for each in trained if each.model]
    of_model = next(
        (each for each in trained if each.model and each.model.model_id == decision.model_id),
        next(iter(trained), None),
    )
    model = of_model.model if of_model else None
    goal, machines = question.goal, question.machines
    return DecisionRecord(
        decision_id=new_id(now),
        decided_at=now.isoformat(),
        job=job or (model.job if model else ""),
        instance_type=decision.config.instance_type,
        decision=decision,
        scale=question.scale * (of_model.input_growth if of_model else 1.0),
        model_id=model.model_id if model else None,
        iterations=question.iterations,
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
        min_machines=machines[0],
        max_machines=machines[-1],
        artifact_sha256=model.artifact_sha256 if model else None,
        origin=origin,
        confidence=goal.confidence if goal.has_limits else None,
        objective=objective,
        allowed_machines=machines if question.has_allowed_machines else (),
        model_ids=tuple(each.model_id for each in models),
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
