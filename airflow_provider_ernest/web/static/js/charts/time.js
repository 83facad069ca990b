/** How long a run takes on each number of machines. */
import { machines, scale as percentOf, seconds, secondsRange } from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { area, goalLine, grid, hollow, label, point } from "./plot.js";
import { replaySeries } from "./replay_points.js";
import { caption, columns, deadlineWords, describe, entries, isBeyond, isComparable } from "./time_words.js";
import { tooltip } from "./tooltip.js";

/** Intervals are cut off at so many times the prediction, or nothing else could be told apart. */
const FURTHEST = 20;

/** Pixels along and across the line of the deadline; on the fewest machines sample runs often take as long. */
const BESIDE_THE_FIRST_RUNS = [46, 4];

/** So many times the deadline the band must lie at for words to fit in between. */
const ROOM_FOR_WORDS = 1.5;

/** Half the width of an interval that is not a band, as a share of its number of machines. */
const HALF_COLUMN = 0.01;

/**
 * The figure.
 *
 * @param {object} shown
 * @param {object} shown.prediction the answer of api/prediction
 * @param {object[]} shown.observations
 * @param {object[]} shown.productionRuns
 * @param {number|null} shown.deadline in seconds from submission on
 * @param {boolean} shown.isLogarithmic
 * @param {object} shown.replay what replay says, as of `replayed`
 */
export function timeFigure(shown) {
  const { curve } = shown.prediction;
  const observed = observedMachines(shown.observations);
  // The runs that it has learned from are among those of production.
  const observations = shown.observations.filter((run) => !run.is_production);
  const picture = { ...shown, observations, chosen: chosenPoint(shown.prediction), observed };
  return {
    description: describe(picture),
    caption: caption(picture),
    columns: columns(picture),
    rows: rowsOf(picture),
    highlight: (row) => (row.replay?.isOutside ? "warning" : null),
    legend: legend(entries(picture)),
    draw: (container, colors) => chart(container, option(picture, colors)),
  };
}

function rowsOf({ prediction: { curve }, chosen, replay: { points } }) {
  const byMachines = new Map(points.map((each) => [each.machines, each]));
  return curve.map((each) => ({
    ...each, chosen: each === chosen ? "chosen" : "", replay: byMachines.get(each.machines) ?? null,
  }));
}

/** The point of the curve that was chosen; null where nothing was, or another type. */
export function chosenPoint(prediction) {
  const { machines: chosen, instance_type: type } = prediction.decision ?? {};
  if (type !== prediction.instance_type) return null; // the curve is of another type
  return prediction.curve.find((each) => each.machines === chosen) ?? null;
}

function observedMachines(observations) {
  return observations.length ? extent(observations.map((run) => run.machines)) : null;
}

function option(picture, colors) {
  const { prediction, observations, productionRuns, deadline, isLogarithmic, observed, replay } = picture;
  const { curve } = prediction;
  const others = [...productionRuns, ...replay.points].map((run) => run.seconds);
  const measured = [...observations.map(fromSubmission), ...others];
  const times = [...curve.flatMap(cutOff), ...measured];
  if (deadline) times.push(deadline);
  const counts = [...curve, ...observations, ...productionRuns].map((each) => each.machines);
  const unit = timeUnit(extent(times)[1]);
  return {
    grid: grid(),
    tooltip: tooltip(colors, ({ data }) => data?.tell?.()),
    xAxis: axis({ name: "machines", values: counts, isLogarithmic, isMachines: true, along: "x", colors }),
    yAxis: axis({
      name: unit.name, values: times.map((time) => time / unit.seconds), isLogarithmic, fromZero: true,
      format: tick, along: "y", colors,
    }),
    series: [
      band(curve, "nearly_certain_seconds", colors.nearlyCertain, unit),
      band(curve, "likely_seconds", colors.likely, unit),
      ...lines(curve, observed, unit, colors),
      deadline && goalLine({ yAxis: deadline / unit.seconds }, deadlineWords(prediction), colors, {
        position: besideBand(picture),
        distance: BESIDE_THE_FIRST_RUNS,
      }),
      curvePoints(curve, unit, colors),
      ...replaySeries(replay.points, unit, colors),
      scatter(observations.map((run) => sampleRun(run, unit)), {
        symbolSize: observations.length > 100 ? 6 : 9, z: 4, itemStyle: hollow(colors.observation, colors),
      }),
      ...production(productionRuns, prediction.scale, unit, colors),
      chosenMark(picture, unit, colors),
    ].filter(Boolean),
  };
}

function cutOff(each) {
  const [low, high] = each.nearly_certain_seconds;
  return [Math.max(low, each.seconds / FURTHEST), Math.min(high, each.seconds * FURTHEST)];
}

function fromSubmission(run) {
  return run.seconds + (run.startup_seconds ?? 0);
}

/** An interval as an area; a column where there is a single number of machines. */
function band(curve, name, color, unit) {
  const widths = curve.length > 1 ? [1] : [1 - HALF_COLUMN, 1 + HALF_COLUMN];
  const edge = (place) =>
    curve.flatMap((each) => {
      const seconds = Math.max(each[name][place], each.seconds / FURTHEST / 10) / unit.seconds;
      return widths.map((width) => [each.machines * width, seconds]);
    });
  return area([...edge(1), ...edge(0).reverse()], color);
}

