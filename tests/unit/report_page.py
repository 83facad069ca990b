"""A report taken apart as a browser does it."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html.parser import HTMLParser
from typing import Any

from airflow_provider_ernest.views.scripts import STATIC, bundled

VOID = {"meta"}
LOADING = {"link", "img", "iframe", "object", "embed", "form", "a", "base", "svg"}
ADDRESSES = {"src", "href", "srcdoc", "srcset", "action", "formaction", "xlink:href"}


class Page(HTMLParser):
    """The elements of a page, its scripts, and the text that a reader sees without them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def data(self) -> Any:
        """What the charts are drawn of."""
        return json.loads(self.scripts[0])["shown"]

    @property
    def policy(self) -> dict[str, list[str]]:
        """The sources that the content security policy allows, by directive."""
        (policy,) = (each for each in self.all("meta") if each.get("http-equiv") == "Content-Security-Policy")
        directives = [each.split() for each in str(policy["content"]).split(";")]
        return {name: sources for name, *sources in directives}

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def columns(self, name: str) -> list[str]:
        """The heads of the table that the chart of that name is drawn over."""
        attributes = [each for _, each in self.elements]
        (wanted,) = (at for at, each in enumerate(attributes) if each.get("id") == name)
        region = next(each for each in attributes[wanted:] if each.get("role") == "region")
        return str(region["aria-label"]).split(", ")


def dangers(page: Page) -> list[str]:
    """What of a report could run, load or lead to anything that it was not written with; nothing is right."""
    elements = [each for each in page.elements if not _leads_to_spark(*each)]
    found = [tag for tag, _ in elements if tag in LOADING]
    for tag, attributes in elements:
        for name, value in attributes.items():
            is_address = name in ADDRESSES or "javascript:" in (value or "").lower()
            if name.startswith("on") or is_address:
                found.append(f"{tag} {name}={value}")
    return [*found, *_wrong_policy(page), *_foreign_scripts(page)]


def _leads_to_spark(tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether it is a link to Spark's documentation, and nothing else."""
    address = attributes.get("href") or ""
    is_link = tag == "a" and attributes == {"href": address, "rel": "noopener"}
    return is_link and address.startswith("https://spark.apache.org/docs/latest/")


def _wrong_policy(page: Page) -> list[str]:
    tags = [tag for tag, _ in page.elements]
    policy = page.policy
    digests = policy.pop("script-src")
    expected = {"default-src": ["'none'"], "style-src": ["'unsafe-inline'"], "img-src": ["data:"]}
    wrong = [] if policy == expected else [f"policy: {policy}"]
    is_first = any("http-equiv" in attributes for _, attributes in page.elements[: tags.index("script")])
    return wrong + ([] if is_first and len(digests) == 2 else [f"script-src {digests}"])


def _foreign_scripts(page: Page) -> list[str]:
    """Scripts that the policy does not name or that are not the pages' own, and data that may break out."""
    own = ((STATIC / "vendor" / "echarts.min.js").read_text(encoding="utf-8"), bundled("pages/report.js"))
    found = []
    for attributes, script in zip(page.all("script"), page.scripts, strict=True):
        if attributes.get("type") == "application/json":
            json.loads(script)
            is_harmless = not set("<>&") & set(script)
        else:
            digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
            is_harmless = f"'sha256-{digest}'" in page.policy["script-src"] and script in own
        if not is_harmless:
            found.append(f"script {attributes}: {script[:80]}")
    return found
