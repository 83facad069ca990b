import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import in_words, machine_counts


@pytest.mark.parametrize(
    ("minimum", "maximum", "allowed", "counts"),
    [
        (1, 3, None, (1, 2, 3)),
        ("2", "3", "None", (2, 3)),
        (1, 10, [16, 4, 8, 4], (4, 8)),
        (5, None, "4, 8, 16", (8, 16)),
        (1, None, "[2]", (2,)),
    ],
)
def test_numbers_of_machines_are_bounds_or_what_is_allowed_within_them(minimum, maximum, allowed, counts):
    assert machine_counts(minimum=minimum, maximum=maximum, allowed=allowed) == counts


@pytest.mark.parametrize(
    ("minimum", "maximum", "allowed", "named"),
    [
        (0, 3, None, "min_machines=0 is not a number of at least 1"),
        (4, 3, None, "min_machines=4 is more than max_machines=3"),
        (1, None, None, "max_machines=None sets no limit. Give it, or allowed_machines"),
        (1, None, [], "allowed_machines=.* leaves none from 1 to any number"),
        (1, 3, [4], "leaves none from 1 to 3"),
        (1, 3, [1.5], "allowed_machines=.*1.5.* is not a whole number"),
        (1, 3, 3, "allowed_machines=3 is no list"),
        (1, 1e12, None, "max_machines=1000000000000 is more than"),
    ],
)
def test_what_leaves_no_machines_is_named(minimum, maximum, allowed, named):
    with pytest.raises(InvalidParameterError, match=named):
        machine_counts(minimum=minimum, maximum=maximum, allowed=allowed)


def test_the_parameters_are_named_as_the_user_wrote_them():
    with pytest.raises(
        InvalidParameterError, match="target_min_machines=4 is more than target_max_machines=3"
    ):
        machine_counts(minimum=4, maximum=3, allowed=None, prefix="target_")


@pytest.mark.parametrize(
    ("counts", "words"), [((2,), "2"), ((2, 3), "2, 3"), ((2, 3, 4), "2 to 4"), ((2, 4, 8), "2, 4, 8")]
)
def test_in_words(counts, words):
    assert in_words(counts) == words
