"""``ernest design``: which sample runs to make, all at once or one after the other."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import (
    MACHINES_HELP,
    Command,
    add_output_arguments,
    add_terms_argument,
    as_csv,
    as_json,
    machine_numbers,
    refuse_to_overwrite,
    say,
    warn,
    write_text,
)
from airflow_provider_ernest.cli.runs_file import read_runs
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import COST_UNITS, CRITERIA
from airflow_provider_ernest.words import counted, machines

if TYPE_CHECKING:
    from airflow_provider_ernest.design.candidates import Candidates
    from airflow_provider_ernest.design.costs import CheckedCost, ProductionShare
    from airflow_provider_ernest.design.criteria import Targets
    from airflow_provider_ernest.design.sequential import Proposal
    from airflow_provider_ernest.documents import Design, Experiment, Observation


# ---------------------------------------------------------------------------
# The options of ``ernest design``, and what the model's functions are called with by them.


COSTS = tuple(COST_UNITS)


def add_design_arguments(parser: ArgumentParser) -> None:
    """All options of the command."""
    _add_bounds(parser)
    _add_purpose(parser)
    _add_cost(parser)
    _add_runs(parser)
    add_output_arguments(parser, what="the design (with --next: the proposal)")
    parser.add_argument(
        "--format",
        choices=("json", "csv"),
        help="of that file; default: by its ending, JSON where that tells nothing. The CSV waits for its "
        "seconds to be filled in",
    )


def _add_bounds(parser: ArgumentParser) -> None:
    bounds = parser.add_argument_group("runs to choose from")
    bounds.add_argument(
        "--max-machines", metavar="N", type=int, required=True, help="the most machines of a sample run"
    )
    bounds.add_argument(
        "--min-machines", metavar="N", type=int, default=1, help="the fewest; default %(default)s"
    )
    bounds.add_argument(
        "--max-scale",
        metavar="SHARE",
        type=float,
        default=0.1,
        help="the largest share of the input that a sample run reads; default %(default)g",
    )
    bounds.add_argument(
        "--min-scale",
        metavar="SHARE",
        type=float,
        help="the smallest; default 0.01, with --budget-share 0.001",
    )
    bounds.add_argument(
        "--partitions",
        metavar="N",
        type=int,
        required=True,
        help="partitions of the whole input (file blocks or files): the unit of sampling",
    )
    bounds.add_argument(
        "--cores-per-machine",
        metavar="N",
        type=int,
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
    bounds.add_argument(
        "--iterations", metavar="N", type=int, help="iterations of the sample runs, for iterative jobs"
    )


def _add_purpose(parser: ArgumentParser) -> None:
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
    purpose.add_argument(
        "--criterion",
        choices=[name.replace(" ", "-") for name in CRITERIA],
        help="what an optimal design is: A is the paper's; default: bayesian-I with --target-machines, else "
        "bayesian-D",
    )
    add_terms_argument(purpose)


def _add_cost(parser: ArgumentParser) -> None:
    cost = parser.add_argument_group("cost and budget")
    budget = cost.add_mutually_exclusive_group()
    budget.add_argument(
        "--budget", metavar="COST", type=float, help="what all runs may cost, in the unit of --cost"
    )
    budget.add_argument(
        "--budget-share",
        metavar="SHARE",
        type=float,
        help="what all runs may cost as a share of one production run, such as 0.05; not with "
        "--cost relative_time",
    )
    cost.add_argument(
        "--production-machines",
        metavar="N",
        type=int,
        default=1,
        help="machines of that production run; default %(default)s",
    )
    cost.add_argument(
        "--cost",
        choices=COSTS,
        default=COSTS[0],
        help="what a run costs: relative_time is scale/machines in cheapest runs, as in the paper; default "
        "%(default)s",
    )
    cost.add_argument(
        "--run-overhead",
        metavar="COST",
        type=float,
        default=0.0,
        help="for relative_time: what every run costs besides, in cheapest runs; default %(default)g",
    )
    cost.add_argument(
        "--full-seconds-on-one-machine",
        metavar="SECONDS",
        type=float,
        help="for the other costs: a rough guess of the whole input's time on one machine",
    )
    cost.add_argument(
        "--run-overhead-seconds",
        metavar="SECONDS",
        type=float,
        default=0.0,
        help="for the other costs: what every run takes besides; default %(default)g",
    )
    cost.add_argument(
        "--price-per-hour", metavar="DOLLARS", type=float, help="for dollars: of one machine and hour"
    )


def _add_runs(parser: ArgumentParser) -> None:
    runs = parser.add_argument_group("number of runs")
    runs.add_argument(
        "--min-runs", metavar="N", type=int, help="the fewest; default: what the terms need to be told apart"
    )
    runs.add_argument(
        "--max-runs", metavar="N", type=int, help="the most; default: two more (with --next: 12)"
    )
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


def candidates_of(args: Namespace) -> Candidates:
    """The runs within the bounds."""
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


def targets_of(args: Namespace) -> Targets | None:
    """The predictions that will be asked for, None where that is not said."""
    from airflow_provider_ernest.design.criteria import Targets

    if args.target_machines is None:
        return None
    return Targets(machines=args.target_machines, scale=args.target_scale)


def cost_of(args: Namespace) -> CheckedCost:
    """What runs cost."""
    from airflow_provider_ernest.design.costs import resolve_cost

    cost, _ = resolve_cost(
        args.cost,
        full_seconds_on_one_machine=args.full_seconds_on_one_machine,
        run_overhead_seconds=args.run_overhead_seconds,
        run_overhead=args.run_overhead,
        price_per_hour=args.price_per_hour,
    )
    return cost


def budget_of(args: Namespace) -> float | ProductionShare | None:
    """What all runs may cost; None for the default.

    Raises:
        InvalidParameterError: it is a share of production, and the cost says nothing of that.
    """
    from airflow_provider_ernest.design.costs import ProductionShare

    if args.budget_share is None:
        budget: float | None = args.budget
        return budget
    if args.cost == COSTS[0]:
        raise InvalidParameterError(
            "budget_share",
            args.budget_share,
            f"needs to know what production costs, and --cost {args.cost} does not say",
            remedy="Use --cost machine_seconds or dollars with full_seconds_on_one_machine, a rough guess of "
            "the whole input's seconds on one machine.",
        )
    return ProductionShare(
        share=args.budget_share, machines=args.production_machines, scale=args.target_scale
    )


def criterion_of(args: Namespace) -> str | None:
    """The criterion by the model's name."""
    given: str | None = args.criterion
    return given.replace("-", " ") if given else None


