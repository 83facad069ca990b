"""The search where not every number of machines is allowed, against all compositions."""

import numpy as np
import pytest

from airflow_provider_ernest.decision.mixed import CompositionProblem, best_counts


def some_problem(seed):
    """In turn: any numbers, whole steps, numbers of any kind; with a limit and a master as it comes."""
    generator = np.random.default_rng(seed)
    types = int(generator.integers(2, 4))
    most = 14 if types == 2 else 7
    choices = {
        0: lambda: np.arange(1, generator.integers(1, most) + 1),
        1: lambda: 3 * np.arange(1, generator.integers(1, most // 2) + 1),
        2: lambda: np.sort(generator.choice(np.arange(2, 3 * most), size=most // 2, replace=False)),
    }
    speeds = generator.uniform(0.5, 4.0, types)
    return CompositionProblem(
        fixed_seconds=float(generator.choice([0.0, 30.0])),
        sharing_seconds=float(generator.choice([0.0, 0.5])),
        work_seconds=float(10 ** generator.uniform(1, 4)),
        prices=1e-4 * speeds * generator.uniform(0.8, 1.25, types),
        speeds=speeds,
        allowed=tuple(choices[seed % 3]() for _ in range(types)),
        fixed_price=float(generator.choice([0.0, 5e-4])),
        most_machines=int(generator.integers(8, 20)) if seed % 2 else 1000,
    ), generator


def everything(problem):
    """All compositions that are allowed, with their seconds and dollars."""
    grids = np.meshgrid(*[[0, *allowed] for allowed in problem.allowed], indexing="ij")
    counts = np.stack([grid.ravel() for grid in grids], axis=1)[1:]
    counts = counts[counts.sum(axis=1) <= problem.most_machines]
    seconds = (
        problem.fixed_seconds
        + problem.sharing_seconds * counts.sum(axis=1)
        + problem.work_seconds / (counts @ problem.speeds)
    )
    return seconds, seconds * (counts @ problem.prices + problem.fixed_price)


@pytest.mark.parametrize("seed", range(30))
def test_nothing_allowed_is_cheaper_in_time_nor_faster_for_the_money(seed):
    problem, generator = some_problem(seed)
    seconds, cost = everything(problem)
    bounds = (float(seconds.min() * generator.uniform(1.0, 2.5)), float(cost.min() * generator.uniform(1, 3)))

    within = seconds <= bounds[0]
    cheapest = best_counts(problem, most_seconds=bounds[0], most_cost=np.inf, fastest=False)
    (_, told) = problem.seconds_and_cost(cheapest[None, :])
    assert told[0] == pytest.approx(cost[within].min(), rel=1e-8)

    within = cost <= bounds[1]
    fastest = best_counts(problem, most_seconds=np.inf, most_cost=bounds[1], fastest=True)
    (told, _) = problem.seconds_and_cost(fastest[None, :])
    assert told[0] == pytest.approx(seconds[within].min(), rel=1e-8)

    within = (seconds <= bounds[0]) & (cost <= bounds[1])
    both = best_counts(problem, most_seconds=bounds[0], most_cost=bounds[1], fastest=False)
    assert (both is not None) == within.any()
    if both is not None:
        (_, told) = problem.seconds_and_cost(both[None, :])
        assert told[0] == pytest.approx(cost[within].min(), rel=1e-8)
        allowed = zip(both.tolist(), problem.allowed, strict=True)
        assert all(count == 0 or count in numbers for count, numbers in allowed)


def test_two_thousand_machines_of_each_type():
    """More than all pairs of which could be looked at one by one."""
    numbers = np.arange(1, 2001)
    problem = CompositionProblem(
        fixed_seconds=10.0,
        sharing_seconds=0.01,
        work_seconds=1e6,
        prices=np.array([1e-5, 2.1e-5, 4.0e-5]),
        speeds=np.array([1.0, 2.0, 3.9]),
        allowed=(numbers, numbers, numbers),
        fixed_price=0.0,
        most_machines=2000,
    )

    counts = best_counts(problem, most_seconds=300.0, most_cost=np.inf, fastest=False)

    seconds, cost = problem.seconds_and_cost(counts[None, :])
    assert seconds[0] <= 300.0 * (1 + 1e-9)
    alone = np.zeros((2000, 3), dtype=np.int64)
    alone[:, 0] = numbers
    of_one_type, its_cost = problem.seconds_and_cost(alone)
    assert (of_one_type > 300.0).all() or cost[0] <= its_cost[of_one_type <= 300.0].min()
