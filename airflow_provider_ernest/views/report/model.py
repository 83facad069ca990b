"""The report on a model: the answer first, then why, then how far to believe it, then where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from airflow_provider_ernest.documents.decisions import Alternative
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import InputFingerprint, RunConditions
from airflow_provider_ernest.prediction.calibration import calibration_of
from airflow_provider_ernest.settings import AVERAGING, SizingGoal
from airflow_provider_ernest.views.prediction import Prediction
from airflow_provider_ernest.views.report.page import (
    chart,
    facts,
    footer,
    header,
    headline,
    key_figures,
    section,
    table,
    tag,
    warnings_section,
    whole_page,
)
from airflow_provider_ernest.views.sample_runs import modelled_runs
from airflow_provider_ernest.words import (
    as_percent,
    counted,
    data_amount,
    dollars,
    duration,
    duration_range,
    input_share,
    machines,
    number,
    percentage,
    probability,
    signed_percentage,
)


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
        section("Compared", _compared(prediction), *_worth(prediction)),
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
    asked = f"{span} of type {model.instance_type}, {input_share(prediction.scale)} of the input"
    if prediction.iterations is not None:
        asked += f", {counted(prediction.iterations, 'iteration')}"
    if prediction.goal:
        asked += f"; {prediction.goal}"
    return header("How many machines?", model.job, asked, headline(*_headline(prediction)))


def _headline(prediction: Prediction) -> Iterator[str]:
    """The answer in a sentence, then what makes it less than one: nobody reads a size without it."""
    yield f"{prediction.answer.headline}."
    beyond = _beyond(prediction)
    if beyond:
        yield beyond


def _beyond(prediction: Prediction) -> str:
    """That the size which the figures are of was not tried; empty where it was."""
    why = next((row.extrapolates for row in prediction.answer.rows if row.is_chosen), "")
    return f"{why}." if why else ""


def _key_figures(model: Model, prediction: Prediction) -> Element:
    """The tiles of the model's page, but for production, of which a report knows nothing."""
    validation = model.validation
    figures = [
        (tile.label, tile.value, "; ".join(tile.notes))
        for tile in prediction.answer.tiles
        if tile.name != "kept"
    ]
    expected = (
        "Error to expect",
        percentage(validation.median_error_percent),
        "median where each run is predicted from the others, "
        f"{percentage(validation.max_error_percent)} at most",
    )
    return key_figures(*figures, expected, best=0 if prediction.decision else None)


def _compared(prediction: Prediction) -> Element:
    rows = prediction.answer.rows
    return table(
        {
            "which": (", ".join(row.roles) for row in rows),
            "machines": (str(row.machines) for row in rows),
            "time": (duration(row.seconds) for row in rows),
            "80 % of runs": (duration_range(row.likely_seconds) for row in rows),
            "cost": ("" if row.cost is None else dollars(row.cost) for row in rows),
            "chance": ("" if row.probability is None else probability(row.probability) for row in rows),
        },
        words=("which",),
        chosen=next((place for place, row in enumerate(rows) if row.is_chosen), None),
    )


def _worth(prediction: Prediction) -> Iterator[Element]:
    """What the chosen costs more than the cheapest, and what that buys."""
    if prediction.answer.worth:
        yield tag("p", prediction.answer.worth)


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
            f"{number(each.parts[name])} ({as_percent(each.parts[name] / sum(each.parts.values()))})"
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
            "scale": (input_share(fold.scale) for fold in folds),
            "seconds": (number(fold.seconds) for fold in folds),
            "predicted from the others": (number(fold.predicted_seconds) for fold in folds),
            "error": (signed_percentage(fold.error_percent) for fold in folds),
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
            "probability": (as_percent(term.probability) for term in model.terms),
        },
        words=["term", "what it is"],
    )


def _observations(model: Model) -> Element:
    runs = sorted(model.observations, key=lambda run: run.index)
    return table(
        {
            "run": (str(run.index) for run in runs),
            "machines": (str(run.machines) for run in runs),
            "scale": (input_share(run.scale) for run in runs),
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
        "intervals": calibration_of(model).sentence or None,
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
