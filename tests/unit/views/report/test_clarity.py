import re
from dataclasses import replace

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.run_profile import Capacity, RunProfile, StageProfile, StragglerCause
from airflow_provider_ernest.views.report.clarity import MOST_STAGES, render
from airflow_provider_ernest.views.report.page import POLICY
from tests.unit.run_profiles import HOSTILE, bare, cpu_bound, hostile, network_bound
from tests.unit.views.report.parsed_page import Page


def page_of(profile: RunProfile) -> Page:
    return Page(render(profile))


def iterative(stages: int) -> RunProfile:
    """A job of so many stages, one after the other, of which each third is twice as long."""
    made, began = [], 0.0
    for number in range(stages):
        seconds = 0.2 if number % 3 == 0 else 0.1
        made.append(
            StageProfile(
                stage_id=number,
                name=f"reduce at fit.py:{number}",
                tasks=8,
                began_seconds=began,
                ended_seconds=began + seconds,
                task_seconds=4 * seconds,
            )
        )
        began += seconds
    return bare(stages=tuple(made), seconds=began, replayed_seconds=began)


def test_the_page_needs_nothing_and_may_load_nothing():
    html = render(network_bound())
    page = Page(html)
    (policy,) = (m for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == POLICY
    loads = {"script", "link", "img", "iframe", "object", "form", "a", "base"}
    assert not {tag for tag, _ in page.elements} & loads
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "href", "style"})
    assert not re.search(r"https?:|@import|url\(", html)


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_the_log_tells_stays_text(text: str):
    known, page = page_of(network_bound()), page_of(hostile(text))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in known.elements}
    assert {name for _, attributes in page.elements for name in attributes} == {
        name for _, attributes in known.elements for name in attributes
    }
    assert page.texts.count(text) >= 10, "shown as it was written"


@pytest.mark.parametrize("profile", [network_bound(), cpu_bound(), bare(), iterative(100)])
def test_every_chart_is_described_within_its_frame_and_has_its_numbers(profile: RunProfile):
    page = page_of(profile)
    charts, figures = page.all("svg"), len(page.all("figure"))
    assert len(charts) == 2 * figures, "one for wide and one for narrow screens"
    assert page.texts.count("The numbers") == figures
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert page.outside_of_frames() == []


def test_what_matters_most_stands_first():
    text = page_of(network_bound(name="orders")).text
    order = [
        "orders",
        "44 s on 4 machines, 8 tasks at once, 10 % of the input",
        "Network-bound: up to 41 % (18 s of 44 s) from an infinitely fast network",
        "Most to be won\n41 %\nat most, without waiting for the network",
        "Before you trust this",
        "What to change",
        "Because: 1.40 GB were spilled to disk in stage 3.",
        "What could be won",
        "The stages over time",
        "What the stages did",
        "Stragglers",
        "What each resource needs at least",
        "On other machines",
        "On other numbers of machines",
        "Phases",
        "How to read this",
        "Where this comes from",
    ]
    place = 0
    for words in order:
        place = text.index(words, place)


def test_an_unnamed_application_goes_by_its_id():
    assert page_of(bare()).texts[:3] == [
        "local-1773310000000: why it takes this long",
        "Why it takes this long",
        "local-1773310000000",
    ]


def test_the_figures_of_each_limit():
    text = page_of(network_bound()).text
    assert "26.3 s, 41 % less at most" in text
    assert "18.3 s could be won at most" in text, "what is left of the 44.6 s of the replay"
    assert "Python worker\n0\n0 %\n44.6\n0 %" in text, "in the table, though it has no bar"


def test_time_that_nothing_explains_is_told():
    words = "For 11 % of their time tasks neither computed nor waited for anything that Spark measures"
    assert words in page_of(network_bound()).text
    assert "anything that Spark measures" not in page_of(network_bound(unmeasured_seconds=0.0)).text


def test_a_network_that_wins_nothing_has_its_bar_all_the_same():
    (limit,) = (each for each in network_bound().limits if each.resource == run_profile.NETWORK)
    nothing = replace(limit, improvement_percent=0.0, seconds_without=44.6)
    assert "44.6 s, 0 % less at most" in page_of(network_bound(limits=(nothing,))).text


