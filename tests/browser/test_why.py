"""Why a job takes as long as it does: on the page of its model."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import broken_rules
from tests.browser.explained_jobs import OF_PRODUCTION
from tests.browser.sample_store import HOSTILE
from tests.browser.site import Site, of
from tests.browser.visit import Visit, unfold
from tests.integration.conftest import wait_until
from tests.unit.run_profiles import cpu_bound, network_bound

pytestmark = pytest.mark.airflow

IN_SIGHT = """node => {
  const { top } = node.getBoundingClientRect();
  return top >= 0 && top < 200;
}"""


def opened(site: Site, visit: Any) -> Page:
    """The page of the model of which most is known."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    expect(here.page.locator("#time-chart svg path").first).to_be_attached()
    return here.page


def change(here: Visit, changed: Callable[[dict[str, Any]], None]) -> None:
    """Let the reasons be answered with something else."""

    def answer(route: Route) -> None:
        response = route.fetch()
        told = response.json()
        changed(told)
        route.fulfill(response=response, body=json.dumps(told))

    here.page.route("**/api/clarity?*", answer)


def test_what_binds_it_and_what_to_do(page: Page):
    why, profile = page.locator("#why"), network_bound()
    expect(why.locator(".headline")).to_have_text(
        re.compile(r"Network-bound: up to 41\s% \(18\ss of 44\ss\)")
    )
    for advice in profile.advice:
        expect(why.locator(".advice")).to_contain_text(advice.text)
        expect(why.locator(".advice")).to_contain_text(advice.figure.replace(" %", "\u00a0%")[:20])
    expect(why.locator(".notice")).to_contain_text(profile.warnings[1])
    facts = why.locator(".facts").first
    expect(facts).to_contain_text(f"sample run {profile.application_id}")
    expect(facts).to_contain_text(re.compile(r"on 4 machines, 8 tasks at once, 10\s% of the input"))
    expect(facts).to_contain_text(re.compile(r"44\.6\ss, off by \+1\.4\s%"))
    expect(facts.get_by_role("link", name="sizing.sample_run")).to_be_visible()


def test_the_limits_are_upper_bounds_with_percent_and_seconds(page: Page):
    rows = page.locator("#limits .bars-row")
    expect(rows).to_have_count(len(network_bound().limits))
    expect(rows.first).to_contain_text(re.compile(r"a faster network\s*at most 41\s%, 18\ss"))
    expect(rows.last).to_contain_text("nothing")

    def widths() -> list[float]:
        measure = "all => all.map(one => one.getBoundingClientRect().width)"
        return list(rows.locator(".bars-bar").evaluate_all(measure))

    wait_until(lambda: widths()[0] > 5 * widths()[1], seconds=10, what="the bars")
    assert widths() == sorted(widths(), reverse=True)
    expect(page.locator("#limits-chart")).to_have_attribute(
        "aria-label", re.compile("faster disks: at most 2.7")
    )


def test_the_stages_tell_what_their_tasks_wait_for(page: Page):
    row = page.locator("#stages tbody tr").filter(has_text="sort merge join")
    expect(row).to_contain_text(re.compile(r"network\s*network 62\s%"))
    expect(page.locator("#limits figcaption")).to_contain_text(
        re.compile(r"For 11\s% of their time tasks neither computed nor waited for anything")
    )


def test_a_command_tells_the_same_in_a_terminal(page: Page):
    facts = page.locator("#why .facts").first
    command = f"ernest analyze {network_bound().event_log} --scale 0.1 --html why.html"
    expect(facts.get_by_text(command, exact=True)).to_be_visible()
    expect(facts.get_by_role("button", name="Copy the command")).to_be_visible()


def test_the_command_does_nothing_but_read_the_log(site: Site, visit):
    here = visit(site)

    def rename(told: dict[str, Any]) -> None:
        told["sample"]["event_log"] = "/logs/it's; rm -rf $HOME"

    change(here, rename)
    here.open("model", **of(site.seeded.nightly_join))
    button = here.page.locator("#why").get_by_role("button", name="Copy the command")
    command = button.get_attribute("title")
    assert command is not None
    assert shlex.split(command)[2] == "/logs/it's; rm -rf $HOME"


def test_the_phases_add_up(page: Page):
    expect(page.locator("#phases figcaption")).to_contain_text("50.2\u00a0s from submission to end")
    legend = page.locator("#phases .legend li")
    expect(legend).to_have_count(5)
    shares = [int(found) for text in legend.all_inner_texts() for found in re.findall(r"\((\d+)", text)]
    assert abs(sum(shares) - 100) <= 3
    expect(page.locator("#phases-chart svg path").first).to_be_attached()


