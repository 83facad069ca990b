"""What binds a job as lines of text, and whether the replay agrees with the model."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table
from airflow_provider_ernest.documents.profiles import ReplayOpinion, ResourceLimit, TwoOpinions
from tests.examples import bottleneck_report


def opinions(*replayed: float, **fields: float) -> ReplayOpinion:
    """Beside a model that is nearly certain of 90 to 110 s on 2 machines, 45 to 55 s on 4, and so on."""
    sizes = tuple(
        TwoOpinions(
            executors=executors,
            replayed_seconds=seconds,
            model_seconds=200.0 / executors,
            nearly_certain_seconds=(180.0 / executors, 220.0 / executors),
        )
        for executors, seconds in zip(range(2, 100, 2), replayed, strict=False)
    )
    told = {"scale": 1.0, "from_application_id": "app-1", "from_scale": 0.0321, "error_percent": 6.0}
    return ReplayOpinion(sizes=sizes, **{**told, **fields})


def test_a_replay_within_what_is_nearly_certain_contradicts_nothing():
    assert opinions(90.0, 55.0).disagreement == "", "the interval's ends belong to it"
    without_model = TwoOpinions(executors=2, replayed_seconds=1.0)
    assert replace(opinions(), sizes=(without_model,)).disagreement == ""


def test_the_sentence_names_the_worst_size_with_both_figures_and_the_replays_own_error():
    assert opinions(89.0, 75.0, 30.0).disagreement == (
        "The replay disagrees with the model: 75 s at a size of 4, where the model says 50 s (95 % of "
        "runs: 45 to 55 s), and at 1 other size. For the job's other runs the replay "
        "was off by 6 % (median). One of the two is wrong: watch the first production run."
    )
    assert "and at 11 other sizes" in opinions(*[500.0] * 12).disagreement


def test_the_table_tells_what_binds_what_could_be_won_and_what_to_change():
    disk = ResourceLimit(
        resource="disk",
        blocked_seconds=0.1,
        share_percent=0.1,
        seconds_without=39.9,
        improvement_percent=0.2,
    )
    report = bottleneck_report(replay=opinions(100.0, 75.0))

    assert bottleneck_table(replace(report, limits=(*report.limits, disk))) == [
        report.headline,
        "  without waiting for garbage collection: 36 s, 10 % less at most",
        "  without waiting for network: 39.2 s, 2 % less at most",
        "  Take machines of the compute-optimised family. (CPU 38 of 40 s)",
    ], "a limit of a fifth of a per cent is no news"
