"""The page of one model: ask it, and see why it answers so."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.site import Site, of
from tests.browser.visit import unfold
from tests.examples import in_an_address
from tests.integration.conftest import wait_until

pytestmark = pytest.mark.airflow

FIGURES = ("time", "shares", "cost", "folds", "versions", "production", "design", "machines")


def opened(site: Site, visit: Any) -> Page:
    """The page of the model of which most is known."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    expect(answer(here.page)).to_be_visible()
    return here.page


def answer(page: Page) -> Locator:
    """The sentence that says what was chosen."""
    return page.locator("#answer .headline")


def chart(page: Page, name: str) -> Locator:
    return page.locator(f"#{name}-chart")


def chosen_machines(text: str) -> int:
    found = re.match(r"(\d+) machines? of ", text)
    assert found, text
    return int(found[1])


def asked(page: Page) -> dict[str, Any]:
    """What the address says is asked, as parameters of the API."""
    from urllib.parse import parse_qsl, urlsplit

    return dict(parse_qsl(urlsplit(page.url).query))


def test_it_begins_with_what_was_last_decided(site: Site, page: Page):
    shown = site.answer("api/model", **of(site.seeded.nightly_join))
    expect(page.get_by_label("Deadline", exact=True).first).to_be_checked()
    expect(page.get_by_role("spinbutton", name="Deadline")).to_have_value("420")
    decision = site.answer(
        "api/prediction", **of(site.seeded.nightly_join), **in_an_address(shown["defaults"])
    )["decision"]
    expect(answer(page)).to_contain_text(in_words(decision))
    confidence = page.get_by_role("combobox", name="The deadline holds with a probability of")
    expect(confidence).to_have_value(str(decision["confidence"]))


def in_words(decision: dict[str, Any]) -> str:
    return f"{decision['machines']} machines of {decision['instance_type']}:"


