"""The options of ``ernest design``, and what the model's functions are called with by them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from airflow_provider_ernest.choices import COST_UNITS, CRITERIA
from airflow_provider_ernest.cli.options import MACHINES_HELP, add_terms_argument, machine_numbers
from airflow_provider_ernest.cli.output import add_output_arguments
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.design.budgets import ProductionShare
    from airflow_provider_ernest.model.design.candidates import Candidates
    from airflow_provider_ernest.model.design.costs import CheckedCost
    from airflow_provider_ernest.model.design.targets import Targets

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
    from airflow_provider_ernest.model.design.candidates import enumerate_candidates
    from airflow_provider_ernest.model.design.spending import MIN_SCALE, MIN_SCALE_WITHIN_SHARE

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
    from airflow_provider_ernest.model.design.targets import Targets

    if args.target_machines is None:
        return None
    return Targets(machines=args.target_machines, scale=args.target_scale)


def cost_of(args: Namespace) -> CheckedCost:
    """What runs cost."""
    from airflow_provider_ernest.model.design.costs import resolve_cost

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
    from airflow_provider_ernest.model.design.budgets import ProductionShare

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
