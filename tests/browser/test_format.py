"""The pages' numbers for people, in the same words as those of words.py, and what people type into fields."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from airflow_provider_ernest import words
from tests.number_cases import NUMBER_CASES, TYPED_CASES, NumberCase

CALLED = """async (calls) => {
  const functions = await import("/js/format.js");
  return calls.map(([name, of]) => functions[name](...of).replaceAll("\\u00a0", " "));
}"""


@pytest.fixture(scope="module")
def page(scripts: Page) -> Page:
    """A page that can import the scripts."""
    return scripts


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def on_the_page(page: Page, cases: list[NumberCase]) -> list[str]:
    shown: list[str] = page.evaluate(CALLED, [[camel_case(case.kind), case.arguments] for case in cases])
    return shown


def test_numbers_look_as_the_table_says(page: Page):
    assert on_the_page(page, NUMBER_CASES) == [case.words for case in NUMBER_CASES]


def test_numbers_look_as_they_do_on_the_command_line(page: Page):
    # Of all sizes, and many that end in a 5, where two ways to round differ.
    chance = random.Random(17)
    sizes = [10 ** chance.uniform(-9, 13) for _ in range(300)]
    values = [
        *sizes,
        *(-size for size in sizes[:100]),
        *(round(size, chance.randrange(4)) for size in sizes),
        *(math.floor(size) / 8 for size in sizes),
        *(chance.random() for _ in range(300)),
    ]
    kinds = {case.kind for case in NUMBER_CASES} - {"date_time", "duration_range"}
    cases = [
        NumberCase(kind, value, getattr(words, kind)(value)) for kind in sorted(kinds) for value in values
    ]
    told = zip(cases, on_the_page(page, cases), strict=True)
    assert [(case, shown) for case, shown in told if case.words != shown] == []


def test_what_is_typed_is_understood_or_refused(page: Page):
    shown = page.evaluate(
        """async (cases) => {
          const [typed, format] = [await import("/js/typed.js"), await import("/js/format.js")];
          const words = { typed_number: format.plain, typed_duration: format.duration };
          const read = { typed_number: typed.typedNumber, typed_duration: typed.typedDuration };
          return cases.map(([kind, text]) => words[kind](read[kind](text)).replaceAll("\\u00a0", " "));
        }""",
        [[case.kind, case.value] for case in TYPED_CASES],
    )
    assert [*zip(TYPED_CASES, shown, strict=True)] == [(case, case.words) for case in TYPED_CASES]


def test_a_time_is_written_so_that_it_is_read_again(page: Page):
    times = [0, 0.1, 7, 90, 119, 120, 420, 432, 3600, 5405, 86_400, 100_000, 431.2]
    again = page.evaluate(
        "async (times) => { const typed = await import('/js/typed.js');"
        " return times.map((each) => typed.typedDuration(typed.asTyped(each))); }",
        times,
    )
    assert again == times


@pytest.fixture
def field(page: Page) -> Callable[..., Locator]:
    """Puts a field of controls.js onto the page; what it calls is in `window.called`."""

    def put(kind: str, **options: object) -> Locator:
        page.evaluate(
            """async ([kind, options]) => {
              const controls = await import("/js/controls.js");
              window.called = [];
              const told = (name) => (value) => window.called.push([name, value]);
              document.body.replaceChildren(controls[kind](
                { ...options, onChange: told("changed"), onInvalid: told("invalid") }));
            }""",
            [kind, {"label": "Deadline", **options}],
        )
        return page.get_by_role("textbox", name="Deadline")

    return put


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("12,5", "“12,5” is not a number: type 12.5, without a comma."),
        ("1,204", "“1,204” is not a number: type 1204, or 1.204, without a comma."),
        ("abc", "“abc” is not a number: type digits, such as 12.5."),
        ("1e", "“1e” is not a number: type digits, such as 12.5."),
        ("", "Type a number."),
        ("2.5", "2.5 is not whole: type 2 or 3."),
        ("0", "0 is too little: type 1 or more."),
        ("20000", "20,000 is too much: type 10,000 or less."),
    ],
)
def test_what_is_no_number_is_refused_by_its_name_with_the_remedy(
    page: Page, field: Callable[..., Locator], typed: str, problem: str
):
    one = field("numberField", value=8, minimum=1, maximum=10_000, isWhole=True, isRequired=True)
    expect(one).to_have_value("8")
    one.fill(typed)
    expect(page.get_by_role("status")).to_have_text(problem)
    expect(one).to_have_attribute("aria-invalid", "true")
    page.wait_for_function("called.length > 0")
    assert page.evaluate("called") == [["invalid", f"Deadline: {problem}"]]
    one.fill("12")
    page.wait_for_function("called.length > 1")
    assert page.evaluate("called[1]") == ["changed", 12]
    expect(page.get_by_role("status")).to_have_text("")


def test_a_deadline_is_typed_as_people_write_it(page: Page, field: Callable[..., Locator]):
    deadline = field("durationField", value=420, minimum=1e-9)
    expect(deadline).to_have_value("7 min")
    deadline.fill("1h30")
    expect(page.get_by_text("= 1 h 30 min")).to_be_visible()
    page.wait_for_function("called.length > 0")
    assert page.evaluate("called") == [["changed", 5400]]
    deadline.fill("soon")
    expect(page.get_by_text("“soon” is no time: type 7m, 1h30, or seconds as 420.")).to_be_visible()
    page.wait_for_function("called.length > 1")
    deadline.fill("")
    page.wait_for_function("called.length > 2")
    assert page.evaluate("called[2]") == ["changed", None], "no deadline"


def test_moments_are_told_in_the_readers_time_zone(page: Page):
    at = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    assert on_the_page(page, [NumberCase("date_time", at.isoformat(), "")]) == [words.date_time(at, UTC)]
