"""What binds a job as a table of text, and whether the replay agrees with the model."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table, disagreement
from airflow_provider_ernest.documents import ReplayOpinion, TwoOpinions
from airflow_provider_ernest.run_profile import ResourceLimit
from tests.examples import bottleneck_report


def opinions(*replayed: float, **fields: float) -> ReplayOpinion:
    """Beside a model that is nearly certain of 90 to 110 s on 2 machines, 45 to 55 s on 4, and so on."""
    sizes = tuple(
        TwoOpinions(
            machines=machines,
            replayed_seconds=seconds,
            model_seconds=200.0 / machines,
            likely_seconds=(190.0 / machines, 210.0 / machines),
            nearly_certain_seconds=(180.0 / machines, 220.0 / machines),
        )
        for machines, seconds in zip(range(2, 100, 2), replayed, strict=False)
    )
    told = {"scale": 1.0, "from_application_id": "app-1", "from_scale": 0.0321, "error_percent": 6.0}
    return ReplayOpinion(sizes=sizes, **{**told, **fields})


def test_a_replay_within_what_is_nearly_certain_contradicts_nothing():
    assert disagreement(opinions(90.0, 55.0)) == "", "the interval's ends belong to it"
    without_model = TwoOpinions(machines=2, replayed_seconds=1.0)
    assert disagreement(replace(opinions(), sizes=(without_model,))) == ""


def test_the_sentence_names_the_worst_size_with_both_figures_and_the_replays_own_error():
    sentence = disagreement(opinions(89.0, 75.0, 30.0))

    assert "on 2, 4 machines" in sentence
    assert "on 4 it gives 75.0 s" in sentence
    assert "45.0 to 55.0 s" in sentence
    assert "wrong by 6 %" in sentence
    assert "on 2, 4, 6, 8, 10 and 7 more numbers of machines: on 24 it" in disagreement(
        opinions(*[500.0] * 12)
    )


def test_the_table_tells_what_binds_what_could_be_won_and_both_opinions_in_one_row():
    disk = ResourceLimit(
        resource="disk",
        blocked_seconds=0.1,
        share_percent=0.1,
        seconds_without=39.9,
        improvement_percent=0.2,
    )
    report = bottleneck_report(replay=opinions(100.0, 75.0))

    lines = bottleneck_table(replace(report, limits=(*report.limits, disk)))

    assert lines[0] == report.headline
    assert "  without waiting for garbage collection: 36.0 s, 10 % less at most" in lines
    assert not [line for line in lines if "disk" in line], "a limit of a fifth of a per cent is no news"
    assert "  3 stragglers (slow host): 12.0 s over the stage's median" in lines
    assert "  Take machines of the compute-optimised family. (CPU 38 of 40 s)" in lines
    assert any("the run on 3.21 % of the input" in line for line in lines)
    (row,) = [line for line in lines if line.startswith("         4 ")]
    assert row.split() == ["4", "50.0", "45.0", "..", "55.0", "75.0", "disagrees"]


def test_why_there_is_no_second_opinion_is_said():
    silent = bottleneck_report(replay=ReplayOpinion(scale=1.0, problem="Only one run."))

    assert bottleneck_table(silent)[-1] == "no second opinion: Only one run."
    assert bottleneck_table(replace(silent, replay=None))[-1].startswith("  Take machines")
