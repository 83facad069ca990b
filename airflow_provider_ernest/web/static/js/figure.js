/** A chart with its heading, its words for screen readers, its numbers as a table and its downloads. */

import { element, hidden, renew, replace } from "./dom.js";
import { downloadButtons } from "./download.js";
import { dataTable } from "./table.js";
import { themeColors, watchTheme } from "./theme.js";

const NARROW_PIXELS = 520; // below, charts are drawn for phones

/**
 * Draws into a container when it gets its first size, turns wide or narrow, is shown again, or the theme changes,
 * until the container has left the page.
 */
class Drawing {
  constructor(container, onFailure) {
    this.container = container;
    this.onFailure = onFailure;
    this.draw = null;
    this.dispose = null;
    this.isNarrow = null;
    this.wasOnPage = false;
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(container);
    this.unwatch = watchTheme(() => this.redraw());
  }

  /** Ends all once the container was taken away; whether it was. */
  endIfGone() {
    this.wasOnPage ||= this.container.isConnected;
    const isGone = this.wasOnPage && !this.container.isConnected;
    if (isGone) this.remove();
    return isGone;
  }

  resized() {
    const width = this.container.clientWidth;
    if (!this.endIfGone() && width > 0 && (width < NARROW_PIXELS) !== this.isNarrow) this.redraw();
  }

  redraw() {
    const width = this.container.clientWidth;
    if (this.endIfGone() || !this.draw) return;
    // Hidden: what is drawn is out of date, neither wide nor narrow.
    this.isNarrow = width ? width < NARROW_PIXELS : null;
    if (width === 0) return;
    this.end();
    replace(this.container);
    try {
      const view = { isNarrow: this.isNarrow, width, redraw: () => this.redraw() };
      this.dispose = this.draw(this.container, themeColors(), view);
    } catch (error) {
      console.error(error);
      this.onFailure();
    }
  }

  end() {
    if (typeof this.dispose === "function") this.dispose();
    this.dispose = null;
  }

  remove() {
    this.end();
    this.observer.disconnect();
    this.unwatch();
  }
}

function heading(id, title, question, level) {
  return element(
    "header",
    { class: "figure-header" },
    element(`h${level}`, { id: `${id}-title` }, title),
    question ? element("p", { class: "question" }, question) : null,
  );
}

/** The numbers are laid out when they are first asked for: thousands of rows would delay the charts. */
function numbers(state) {
  const content = element("div", { class: "numbers" });
  const view = {};
  const words = state.isCaptionFolded ? "How to read it, and the numbers" : "The numbers";
  const summary = element("summary", {}, words, hidden(` of ${state.title}`));
  const caption = element("div", { class: "how-to-read" });
  const details = element("details", { class: "numbers-of-figure" }, summary, caption, content);
  const fill = () => {
    const { name, columns, rows, title, highlight, fileColumns = columns } = state;
    renew(
      content,
      downloadButtons({ name, columns: fileColumns, rows }),
      dataTable({ caption: `${title}: the numbers`, captionHidden: true, columns, rows, sort: true, view, highlight }),
    );
  };
  const refresh = () => {
    replace(caption, state.isCaptionFolded ? state.caption : null);
    if (details.open) fill();
  };
  details.addEventListener("toggle", () => {
    if (details.open) fill();
  });
  return { details, refresh };
}

/** The chart's place, with what stands around it. */
function pictureOf({ id, role, height }) {
  const style = height ? { height: `${height}px` } : null;
  const container = element("div", { class: "chart", id: `${id}-chart`, role, style });
  const caption = element("figcaption", {});
  const legend = element("div", { class: "figure-legend" });
  const node = element("figure", {}, legend, container, caption);

  function show(state) {
    container.setAttribute("aria-label", state.description);
    const isShown = Boolean(state.caption) && !state.isCaptionFolded;
    replace(caption, isShown ? state.caption : null);
    replace(legend, state.legend);
    caption.hidden = !isShown;
    legend.hidden = !state.legend;
  }
  return { node, container, show };
}

/**
 * A figure: heading, chart, caption, and the numbers behind it as a table with downloads.
 *
 * @param {Object} options {id, title, question?, description, caption?, isCaptionFolded?, controls?, legend?, level?,
 *   height?, role?}: description is for those who do not see the chart; isCaptionFolded puts the caption to the numbers;
 *   controls stand above the chart, the legend between them; height is in pixels; the role is "img", or "group" where
 *   the drawing has links or text of its own.
 * @param {function} options.draw (container, colors, {isNarrow, width, redraw}) => function that removes the drawing.
 * @param {Array} options.columns of the numbers, and options.rows and options.highlight, as for `dataTable`; files hold
 *   options.fileColumns where these are others.
 * @param {string} options.name of the downloads.
 * @returns {HTMLElement} a section with `update(options)`, which redraws with what changed, and `remove()`.
 */
export function figure(options) {
  const state = { level: 2, role: "img", ...options };
  const { id, title, question, level, controls } = state;
  const picture = pictureOf(state);
  const { details, refresh } = numbers(state);
  const tellFailure = () => {
    replace(picture.container, element("p", { class: "chart-failed" },
      "The chart could not be drawn. Its numbers are below; reload the page to try again."));
    details.open = true;
  };
  picture.container.addEventListener("error", tellFailure);
  const drawing = new Drawing(picture.container, tellFailure);

  function show() {
    picture.show(state);
    drawing.draw = state.draw;
    drawing.redraw();
    refresh();
  }

  const section = element(
    "section",
    { class: "figure", id, "aria-labelledby": `${id}-title` },
    heading(id, title, question, level),
    controls ? element("div", { class: "figure-controls" }, controls) : null,
    picture.node,
    details,
  );
  const removeNode = section.remove.bind(section);
  section.update = (changed) => {
    Object.assign(state, changed);
    show();
  };
  section.remove = () => {
    drawing.remove();
    removeNode();
  };
  show();
  return section;
}
