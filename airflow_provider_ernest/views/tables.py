"""Documents as lines of text, for task logs, the command line, the demo and benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

from airflow_provider_ernest.documents.decisions import Alternative, Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Design, Observation, PastRun
from airflow_provider_ernest.prediction.calibration import calibration_of
from airflow_provider_ernest.settings.bounds import AVERAGING, IN_ROUNDS
from airflow_provider_ernest.views.sentence import proposal_of, sentence
from airflow_provider_ernest.words import (
    UNKNOWN,
    as_percent,
    confidence,
    count,
    counted,
    dollars,
    duration,
    duration_range,
    input_share,
    number,
    percentage,
    probability,
    signed_percentage,
    tenths,
    unit,
)

SCREEN_WIDTH = 110

FEWEST_FOR_REMARKS = 28
"""Characters left for remarks even if long names of types make the line too long."""

MOST_ALTERNATIVES = 40
"""Of more, only those that matter are shown; the document has all."""

MOST_OF_THE_FRONT = 24

NEIGHBOURS = 2
"""Number of alternatives shown on either side of the chosen one."""


def decision_table(decision: Decision) -> list[str]:
    """The configurations considered, and the one chosen.

    Of more than `MOST_ALTERNATIVES` the chosen one with its neighbours, mixes of types and the Pareto front.
    """
    lines = [f"goal: {decision.goal}"]
    lines += _table_of(
        decision.alternatives,
        marked=next(filter(decision.is_for, decision.alternatives), None),
        mark="<- fallback" if decision.fallback_reason else "<- chosen",
        asked=decision.confidence,
    )
    lines += wrap(sentence(None, proposal_of(decision)), SCREEN_WIDTH)
    lines += [*_certainty(decision), *filter(None, [decision.basis])]
    return [line.rstrip() for line in lines]


def out_of_reach_table(
    alternatives: tuple[Alternative, ...], *, goal: str, confidence: float, nearest: Alternative | None
) -> list[str]:
    """The configurations considered, none of which keeps to the goal, as by `decision_table`.

    The nearest is the one most likely to keep to the goal.
    """
    table = _table_of(alternatives, marked=nearest, mark="<- nearest", asked=confidence)
    return [line.rstrip() for line in (f"goal: {goal}", *table)]


def _table_of(
    alternatives: Sequence[Alternative], *, marked: Alternative | None, mark: str, asked: float | None
) -> list[str]:
    """A heading, and a line for each alternative that is shown; nothing without alternatives.

    One of them is marked. `asked` is the probability that was asked for.
    """
    if not alternatives:
        return []
    names = {each.instance_type for each in alternatives}
    shown = _shown(alternatives, marked)
    width = max(len("type"), *(len(each.instance_type) for each in shown)) if len(names) > 1 else 0
    certain = any(each.probability is not None for each in shown)
    is_priced = any(each.cost is not None for each in shown)
    units = f"{unit(shown[0].executors_per_machine)}s"
    lines = [
        (f"{'type':{width}}  " if width else "")
        + f"{units}    seconds   80 % of runs take, s"
        + ("    dollars" if is_priced else "")
        + ("       chance" if certain else "")
    ]
    for each in shown:
        line = f"{each.instance_type:{width}}  " if width else ""
        line += f"{each.executors:{len(units)}d}  {tenths(each.seconds):>9s}  "
        likely = " to ".join(map(tenths, each.likely_seconds)) if each.likely_seconds else UNKNOWN
        line += f"{likely:>21s}  " + (f"{dollars(each.cost):>9s}  " if is_priced else "")
        line += f"{probability(each.probability, asked):>11s}  " if certain else ""
        lines.append(line + _joined(_marks(each, marked, mark, asked), SCREEN_WIDTH - len(line)))
    of = len(alternatives)
    if len(shown) < of:
        lines.append(f"({count(of - len(shown))} of {count(of)} alternatives are not shown here)")
    return lines


def _shown(alternatives: Sequence[Alternative], marked: Alternative | None) -> list[Alternative]:
    if len(alternatives) <= MOST_ALTERNATIVES:
        return list(alternatives)
    on_front = [position for position, each in enumerate(alternatives) if each.is_pareto]
    kept = {*on_front[:: len(on_front) // MOST_OF_THE_FRONT + 1], *on_front[-1:]}
    for position, each in enumerate(alternatives):
        if each.composition:
            kept.add(position)
        if each == marked:
            first, last = max(0, position - NEIGHBOURS), position + NEIGHBOURS
            near = range(first, min(last + 1, len(alternatives)))
            kept |= {at for at in near if alternatives[at].instance_type == each.instance_type}
    return [alternatives[position] for position in sorted(kept)]


def _certainty(decision: Decision) -> list[str]:
    """What is billed besides, what a little more buys, and how far to believe it."""
    lines = []
    parts = decision.cost_parts
    if parts is not None and parts.total > parts.executors:
        others = ((parts.master, "master"), (parts.volumes, "volumes"), (parts.training, "training"))
        told = [f"{dollars(part)} {name}" for part, name in others if part > 0]
        counted_in = f"{unit(decision.config.executors_per_machine)}s"
        lines.append(f"billed: {', '.join([f'{dollars(parts.executors)} {counted_in}', *told])}")
    lines += [decision.worth] if decision.worth else []
    if decision.nearly_certain_seconds:
        lines.append(f"95 % of runs take {duration_range(decision.nearly_certain_seconds)}")
    if decision.error_percent is not None:
        lines.append(
            f"leave-one-out error of the model: {percentage(decision.error_percent)} (median), "
            f"{percentage(decision.max_error_percent)} (largest)"
        )
    return lines


def _marks(each: Alternative, marked: Alternative | None, mark: str, asked: float | None) -> tuple[str, ...]:
    missed = ""
    if not each.feasible:
        is_improbable = asked is not None and each.probability is not None and each.probability < asked
        missed = f"below {confidence(asked)}" if asked is not None and is_improbable else "misses the goal"
    return (
        mark if each == marked else "",
        _bounds(each),
        missed,
        f"[{each.memory_shortage}]" if each.memory_shortage else "",
        f"[{each.extrapolates}]" if each.extrapolates else "",
    )


def _bounds(each: Alternative) -> str:
    """Of dynamic allocation; the most are the alternative's executors."""
    if each.bounds is None:
        return ""
    least, initial = each.bounds.minimum, each.bounds.initial
    return f"min {least}, initial {initial}, mean {number(each.mean_executors)}"