def test_a_stage_says_what_binds_it_and_what_its_tasks_wait_for():
    text = page_of(network_bound()).text
    waits = "the network 62\N{NO-BREAK SPACE}%, unmeasured 10\N{NO-BREAK SPACE}%"
    assert f"revenue o…\n27.7\nnetwork\n{waits}\n192\n1.00\n3.90\n13" in text, "shortened"
    assert "192 + 3 failed" in text
    assert (
        "stage 3, sort merge join, then the revenue of each customer by month: 27.7 s, bound by the" in text
    )


def test_of_many_stages_the_longest_are_drawn_and_all_listed():
    page = page_of(iterative(100))
    drawn = [text for text in page.texts if text.startswith("stage ")]
    assert len(drawn) == 2 * MOST_STAGES
    assert all(text.endswith(": 0.200 s") for text in drawn)
    assert "70 shorter stages have no bar." in page.text
    assert "reduce at fit.py:98" in page.text


def test_stages_that_began_before_all_machines_were_there_are_drawn():
    (first, *others) = network_bound().stages
    early = replace(first, began_seconds=-12.0, ended_seconds=-3.0)
    page = page_of(network_bound(stages=(early, *others)))
    assert page.outside_of_frames() == []
    assert "-20" in page.texts


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        (
            Capacity(cores=1, source="achieved"),
            "A machine has 1 core; what its network and its disks can do is not known.",
        ),
        (
            Capacity(cores=2, disk_gigabytes_per_second=0.4, source="achieved"),
            "A machine has 2 cores, 400 MB/s of disk: the most that this run's own tasks got, so it may be",
        ),
        (
            Capacity(cores=4, network_gigabytes_per_second=1.25, source="stated"),
            "A machine has 4 cores, 1.25 GB/s of network in each direction: as stated.",
        ),
    ],
)
def test_it_says_what_the_machines_are_taken_to_do(capacity: Capacity, words: str):
    assert words in page_of(network_bound(capacity=capacity)).text


def test_other_machines_and_sizes():
    text = page_of(network_bound()).text
    assert "half the network: 71.9 s (+63 %)" in text
    assert "44 s (no change)" in text
    assert "16 machines: 18.2 s replayed" in text
    one = page_of(network_bound(sizes=network_bound().sizes[:1]))
    assert one.outside_of_frames() == []


def test_a_slow_host_that_costs_more_than_any_waiting_is_what_most_could_be_won_of():
    held_up = StragglerCause(cause=run_profile.SLOW_HOST, tasks=7, excess_seconds=40.0, seconds_without=22.3)
    text = page_of(network_bound(straggler_causes=(held_up,))).text
    assert "Most to be won\n50 %\nat most, without its stragglers (slow host)" in text


def test_medians_with_and_without_warm_up_are_told_apart():
    text = page_of(network_bound()).text
    assert "are without the warm-up of executors' first tasks" in text
    assert "here with the warm-up of first tasks in both" in text


def test_what_is_fetched_is_what_other_machines_sent():
    (first, *_) = network_bound().stages
    stage = replace(first, shuffle_remote_bytes=3_000_000, shuffle_local_bytes=1_000_000)
    text = page_of(network_bound(stages=(stage,))).text
    assert "fetched\nread locally\n" in text
    assert "3.00 MB\n1.00 MB\n" in text


def test_names_are_written_as_in_the_terminal_and_in_airflow():
    text = page_of(cpu_bound()).text
    assert "\nCPU\n" in text
    assert "\ncpu\n" not in text
    assert "category\nSQL\n" in page_of(network_bound()).text


def test_what_is_not_known_has_no_section():
    text = page_of(bare()).text
    for heading in ("What could be won", "The stages over time", "Stragglers", "Before you trust this"):
        assert heading not in text
    assert "Phases" in text


def test_the_same_profile_gives_the_same_page():
    assert render(network_bound()) == render(RunProfile.from_dict(network_bound().to_dict()))
