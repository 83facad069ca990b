from __future__ import annotations

from dataclasses import replace

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table, disagreement
from airflow_provider_ernest.documents import BottleneckReport, ReplayOpinion, TwoOpinions
from airflow_provider_ernest.run_profile import Advice, ResourceLimit, StragglerCause


def opinions(*replayed: float) -> ReplayOpinion:
    """Beside a model that is nearly certain of 90 to 110 s on 2 machines, 45 to 55 s on 4, and so on."""
    return ReplayOpinion(
        scale=1.0,
        from_application_id="app-1",
        from_scale=0.1,
        error_percent=6.0,
        sizes=tuple(
            TwoOpinions(
                machines=2 * place,
                replayed_seconds=seconds,
                model_seconds=200.0 / (2 * place),
                likely_seconds=(190.0 / (2 * place), 210.0 / (2 * place)),
                nearly_certain_seconds=(180.0 / (2 * place), 220.0 / (2 * place)),
            )
            for place, seconds in enumerate(replayed, start=1)
        ),
    )


REPORT = BottleneckReport(
    id="r",
    at="2026-01-01T00:00:00+00:00",
    job="enrich",
    instance_type="m5.xlarge",
    profile_ids=("p",),
    application_id="app-1",
    scale=0.1,
    machines=4,
    category="sql",
    bottleneck="network",
    headline="Network-bound: up to 41 % from an infinitely fast network",
    limits=(
        ResourceLimit(
            resource="network",
            blocked_seconds=50.0,
            share_percent=40.0,
            seconds_without=26.0,
            improvement_percent=41.0,
        ),
        ResourceLimit(
            resource="disk",
            blocked_seconds=0.1,
            share_percent=0.1,
            seconds_without=43.9,
            improvement_percent=0.2,
        ),
    ),
    straggler_causes=(StragglerCause(cause="slow host", tasks=3, excess_seconds=12.0, seconds_without=40.0),),
    advice=(Advice(subject="partitions", text="Use more partitions.", figure="8 tasks on 16 slots"),),
    replay=opinions(100.0, 75.0),
)


def test_a_replay_within_what_is_nearly_certain_contradicts_nothing():
    assert disagreement(opinions(100.0, 50.0)) == ""
    assert disagreement(opinions(90.0, 55.0)) == "", "the interval's ends belong to it"


def test_the_sentence_names_the_worst_size_with_both_figures_and_the_replays_own_error():
    sentence = disagreement(opinions(89.0, 75.0, 30.0))

    assert "on 2, 4 machines" in sentence
    assert "on 4 it gives 75.0 s" in sentence
    assert "45.0 to 55.0 s" in sentence
    assert "wrong by 6 %" in sentence


def test_of_many_sizes_some_are_named():
    sentence = disagreement(opinions(*[500.0] * 12))

    assert "on 2, 4, 6, 8, 10 and 7 more numbers of machines: on 24 it" in sentence


def test_a_run_on_all_of_the_input_is_named_as_such():
    (line,) = [each for each in bottleneck_table(whole(1.0)) if "second opinion" in each]
    assert "the run on 100 % of the input" in line
    (line,) = [each for each in bottleneck_table(whole(0.0321)) if "second opinion" in each]
    assert "the run on 3.21 % of the input" in line


def whole(scale: float) -> BottleneckReport:
    return replace(REPORT, replay=replace(opinions(100.0), from_scale=scale))


def test_without_a_model_nothing_disagrees():
    alone = replace(opinions(1.0), sizes=(TwoOpinions(machines=2, replayed_seconds=1.0),))

    assert disagreement(alone) == ""
    assert any("         -" in line for line in bottleneck_table(replace(REPORT, replay=alone)))


def test_the_table_tells_what_binds_what_could_be_won_and_both_opinions_in_one_row():
    lines = bottleneck_table(REPORT)

    assert lines[0] == REPORT.headline
    assert "  without waiting for network: 26.0 s, 41 % less at most" in lines
    assert not [line for line in lines if "disk" in line], "a limit of a fifth of a per cent is no news"
    assert "  3 stragglers (slow host): 12.0 s over the stage's median" in lines
    assert "  Use more partitions. (8 tasks on 16 slots)" in lines
    (row,) = [line for line in lines if line.startswith("         4 ")]
    assert row.split() == ["4", "50.0", "45.0", "..", "55.0", "75.0", "disagrees"]


def test_why_there_is_no_second_opinion_is_said():
    silent = replace(REPORT, replay=ReplayOpinion(scale=1.0, problem="Only one run."))

    assert bottleneck_table(silent)[-1] == "no second opinion: Only one run."
    assert bottleneck_table(replace(REPORT, replay=None))[-1].startswith("  Use more")
