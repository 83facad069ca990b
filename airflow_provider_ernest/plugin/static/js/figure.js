/** A chart with its heading, its words for screen readers, its numbers as a table and its downloads. */

import { element, replace } from "./dom.js";
import { downloadButtons } from "./download.js";
import { dataTable } from "./table.js";
import { themeColors, watchTheme } from "./theme.js";

const NARROW_PIXELS = 520; // below, charts are drawn for phones

/** Draws into a container when it gets its first size, turns wide or narrow, or the theme changes. */
class Drawing {
  constructor(container, onFailure) {
    this.container = container;
    this.onFailure = onFailure;
    this.draw = null;
    this.dispose = null;
    this.isNarrow = null;
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(container);
    this.unwatch = watchTheme(() => this.redraw());
  }

  resized() {
    const width = this.container.clientWidth;
    if (width > 0 && (width < NARROW_PIXELS) !== this.isNarrow) this.redraw();
  }

  redraw() {
    const width = this.container.clientWidth;
    if (!this.draw || width === 0) return;
    this.isNarrow = width < NARROW_PIXELS;
    this.end();
    replace(this.container);
    try {
      this.dispose = this.draw(this.container, themeColors(), { isNarrow: this.isNarrow, width });
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
  const sortedBy = { key: null, descending: false };
  const summary = element("summary", {}, "The numbers");
  const details = element("details", { class: "numbers-of-figure" }, summary, content);
  const fill = () => {
    const { name, columns, rows, title, tableCaption: caption = title, highlight } = state;
    replace(
      content,
      downloadButtons({ name, columns, rows }),
      dataTable({ caption, captionHidden: true, columns, rows, highlight, sort: true, sortedBy }),
    );
  };
  details.addEventListener("toggle", () => {
    if (details.open) fill();
  });
  return { details, refresh: () => details.open && fill() };
}

/**
 * A figure: heading, chart, caption, and the numbers behind it as a table with downloads.
 *
 * @param {Object} options
 * @param {string} options.id of the section; its heading is `<id>-title`.
 * @param {string} options.title
 * @param {string} [options.question] that the figure answers, below the heading.
 * @param {string} options.description what is to be seen, for those who do not see it.
 * @param {function} options.draw (container, colors, {isNarrow, width}) => function that takes it away.
 * @param {Array} options.columns of the numbers, as of `dataTable`.
 * @param {Array} options.rows of the numbers.
 * @param {string} options.name of the downloads.
 * @param {string|Node|Array} [options.caption] below the chart.
 * @param {Node|Array} [options.controls] above the chart.
 * @param {Node|Array} [options.legend] between the controls and the chart.
 * @param {number} [options.level] of the heading.
 * @param {number} [options.height] of the chart in pixels; otherwise that of the style sheet.
 * @param {"img"|"group"} [options.role] group: where the drawing holds links or text to be read by itself.
 * @returns {HTMLElement} a section with `update(options)`, which redraws with what changed, and `remove()`.
 */
export function figure(options) {
  const state = { level: 2, role: "img", ...options };
  const { id } = state;
  const container = element("div", {
    class: "chart",
    id: `${id}-chart`,
    role: state.role,
    "aria-label": state.description,
    style: state.height ? { height: `${state.height}px` } : null,
  });
  const caption = element("figcaption", {});
  const legend = element("div", { class: "figure-legend" });
  const { details, refresh } = numbers(state);

  const drawing = new Drawing(container, () => {
    replace(container, element("p", { class: "chart-failed" },
      "The chart could not be drawn. Its numbers are below; reload the page to try again."));
    details.open = true;
  });

  function show() {
    container.setAttribute("aria-label", state.description);
    replace(caption, state.caption);
    replace(legend, state.legend);
    caption.hidden = !state.caption;
    legend.hidden = !state.legend;
    drawing.draw = state.draw;
    drawing.redraw();
    refresh();
  }

  const section = element(
    "section",
    { class: "figure", id, "aria-labelledby": `${id}-title` },
    heading(id, state.title, state.question, state.level),
    state.controls ? element("div", { class: "figure-controls" }, state.controls) : null,
    element("figure", {}, legend, container, caption),
    details,
  );
  section.update = (changed) => {
    Object.assign(state, changed);
    show();
  };
  const removeNode = section.remove.bind(section);
  section.remove = () => {
    drawing.remove();
    removeNode();
  };
  show();
  return section;
}