# ---------------------------------------------------------------------------
# ``ernest design --next``: the single next run, or why enough is known.


LEVEL = 0.8
"""Of the interval that must be narrow enough."""

SEQUENTIAL = "bayesian I"
"""The criterion by which runs are proposed one after the other."""


def propose(args: Namespace, candidates: Candidates, observed: Sequence[Observation]) -> Proposal:
    """The proposal that the options of ``ernest design --next`` ask for.

    Raises:
        InvalidParameterError: the targets are missing, or another option cannot be.
        DesignError: the candidates cannot tell what must be told.
    """
    from airflow_provider_ernest.design.sequential import MOST_RUNS, propose_next
    from airflow_provider_ernest.prediction.terms import DICTIONARY

    targets = targets_of(args)
    if targets is None:
        raise InvalidParameterError(
            "target_machines",
            None,
            "is missing, and --next is for predictions that are known",
            remedy="Give the numbers of machines that production may have, such as 8-64:8.",
        )
    if criterion_of(args) not in (None, SEQUENTIAL):
        raise InvalidParameterError(
            "criterion", args.criterion, "cannot be with --next", remedy="Leave it out: it is bayesian-I."
        )
    return propose_next(
        candidates=candidates,
        targets=targets,
        observed=observed,
        budget=_budget(args, candidates, targets),
        cost=cost_of(args),
        relative_width=_relative_width(targets, args.terms),
        narrow_enough=args.narrow_enough,
        terms=args.terms or DICTIONARY,
        min_runs=args.min_runs,
        max_runs=MOST_RUNS if args.max_runs is None else args.max_runs,
        max_repetitions=args.max_repetitions,
        iterations=args.iterations,
    )


