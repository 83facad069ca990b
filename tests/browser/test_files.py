"""What files hold of a table, by the scripts alone: numbers, with their units in the headings."""

from __future__ import annotations

import json

from playwright.sync_api import Page

from tests.browser.visit import downloaded

TABLE = """async () => {
  const [{ downloadButtons }, { numeric }, format] = [
    await import("/js/download.js"), await import("/js/charts/columns.js"), await import("/js/format.js")];
  const columns = [
    { key: "at", title: "Run", render: (row) => format.dateTime(row.at) },
    numeric("machines", "Machines", format.count),
    numeric("seconds", "Took", format.duration),
    numeric("needed", "Needed", format.number, { unit: "s" }),
    numeric("cost", "Paid", format.dollars),
    numeric("error_percent", "Error", format.signedPercentage),
    numeric("read", "Read", format.dataAmount),
    numeric("coefficient", "Coefficient", format.number, { unit: "s per unit" }),
    { key: "likely_seconds", title: "80 %", render: (row) => format.durationRange(row.likely_seconds) },
  ];
  const first = {
    at: "2026-11-21T18:45:03+00:00", machines: 1204, seconds: 431.25, needed: 7, cost: 0.0117,
    error_percent: -9.09, read: 1.5e9, coefficient: 12.5, likely_seconds: [400.5, 460],
  };
  document.body.replaceChildren(downloadButtons({ name: "runs", columns, rows: [first, { machines: 2 }] }));
}"""


def test_files_hold_numbers_with_the_unit_in_the_heading(scripts: Page):
    scripts.evaluate(TABLE)
    name, text = downloaded(scripts, scripts.locator("body"), "CSV")
    assert name == "runs.csv"
    heading, first, second = text.splitlines()
    assert heading.replace('"', "").split(",") == [
        "at",
        "machines",
        "seconds",
        "needed_seconds",
        "cost_dollars",
        "error_percent",
        "read_bytes",
        "coefficient_seconds_per_unit",
        "likely_low_seconds",
        "likely_high_seconds",
    ]
    assert first == '"2026-11-21T18:45:03+00:00",1204,431.25,7,0.0117,-9.09,1500000000,12.5,400.5,460'
    assert second == ",2,,,,,,,,"

    _, text = downloaded(scripts, scripts.locator("body"), "JSON")
    first, second = json.loads(text)
    assert (first["cost_dollars"], first["likely_low_seconds"], first["seconds"]) == (0.0117, 400.5, 431.25)
    assert second["machines"] == 2
    assert second["likely_high_seconds"] is None