@pytest.mark.parametrize("name", ["limits", "phases"])
def test_each_figure_has_its_numbers(page: Page, name: str):
    figure = page.locator(f"section#{name}")
    unfold(figure)
    expect(figure.get_by_role("table")).to_be_visible()
    expect(figure.get_by_role("button", name="Download CSV")).to_be_visible()
    expect(figure.locator("tbody tr").nth(4)).to_be_attached()


def test_the_longest_stages_come_first_and_the_rest_is_folded(site: Site, visit):
    here = visit(site)

    def multiply(told: dict[str, Any]) -> None:
        stages = told["sample"]["stages"]
        told["sample"]["stages"] = [
            {**stage, "stage_id": 10 * number + stage["stage_id"], "seconds": stage["seconds"] / (number + 1)}
            for number in range(4)
            for stage in stages
        ]

    change(here, multiply)
    here.open("model", **of(site.seeded.nightly_join))
    table = here.page.locator("#stages")
    rows = table.locator("tbody tr")
    expect(rows.first).to_contain_text("sort merge join")
    expect(rows.first).to_contain_text("network")
    expect(rows).to_have_count(9)
    table.get_by_role("button", name="Show all 20 rows").click()
    expect(rows).to_have_count(20)
    seconds = rows.locator("td:nth-child(4)").all_inner_texts()
    assert seconds == sorted(seconds, key=float, reverse=True)
    expect(table).to_contain_text("3 shorter stages more")


def test_stragglers_by_cause_and_the_worst_of_them(page: Page):
    card = page.locator("#stragglers")
    expect(card.locator("tbody tr").first).to_contain_text(
        re.compile(r"slow fetch\s*9\s*14\.2\ss\s*40\.9\ss\s*8\.3\s%")
    )
    card.get_by_text("The worst of them").click()
    worst = card.get_by_role("region", name="The worst stragglers").locator("tbody tr").first
    expect(worst).to_contain_text("10.0.0.14")
    expect(worst).to_contain_text("2.8 s waiting for shuffle data")


def test_other_machines_and_other_numbers_of_them(page: Page):
    expect(page.locator("#what-ifs tbody tr").first).to_contain_text(
        re.compile(r"half the network.*\+63\.4\s%")
    )
    own = page.locator("#other-sizes tr.highlight")
    expect(own).to_contain_text("44.6")


def test_the_newest_production_run_can_be_looked_at_instead(own_page: Page):
    why = own_page.locator("#why")
    why.get_by_role("radio", name="Latest production run").check()
    assert OF_PRODUCTION["headline"].startswith("CPU-bound: at most 3 %")
    expect(why.locator(".headline")).to_contain_text("CPU-bound: at most 3\u00a0%")
    expect(why.locator(".facts").first).to_contain_text("production run app-20260320020000-0042")
    expect(why.locator(".facts").first).to_contain_text(re.compile(r"100\s% of the input"))
    expect(why.locator(".advice")).to_have_count(0)
    why.get_by_role("radio", name="Sample run").check()
    expect(why.locator(".advice")).to_be_visible()


