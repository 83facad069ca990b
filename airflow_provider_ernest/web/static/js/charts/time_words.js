/** What the figure of time against machines says in words. */
import { count, machines, number, plural, pluralRange, scale as percentOf, seconds } from "../format.js";
import { numeric } from "./columns.js";
import { describeReplay, replayEntries } from "./replay_points.js";

/** A production run is beside the line where its scale is within this share of the one that is predicted. */
const SAME_SCALE = 0.1;

/** Whether a run read about as much as the prediction is for. */
export function isComparable(run, scale) {
  return Math.abs(run.scale / scale - 1) <= SAME_SCALE;
}

/** Whether runs on fewer or more machines than that were never observed. */
export function isBeyond(each, observed) {
  return !observed || each.machines < observed[0] || each.machines > observed[1];
}

const COLUMNS = [
  numeric("machines", "Machines", count),
  numeric("seconds", "Predicted", number, { unit: "s" }),
  numeric("likely_low", "80 %, from", number, { unit: "s", value: (row) => row.likely_seconds[0] }),
  numeric("likely_high", "80 %, to", number, { unit: "s", value: (row) => row.likely_seconds[1] }),
  numeric("nearly_certain_low", "95 %, from", number, { unit: "s", value: (row) => row.nearly_certain_seconds[0] }),
  numeric("nearly_certain_high", "95 %, to", number, { unit: "s", value: (row) => row.nearly_certain_seconds[1] }),
  { key: "extrapolates", title: "Not supported by the runs", class: "words" },
  { key: "chosen", title: "Choice" },
];

const BY_REPLAY = [
  numeric("replayed_seconds", "By replay", number, { unit: "s", value: (row) => row.replay?.seconds ?? null }),
  { key: "disagrees", title: "Replay and model", value: (row) => (row.replay?.isOutside ? "disagree" : null),
    render: (row) => (row.replay ? (row.replay.isOutside ? "disagree" : "agree") : null) },
];

/** The columns of the numbers behind it. */
export function columns({ replay }) {
  return replay.points.length ? [...COLUMNS.slice(0, 2), ...BY_REPLAY, ...COLUMNS.slice(2)] : COLUMNS;
}

/** The line of the deadline: from submission on, so what the machines take to boot is off it. */
export function deadlineWords({ latest_seconds: latest, boot_seconds: boot }) {
  return `deadline ${seconds(latest + boot)}${boot ? ` less ${seconds(boot)} to boot` : ""}`;
}

/** What is to be seen. */
export function describe({ prediction, chosen, deadline, observations, productionRuns, replay }) {
  const { curve, scale } = prediction;
  const [first, last] = [curve[0], curve.at(-1)];
  const fastest = curve.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const parts = [
    `Predicted time against machines for ${percentOf(scale)} of the input: ${seconds(first.seconds)} on ` +
      `${machines(first.machines)}, ${seconds(last.seconds)} on ${machines(last.machines)}; the fastest is ` +
      `${seconds(fastest.seconds)} on ${machines(fastest.machines)}.`,
  ];
  if (chosen) parts.push(`Chosen: ${machines(chosen.machines)}, ${seconds(chosen.seconds)}.`);
  if (deadline) parts.push(`The line: ${deadlineWords(prediction)}.`);
  const sampled = plural(observations.length, "sample run");
  parts.push(`Shown are ${sampled} and ${plural(productionRuns.length, "production run")}.`);
  parts.push(describeReplay(replay.points));
  return parts.filter(Boolean).join(" ");
}

/** How to read it. */
export function caption({ isLogarithmic, observations, prediction, replay }) {
  const parts = ["From submission to end, start-up included."];
  if (observations.length) {
    const isBelow = observations.every((run) => run.scale < prediction.scale);
    const words = isBelow ? "less of the input, so they lie below" : "other shares of it";
    parts.push(`Sample runs read ${words}.`);
  }
  if (isLogarithmic) {
    parts.push(
      "Work that spreads perfectly falls along a straight line; where the line flattens, machines stop helping.",
    );
  }
  if (hasSteps(prediction.curve)) {
    parts.push(
      "The band has steps: it is wider where the partitions do not keep all machines busy (see the numbers).",
    );
  }
  return [...parts, replay.caption].filter(Boolean).join(" ");
}

/** Whether a doubt about partitions, which widens the intervals, comes and goes along the curve. */
function hasSteps(curve) {
  const doubted = curve.map((each) => each.extrapolates.includes("partition"));
  return new Set(doubted).size > 1;
}

/** The entries of its legend. */
export function entries({ prediction, chosen, deadline, observed, observations, productionRuns, replay }) {
  const { curve, scale } = prediction;
  const comparable = productionRuns.filter((run) => isComparable(run, scale));
  return [
    { mark: "line", color: "chart-fit", text: `predicted at scale ${percentOf(scale)}` },
    curve.some((each) => isBeyond(each, observed)) && {
      mark: "dashed",
      color: "chart-fit",
      text: observed ? `outside the ${pluralRange(...observed, "machine")} observed` : "nothing observed",
    },
    { mark: "band", color: ["chart-nearly-certain", "chart-likely"], text: "80 % of runs" },
    { mark: "band", color: "chart-nearly-certain", text: "95 % of runs" },
    observations.length && { mark: "circle", color: "chart-observation", isHollow: true, text: "sample runs" },
    comparable.length && { mark: "diamond", color: "chart-production", text: "production runs" },
    comparable.length < productionRuns.length && {
      mark: "diamond", color: "chart-production", isHollow: true, isFaint: true,
      text: "production runs at another scale",
    },
    ...replayEntries(replay.points),
    chosen && { mark: "pin", color: "chart-chosen", text: "chosen" },
    deadline && { mark: "dashed", color: "chart-goal", text: "deadline" },
  ];
}