def _budget(args: Namespace, candidates: Candidates, targets: Targets) -> float | ProductionShare:
    """The budget given, or the one that a design made at once would have by default."""
    from airflow_provider_ernest.design.plan import plan_design

    given = budget_of(args)
    if given is not None:
        return given
    return plan_design(
        candidates=candidates,
        terms=args.terms,
        targets=targets,
        cost=cost_of(args),
        max_runs=args.max_runs,
        max_repetitions=args.max_repetitions,
    ).budget


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


# ---------------------------------------------------------------------------


def _add_arguments(parser: ArgumentParser) -> None:
    add_design_arguments(parser)


def _run(args: Namespace) -> None:
    refuse_to_overwrite(args.output, force=args.force)
    observed = read_runs(args.observed) if args.observed else []
    candidates = candidates_of(args)
    _warn_of_fewer_machines(args, candidates)
    _warn_of_small_targets(args, candidates)
    result: Design | Proposal
    if args.next:
        result = propose(args, candidates, observed)
        experiments = [result.experiment] if result.experiment else []
        say(_proposal_lines(result), beside=args.output)
    else:
        result = _design(args, candidates, observed)
        experiments = list(result.experiments)
        say(_design_lines(result), beside=args.output)
    if args.output:
        as_table = args.format == "csv" or (args.format is None and args.output.lower().endswith(".csv"))
        text = runs_to_fill_in(experiments) if as_table else as_json(result.to_dict())
        write_text(args.output, text, force=args.force)


def _design(args: Namespace, candidates: Candidates, observed: Sequence[Observation]) -> Design:
    from airflow_provider_ernest.design.plan import plan_design

    return plan_design(
        candidates=candidates,
        terms=args.terms,
        criterion=criterion_of(args),
        targets=targets_of(args),
        budget=budget_of(args),
        cost=cost_of(args),
        min_runs=args.min_runs,
        max_runs=args.max_runs,
        max_repetitions=args.max_repetitions,
        observed=observed,
        iterations=args.iterations,
    )


def _warn_of_fewer_machines(args: Namespace, candidates: Candidates) -> None:
    largest = int(candidates.machines.max())
    if largest < args.max_machines:
        warn(
            [
                f"No sample run can have more than {machines(largest)}: at --max-scale {args.max_scale:g} "
                f"the {args.partitions} partitions do not give every core one. Raise --max-scale, or split "
                "the "
                "input into more partitions."
            ]
        )


def _warn_of_small_targets(args: Namespace, candidates: Candidates) -> None:
    smallest = float(candidates.scale.min())
    if args.target_machines is not None and args.target_scale < smallest:
        warn(
            [
                f"The target scale {args.target_scale:g} is less than any sample run may read, {smallest:g}. "
                "A scale of 1 is the whole input that the samples are taken of."
            ]
        )


def _design_lines(design: Design) -> list[str]:
    from airflow_provider_ernest.views.tables import design_table

    return design_table(design)


def _proposal_lines(proposal: Proposal) -> list[str]:
    lines = []
    if proposal.experiment:
        run = proposal.experiment
        lines.append(
            f"Next: {machines(run.machines)} at scale {run.scale:.4g} "
            f"({counted(run.partitions, 'partition')}), expected cost {run.cost:.4g}"
        )
    lines.append(proposal.reason)
    width = "" if proposal.relative_width is None else f"; interval {proposal.relative_width:.0%} wide"
    lines.append(f"spent {proposal.spent:.4g} of {proposal.budget:.4g} {proposal.cost_unit}{width}")
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
