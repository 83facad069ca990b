"""What to fix in the job: what the event logs of its runs tell, on the page of its model."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.explained_jobs import BEFORE, MARKUP, OF_PRODUCTION
from tests.browser.sample_store import HOSTILE
from tests.browser.site import Site, of
from tests.browser.visit import unfold
from tests.integration.conftest import wait_until
from tests.unit.run_profiles import cpu_bound, network_bound

pytestmark = pytest.mark.airflow


def opened(site: Site, visit: Any) -> Page:
    """The page of the model of which most is known, with what the log of its sample run tells."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    unfold(here.page.locator("#logs-sample"))
    return here.page


def log_of_sample(page: Page) -> Locator:
    return page.locator("#logs-sample")


def test_what_to_fix_goes_by_production_and_says_where_the_sample_disagrees(page: Page):
    why = page.locator("#why")
    assert OF_PRODUCTION["headline"].startswith("CPU-bound: at most 3 %")
    expect(why.locator(".headline")).to_contain_text("CPU-bound: at most 3 %")
    expect(why.locator(".notice").first).to_contain_text("Sample and production differ")
    expect(why.locator(".notice").first).to_contain_text("network")
    expect(why.locator(".notice").first).to_contain_text("CPU")


def test_the_log_of_the_production_run_is_there_too(page: Page):
    log = unfold(page.locator("#logs-production"))
    expect(log.locator(".facts").first).to_contain_text("production run app-20260320020000-0042")
    expect(log.locator(".facts").first).to_contain_text("100 % of the input")


def test_what_changed_since_the_last_good_run(page: Page):
    changes = unfold(page.locator("#since-last-good"))
    expect(changes.locator("p").first).to_contain_text(re.compile(f"took 50\\ss less than {BEFORE}"))
    expect(changes.locator("li")).to_contain_text("Spark is 4.0.1 and was 4.0.0")
    expect(changes.locator("tbody tr").first).to_contain_text(re.compile(r"start-up.*-50"))
    gone = changes.locator("tbody tr").filter(has_text=MARKUP).first
    expect(gone).to_contain_text(f"only {BEFORE} has it")


def test_what_to_fix_without_production_is_what_the_sample_run_tells(site: Site, visit):
    here = visit(site)
    here.change("api/clarity", lambda told: told.update(production=None))
    here.open("model", **of(site.seeded.nightly_join))
    why, profile = here.page.locator("#why"), network_bound()
    expect(why.locator(".headline")).to_contain_text("Network-bound: up to 41 % (18 s of 44 s)")
    for advice in profile.advice:
        expect(why.locator(".advice")).to_contain_text(advice.text)
        expect(why.locator(".advice")).to_contain_text(advice.figure[:20])
    expect(why).not_to_contain_text("differ")


def test_the_log_tells_which_run_it_goes_by(page: Page):
    log, profile = log_of_sample(page), network_bound()
    expect(log.locator(".notice")).to_contain_text(profile.warnings[1])
    facts = log.locator(".facts").first
    expect(facts).to_contain_text(f"sample run {profile.application_id}")
    expect(facts).to_contain_text("on 4 machines, 8 tasks at once, 10 % of the input")
    expect(facts).to_contain_text("44.6 s, off by +1.4 %")
    expect(facts.get_by_role("link", name="sizing.sample_run")).to_be_visible()


def test_the_limits_are_upper_bounds_with_percent_and_seconds(page: Page):
    figure = log_of_sample(page).locator("#limits")
    rows = figure.locator(".bars-row")
    expect(rows).to_have_count(len(network_bound().limits))
    expect(rows.first).to_contain_text(re.compile(r"a faster network\s*at most 41\s%, 18\ss"))
    expect(rows.last).to_contain_text("nothing")

    def widths() -> list[float]:
        measure = "all => all.map(one => one.getBoundingClientRect().width)"
        return list(rows.locator(".bars-bar").evaluate_all(measure))

    wait_until(lambda: widths()[0] > 5 * widths()[1], seconds=10, what="the bars")
    assert widths() == sorted(widths(), reverse=True)
    expect(unfold(figure).locator("tbody tr").nth(4)).to_be_attached()


def test_the_phases_add_up(page: Page):
    figure = log_of_sample(page).locator("#phases")
    expect(figure.locator("figcaption")).to_contain_text("50.2 s from submission to end")
    legend = figure.locator(".legend li")
    expect(legend).to_have_count(5)
    shares = [int(found) for text in legend.all_inner_texts() for found in re.findall(r"\((\d+)", text)]
    assert abs(sum(shares) - 100) <= 3
    expect(figure.locator("#phases-chart svg path").first).to_be_attached()


