/** Patterns by which areas are told apart without colour. */

const LINES = { symbol: "line", dashArrayX: [1, 0], dashArrayY: [2, 6] };
const WIDE_LINES = { ...LINES, dashArrayY: [2, 7] };

/** Each as a decal of ECharts, and the same as the path of a swatch of 20 by 12 in the legend; null is plain. */
export const PATTERNS = [
  null,
  { decal: { ...LINES, rotation: -Math.PI / 4 }, path: "M0 12 12 0M8 12 20 0" },
  {
    decal: { symbol: "circle", symbolSize: 0.5, dashArrayX: [[8, 8], [0, 8, 8, 0]], dashArrayY: [6, 0] },
    path: "M4 3h2M12 3h2M8 8h2M16 8h2",
  },
  { decal: { ...LINES, rotation: Math.PI / 4 }, path: "M0 0 12 12M8 0 20 12" },
  { decal: WIDE_LINES, path: "M0 3.5H20M0 8.5H20" },
  {
    decal: { symbol: "rect", symbolSize: 0.6, dashArrayX: [[6, 6], [0, 6, 6, 0]], dashArrayY: [6, 0] },
    path: "M3 3.5h3M11 3.5h3M7 8.5h3M15 8.5h3",
  },
  { decal: { ...WIDE_LINES, rotation: Math.PI / 2 }, path: "M4 0V12M10 0V12M16 0V12" },
];

/** What was taken out. */
export const HATCHED = PATTERNS[1];
