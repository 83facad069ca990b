/** Places for figures that come, change and go with the data. */
import { element, replace } from "../dom.js";
import { figure } from "../figure.js";
import { emptyState } from "../states.js";

/** Figures stand below the headings of the page's parts. */
const FIGURE_LEVEL = 3;

/** A part of the page with its heading. */
export function part({ id, title, text }, ...children) {
  return element(
    "section",
    { class: "part", id, "aria-labelledby": `${id}-heading` },
    element("h2", { id: `${id}-heading` }, title),
    text ? element("p", { class: "muted" }, text) : null,
    children,
  );
}

/** Where a figure would be if there were data: what to do to get them. */
function emptyFigure({ id, title, text }) {
  return element("section", { class: "figure is-empty", id }, emptyState({ title, text, level: FIGURE_LEVEL }));
}

/** A figure, or where there is nothing to draw the words that say why. `options` are those of `figure`. */
export function figureOr(isThere, options, text) {
  if (!isThere()) return emptyFigure({ id: options.id, title: options.title, text });
  const { specification, ...rest } = options;
  return figure({ level: FIGURE_LEVEL, ...rest, ...specification() });
}

/**
 * A place for a figure whose data change.
 *
 * @param {object} options of `figure` that stay
 * @returns {HTMLElement} with `show(changed)`, which draws, and `showEmpty(text)`, which says why nothing is drawn
 */
export function figureSlot(options) {
  const holder = element("div", { class: "slot" });
  let shown = null;
  holder.show = (changed) => {
    if (shown) {
      shown.update(changed);
      return;
    }
    shown = figure({ level: FIGURE_LEVEL, ...options, ...changed });
    replace(holder, shown);
  };
  holder.showEmpty = (text) => {
    shown?.remove();
    shown = null;
    replace(holder, emptyFigure({ ...options, text }));
  };
  return holder;
}

/** A card with a heading, for what is no chart. */
export function card({ id, title, text }, ...children) {
  return element(
    "section",
    { class: "card", id, "aria-labelledby": `${id}-title` },
    element(`h${FIGURE_LEVEL}`, { id: `${id}-title` }, title),
    text ? element("p", { class: "muted" }, text) : null,
    children,
  );
}

/** A part that is made when it is first unfolded: few readers want it. `make` gives its content. */
export function folded({ id, title, remark = "" }, make) {
  const content = element("div", { class: "folded-content" });
  const details = element("details", { class: "folded", id },
    element("summary", {}, title, remark ? element("span", { class: "muted" }, ` ${remark}`) : null), content);
  details.addEventListener("toggle", () => {
    if (details.open && !content.hasChildNodes()) replace(content, make());
  });
  return details;
}

/** The part of that id, opened if it is folded; null where there is none. */
export function unfold(id) {
  const node = document.getElementById(id);
  const line = node?.closest("details, .check");
  const details = line?.matches("details") ? line : line?.querySelector("details");
  if (details) details.open = true;
  return node;
}
