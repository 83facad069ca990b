"""``ernest design``: which sample runs to make, all at once or one after the other."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import (
    MACHINES_HELP,
    Command,
    add_output_arguments,
    add_setting,
    as_csv,
    as_json,
    machine_numbers,
    metavar_of,
    refuse_to_overwrite,
    say,
    warn,
    write_text,
)
from airflow_provider_ernest.cli.runs_file import read_runs
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import (
    COST_OPTIONS,
    COST_UNITS,
    CRITERIA,
    PAPERS_COST,
    ConnectedCluster,
    DesignBounds,
    ModelSettings,
    SampledInput,
    SparkJob,
)
from airflow_provider_ernest.words import counted, machines, number, percent, plain

if TYPE_CHECKING:
    from airflow_provider_ernest.design.candidates import Candidates
    from airflow_provider_ernest.design.costs import ProductionShare
    from airflow_provider_ernest.design.criteria import Targets
    from airflow_provider_ernest.design.sequential import Proposal
    from airflow_provider_ernest.documents import Design, Experiment, Observation

LEVEL = 0.8
"""Of the interval that must be narrow enough."""

SEQUENTIAL = "bayesian I"
"""The criterion by which runs are proposed one after the other."""


def _add_arguments(parser: ArgumentParser) -> None:
    bounds = parser.add_argument_group("runs to choose from")
    for name in ("max_machines", "min_machines", "max_scale", "min_scale"):
        add_setting(bounds, DesignBounds, name)
    add_setting(
        bounds,
        SampledInput,
        "partitions",
        required=True,
        help="partitions of the whole input (file blocks or files): the unit of sampling",
    )
    add_setting(
        bounds,
        ConnectedCluster,
        "cores_per_machine",
        required=True,
        help="cores that each offers: a run has a partition for each core at least",
    )
    bounds.add_argument(
        "--scale-steps",
        metavar="N",
        type=int,
        default=20,
        help="how many scales to consider; default %(default)s",
    )
    add_setting(bounds, SparkJob, "iterations", help="iterations of the sample runs, for iterative jobs")

    purpose = parser.add_argument_group("purpose")
    purpose.add_argument(
        "--target-machines",
        metavar="NUMBERS",
        type=machine_numbers,
        help=f"the design is for predictions of these: {MACHINES_HELP}",
    )
    purpose.add_argument(
        "--target-scale",
        metavar="SCALE",
        type=float,
        default=1.0,
        help="and of this size of input, relative to the whole one; default %(default)g",
    )
    hyphenated = [name.replace(" ", "-") for name in CRITERIA]
    add_setting(purpose, DesignBounds, "criterion", choices=hyphenated)
    add_setting(purpose, ModelSettings, "terms", nargs="+", metavar="TERM")

    cost = parser.add_argument_group("cost and budget")
    budget = cost.add_mutually_exclusive_group()
    add_setting(budget, DesignBounds, "budget")
    add_setting(budget, DesignBounds, "budget_share")
    cost.add_argument(
        "--production-machines",
        metavar="N",
        type=int,
        default=1,
        help="machines of that production run; default %(default)s",
    )
    add_setting(cost, DesignBounds, "cost", choices=tuple(COST_UNITS))
    for name, says in COST_OPTIONS.items():
        cost.add_argument(
            f"--{name.replace('_', '-')}", metavar=metavar_of(name, float), type=float, help=says
        )

    runs = parser.add_argument_group("number of runs")
    add_setting(runs, DesignBounds, "min_runs")
    add_setting(runs, DesignBounds, "max_runs", help="the most; default: two more (with --next: 12)")
    runs.add_argument(
        "--max-repetitions",
        metavar="N",
        type=int,
        default=1,
        help="how often the same run may be made; default %(default)s",
    )
    runs.add_argument(
        "--observed",
        metavar="RUNS",
        help="file of runs already made, see fit: they count as information, at no cost",
    )
    runs.add_argument(
        "--next",
        action="store_true",
        help="propose the single next run after those observed, within a budget that counts them, or say why "
        "enough is known",
    )
    runs.add_argument(
        "--narrow-enough",
        type=float,
        default=0.3,
        metavar="WIDTH",
        help="for --next: enough is known when the 80 %% interval at all targets is at most so wide, "
        "relative to the prediction; default %(default)g",
    )
    add_output_arguments(parser, what="the design (with --next: the proposal)")
    parser.add_argument(
        "--format",
        choices=("json", "csv"),
        help="of that file; default: by its ending, JSON where that tells nothing. The CSV waits for its "
        "seconds to be filled in",
    )


def _run(args: Namespace) -> None:
    refuse_to_overwrite(args.output, force=args.force)
    observed = read_runs(args.observed) if args.observed else []
    candidates = _candidates(args)
    _warn(args, candidates)
    result: Design | Proposal
    if args.next:
        result = _proposal(args, candidates, observed)
        experiments = [result.experiment] if result.experiment else []
        say(_proposal_lines(result), beside=args.output)
    else:
        from airflow_provider_ernest.views.tables import design_table

        result = _design(
            args, candidates, criterion=_criterion(args), min_runs=args.min_runs, observed=observed
        )
        experiments = list(result.experiments)
        say(design_table(result), beside=args.output)
    if args.output:
        as_table = args.format == "csv" or (args.format is None and args.output.lower().endswith(".csv"))
        text = runs_to_fill_in(experiments) if as_table else as_json(result.to_dict())
        write_text(args.output, text, force=args.force)


def _candidates(args: Namespace) -> Candidates:
    from airflow_provider_ernest.design.candidates import enumerate_candidates
    from airflow_provider_ernest.design.costs import MIN_SCALE, MIN_SCALE_WITHIN_SHARE

    within_share = args.budget_share is not None
    usual = MIN_SCALE_WITHIN_SHARE if within_share else MIN_SCALE
    return enumerate_candidates(
        min_machines=args.min_machines,
        max_machines=args.max_machines,
        min_scale=usual if args.min_scale is None else args.min_scale,
        max_scale=args.max_scale,
        partitions=args.partitions,
        cores_per_machine=args.cores_per_machine,
        scale_steps=args.scale_steps,
        by_ratio=within_share,
    )


def _warn(args: Namespace, candidates: Candidates) -> None:
    largest, smallest = int(candidates.machines.max()), float(candidates.scale.min())
    if largest < args.max_machines:
        warn(
            [
                f"No sample run can have more than {machines(largest)}: at --max-scale "
                f"{plain(args.max_scale)} the {args.partitions} partitions do not give every core one. "
                "Raise --max-scale, or split "
                "the input into more partitions."
            ]
        )
    if args.target_machines is not None and args.target_scale < smallest:
        warn(
            [
                f"The target scale {plain(args.target_scale)} is less than any sample run may read, "
                f"{plain(smallest)}. "
                "A scale of 1 is the whole input that the samples are taken of."
            ]
        )


def _design(args: Namespace, candidates: Candidates, **further: Any) -> Design:
    from airflow_provider_ernest.design.plan import plan_design

    return plan_design(
        candidates=candidates,
        terms=args.terms,
        targets=_targets(args),
        budget=_budget(args),
        cost=_cost(args),
        max_runs=args.max_runs,
        max_repetitions=args.max_repetitions,
        iterations=args.iterations,
        **further,
    )


def _proposal(args: Namespace, candidates: Candidates, observed: Sequence[Observation]) -> Proposal:
    """What `--next` asks for.

    Raises:
        InvalidParameterError: the targets are missing, or another option cannot be.
        DesignError: the candidates cannot tell what must be told.
    """
    from airflow_provider_ernest.design.sequential import MOST_RUNS, propose_next
    from airflow_provider_ernest.prediction.terms import DICTIONARY

    targets, budget = _targets(args), _budget(args)
    if targets is None:
        raise InvalidParameterError(
            "target_machines",
            None,
            "is missing, and --next is for predictions that are known",
            remedy="Give the numbers of machines that production may have, such as 8-64:8.",
        )
    if _criterion(args) not in (None, SEQUENTIAL):
        raise InvalidParameterError(
            "criterion", args.criterion, "cannot be with --next", remedy="Leave it out: it is bayesian-I."
        )
    return propose_next(
        candidates=candidates,
        targets=targets,
        observed=observed,
        # By default that of a design of all runs at once.
        budget=_design(args, candidates).budget if budget is None else budget,
        cost=_cost(args),
        relative_width=_relative_width(targets, args.terms),
        narrow_enough=args.narrow_enough,
        terms=args.terms or DICTIONARY,
        min_runs=args.min_runs,
        max_runs=MOST_RUNS if args.max_runs is None else args.max_runs,
        max_repetitions=args.max_repetitions,
        iterations=args.iterations,
    )


def _targets(args: Namespace) -> Targets | None:
    from airflow_provider_ernest.design.criteria import Targets

    if args.target_machines is None:
        return None
    return Targets(machines=args.target_machines, scale=args.target_scale)


def _cost(args: Namespace) -> Any:
    from airflow_provider_ernest.design.costs import resolve_cost

    options = {name: getattr(args, name) for name in COST_OPTIONS}
    return resolve_cost(args.cost, **{name: each for name, each in options.items() if each is not None})[0]


def _budget(args: Namespace) -> float | ProductionShare | None:
    """What all runs may cost; None for the default.

    Raises:
        InvalidParameterError: it is a share of production, and the cost says nothing of that.
    """
    from airflow_provider_ernest.design.costs import ProductionShare

    share = args.budget_share
    if share is None:
        budget: float | None = args.budget
        return budget
    if args.cost == PAPERS_COST:
        raise InvalidParameterError(
            "budget_share",
            share,
            f"needs to know what production costs, and --cost {args.cost} does not say",
            remedy="Use --cost machine_seconds or dollars with full_seconds_on_one_machine, a rough guess of "
            "the whole input's seconds on one machine.",
        )
    return ProductionShare(share=share, machines=args.production_machines, scale=args.target_scale)


def _criterion(args: Namespace) -> str | None:
    given: str | None = args.criterion
    return given.replace("-", " ") if given else None


def _relative_width(
    targets: Targets, terms: Sequence[str] | None
) -> Callable[[Sequence[Observation]], float]:
    """Tells how wide the widest interval at the targets is, relative to the prediction."""

    def widest(observed: Sequence[Observation]) -> float:
        from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
        from airflow_provider_ernest.prediction.training import train

        machines, scale = targets.columns()
        model = train(observed, job="sampled so far", terms=terms)
        low, high = predict_interval(model, machines=machines, scale=scale, level=LEVEL)
        return float(((high - low) / predict_seconds(model, machines=machines, scale=scale)).max())

    return widest


def _proposal_lines(proposal: Proposal) -> list[str]:
    lines = []
    if proposal.experiment:
        run = proposal.experiment
        lines.append(
            f"Next: {machines(run.machines)} at scale {plain(run.scale)} "
            f"({counted(run.partitions, 'partition')}), expected cost {number(run.cost)}"
        )
    lines.append(proposal.reason)
    width = "" if proposal.relative_width is None else f"; interval {percent(proposal.relative_width)} wide"
    lines.append(f"spent {number(proposal.spent)} of {number(proposal.budget)} {proposal.cost_unit}{width}")
    return lines


def runs_to_fill_in(experiments: Sequence[Experiment]) -> str:
    """The runs as the original's CSV, with empty seconds."""
    heading, iterative = ["#machines", "fraction", "seconds"], any(run.iterations for run in experiments)
    rows: list[list[object]] = [[run.machines, f"{run.scale:.12g}", ""] for run in experiments]
    if iterative:
        heading.append("iterations")
        rows = [[*row, run.iterations] for row, run in zip(rows, experiments, strict=True)]
    return as_csv(heading, rows)


COMMAND = Command(
    name="design",
    summary="choose a few cheap sample runs by optimal experiment design",
    description="Choose the few sample runs that tell most about a job within a budget. Written as CSV they "
    "are a file of runs whose seconds are to be filled in.",
    example="""\
  %(prog)s --max-machines 16 --partitions 1600 --cores-per-machine 4 --output runs.csv
  %(prog)s --max-machines 8 --partitions 400 --cores-per-machine 4 --target-machines 8-64:8 --cost dollars \\
      --full-seconds-on-one-machine 7200 --price-per-hour 0.19 --budget-share 0.05
  %(prog)s --max-machines 8 --partitions 400 --cores-per-machine 4 --target-machines 8-64:8 --next \\
      --observed runs.csv""",
    add_arguments=_add_arguments,
    run=_run,
)
