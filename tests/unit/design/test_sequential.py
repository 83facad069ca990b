"""One run after the other, on the paper's jobs: what is proposed, and when it is enough."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.costs import MachineSeconds, relative_time
from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.design.sequential import Proposal, propose_next
from airflow_provider_ernest.documents import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import basis
from benchmarks.table1 import TABLE_1, seconds_of
from tests.examples import observe

CANDIDATES = enumerate_candidates(
    max_machines=16, min_scale=0.01, max_scale=0.1, partitions=1000, scale_steps=10
)
TARGETS = Targets(machines=(45, 64))
JOB = "regression"
COST = MachineSeconds(full_seconds_on_one_machine=650.0, run_overhead_seconds=4.0)


def width_by_number(widths):
    """The width of the interval after so many runs."""
    return lambda observed: widths[len(observed) - 1]


def run(job, experiment, generator, index):
    (seconds,) = seconds_of(job, machines=[experiment.machines], scale=[experiment.scale])
    seconds *= 1 + 0.05 * np.clip(generator.standard_normal(), -3, 3)
    return Observation(
        index=index, machines=experiment.machines, scale=experiment.scale, seconds=float(seconds)
    )


def sample(job=JOB, *, seed=0, **parameters):
    """Make the proposed runs until there is a reason to stop."""
    generator, observed = np.random.default_rng(seed), []
    while True:
        proposal = propose_next(
            **{
                "candidates": CANDIDATES,
                "targets": TARGETS,
                "observed": observed,
                "budget": 1e9,
                "cost": COST,
                **parameters,
            }
        )
        if proposal.experiment is None:
            return observed, proposal
        observed.append(run(job, proposal.experiment, generator, len(observed)))


def test_stops_as_soon_as_the_interval_is_narrow_enough():
    observed, proposal = sample(
        relative_width=width_by_number([9.0, 5.0, 3.0, 1.0, 0.6, 0.4, 0.25, 0.1]), narrow_enough=0.3
    )

    assert len(observed) == 7
    assert proposal.reason == "Stop: the interval is 25 % wide, 30 % is narrow enough."
    assert proposal.relative_width == 0.25


def test_a_narrow_interval_is_not_believed_of_too_few_runs():
    observed, proposal = sample(relative_width=lambda observed: 0.01)

    assert len(observed) == 6
    assert "narrow enough" in proposal.reason
    core = basis(
        ("1", "machines", "scale", "log(machines)"),
        machines=[run.machines for run in observed],
        scale=[run.scale for run in observed],
    )
    assert np.linalg.matrix_rank(core) == 4


def test_stops_when_the_budget_is_used_up():
    observed, proposal = sample(budget=250.0)

    spent = sum(run.machines * run.seconds for run in observed)
    assert proposal.spent == pytest.approx(spent)
    assert proposal.reason.startswith("Stop: the budget is used up")
    assert proposal.cost_unit == "machine seconds"
    assert spent > 200
    # Runs take what they take: the last one may pass the budget by what was misjudged of it.
    assert spent < 250 * 1.2


def test_stops_at_the_bound_on_the_runs():
    observed, proposal = sample(max_runs=6)

    assert len(observed) == 6
    assert proposal.reason == "Stop: 6 runs were made, and max_runs is 6."


def test_says_so_when_the_rest_does_not_pay_for_what_is_missing():
    observed = observe(machines=[1], scale=0.1, seconds=[70.0])
    dearest = float(relative_time(CANDIDATES).max())

    proposal = propose_next(candidates=CANDIDATES, targets=TARGETS, observed=observed, budget=dearest + 1.5)

    assert proposal.experiment is None
    assert "does not allow the runs that are missing" in proposal.reason


def test_a_proposal_is_numbered_explained_and_a_document():
    observed = observe(machines=[1, 4], scale=[0.01, 0.02], seconds=[7.0, 9.0])
    proposal = propose_next(
        candidates=CANDIDATES, targets=TARGETS, observed=observed, budget=500.0, cost=COST
    )

    assert proposal.experiment.index == 2
    assert "lower the error of the predictions that are asked for by" in proposal.reason
    assert Proposal.from_dict(proposal.to_dict()) == proposal


def test_what_the_next_run_costs_follows_the_runs_made():
    """A guess of 650 s, and runs that take ten times as long: so will the next one."""
    observed = observe(
        machines=[1, 4, 2], scale=[0.01, 0.02, 0.05], seconds=[40 + 6500.0 * x for x in (0.01, 0.005, 0.025)]
    )

    proposal = propose_next(
        candidates=CANDIDATES, targets=TARGETS, observed=observed, budget=10_000.0, cost=COST
    )

    experiment = proposal.experiment
    expected = experiment.machines * (40 + 6500 * experiment.scale / experiment.machines)
    assert experiment.cost == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"narrow_enough": 0.0}, "narrow_enough=0.0"),
        ({"budget": -1.0}, "budget=-1.0"),
        ({"max_runs": 0}, "max_runs=0"),
        ({"min_runs": 0}, "min_runs=0"),
        ({"max_repetitions": 0}, "max_repetitions=0"),
        ({"spent": -1.0}, "spent=-1.0"),
        ({"iterations": 3}, "differs from iterations=3"),
    ],
)
def test_parameters_that_cannot_be(wrong, problem):
    observed = observe(
        machines=[1, 2, 4, 8, 16, 3], scale=[0.01, 0.02, 0.1, 0.05, 0.01, 0.1], seconds=[9.0] * 6
    )

    with pytest.raises(InvalidParameterError, match=problem):
        propose_next(
            **{
                "candidates": CANDIDATES,
                "targets": TARGETS,
                "observed": observed,
                "budget": 1e4,
                "cost": COST,
                "relative_width": lambda observed: 1.0,
                **wrong,
            }
        )


def error_percent(job, observed):
    machines, scale = TARGETS.columns()
    regression = ErnestRegression().fit_undetermined(
        machines=[run.machines for run in observed],
        scale=[run.scale for run in observed],
        seconds=[run.seconds for run in observed],
    )
    truth = seconds_of(job, machines=machines, scale=scale)
    return 100 * np.mean(np.abs(regression.predict(machines=machines, scale=scale) / truth - 1))


def within(order, costs, budget):
    left, chosen = budget, []
    for position in order:
        if costs[position] <= left:
            chosen.append(position)
            left -= costs[position]
    return chosen


def test_the_proposed_runs_tell_more_than_the_cheapest_and_than_random_ones():
    """At equal budget and with the same predictor, over the paper's eight jobs."""
    errors = {"proposed": [], "cheapest": [], "random": []}
    for index, job in enumerate(TABLE_1):
        seconds = seconds_of(job, machines=CANDIDATES.machines, scale=CANDIDATES.scale)
        costs = CANDIDATES.machines * seconds
        cost = MachineSeconds(
            full_seconds_on_one_machine=float(seconds_of(job, machines=[1], scale=1.0)[0]),
            run_overhead_seconds=float(seconds_of(job, machines=[8], scale=1e-9)[0]),
        )
        budget = 8 * float(costs.mean())
        generator = np.random.default_rng([0, index])
        made, _ = sample(job, seed=0, cost=cost, budget=budget, max_runs=8)
        errors["proposed"].append(error_percent(job, made))
        orders = {"cheapest": np.argsort(costs), "random": generator.permutation(len(costs))}
        for name, order in orders.items():
            chosen = within(order, costs, budget)[:8]
            noisy = seconds[chosen] * (1 + 0.05 * generator.standard_normal(len(chosen)))
            runs = observe(
                machines=CANDIDATES.machines[chosen],
                scale=CANDIDATES.scale[chosen].tolist(),
                seconds=noisy,
            )
            errors[name].append(error_percent(job, runs))
    mean = {name: np.mean(values) for name, values in errors.items()}
    assert mean["proposed"] < 0.7 * mean["cheapest"]
    assert mean["proposed"] < mean["random"]
