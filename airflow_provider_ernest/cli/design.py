"""``ernest design``: which sample runs to make, all at once or one after the other."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.design_options import (
    add_design_arguments,
    budget_of,
    candidates_of,
    cost_of,
    criterion_of,
    targets_of,
)
from airflow_provider_ernest.cli.files import refuse_to_overwrite, write_text
from airflow_provider_ernest.cli.next_run import propose
from airflow_provider_ernest.cli.output import as_csv, as_json, say, warn
from airflow_provider_ernest.cli.runs_file import read_runs

if TYPE_CHECKING:
    from airflow_provider_ernest.model.design.candidates import Candidates
    from airflow_provider_ernest.model.design.sequential import Proposal
    from airflow_provider_ernest.model.documents import Design, Experiment, Observation


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
    from airflow_provider_ernest.model.design.plan import plan_design

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
                f"No sample run can have more than {largest} machines: at --max-scale {args.max_scale:g} the "
                f"{args.partitions} partitions do not give every core one. Raise --max-scale, or split the "
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
    from airflow_provider_ernest.model.tables import design_table

    return design_table(design)


def _proposal_lines(proposal: Proposal) -> list[str]:
    lines = []
    if proposal.experiment:
        run = proposal.experiment
        lines.append(
            f"Next: {run.machines} machines at scale {run.scale:.4g} ({run.partitions} partitions), "
            f"expected cost {run.cost:.4g}"
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