def test_a_link_leads_there(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    here.page.get_by_role("link", name="Why it takes this long").click()
    heading = here.page.get_by_role("heading", name="Why it takes this long")
    expect(heading).to_be_in_viewport()
    wait_until(lambda: heading.evaluate(IN_SIGHT), seconds=10, what="the heading at the top")


def test_an_address_leads_there(site: Site, visit):
    here = visit(site)
    address = site.page("model", **of(site.seeded.nightly_join))
    here.page.goto(f"{address}#why")
    here.loaded(here.page)
    expect(here.page.locator("#time-chart svg path").first).to_be_attached()
    expect(here.page.get_by_role("heading", name="Why it takes this long")).to_be_in_viewport()


class TestReplay:
    def test_it_stands_beside_the_curve(self, page: Page):
        expect(page.locator("#time .legend")).to_contain_text("replay of a run")
        expect(page.locator("#time .legend")).to_contain_text("replay outside the 95 % of runs")
        expect(page.locator("#time-chart")).to_have_attribute(
            "aria-label",
            re.compile(r"By replay: .* on 1 machine, .* on 24 machines, outside the 95 % interval"),
        )
        expect(page.locator("#time figcaption")).to_contain_text(
            f"the tasks of {network_bound().application_id} (10\u00a0% of the input)"
        )
        expect(page.locator("#answer")).to_contain_text("A second opinion, by replay of a run: ")

    def test_where_it_disagrees_a_notice_says_so_with_figures(self, page: Page):
        notice = page.locator("#answer .notice")
        expect(notice).to_contain_text("Replay and model disagree: by replay of app-")
        expect(notice).to_contain_text(
            re.compile(r"on 24 machines, where the model says .* \(95\s% of runs: ")
        )

    def test_the_rows_where_it_disagrees_are_marked(self, page: Page):
        for name, words in (("time", "disagree"), ("cost", "replay and model disagree")):
            figure = page.locator(f"section#{name}")
            unfold(figure)
            expect(figure.get_by_role("columnheader", name="By replay")).to_be_visible()
            marked = figure.locator("tr.warning")
            expect(marked.nth(1)).to_be_attached()
            expect(marked.last).to_contain_text(words)
            assert marked.count() < figure.locator("tbody tr").count() / 2

    def test_the_table_of_all_types_has_it_for_each(self, site: Site, page: Page):
        replays = site.answer("api/clarity", **of(site.seeded.nightly_join))["replays"]
        assert len({replay["instance_type"] for replay in replays}) == 2
        figure = page.locator("section#cost")
        unfold(figure)
        for replay in replays:
            (size,) = [each for each in replay["sizes"] if each["machines"] == 4]
            row = (
                figure.locator("tbody tr")
                .filter(has_text=replay["instance_type"])
                .filter(has=page.locator("td", has_text=re.compile("^4$")))
            )
            expect(row).to_contain_text(f"{size['replayed_seconds']:,.0f}")

    def test_it_is_for_one_scale_only(self, own_page: Page):
        known = own_page.get_by_role("spinbutton", name="Scale of the input").input_value()
        own_page.get_by_role("spinbutton", name="Scale of the input").fill("0.5")
        expect(own_page.locator("#time figcaption")).to_contain_text(
            re.compile(
                rf"A second opinion by replay is known for {100 * float(known):g}\s% of the input only"
            )
        )
        expect(own_page.locator("#time .legend")).not_to_contain_text("replay")
        expect(own_page.locator("#answer")).not_to_contain_text("replay")
        own_page.get_by_role("spinbutton", name="Scale of the input").fill(known)
        expect(own_page.locator("#time .legend")).to_contain_text("replay of a run")

    def test_it_stays_on_linear_axes(self, own_page: Page):
        own_page.get_by_role("radio", name="Linear").check()
        expect(own_page.locator("#time .legend")).to_contain_text("replay of a run")
        drawn = own_page.locator("#time-chart svg path")
        expect(drawn.first).to_be_attached()

    def test_why_there_is_none(self, site: Site, visit):
        here = visit(site)

        def take_away(told: dict[str, Any]) -> None:
            (own,) = [each for each in told["replays"] if each["instance_type"] == "r3.xlarge"]
            own.update(sizes=[], problem="Its stages differ from run to run.")

        change(here, take_away)
        here.open("model", **of(site.seeded.nightly_join))
        expect(here.page.locator("#time figcaption")).to_contain_text("Its stages differ from run to run.")
        expect(here.page.locator("#time .legend")).not_to_contain_text("replay")

    def test_for_other_iterations_it_is_not_drawn(self, site: Site, visit):
        here = visit(site)

        def iterate(told: dict[str, Any]) -> None:
            for each in told["replays"]:
                each["scale"], each["iterations"] = 2 * each["scale"], 20

        change(here, iterate)
        here.open("model", **of(site.seeded.nightly_join))
        expect(here.page.locator("#time figcaption")).to_contain_text("of the input and 20 iterations only")


def test_a_model_that_has_learned_goes_by_the_report_of_its_sample_runs(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.learned))
    expect(here.page.locator("#why .headline")).to_contain_text("CPU-bound: at most 2\u00a0%")
    assert cpu_bound().advice == ()
    expect(here.page.locator("#why .advice")).to_have_count(0)


def test_without_a_report_it_says_how_to_get_one(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.without_dag))
    why = here.page.locator("#why")
    expect(why).to_contain_text("No report of this model's runs is kept: the task bottleneck_report of an")
    expect(why.get_by_role("table")).to_have_count(0)


