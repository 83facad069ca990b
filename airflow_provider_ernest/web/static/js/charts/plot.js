/** What the pictures have in common: the room around them, points, words and lines. */

/** Room above a picture for words over its upper edge, below the name of its axis. */
export const HEADROOM = { top: 44, nameGap: 26 };

/** The room around a picture; the names of the axes are within it. */
export function grid(more = {}) {
  return { left: 8, right: 16, top: 28, bottom: 30, containLabel: true, ...more };
}

/** Points that are put in front of others, with a rim so that they stand apart. */
export function point(color, colors, more = {}) {
  return { color, borderColor: colors.surface, borderWidth: 1.5, opacity: 1, ...more };
}

/** The colour of patterns over the colour of a thing: half transparent, for they only tell it apart. */
export function patternColor(colors) {
  return `color-mix(in srgb, ${colors.surface} 50%, transparent)`;
}

/** Points of which only the rim is drawn. */
export function hollow(color, colors, more = {}) {
  return { color: colors.surface, borderColor: color, borderWidth: 1.8, opacity: 1, ...more };
}

/** The ring around what was chosen, and the weaker one around what would have been next: the line is seen in it. */
export function ring(colors, isChosen) {
  return {
    symbol: "circle",
    symbolSize: isChosen ? 20 : 12,
    itemStyle: { color: "transparent", borderColor: colors.chosen, borderWidth: isChosen ? 3 : 1.6, opacity: 1 },
  };
}

/** Words beside a point or a line that stay readable where they cross others. */
export function label(colors, text, more = {}) {
  return {
    show: true,
    opacity: 1,
    color: colors.text,
    fontSize: 12,
    textBorderColor: colors.surface,
    textBorderWidth: 3,
    formatter: text,
    ...more,
  };
}

/** A line across the whole picture for a goal or a bound; `at` is {xAxis: value} or {yAxis: value}. */
export function goalLine(at, text, colors, more = {}) {
  return {
    type: "line",
    data: [],
    silent: true,
    tooltip: { show: false },
    markLine: {
      silent: true,
      symbol: "none",
      animation: false,
      lineStyle: { color: colors.goal, width: 1.8, type: [6, 4] },
      label: label(colors, () => text, { position: "xAxis" in at ? "end" : "insideEndTop", ...more }),
      data: [at],
    },
  };
}

/** An area that fills the corners, which are places on the axes. */
export function area(corners, color) {
  return {
    type: "custom",
    silent: true,
    clip: true,
    z: 1,
    data: [corners[0]],
    renderItem: (_, api) => ({
      type: "polygon",
      shape: { points: corners.map((corner) => api.coord(corner)) },
      style: { fill: color, stroke: "none" },
    }),
  };
}
