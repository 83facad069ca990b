/** Horizontal bars as plain elements: they reflow on phones, and their words never run into each other. */
import { element } from "../dom.js";

function inPercent(share) {
  return `${100 * Math.min(1, Math.max(0, share))}%`;
}

function bar({ from = 0, share, color = "chart-fit" }) {
  return element("span", {
    class: "bars-bar",
    style: { width: inPercent(share), "margin-left": inPercent(from), background: `var(--${color})` },
  });
}

/**
 * Draws bars.
 *
 * @param {HTMLElement} container
 * @param {Array<{name: string, share: number, from?: number, color?: string, words: string}>} rows share and where it
 *   begins are of the whole track, 0 to 1; color is a custom property of the style sheet
 * @param {number|null} [mark] a share that all are compared with, a line across them
 */
export function bars(container, rows, mark = null) {
  container.append(element("div", { class: "bars" }, rows.map((row) =>
    element("div", { class: "bars-row" },
      element("span", { class: "bars-name" }, row.name),
      element("span", { class: "bars-track" },
        bar(row),
        mark === null ? null : element("span", { class: "bars-mark", style: { left: inPercent(mark) } })),
      element("span", { class: "bars-words" }, row.words)))));
  return null;
}
