"""``ernest design``: which sample runs to make."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.cli.models import read_runs
from airflow_provider_ernest.settings import ConnectedCluster, DesignBounds, SampledInput, SparkJob
from airflow_provider_ernest.settings.bounds import COST_OPTIONS, COST_UNITS, CRITERIA
from airflow_provider_ernest.words import count, plain

if TYPE_CHECKING:
    from airflow_provider_ernest.design.candidates import Candidates
    from airflow_provider_ernest.documents.runs import Design, Experiment, Observation


def _add_arguments(parser: ArgumentParser) -> None:
    bounds = parser.add_argument_group("runs to choose from")
    for name in ("max_executors", "min_executors", "max_scale", "min_scale"):
        command.add_setting(bounds, DesignBounds, name)
    says = "partitions of the whole input (file blocks or files): the unit of sampling"
    command.add_setting(bounds, SampledInput, "partitions", required=True, help=says)
    says = "cores that each offers: a run has a partition for each core at least"
    command.add_setting(bounds, ConnectedCluster, "executor_cores", required=True, help=says)
    command.add_setting(
        bounds, SparkJob, "iterations", help="iterations of the sample runs, for iterative jobs"
    )
    purpose = parser.add_argument_group("purpose")
    purpose.add_argument(
        *("--target-executors", "--target-machines"),
        metavar="NUMBERS",
        type=command.executor_numbers,
        help=f"the design is for predictions of these, with the whole input: {command.EXECUTORS_HELP}",
    )
    hyphenated = [name.replace(" ", "-") for name in CRITERIA]
    command.add_setting(purpose, DesignBounds, "criterion", choices=hyphenated)
    cost = parser.add_argument_group("cost and budget")
    budget = cost.add_mutually_exclusive_group()
    for name in ("budget", "budget_share"):
        command.add_setting(budget, DesignBounds, name)
    command.add_setting(cost, DesignBounds, "cost", choices=tuple(COST_UNITS))
    for name, says in COST_OPTIONS.items():
        option = f"--{name.replace('_', '-')}"
        cost.add_argument(option, metavar=command.metavar_of(name, float), type=float, help=says)
    runs = parser.add_argument_group("number of runs")
    command.add_setting(runs, DesignBounds, "min_runs")
    command.add_setting(runs, DesignBounds, "max_runs", help="the most; default: two more")
    runs.add_argument(
        "--observed",
        metavar="RUNS",
        help="file of runs already made, see fit: they count as information, at no cost",
    )
    runs.add_argument("--job", metavar="NAME", help="the job of which that file has runs, where of several")
    command.add_result_arguments(
        parser,
        formats=(command.TABLE, command.JSON, command.CSV),
        result="the design (csv is a file of runs to fill in)",
    )


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.views.tables import design_table

    observed = read_runs(args.observed, args.job).runs if args.observed else []
    bounds = _bounds(args)
    candidates = _candidates(args, bounds)
    largest = int(candidates.executors.max())
    if largest < args.max_executors:
        command.warn(
            f"No sample run can be of a size over {count(largest)}: at --max-scale {plain(args.max_scale)} "
            f"the {args.partitions} partitions do not give every core one. Raise --max-scale, or split the "
            "input into more partitions."
        )
    design = _design(args, bounds, candidates, observed)
    command.tell(
        args, lambda: design_table(design), design.to_dict, csv=lambda: _runs_to_fill_in(design.experiments)
    )


def _bounds(args: Namespace) -> DesignBounds:
    stated = {each.name: getattr(args, each.name) for each in fields(DesignBounds) if each.name in args}
    options = {name: getattr(args, name) for name in COST_OPTIONS if getattr(args, name) is not None}
    criterion = args.criterion and args.criterion.replace("-", " ")
    return DesignBounds(**{**stated, "criterion": criterion}, cost_options=options)


def _candidates(args: Namespace, bounds: DesignBounds) -> Candidates:
    from airflow_provider_ernest.design.candidates import enumerate_candidates
    from airflow_provider_ernest.design.costs import MIN_SCALE, MIN_SCALE_WITHIN_SHARE

    within_share = bounds.budget_share is not None
    usual = MIN_SCALE_WITHIN_SHARE if within_share else MIN_SCALE
    return enumerate_candidates(
        min_executors=bounds.min_executors,
        max_executors=bounds.max_executors,
        min_scale=usual if bounds.min_scale is None else bounds.min_scale,
        max_scale=bounds.max_scale,
        partitions=args.partitions,
        executor_cores=args.executor_cores,
        by_ratio=within_share,
    )


def _design(
    args: Namespace, bounds: DesignBounds, candidates: Candidates, observed: Sequence[Observation]
) -> Design:
    from airflow_provider_ernest.design.costs import resolve_cost, share_of_production
    from airflow_provider_ernest.design.plan import plan_design
    from airflow_provider_ernest.design.problem import Targets

    cost, budget = resolve_cost(bounds.cost, **bounds.cost_options), bounds.budget
    if bounds.budget_share is not None:
        budget = share_of_production(cost, bounds.budget_share)
    targets = None
    if args.target_executors is not None:
        targets = Targets(executors=args.target_executors)
    return plan_design(
        candidates=candidates,
        targets=targets,
        criterion=bounds.criterion,
        budget=budget,
        cost=cost,
        min_runs=bounds.min_runs,
        max_runs=bounds.max_runs,
        iterations=args.iterations,
        observed=observed,
    )


def _runs_to_fill_in(experiments: Sequence[Experiment]) -> str:
    """The runs as the original's CSV, with empty seconds."""
    has_iterations = any(run.iterations for run in experiments)
    return command.as_csv(
        ["#executors", "fraction", "seconds", *(["iterations"] if has_iterations else [])],
        (
            [run.executors, f"{run.scale:.12g}", "", *([run.iterations] if has_iterations else [])]
            for run in experiments
        ),
    )


COMMAND = command.Command(
    name="design",
    summary="choose a few cheap sample runs by optimal experiment design",
    description="Choose the few sample runs that show most about a job within a budget. Written as CSV they "
    "are a file of runs whose seconds are to be filled in.",
    example="""\
  %(prog)s --max-executors 16 --partitions 1600 --executor-cores 4 --output runs.csv
  %(prog)s --max-executors 8 --partitions 400 --executor-cores 4 --target-executors 8-64:8 --cost dollars \\
      --full-seconds-on-one-machine 7200 --price-per-hour 0.19 --budget-share 0.05
  %(prog)s --max-executors 8 --partitions 400 --executor-cores 4 --observed runs.csv""",
    add_arguments=_add_arguments,
    run=_run,
)
