"""``ernest design --next``: the single next run, or why enough is known."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli.design_options import budget_of, cost_of, criterion_of, targets_of
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.design.budgets import ProductionShare
    from airflow_provider_ernest.model.design.candidates import Candidates
    from airflow_provider_ernest.model.design.sequential import Proposal
    from airflow_provider_ernest.model.design.targets import Targets
    from airflow_provider_ernest.model.documents import Observation

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
    from airflow_provider_ernest.model.design.sequential import MOST_RUNS, propose_next
    from airflow_provider_ernest.model.terms import DICTIONARY

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
    from airflow_provider_ernest.model.design.plan import plan_design

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
        from airflow_provider_ernest.model.prediction import predict_interval, predict_seconds
        from airflow_provider_ernest.model.training import train

        machines, scale = targets.columns()
        model = train(observed, job="sampled so far", terms=terms)
        low, high = predict_interval(model, machines=machines, scale=scale, level=LEVEL)
        return float(((high - low) / predict_seconds(model, machines=machines, scale=scale)).max())

    return widest
