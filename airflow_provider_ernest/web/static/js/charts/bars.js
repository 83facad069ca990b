/** Horizontal bars as plain elements: they reflow on phones, and their words never run into each other. */
import { element } from "../dom.js";

/**
 * Draws bars.
 *
 * @param {HTMLElement} container
 * @param {Array<{name: string, share: number, words: string}>} rows shares are of the whole track, 0 to 1
 */
export function bars(container, rows) {
  container.append(element("div", { class: "bars" }, rows.map(({ name, share, words }) =>
    element("div", { class: "bars-row" },
      element("span", { class: "bars-name" }, name),
      element("span", { class: "bars-track" },
        element("span", { class: "bars-bar", style: { width: `${100 * Math.min(1, Math.max(0, share))}%` } })),
      element("span", { class: "bars-words" }, words)))));
  return null;
}
