"""The rules of axe-core, held against what a page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "build" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def broken_rules(page: Page) -> list[str]:
    """What of the page breaks a rule, all that is folded away included; skips the test without axe-core."""
    if not AXE.exists():
        pytest.skip("needs axe-core: run .ci/ensure_axe, which fetches it from npm")
    folded = page.locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}, resultTypes: ['violations']})",
        RULES,
    )
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}\n    "
        + "\n    ".join(f"{node['target']} {node['failureSummary']}" for node in rule["nodes"][:5])
        for rule in found["violations"]
    ]
