/** Going through pages of results: previous, next, rows of a page. */

import { selectField } from "../controls.js";
import { element } from "../dom.js";
import { count } from "../format.js";

export const PAGE_SIZES = [10, 25, 50, 100, 200];

/**
 * @param {function} onChange called with {offset} or {offset, limit}.
 * @returns {HTMLElement} a nav with `update({offset, limit, total})`; hidden while all fits on the smallest.
 */
export function pager(onChange) {
  let now = { offset: 0, limit: 25, total: 0 };
  const previous = element("button", {
    type: "button", class: "button", onClick: () => onChange({ offset: Math.max(0, now.offset - now.limit) }),
  }, "Previous");
  const next = element("button", {
    type: "button", class: "button", onClick: () => onChange({ offset: now.offset + now.limit }),
  }, "Next");
  const words = element("span", { class: "pager-words" });
  const size = selectField({
    label: "Rows a page", id: "page-size", value: 25,
    options: PAGE_SIZES.map((each) => ({ value: each, label: String(each) })),
    onChange: (value) => onChange({ limit: Number(value), offset: 0 }),
  });
  const node = element(
    "nav",
    { class: "pager", "aria-label": "Pages of results", hidden: true },
    element("div", { class: "pager-steps" }, previous, words, next),
    size,
  );
  node.update = (changed) => {
    now = changed;
    const { offset, limit, total } = now;
    const pages = Math.max(1, Math.ceil(total / limit));
    const focused = [previous, next].find((button) => button === document.activeElement);
    node.hidden = total <= PAGE_SIZES[0];
    previous.disabled = offset <= 0;
    next.disabled = offset + limit >= total;
    // A button that is disabled at the last page would take the focus away with it.
    if (focused?.disabled) (focused === next ? previous : next).focus({ preventScroll: true });
    words.textContent = `Page ${count(Math.floor(offset / limit) + 1)} of ${count(pages)}`;
    size.querySelector("select").value = String(limit);
  };
  return node;
}
