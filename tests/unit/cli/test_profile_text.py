from dataclasses import replace

import pytest

from airflow_provider_ernest.cli.analyze import MOST_STAGES, profile_lines
from airflow_provider_ernest.documents.profiles import RunProfile
from tests.unit.run_profiles import HOSTILE, bare, cpu_bound, hostile, network_bound

WIDTH = 110


def long_names() -> RunProfile:
    rich = network_bound(name="n" * 300, headline="words " * 60, replayed_seconds=1e30)
    return replace(
        rich,
        stages=tuple(replace(each, name="s" * 200, bottleneck="b" * 60) for each in rich.stages),
        stragglers=tuple(replace(each, evidence="e " * 90) for each in rich.stragglers),
        what_ifs=tuple(replace(each, change="c" * 150) for each in rich.what_ifs),
    )


@pytest.mark.parametrize(
    "profile", [network_bound(), cpu_bound(), bare(), hostile(HOSTILE[0]), long_names()], ids=range(5)
)
def test_no_line_is_wider_than_a_screen(profile: RunProfile):
    lines = profile_lines(profile)
    assert max(map(len, lines)) <= WIDTH
    assert all("\n" not in line for line in lines)


def test_what_is_not_known_has_no_lines():
    text = "\n".join(profile_lines(bare()))
    for title in ("what to change", "what could be won", "stages", "stragglers", "on other machines"):
        assert title not in text


def test_of_many_stages_the_longest_are_listed():
    (first, *_) = network_bound().stages
    many = tuple(
        replace(
            first, stage_id=number, began_seconds=float(number), ended_seconds=number + 1.0 + number / 100
        )
        for number in range(60)
    )
    lines = profile_lines(network_bound(stages=many, stages_left_out=40))
    (at,) = (
        place for place, line in enumerate(lines) if line.startswith(f"the {MOST_STAGES} longest of 100")
    )
    assert [line.split()[0] for line in lines[at + 2 : at + 2 + MOST_STAGES]] == [
        str(n) for n in range(40, 60)
    ]


def test_names_cannot_break_lines():
    (first, *_) = network_bound().stages
    named = network_bound(stages=(replace(first, name="two\nlines\x1b[2J"),))
    assert any("two lines\ufffd[2J" in line for line in profile_lines(named))
