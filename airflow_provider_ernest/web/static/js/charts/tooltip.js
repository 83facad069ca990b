/** Tooltips whose text is text: they are built as elements, since ECharts takes strings for HTML. */
import { element } from "../dom.js";

/**
 * The tooltip of a chart.
 *
 * @param {object} colors of the theme
 * @param {(params: object) => (string[]|null)} linesOf the lines about a point, the first one as a heading
 */
export function tooltip(colors, linesOf) {
  return {
    trigger: "item",
    confine: true,
    transitionDuration: 0,
    backgroundColor: colors.surface,
    borderColor: colors.border,
    borderWidth: 1,
    padding: [6, 10],
    textStyle: { color: colors.text, fontSize: 13 },
    extraCssText: "max-width: 18rem; white-space: normal; overflow-wrap: anywhere;",
    formatter: (params) => {
      const lines = linesOf(params) ?? [];
      const [heading, ...others] = lines;
      return element(
        "div",
        {},
        element("strong", { style: { display: "block" } }, heading),
        others.map((line) => element("div", {}, line)),
      );
    },
  };
}