def test_stages_stragglers_and_other_machines(page: Page):
    log = log_of_sample(page)
    row = log.locator("#stages tbody tr").filter(has_text="sort merge join")
    expect(row).to_contain_text(re.compile(r"network\s*network 62\s%"))
    stragglers = log.locator("#stragglers")
    expect(stragglers.locator("tbody tr").first).to_contain_text("slow fetch")
    unfold(stragglers)
    worst = stragglers.get_by_role("region", name="The worst stragglers").locator("tbody tr").first
    expect(worst).to_contain_text("10.0.0.14")
    expect(worst).to_contain_text("2.8 s waiting for shuffle data")
    expect(log.locator("#what-ifs tbody tr").first).to_contain_text(re.compile(r"half the network.*\+63\s%"))
    expect(log.locator("#other-sizes tr.highlight")).to_contain_text("44.6")


def test_a_command_tells_the_same_in_a_terminal_and_does_nothing_else(site: Site, page: Page, visit):
    facts = log_of_sample(page).locator(".facts").first
    command = f"ernest analyze {network_bound().event_log} --scale 0.1 --html why.html"
    expect(facts.get_by_text(command, exact=True)).to_be_visible()
    here = visit(site)
    here.change("api/clarity", lambda told: told["sample"].update(event_log="/logs/it's; rm -rf $HOME"))
    here.open("model", **of(site.seeded.nightly_join))
    log = unfold(here.page.locator("#logs-sample"))
    copied = log.get_by_role("button", name="Copy the command").get_attribute("title")
    assert copied is not None
    assert shlex.split(copied)[2] == "/logs/it's; rm -rf $HOME"


def test_the_longest_stages_come_first_and_the_rest_is_folded(site: Site, visit):
    here = visit(site)

    def multiply(told: dict[str, Any]) -> None:
        stages = told["sample"]["stages"]
        told["sample"]["stages"] = [
            {
                **stage,
                "stage_id": 10 * number + stage["stage_id"],
                "began_seconds": 0,
                "ended_seconds": (stage["ended_seconds"] - stage["began_seconds"]) / (number + 1),
            }
            for number in range(4)
            for stage in stages
        ]

    here.change("api/clarity", multiply)
    here.open("model", **of(site.seeded.nightly_join))
    table = unfold(here.page.locator("#logs-sample")).locator("#stages")
    rows = table.locator("tbody tr")
    expect(rows.first).to_contain_text("sort merge join")
    assert rows.count() < 20
    table.get_by_role("button", name="Show all 20 rows").click()
    expect(rows).to_have_count(20)
    seconds = rows.locator("td:nth-child(4)").all_inner_texts()
    assert seconds == sorted(seconds, key=float, reverse=True)
    expect(table).to_contain_text("3 shorter stages more")


def test_a_model_that_has_learned_goes_by_the_report_of_its_sample_runs(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.learned))
    expect(here.page.locator("#why .headline")).to_contain_text("CPU-bound: at most 2 %")
    assert cpu_bound().advice == ()
    expect(here.page.locator("#why .advice")).to_have_count(0)


def test_without_a_report_it_says_how_to_get_one(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.without_dag))
    why = here.page.locator("#why")
    expect(why).to_contain_text("bottleneck_report")
    expect(why).to_contain_text("ernest analyze")
    expect(why.get_by_role("table")).to_have_count(0)


def test_names_of_the_log_are_text(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.hostile))
    why = here.page.locator("#why")
    expect(why.locator(".headline")).to_contain_text(HOSTILE[:28])
    while why.locator("details:not([open]) > summary").count():
        why.locator("details:not([open]) > summary").first.click()
    for place in (".advice", ".notice", "#limits", "#stages", "#stragglers", "#what-ifs"):
        expect(why.locator(place).first).to_contain_text(HOSTILE[:28])
    assert here.page.locator("[onerror], main img, main script").count() == 0
    assert set(why.locator("a").evaluate_all("all => all.map(one => one.protocol)")) <= {"http:"}


def test_where_it_cannot_be_loaded_the_rest_of_the_page_is_there(site: Site, visit):
    here = visit(site)
    here.expected_errors = (503,)
    answers = [{"status": 503, "body": json.dumps({"detail": "The model store cannot be read."})}]

    def once(route: Route) -> None:
        if answers:
            route.fulfill(**answers.pop())  # type: ignore[arg-type]
        else:
            route.continue_()

    here.page.route("**/api/clarity?*", once)
    here.open("model", **of(site.seeded.nightly_join))
    alert = here.page.locator("#why").get_by_role("alert")
    expect(alert).to_contain_text("The model store cannot be read.")
    expect(here.page.locator("#time-chart svg path").first).to_be_attached()
    alert.get_by_role("button", name="Try again").click()
    expect(here.page.locator("#why .headline")).to_contain_text("CPU-bound")