/** The prediction, dashed outside the numbers of machines that were observed. */
function lines(curve, observed, unit, colors) {
  const inside = curve.flatMap((each, at) => (isBeyond(each, observed) ? [] : [at]));
  const [start, end] = inside.length ? [inside[0], inside.at(-1)] : [curve.length - 1, curve.length - 1];
  const parts = [
    [curve.slice(0, start + 1), [6, 5]],
    [curve.slice(start, end + 1), "solid"],
    [curve.slice(end), [6, 5]],
  ];
  return parts
    .filter(([part]) => part.length > 1)
    .map(([part, dashes]) => ({
      type: "line",
      silent: true,
      clip: true,
      symbol: "none",
      z: 2,
      lineStyle: { color: colors.fit, width: 2.5, type: dashes },
      data: part.map((each) => [each.machines, each.seconds / unit.seconds]),
    }));
}

function scatter(data, more) {
  return { type: "scatter", symbol: "circle", data, emphasis: { disabled: true }, ...more };
}

/** The points of the curve, to be pointed at; to be seen where a single one makes no line. */
function curvePoints(curve, unit, colors) {
  const itemStyle = curve.length > 1 ? { opacity: 0 } : point(colors.fit, colors);
  return scatter(curve.map((each) => told(each, unit)), { symbolSize: 16, z: 3, itemStyle });
}

/** A point of the curve. Its words are made when they are asked for: of a thousand points, few are. */
function told(each, unit) {
  const tell = () => [
    `${machines(each.machines)}: ${seconds(each.seconds)}`,
    `80 %: ${secondsRange(each.likely_seconds)}`,
    `95 %: ${secondsRange(each.nearly_certain_seconds)}`,
    each.extrapolates,
  ].filter(Boolean);
  return { value: [each.machines, each.seconds / unit.seconds], tell };
}

function sampleRun(run, unit) {
  const total = fromSubmission(run);
  return {
    value: [run.machines, total / unit.seconds],
    tell: () => [
      `Sample run ${run.index}: ${seconds(total)}`,
      `${machines(run.machines)}, ${percentOf(run.scale)} of the input`,
      run.startup_seconds ? `of it ${seconds(run.startup_seconds)} start-up` : "",
    ].filter(Boolean),
  };
}

function production(runs, scale, unit, colors) {
  const marked = (run) => ({
    value: [run.machines, run.seconds / unit.seconds],
    tell: () => [
      `Production run: ${seconds(run.seconds)}`,
      `${machines(run.machines)}, ${percentOf(run.scale)} of the input`,
      run.predicted_seconds ? `${seconds(run.predicted_seconds)} had been predicted` : "",
      run.is_unusual ? "outside the 95 % interval" : "",
    ].filter(Boolean),
  });
  const [near, other] = [true, false].map((wanted) => runs.filter((run) => isComparable(run, scale) === wanted));
  return [
    scatter(other.map(marked), {
      symbol: "diamond", symbolSize: 11, z: 4, itemStyle: hollow(colors.production, colors, { opacity: 0.45 }),
    }),
    scatter(near.map(marked), {
      symbol: "diamond", symbolSize: 13, z: 5, itemStyle: point(colors.production, colors),
    }),
  ];
}

/** Whether the chosen point is in the right half, where words beside it go to its left. */
function isAtRight({ chosen, prediction, isLogarithmic }) {
  if (!chosen) return false;
  const [low, high] = extent(prediction.curve.map((each) => each.machines));
  return chosen.machines > (isLogarithmic ? Math.sqrt(low * high) : (low + high) / 2);
}

/** Where the words on the line of the deadline lie: away from the band, above the line if they fit. */
function besideBand(picture) {
  const { prediction: { curve }, deadline } = picture;
  const away = ({ nearly_certain_seconds: [low, high] }) => Math.max(deadline / high, low / deadline);
  const [first, last] = [curve[0], curve.at(-1)];
  const isClear = Math.max(away(first), away(last)) > 1;
  const atStart = isClear ? away(first) > away(last) : isAtRight(picture);
  const room = (atStart ? first : last).nearly_certain_seconds[0] / deadline;
  return `inside${atStart ? "Start" : "End"}${room > 1 && room < ROOM_FOR_WORDS ? "Bottom" : "Top"}`;
}

function chosenMark(picture, unit, colors) {
  const { chosen } = picture;
  if (!chosen) return null;
  return scatter([told(chosen, unit)], {
    symbol: "pin",
    symbolSize: 34,
    z: 6,
    itemStyle: point(colors.chosen, colors),
    label: label(colors, () => `${machines(chosen.machines)}: ${seconds(chosen.seconds)}`, {
      // Below the pin, whose tip is the point: above it, near, is the line of the deadline with its words.
      position: isAtRight(picture) ? [8, 38] : "bottom",
      align: isAtRight(picture) ? "right" : "center",
      fontWeight: 650,
    }),
  });
}
