/** The second opinion by replay in the figure of time against machines: squares joined by a thin line. */
import { duration, durationRange, machines } from "../format.js";
import { hollow, point } from "./plot.js";

const COLOR = "series-4";
const SERIES = 3;

/** The entry of the legend; nothing where there are no points. */
export function replayEntry(points) {
  if (!points.length) return null;
  const isAnyOutside = points.some((each) => each.isOutside);
  const text = `replay of a run${isAnyOutside ? " (full: outside the 95 %)" : ""}`;
  return { mark: "rect", color: COLOR, isHollow: true, text };
}

/** The series; squares are full where replay and model disagree. */
export function replaySeries(points, unit, colors) {
  if (!points.length) return [];
  const color = colors.series[SERIES];
  const place = (each) => [each.machines, each.seconds / unit.seconds];
  return [
    {
      type: "line", silent: true, clip: true, symbol: "none", z: 3, data: points.map(place),
      lineStyle: { color, width: 1.5, type: [2, 3] },
    },
    {
      type: "scatter", symbol: "rect", z: 4, emphasis: { disabled: true },
      symbolSize: points.length > 40 ? 6 : 9,
      data: points.map((each) => ({
        value: place(each),
        itemStyle: each.isOutside ? point(color, colors) : hollow(color, colors),
        tell: () => told(each),
      })),
    },
  ];
}

function told({ machines: number, seconds: taken, predicted, nearlyCertain, isOutside }) {
  return [
    `Replay on ${machines(number)}: ${duration(taken)}`,
    Number.isFinite(predicted) ? `the model: ${duration(predicted)}` : "",
    nearlyCertain ? `95 %: ${durationRange(nearlyCertain)}` : "",
    isOutside ? "replay and model disagree" : "",
  ].filter(Boolean);
}

/** What is to be seen; empty where there is nothing. */
export function describeReplay(points) {
  if (!points.length) return "";
  const [first, last] = [points[0], points.at(-1)];
  const outside = points.filter((each) => each.isOutside).length;
  const ends = [first, ...(last === first ? [] : [last])]
    .map((each) => `${duration(each.seconds)} on ${machines(each.machines)}`);
  const words = outside ? `, outside the 95 % interval at ${outside} of ${points.length} sizes` : "";
  return `By replay: ${ends.join(", ")}${words}.`;
}