def _joined(marks: Sequence[str], room: int) -> str:
    """Remarks, cut to what is left of a line."""
    joined, width = "  ".join(mark for mark in marks if mark), max(room, FEWEST_FOR_REMARKS)
    return joined if len(joined) <= width else f"{joined[: width - 4].rstrip()} ..."


ERRORS = {"relative": "errors relative to the run's time", "absolute": "errors in seconds"}
"""A design's weighting, in words."""

WORTH_MENTIONING = 0.01
"""A lower probability that the driver takes a machine is not shown."""


def design_table(design: Design) -> list[str]:
    """The runs to be made, and how good the choice is."""
    if not design.experiments:
        return [design.reason]
    chosen = f"{counted(len(design.experiments), 'run')} out of {counted(design.candidates, 'candidate')}"
    optimal = (
        f"{design.criterion}-optimal design for {ERRORS.get(design.weighting, design.weighting)}: {chosen}",
        f"cost {number(design.cost)} of {number(design.budget)} {design.cost_unit}, "
        f"{as_percent(design.efficiency)} as efficient as the relaxed optimum",
    )
    lines = [
        *([design.reason] if design.reason else []),
        *((f"{chosen}, in rounds",) if design.criterion == IN_ROUNDS else optimal),
        "run      size    scale  partitions  weight    cost",
    ]
    lines += [
        f"{run.index:3d}  {run.executors:8d}  {input_share(run.scale):>7s}  {run.partitions:10d}  "
        f"{number(run.weight):>6s}  {number(run.cost):>6s}"
        for run in design.experiments
    ]
    return lines


def past_runs_table(
    runs: Sequence[PastRun], observations: Sequence[Observation], left_out: Mapping[str, int]
) -> list[str]:
    """The past runs that count, oldest first, and why the others do not."""
    lines = [
        f"{counted(len(observations), 'past run')} of the job count{'s' if len(observations) == 1 else ''}"
    ]
    units = f"{unit(runs[0].executors_per_machine)}s" if runs else ""
    if observations:
        lines.append(f"began             {units}    scale  seconds  start-up  application")
    lines += [
        f"{run.started_at[:16].replace('T', ' '):16s}  {run.executors:{len(units)}d}  "
        f"{input_share(each.scale):>7s}  {tenths(each.seconds):>7s}  {tenths(each.startup_seconds):>8s}  "
        f"{run.application_id}"
        for run, each in zip(runs, observations, strict=True)
    ]
    lines += [f"{counted(many, 'other')} left out: {reason}" for reason, many in left_out.items()]
    return lines


def model_table(model: Model) -> list[str]:
    """The terms with what they mean, and each observation against its prediction from the others."""
    validation = model.validation
    lines, units = _terms(model), f"{unit(model.executors_per_machine)}s"
    if validation.folds:
        lines += [
            f"run  {units}    scale  seconds  predicted from the others    error",
            *(
                f"{fold.index:3d}  {fold.executors:{len(units)}d}  {input_share(fold.scale):>7s}  "
                f"{tenths(fold.seconds):>7s}  {tenths(fold.predicted_seconds):>25s}  "
                f"{signed_percentage(fold.error_percent):>7s}"
                for fold in validation.folds
            ),
            f"leave-one-out error: median {percentage(validation.median_error_percent)}, largest "
            f"{percentage(validation.max_error_percent)}; a start-up of {duration(model.startup_seconds)} "
            "comes on top",
        ]
    return [*lines, *filter(None, [model.known_by])]


def _terms(model: Model) -> list[str]:
    if model.method != AVERAGING:
        return [
            f"{model.method} least squares:",
            *(f"{number(term.coefficient):>12s} s x {term.name:22s} {term.meaning}" for term in model.terms),
        ]
    driver = (
        f"; {as_percent(model.driver_share)} chance that the driver takes a machine of its own"
        if model.driver_share > WORTH_MENTIONING
        else ""
    )
    calibration = calibration_of(model).sentence
    return [
        "average over all sets of terms: how probable each is, its mean coefficient, what it is",
        *(
            f"{probability(term.probability):>11s}  {number(term.coefficient):>7s} s x {term.name:22s} "
            f"{term.meaning}"
            for term in model.terms
        ),
        f"single runs scatter by {as_percent(model.noise)}{driver}",
        *([calibration] if calibration else []),
    ]
