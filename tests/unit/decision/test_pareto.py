import math
import random

from airflow_provider_ernest.decision.goals import on_pareto_front


def beaten(point: tuple[float, float], points: list[tuple[float, float]]) -> bool:
    return any(other[0] <= point[0] and other[1] <= point[1] and other != point for other in points)


def test_it_agrees_with_comparing_all_pairs():
    numbers = random.Random(3)
    points = [(float(numbers.randrange(12)), float(numbers.randrange(12))) for _ in range(80)]
    assert on_pareto_front(points) == [not beaten(point, points) for point in points]


def test_equal_points_share_their_fate():
    assert on_pareto_front([(1.0, 2.0), (2.0, 3.0), (1.0, 2.0), (2.0, 3.0)]) == [True, False, True, False]


def test_what_is_not_finite_neither_counts_nor_stands_in_the_way():
    points = [(math.nan, 0.0), (0.0, math.inf), (3.0, 3.0), (math.inf, -1.0)]
    assert on_pareto_front(points) == [False, False, True, False]
