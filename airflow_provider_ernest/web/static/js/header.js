/** The head of a page: where one is, what it shows, its most important numbers. */

import { isReport } from "./airflow.js";
import { element, renew } from "./dom.js";
import { timeZone, UNKNOWN, unbroken } from "./format.js";
// Also where nothing is drawn the page has to be light or dark as Airflow is.
import {} from "./theme.js";

/**
 * Breadcrumb, heading, subtitle below it and actions at the right; sets the window's title, too. Crumbs are the pages
 * above this one, {text, href} or {node}; a report leads nowhere else.
 */
export function pageHeader({ title, crumbs = [], subtitle = [], actions = [] }) {
  document.title = `${title} · Ernest`;
  const links = (isReport ? [] : crumbs).map((crumb) =>
    element("li", {}, crumb.node ?? element("a", { href: crumb.href }, crumb.text)));
  return element(
    "header",
    { class: "page-header" },
    element(
      "div",
      { class: "page-header-words" },
      links.length
        ? element("nav", { class: "breadcrumb", "aria-label": "Breadcrumb" }, element("ol", {}, links))
        : null,
      element("h1", {}, title),
      element("div", { class: "page-subtitle" }, subtitle, element("span", { class: "small-text" }, `Times in ${timeZone()}`)),
    ),
    actions.length ? element("div", { class: "page-actions" }, actions) : null,
  );
}

function wholeQuantities(remark) {
  return typeof remark === "string" ? unbroken(remark) : remark;
}

/** Facts with their names: [[name, value], ...]; those without a value are left out. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => ![null, undefined, "", UNKNOWN].includes(value));
  return element("dl", { class: "facts" },
    known.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** Warnings or hints as a list; nothing where there are none. */
export function notice({ title, items, kind = "", level = 2 }) {
  if (!items?.length) return null;
  const list = items.length === 1
    ? element("p", {}, wholeQuantities(items[0]))
    : element("ul", {}, items.map((item) => element("li", {}, wholeQuantities(item))));
  const heading = title ? element(`h${level}`, {}, title) : null;
  return element("div", { class: `notice ${kind}`.trim() }, heading, list);
}

/** Fills the part of the page that scripts fill, its <main>. The focus stays on what is like before. */
export function fillPage(...children) {
  return renew(document.getElementById("content"), ...children);
}
