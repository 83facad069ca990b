/** What the figure of time against machines says in words. */
import {
  counted, duration, executors, executorsRange, inputShare, isolated, kindOfRun, number, units,
} from "../format.js";
import { numeric, sizes } from "./columns.js";

/** A production run is beside the line where its scale is within this share of the one that is predicted. */
const SAME_SCALE = 0.1;

/** Whether a run read about as much as the prediction is for. */
export function isComparable(run, scale) {
  return Math.abs(run.scale / scale - 1) <= SAME_SCALE;
}

/** Whether runs on fewer or more machines than that were never observed. */
export function isBeyond(each, observed) {
  return !observed || each.executors < observed[0] || each.executors > observed[1];
}

/** The columns of the numbers behind it. */
export const COLUMNS = [
  sizes(),
  numeric("seconds", "Predicted", number, { unit: "s" }),
  numeric("likely_low", "80 %, from", number, { unit: "s", value: (row) => row.likely_seconds[0] }),
  numeric("likely_high", "80 %, to", number, { unit: "s", value: (row) => row.likely_seconds[1] }),
  numeric("nearly_certain_low", "95 %, from", number, { unit: "s", value: (row) => row.nearly_certain_seconds[0] }),
  numeric("nearly_certain_high", "95 %, to", number, { unit: "s", value: (row) => row.nearly_certain_seconds[1] }),
  { key: "extrapolates", title: "Not supported by the runs", class: "words" },
  { key: "chosen", title: "Choice" },
];

/** The line of the deadline: from submission on, so what the machines take to boot is off it. */
export function deadlineWords({ latest_seconds: latest, boot_seconds: boot }) {
  return `deadline ${duration(latest + boot)}${boot ? " less boot" : ""}`;
}

/** The same for who does not see the line. */
export function deadlineInFull(prediction) {
  const { boot_seconds: boot } = prediction;
  return `The line: ${deadlineWords(prediction)}${boot ? `, which takes ${duration(boot)}` : ""}.`;
}

/** What is to be seen. */
export function describe({ prediction, chosen, others, deadline, observations, productionRuns }) {
  const { curve, scale } = prediction;
  const [first, last] = [curve[0], curve.at(-1)];
  const fastest = curve.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const parts = [
    `Predicted time against ${units()} for ${inputShare(scale)} of the input: ${duration(first.seconds)} on ` +
      `${executors(first.executors)}, ${duration(last.seconds)} on ${executors(last.executors)}; the fastest is ` +
      `${duration(fastest.seconds)} on ${executors(fastest.executors)}.`,
  ];
  if (chosen) parts.push(`Chosen: ${configuration(chosen, prediction)}, ${duration(chosen.seconds)}.`);
  if (others.length) parts.push(`Faint lines: ${others.map(ofType).join("; ")}.`);
  if (deadline) parts.push(deadlineInFull(prediction));
  const sampled = counted(observations.length, kindOfRun(observations));
  parts.push(`Known are ${sampled} and ${counted(productionRuns.length, "production run")}.`);
  return parts.join(" ");
}

/** Machines, and of which type where that is not the one that the line is of. */
export function configuration({ executors: number, instance_type: type }, prediction) {
  const isOther = type && type !== prediction.instance_type;
  return `${executors(number)}${isOther ? ` of ${isolated(type)}` : ""}`;
}

function ofType({ type, points }) {
  const [first, last] = [points[0], points.at(-1)];
  const on = (each) => `${duration(each.seconds)} on ${executors(each.executors)}`;
  return `${isolated(type)} ${on(first)}${last === first ? "" : `, ${on(last)}`}`;
}

/** How to read it. */
export function caption({ isLogarithmic, others, otherTypes, prediction }) {
  const parts = [`For ${inputShare(prediction.scale)} of the input, from submission to end.`];
  if (isLogarithmic) parts.push(`Where the line flattens, ${units()} stop helping.`);
  if (others.length) {
    const rest = otherTypes - others.length;
    const names = others.map(({ type }) => isolated(type)).join(", ");
    parts.push(`Faint: ${names}${rest ? `, of ${otherTypes} types` : ""}.`);
  }
  if (hasSteps(prediction.curve)) {
    parts.push(
      `The band has steps: it is wider where the partitions do not keep all ${units()} busy (see the numbers).`,
    );
  }
  return parts.join(" ");
}

/** Whether a doubt about partitions, which widens the intervals, comes and goes along the curve. */
function hasSteps(curve) {
  const doubted = curve.map((each) => each.extrapolates.includes("partition"));
  return new Set(doubted).size > 1;
}

/** The entries of its legend; `samples` is the choice to show the sample runs. */
export function entries({ prediction, observed, observations, productionRuns }, samples) {
  const { curve, scale } = prediction;
  const isAnyBeyond = curve.some((each) => isBeyond(each, observed));
  const tried = observed ? `the ${executorsRange(...observed)} tried` : "what was tried";
  const isAnyOther = productionRuns.some((run) => !isComparable(run, scale));
  const isLess = observations.every((run) => run.scale < scale);
  return [
    {
      mark: isAnyBeyond ? "broken" : "line", color: "chart-fit",
      text: `predicted${isAnyBeyond ? ` (dashed: beyond ${tried})` : ""}`,
    },
    { mark: "band", color: ["chart-nearly-certain", "chart-likely"], text: "80 % of runs (pale: 95 %)" },
    productionRuns.length && {
      mark: "diamond", color: "chart-production",
      text: `production runs${isAnyOther ? " (pale: other input)" : ""}`,
    },
    observations.length && {
      mark: "circle", color: "chart-observation", isHollow: true, choice: samples,
      text: `${kindOfRun(observations)}s${isLess ? " (less input)" : ""}`,
    },
  ];
}