def known(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def test_the_slider_moves_the_chosen_point_by_keyboard_alone(site: Site, own_page: Page):
    before = answer(own_page).inner_text()
    described = chart(own_page, "time").get_attribute("aria-label")
    drawn = chart(own_page, "time").inner_html()
    slider = own_page.get_by_role("slider", name="Scale of the input")
    slider.focus()
    for _ in range(12):
        own_page.keyboard.press("ArrowLeft")
    expect(answer(own_page)).not_to_have_text(before)
    expect(chart(own_page, "time")).not_to_have_attribute("aria-label", described or "")
    wait_until(lambda: chart(own_page, "time").inner_html() != drawn, seconds=10, what="another curve")
    scale = float(own_page.get_by_role("spinbutton", name="Scale of the input").input_value())
    assert scale < 0.9
    expect(slider).to_have_attribute("aria-valuetext", re.compile("of the input"))
    expect(own_page).to_have_url(re.compile(rf"scale={scale:g}(&|$)"))
    expected = site.answer(
        "api/prediction",
        **of(site.seeded.nightly_join),
        **{
            name: value
            for name, value in asked(own_page).items()
            if name not in ("goal", "job", "instance_type") and value != "none"
        },
    )["decision"]
    expect(answer(own_page)).to_contain_text(in_words(expected))
    expect(chart(own_page, "time")).to_have_attribute(
        "aria-label", re.compile(rf"Chosen: {expected['machines']} machines")
    )


def test_a_shorter_deadline_takes_more_machines(own_page: Page):
    before = chosen_machines(answer(own_page).inner_text())
    own_page.get_by_role("spinbutton", name="Deadline").fill("390")
    expect(answer(own_page)).to_contain_text(re.compile(rf"^(?!{before} )\d+ machines? of "))
    assert chosen_machines(answer(own_page).inner_text()) > before


def test_a_budget_instead_of_a_deadline(site: Site, own_page: Page):
    own_page.get_by_role("radio", name="Budget").check()
    budget = own_page.get_by_role("spinbutton", name="Budget")
    expect(budget).to_be_visible()
    expect(own_page.get_by_role("spinbutton", name="Deadline")).to_be_hidden()
    budget.fill("0.5")
    expect(own_page.locator("#answer")).to_contain_text(re.compile(r"fastest within \$?0\.5", re.IGNORECASE))
    chosen = chosen_machines(answer(own_page).inner_text())
    options = site.answer(
        "api/prediction",
        **of(site.seeded.nightly_join),
        budget_dollars=0.5,
        price_per_hour=0.333,
        confidence=asked(own_page)["confidence"],
        max_machines=24,
        scale=asked(own_page)["scale"],
    )
    assert chosen == options["decision"]["machines"]


def test_without_a_goal_it_tells_the_fastest(own_page: Page):
    own_page.get_by_role("radio", name="No goal").check()
    expect(answer(own_page)).to_contain_text("Fastest")
    expect(own_page.get_by_role("spinbutton", name="Deadline")).to_be_hidden()


def test_what_is_out_of_reach_is_said_with_what_is_not(own_page: Page):
    own_page.get_by_role("spinbutton", name="Deadline").fill("20")
    expect(own_page.locator("#answer .out-of-reach")).to_be_visible()
    expect(answer(own_page)).to_contain_text(
        re.compile(r"Most probable: \d+ machines? of \S+, with a probability")
    )
    expect(own_page.locator("#answer")).to_contain_text("fastest")
    expect(own_page.locator("#answer")).to_contain_text("Extend the deadline")
    expect(chart(own_page, "time")).not_to_have_attribute("aria-label", re.compile("Chosen:"))


def test_a_wrong_number_is_named_and_changes_nothing(own_page: Page):
    before = answer(own_page).inner_text()
    machines = own_page.get_by_role("spinbutton", name="At most")
    machines.fill("0")
    expect(machines).to_have_attribute("aria-invalid", "true")
    expect(own_page.locator("#max-machines-problem")).to_contain_text("1 or more")
    expect(answer(own_page)).to_have_text(before)
    machines.fill("8")
    expect(machines).to_have_attribute("aria-invalid", "false")
    expect(own_page).to_have_url(re.compile("max_machines=8"))
    expect(chart(own_page, "time")).to_have_attribute("aria-label", re.compile("on 8 machines"))


def test_what_was_asked_can_be_sent_to_somebody(own_page: Page):
    own_page.locator("details.billed summary").click()
    own_page.get_by_role("spinbutton", name="Launch and boot").fill("5")
    # Last what the answer tells, so that it is the answer to all of it.
    own_page.get_by_role("spinbutton", name="Deadline").fill("440")
    own_page.get_by_role("combobox", name="holds with a probability").select_option("0.9")
    expect(own_page).to_have_url(re.compile("deadline_seconds=440.*confidence=0.9.*boot_seconds=5"))
    expect(own_page.locator("#answer")).to_contain_text("440 s with a probability of 90 %")
    expect(own_page.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    said = answer(own_page).inner_text()
    own_page.reload()
    expect(answer(own_page)).to_have_text(said)


def test_each_figure_has_words_and_its_numbers_by_keyboard(page: Page):
    for name in FIGURES:
        figure = page.locator(f"section#{name}")
        expect(figure.get_by_role("heading").first).to_be_visible()
        drawn = figure.locator(".chart")
        expect(drawn).to_have_attribute("role", re.compile("img|group"))
        expect(drawn).to_have_attribute("aria-label", re.compile(".{31}"))
        summary = figure.locator("summary")
        summary.focus()
        page.keyboard.press("Enter")
        table = figure.get_by_role("table")
        expect(table).to_be_visible()
        expect(table.locator("tbody tr").nth(1)).to_be_attached()
        expect(figure.get_by_role("button", name="Download CSV")).to_be_visible()
        expect(figure.get_by_role("button", name="Download JSON")).to_be_visible()
        page.keyboard.press("Enter")
        expect(table).to_be_hidden()


def test_the_observations_lead_to_their_logs(site: Site, page: Page):
    observations = site.answer("api/model", **of(site.seeded.nightly_join))["observations"]
    table = page.locator("#observations table")
    expect(table.locator("tbody tr")).to_have_count(len(observations))
    for observation in observations:
        row = table.locator("tbody tr").filter(has_text=observation["application_id"])
        origin = observation["origin"]
        link = row.get_by_role("link", name="sizing.sample_run")
        path = ["dags", origin["dag_id"], "runs", origin["run_id"], "tasks", origin["task_id"]]
        expect(link).to_have_attribute("href", site.airflow(*path, "mapped", str(origin["map_index"])))


def test_the_past_of_the_model_is_there(site: Site, page: Page):
    shown = site.answer("api/model", **of(site.seeded.nightly_join))
    versions = page.locator("section#versions")
    unfold(versions)
    expect(versions.locator("tbody tr")).to_have_count(len(shown["versions"]))
    production = page.locator("section#production")
    unfold(production)
    expect(production.locator("tbody tr")).to_have_count(len(shown["production_runs"]))
    assert len(shown["versions"]) > 3
    assert len(shown["production_runs"]) > 10


def test_several_types_of_machine_are_in_one_picture(site: Site, page: Page):
    seeded = site.seeded
    figure = page.locator("section#cost")
    for model in (seeded.nightly_join, seeded.drifting, seeded.third_type):
        expect(figure).to_contain_text(model.instance_type)
    expect(chart(page, "cost")).to_have_attribute("aria-label", re.compile("Pareto"))


def test_the_culled_machines_are_named_with_their_reason(site: Site, page: Page):
    machines = site.answer("api/model", **of(site.seeded.nightly_join))["cluster"]["machines"]
    culled = [machine for machine in machines if machine["culled_because"]]
    assert culled, "the sample cluster must have stragglers"
    figure = page.locator("section#machines")
    unfold(figure)
    for machine in culled:
        row = figure.locator("tbody tr").filter(has_text=machine["host"])
        expect(row).to_contain_text(machine["culled_because"])


def test_an_old_version_says_that_it_is_old(site: Site, visit):
    versions = site.answer("api/model", **of(site.seeded.nightly_join))["versions"]
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join), model_id=versions[-1]["model_id"])
    expect(here.page.get_by_text("A newer version")).to_be_visible()
    here.page.get_by_role("link", name="Show the newest version").click()
    expect(here.page.get_by_text("A newer version")).to_have_count(0)
    expect(here.page.locator("#facts")).to_contain_text(versions[0]["model_id"])
