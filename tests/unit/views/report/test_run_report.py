"""The report on a run, from its profile."""

from dataclasses import replace

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.run_profile import Capacity, RunProfile, StragglerCause
from airflow_provider_ernest.views.report.run import render
from tests.unit.run_profiles import HOSTILE, bare, cpu_bound, hostile, network_bound
from tests.unit.views.report.parsed_page import Page, reaches_out, same_shape


def page_of(profile: RunProfile) -> Page:
    return Page(render(profile))


@pytest.mark.parametrize("text", [*HOSTILE, "</script><!--<script>"])
def test_whatever_the_log_tells_stays_text(text: str):
    known, page = page_of(network_bound()), page_of(hostile(text))
    assert reaches_out(page) == []
    assert same_shape(page, known)
    assert page.texts.count(text) >= 10, "shown as it was written"
    assert page.data["headline"] == text
    assert not set("<>&") & set(page.scripts[0])


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


def test_time_that_nothing_explains_is_told():
    words = "For 11 % of their time tasks neither computed nor waited for anything that Spark measures"
    assert words in page_of(network_bound()).text
    assert "anything that Spark measures" not in page_of(network_bound(unmeasured_seconds=0.0)).text


def test_a_stage_says_what_binds_it_and_what_its_tasks_wait_for():
    text = page_of(network_bound()).text
    waits = "the network 62\N{NO-BREAK SPACE}%, unmeasured 10\N{NO-BREAK SPACE}%"
    assert f"revenue o…\n27.7\nnetwork\n{waits}\n192\n1.00\n3.90\n13" in text, "shortened"
    assert "192 + 3 failed" in text
    assert "sort merge join, then the revenue of each customer by month" in text, "in full"


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
    assert "half the network\n71.9\n+63 %" in text
    assert "twice the disks\n44.0\nno change" in text
    assert "4\n44.6\nthe run itself" in text


def test_a_slow_host_that_costs_more_than_any_waiting_is_what_most_could_be_won_of():
    held_up = StragglerCause(cause=run_profile.SLOW_HOST, tasks=7, excess_seconds=40.0, seconds_without=22.3)
    text = page_of(network_bound(straggler_causes=(held_up,))).text
    assert "Most to be won\n50 %\nat most, without its stragglers (slow host)" in text


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