def test_without_the_profile_the_report_is_left(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.third_type))
    why = here.page.locator("#why")
    expect(why.locator(".headline")).to_contain_text("CPU-bound")
    expect(why).to_contain_text("The profile of that run is not kept any more")
    expect(why.locator("#limits .bars-row")).to_have_count(2)
    expect(why.locator("#stages, #phases, #what-ifs")).to_have_count(0)


def test_names_of_the_log_are_text(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.hostile))
    why = here.page.locator("#why")
    for summary in why.locator("summary").all():
        summary.click()
    for place in (".headline", ".advice", ".notice", "#limits", "#stages", "#stragglers", "#what-ifs"):
        expect(why.locator(place).first).to_contain_text(HOSTILE[:28])
    assert here.page.locator("[onerror], main img, main script").count() == 0
    assert set(why.locator("a").evaluate_all("all => all.map(one => one.protocol)")) <= {"http:"}


def test_where_it_cannot_be_loaded_the_rest_of_the_page_is_there(site: Site, visit):
    here = visit(site)
    here.expected_errors = (503,)
    answers = [{"status": 503, "json": {"detail": "The model store cannot be read."}}]

    def once(route: Route) -> None:
        if answers:
            route.fulfill(**answers.pop())
        else:
            route.continue_()

    here.page.route("**/api/clarity?*", once)
    here.open("model", **of(site.seeded.nightly_join))
    alert = here.page.locator("#why").get_by_role("alert")
    expect(alert).to_contain_text("The model store cannot be read.")
    expect(here.page.locator("#time-chart svg path").first).to_be_attached()
    alert.get_by_role("button", name="Try again").click()
    expect(here.page.locator("#why .headline")).to_contain_text("Network-bound")
    expect(here.page.locator("#time .legend")).to_contain_text("replay of a run")


RUN = {"dag_id": "nightly_sizing"}


class TestRun:
    def test_a_run_says_it_and_leads_there(self, made_up: Site, visit):
        here = visit(made_up, None)
        here.open("run", **RUN, run_id="reported")
        facts = here.page.locator("dl.facts").first
        expect(facts).to_contain_text("Network-bound: up to 41\u00a0%")
        expect(facts).to_contain_text(
            "The replay disagrees with the model: 8\u00a0min 40\u00a0s on 16 machines"
        )
        step = here.page.locator("table.steps tbody tr").filter(has_text="bottleneck_report")
        expect(step).to_contain_text("Network-bound")
        link = step.get_by_role("link", name="See why")
        expect(link).to_have_attribute("href", re.compile(r"^model\?.*#why$"))
        expect(here.page.locator(".timeline")).to_contain_text("bottleneck_report")

    @pytest.mark.parametrize("state", ["failed", "skipped"])
    def test_without_it_the_training_looks_as_ever(self, made_up: Site, visit, state: str):
        here = visit(made_up, None)
        here.open("run", **RUN, run_id=f"report_{state}")
        page = here.page
        expect(page.locator(".headline").first).to_contain_text("4 sample runs for")
        expect(page.locator(".headline").first).not_to_contain_text("Failed")
        step = page.locator("table.steps tbody tr").filter(has_text="bottleneck_report")
        expect(step).to_contain_text("The model and the decision do without it.")
        expect(page.locator("tr.failed, .bar.failed, .swatch.failed, .notice")).to_have_count(0)

    def test_each_type_says_it(self, made_up: Site, visit):
        here = visit(made_up, None)
        here.open("run", **RUN, run_id="two_reports")
        facts = here.page.locator("dl.facts").first
        expect(facts).to_contain_text("Network-bound")
        expect(facts).to_contain_text("CPU-bound")
        expect(facts.get_by_role("link", name="See why")).to_have_count(2)

    def test_its_task_leads_to_the_section(self, made_up: Site, visit):
        here = visit(made_up, None)
        here.open("task", **RUN, run_id="reported", task_id="ernest.bottleneck_report")
        expect(here.page.get_by_role("heading", level=1)).to_have_text("Why the job takes this long")
        expect(here.page.get_by_role("link", name="See why")).to_have_attribute("href", re.compile("#why$"))

    @pytest.mark.parametrize("run", ["reported", "report_failed", "two_reports", "report_hostile"])
    def test_by_the_rules_of_axe(self, made_up: Site, visit, run: str):
        here = visit(made_up, None)
        here.open("run", **RUN, run_id=run)
        assert here.page.locator("main img, [onerror]").count() == 0
        broken = broken_rules(here.page)
        assert not broken, "\n".join(broken)
