"""The report on a model: the answer first, then why, then how far to believe it, then where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from airflow_provider_ernest.documents import Alternative, InputFingerprint, Model, RunConditions
from airflow_provider_ernest.settings import AVERAGING, SizingGoal
from airflow_provider_ernest.views.prediction import CurvePoint, Prediction
from airflow_provider_ernest.views.records import ShownDecision
from airflow_provider_ernest.views.report.page import (
    chart,
    facts,
    footer,
    header,
    key_figures,
    section,
    table,
    tag,
    warnings_section,
    whole_page,
)
from airflow_provider_ernest.views.sample_runs import modelled_runs
from airflow_provider_ernest.words import (
    counted,
    data_amount,
    deviation,
    dollars,
    duration,
    error,
    machines,
    number,
    percent,
    probability,
)

NEARLY_AS_FAST = 1.1
"""So many times the shortest time is still about as fast."""


def render(model: Model, prediction: Prediction, *, goal: SizingGoal | None = None) -> str:
    """The report as an HTML page that needs nothing else; the same arguments give the same page.

    Args:
        model: what is reported on.
        prediction: by it alone; see `views.prediction.prediction_alone`.
        goal: what was asked for.
    """
    return whole_page(
        _header(model, prediction),
        _key_figures(model, prediction),
        warnings_section(_warnings(model, prediction)),
        chart("time", "Time against machines", _times(prediction)),
        chart("shares", "Where the time goes, and why it does not get faster", _shares(prediction)),
        chart("cost", "Cost against time", _costs(prediction)) if prediction.alternatives else None,
        chart("folds", "How well the runs predict each other", _folds(model)),
        section("The model", tag("p", _about_terms(model)), _terms(model)),
        section("The observed runs", _observations(model)),
        section("Where this comes from", facts(_origin(model))),
        footer(". Predictions follow Ernest (Venkataraman et al., NSDI 2016)."),
        title=f"{model.job}: how many machines?",
        data={
            "kind": "model",
            "name": model.job,
            "shown": {
                "prediction": prediction,
                "observations": modelled_runs(model),
                "terms": model.terms,
                "budget": goal.budget_dollars if goal else None,
            },
        },
    )


def _header(model: Model, prediction: Prediction) -> Element:
    counts = [each.machines for each in prediction.curve]
    span = machines(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]} machines"
    asked = f"{span} of type {model.instance_type}, {percent(prediction.scale)} of the input"
    if prediction.iterations is not None:
        asked += f", {counted(prediction.iterations, 'iteration')}"
    return header("How many machines?", model.job, asked)


def _key_figures(model: Model, prediction: Prediction) -> Element:
    validation, decision = model.validation, prediction.decision
    figures = list(_answer(decision, prediction) if decision else _what_is_possible(prediction))
    expected = (
        "Error to expect",
        error(validation.median_error_percent),
        f"median where each run is predicted from the others, {error(validation.max_error_percent)} at most",
    )
    return key_figures(*figures, expected, best=0 if decision else None)


def _answer(decision: ShownDecision, prediction: Prediction) -> Iterator[tuple[str, str, str]]:
    chosen = decision.machines
    yield "Chosen", machines(chosen), f"{decision.goal}, of those considered"
    yield _time("Predicted time", next(each for each in prediction.curve if each.machines == chosen))
    if decision.predicted_cost is not None:
        yield "Predicted cost", dollars(decision.predicted_cost), _what_it_is_paid_for(decision)
    if decision.confidence is not None and decision.probability is not None:
        asked = f"asked for: {probability(decision.confidence)}"
        yield "Probability to keep the goal", probability(decision.probability), asked


def _what_it_is_paid_for(decision: ShownDecision) -> str:
    price, parts = f"at {dollars(decision.price_per_hour or 0.0)} for a machine and hour", decision.cost_parts
    besides = (
        {"the master": parts.master, "volumes": parts.volumes, "training": parts.training} if parts else {}
    )
    told = [f"{dollars(cost)} for {name}" for name, cost in besides.items() if cost > 0]
    return f"{price}; of it {', '.join(told)}" if told else price


def _what_is_possible(prediction: Prediction) -> Iterator[tuple[str, str, str]]:
    fastest = min(prediction.curve, key=lambda each: each.seconds)
    near = next(each for each in prediction.curve if each.seconds <= NEARLY_AS_FAST * fastest.seconds)
    yield _time(f"Fastest: {machines(fastest.machines)}", fastest)
    if near is not fastest:
        yield _time(f"Nearly as fast: {machines(near.machines)}", near)


def _time(name: str, each: CurvePoint) -> tuple[str, str, str]:
    low, high = each.likely_seconds
    return name, duration(each.seconds), f"80 % of runs take {duration(low)} to {duration(high)}"


def _warnings(model: Model, prediction: Prediction) -> list[str]:
    warnings = list(prediction.decision.warnings if prediction.decision else model.warnings)
    return [prediction.out_of_reach, *warnings] if prediction.out_of_reach else warnings


def _times(prediction: Prediction) -> Element:
    curve = prediction.curve
    return table(
        {
            "machines": (str(each.machines) for each in curve),
            "seconds": (number(each.seconds) for each in curve),
            "80 %, from": (number(each.likely_seconds[0]) for each in curve),
            "80 %, to": (number(each.likely_seconds[1]) for each in curve),
            "95 %, from": (number(each.nearly_certain_seconds[0]) for each in curve),
            "95 %, to": (number(each.nearly_certain_seconds[1]) for each in curve),
            "not supported by the runs": (each.extrapolates for each in curve),
        },
        words=["not supported by the runs"],
        chosen=_chosen(prediction),
    )


def _chosen(prediction: Prediction) -> int | None:
    """The position of what was chosen, in the curve and among the alternatives."""
    if prediction.decision is None:
        return None
    return [each.machines for each in prediction.curve].index(prediction.decision.machines)


def _shares(prediction: Prediction) -> Element:
    columns = {"machines": [str(each.machines) for each in prediction.curve]}
    for name in prediction.curve[0].parts:
        # A term may be called "machines", too.
        columns[f"s of {name}"] = [
            f"{number(each.parts[name])} ({percent(each.parts[name] / sum(each.parts.values()))})"
            for each in prediction.curve
        ]
    return table(columns)


def _costs(prediction: Prediction) -> Element:
    alternatives, chosen = prediction.alternatives, _chosen(prediction)
    return table(
        {
            "machines": (str(each.machines) for each in alternatives),
            "seconds": (number(each.seconds) for each in alternatives),
            "dollars": (dollars(each.cost) for each in alternatives),
            "keeps the goal": (
                None if each.probability is None else probability(each.probability) for each in alternatives
            ),
            "remark": (_remark(each, is_chosen=at == chosen) for at, each in enumerate(alternatives)),
        },
        words=["remark"],
        chosen=chosen,
    )


def _remark(each: Alternative, *, is_chosen: bool) -> str:
    remarks = [
        "chosen" if is_chosen else "" if each.feasible else "less sure than asked for",
        "on the Pareto front" if each.is_pareto else "",
        each.memory_shortage,
    ]
    return "; ".join(remark for remark in remarks if remark)


def _folds(model: Model) -> Element:
    folds = model.validation.folds
    return table(
        {
            "run": (str(fold.index) for fold in folds),
            "machines": (str(fold.machines) for fold in folds),
            "scale": (percent(fold.scale) for fold in folds),
            "seconds": (number(fold.seconds) for fold in folds),
            "predicted from the others": (number(fold.predicted_seconds) for fold in folds),
            "error": (deviation(fold.error_percent) for fold in folds),
        }
    )


def _about_terms(model: Model) -> str:
    return (
        "The time of a run is a sum of terms, each the seconds of something. "
        + (
            "Which terms the job has is not certain, so the prediction averages over all sets of them: "
            "the coefficient is the mean, the probability that of the job having the term at all. "
            if model.method == AVERAGING
            else "Its coefficients are found by non-negative least squares. "
        )
        + "Machines count as numbers, scale as the share of the input."
    )


def _terms(model: Model) -> Element:
    return table(
        {
            "term": (tag("code", term.name) for term in model.terms),
            "what it is": (term.meaning for term in model.terms),
            "seconds per unit": (number(term.coefficient) for term in model.terms),
            "probability": (percent(term.probability) for term in model.terms),
        },
        words=["term", "what it is"],
    )


def _observations(model: Model) -> Element:
    runs = sorted(model.observations, key=lambda run: run.index)
    return table(
        {
            "run": (str(run.index) for run in runs),
            "machines": (str(run.machines) for run in runs),
            "scale": (percent(run.scale) for run in runs),
            "seconds": (number(run.seconds) for run in runs),
            "start-up, s": (number(run.startup_seconds) if run.startup_seconds else "" for run in runs),
            "iterations": (str(run.iterations or "") for run in runs),
            "application": (run.application_id for run in runs),
            "event log": (run.event_log for run in runs),
        },
        words=["application", "event log"],
    )


def _origin(model: Model) -> dict[str, str | None]:
    return {
        "model": model.id,
        "fitted": model.at,
        "method": model.method,
        "job": model.job,
        "instance type": model.instance_type,
        "runs": str(len(model.observations)),
        "learned from": learned_from(model),
        "trained under": trained_under(model.conditions),
        "artifact": model.artifact,
        "artifact's SHA-256": model.artifact_sha256,
        "input at scale 1": model.input_path,
        "trained iterations": None if model.trained_iterations is None else str(model.trained_iterations),
    }


def learned_from(model: Model) -> str | None:
    """How many production runs, and which model of sample runs alone it goes on from; None for such a one."""
    if model.base_model_id is None:
        return None
    runs = counted(len(model.learned_from), "production run")
    return f"{runs}, which are among its runs; it goes on from {model.base_model_id}"


def trained_under(conditions: RunConditions | None) -> str | None:
    """As far as it is known; None where nothing is."""
    return "; ".join(_known(conditions)) or None if conditions else None


def _known(conditions: RunConditions) -> Iterator[str]:
    if conditions.spark:
        yield f"Spark {conditions.spark}"
    if conditions.settings is not None:
        yield f"{counted(len(conditions.settings), 'setting')} compared"
    if conditions.cores_per_machine is not None:
        yield f"{counted(conditions.cores_per_machine, 'core')} of a machine"
    shape = ", ".join(_shape(conditions.input)) if conditions.input else ""
    if shape:
        yield f"input of {shape}"


def _shape(shape: InputFingerprint) -> Iterator[str]:
    if shape.partitions is not None:
        each = shape.bytes_per_partition
        size = f" of {data_amount(each)}" if each is not None else ""
        yield f"{counted(shape.partitions, 'partition')}{size}"
    elif shape.total_bytes is not None:
        yield data_amount(shape.total_bytes)
    if shape.columns is not None:
        yield counted(shape.columns, "column")
    if shape.format:
        yield shape.format
