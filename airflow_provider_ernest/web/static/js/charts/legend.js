/** Legends as lists of HTML: they wrap on phones, grow with the text size and are read aloud. */
import { element } from "../dom.js";

const SVG = "http://www.w3.org/2000/svg";

/** Points by the names that ECharts has for them, in a box of 20 by 12. */
const SHAPES = {
  circle: "M10 1.5a4.5 4.5 0 1 0 .01 0Z",
  rect: "M6 2h8v8h-8Z",
  triangle: "M10 1.2 15 10.6H5Z",
  diamond: "M10 .8 15 6 10 11.2 5 6Z",
  cross: "M6.5 2.5 13.5 9.5M13.5 2.5 6.5 9.5",
  tick: "M4 6H16",
};

/** Of lines. */
const DASHES = { dashed: "5 3", broken: "9 3 3 3" };

/** The symbols by which series are told apart without colour, in the order in which they are used. */
export const SYMBOLS = ["circle", "triangle", "rect"];

/**
 * A legend.
 *
 * @param {object[]} entries of {mark, color, isHollow?, pattern?, text, isFaint?, choice?}, at most five. The mark is
 *   "line", "dashed", "broken" (solid, then dashed), "band" or a symbol's name. The color (of bands perhaps several) is a
 *   custom property of the style sheet. With a choice, {isOn, onChange(isOn)}, a box decides whether it is drawn.
 */
export function legend(entries) {
  return element(
    "ul",
    { class: "legend" },
    entries.filter(Boolean).map((entry) => element("li", {}, entry.choice ? chosen(entry)
      : [swatch(entry), element("span", {}, entry.text)])),
  );
}

function chosen({ choice, ...entry }) {
  const box = element("input", {
    type: "checkbox", checked: choice.isOn, onChange: () => choice.onChange(box.checked),
  });
  return element("label", { class: "legend-choice" }, box, swatch(entry), element("span", {}, entry.text));
}

function swatch({ mark, color, isHollow, pattern, isFaint }) {
  const svg = made("svg", { viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" });
  if (isFaint) svg.setAttribute("opacity", "0.5");
  if (mark === "band") {
    // One colour upon the other where areas lie upon each other.
    const box = { x: 0, y: 0, width: 20, height: 12, rx: 2 };
    for (const fill of [color].flat()) svg.append(made("rect", box, { fill }));
    if (pattern) {
      const lines = { d: pattern, "stroke-width": 1.5, "stroke-opacity": 0.6 };
      svg.append(made("path", lines, { fill: "none", stroke: "surface" }));
    }
  } else if (SHAPES[mark]) {
    const fill = isHollow ? "surface" : color;
    svg.append(made("path", { d: SHAPES[mark], "stroke-width": 1.8 }, { fill, stroke: color }));
  } else {
    const dashes = DASHES[mark] ?? "none";
    const line = { d: "M0 6H20", "stroke-width": 2.5, "stroke-dasharray": dashes };
    svg.append(made("path", line, { stroke: color }));
  }
  return svg;
}

function made(tag, attributes, paints = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  for (const [name, color] of Object.entries(paints)) {
    node.style.setProperty(name, color === "none" ? color : `var(--${color})`);
  }
  return node;
}
