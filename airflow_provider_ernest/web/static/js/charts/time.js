/** How long a run takes on each number of machines. */
import { count, duration, durationRange, executors, inputShare, units } from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { area, goalLine, grid, hollow, label, point, ring } from "./plot.js";
import {
  caption, COLUMNS, configuration, deadlineWords, describe, entries, isBeyond, isComparable,
} from "./time_words.js";
import { tooltip } from "./tooltip.js";

/** Intervals are cut off at so many times the prediction, or nothing else could be told apart. */
const FURTHEST = 20;

/** Pixels along and across the line of the deadline; on the fewest machines sample runs often take as long. */
const BESIDE_THE_FIRST_RUNS = [46, 4];

/** So many times the deadline the band must lie at for words to fit in between. */
const ROOM_FOR_WORDS = 1.5;

/** Half the width of an interval that is not a band, as a share of its number of machines. */
const HALF_COLUMN = 0.01;

/** So many other types have a line: the fastest. */
const MOST_TYPES = 5;

/** A character of the name of a type, and what stands before it, in pixels. */
const [CHARACTER, BEFORE_NAMES] = [6.5, 22];

/** Whether the reader wants to see the sample runs, in whatever is drawn next. */
let areSamplesShown = false;

/** The figure: {prediction, observations, productionRuns, deadline (seconds from submission, or null), isLogarithmic}. */
export function timeFigure(shown) {
  // The runs that it has learned from are among those of production.
  const observations = shown.observations.filter((run) => !run.is_production);
  const otherTypes = typesBeside(shown.prediction);
  const picture = {
    ...shown,
    observations,
    chosen: chosenPoint(shown.prediction) ?? chosenElsewhere(shown.prediction),
    observed: observedMachines(shown.observations),
    others: otherTypes.slice(0, MOST_TYPES),
    otherTypes: otherTypes.length,
  };
  let redraw = null;
  const samples = {
    isOn: areSamplesShown,
    onChange: (isOn) => {
      areSamplesShown = isOn;
      redraw?.();
    },
  };
  return {
    description: describe(picture),
    caption: caption(picture),
    columns: COLUMNS,
    rows: shown.prediction.curve.map((each) => ({ ...each, chosen: each === picture.chosen ? "chosen" : "" })),
    legend: legend(entries(picture, samples)),
    draw: (container, colors, view = {}) => {
      redraw = view.redraw;
      const drawn = areSamplesShown ? observations : [];
      return chart(container, option({ ...picture, ...view, samples: drawn }, colors));
    },
  };
}

/** [{type, points}] of the types of machine that the curve is not of, the fastest first; a mix is none. */
function typesBeside({ alternatives, instance_type: own }) {
  const found = new Map();
  for (const each of alternatives) {
    if (each.instance_type === own || each.composition?.length) continue;
    found.set(each.instance_type, [...(found.get(each.instance_type) ?? []), each]);
  }
  const fastest = ({ points }) => Math.min(...points.map((each) => each.seconds));
  return [...found]
    .map(([type, points]) => ({ type, points: points.sort((one, other) => one.executors - other.executors) }))
    .sort((one, other) => fastest(one) - fastest(other));
}

/** The point of the curve that was chosen; null where nothing was, or another type. */
export function chosenPoint(prediction) {
  const { executors: chosen, instance_type: type } = prediction.decision ?? {};
  if (type !== prediction.instance_type) return null; // the curve is of another type
  return prediction.curve.find((each) => each.executors === chosen) ?? null;
}

/** The chosen configuration of another type; null where there is none, or a mix. */
function chosenElsewhere({ decision, alternatives }) {
  if (!decision || decision.composition?.length) return null;
  return alternatives.find((each) => isSame(each, decision)) ?? null;
}

function isSame(one, other) {
  return one.executors === other.executors && one.instance_type === other.instance_type;
}

function observedMachines(observations) {
  return observations.length ? extent(observations.map((run) => run.executors)) : null;
}

/** All that must be on the axis of time, in seconds. */
function timesOf({ prediction, samples, productionRuns, deadline, others }) {
  const taken = [...productionRuns, ...others.flatMap(({ points }) => points)];
  const times = [
    ...prediction.curve.flatMap(cutOff), ...samples.map(fromSubmission), ...taken.map((each) => each.seconds),
  ];
  return deadline ? [...times, deadline] : times;
}

function unitOf(picture) {
  return timeUnit(extent(timesOf(picture))[1]);
}

function option(picture, colors) {
  const { prediction, samples, productionRuns, deadline, isLogarithmic, observed, others } = picture;
  const { curve } = prediction;
  const unit = unitOf(picture);
  const counts = [...curve, ...samples, ...productionRuns].map((each) => each.executors);
  return {
    grid: grid({ right: roomForNames(picture) }),
    tooltip: tooltip(colors, ({ data }) => data?.tell?.()),
    xAxis: axis({ name: units(), values: counts, isLogarithmic, isMachines: true, along: "x", colors }),
    yAxis: axis({
      name: unit.name, values: timesOf(picture).map((time) => time / unit.seconds), isLogarithmic, fromZero: true,
      format: tick, along: "y", colors,
    }),
    series: [
      band(curve, "nearly_certain_seconds", colors.nearlyCertain, unit),
      band(curve, "likely_seconds", colors.likely, unit),
      ...otherLines(picture, unit, colors),
      ...lines(curve, observed, unit, colors),
      deadline && deadlineLine(picture, unit, colors),
      curvePoints(curve, unit, colors),
      scatter(samples.map((run) => sampleRun(run, unit)), {
        symbolSize: samples.length > 100 ? 6 : 9, z: 4, itemStyle: hollow(colors.observation, colors),
      }),
      ...production(productionRuns, prediction.scale, unit, colors),
      otherNames(picture, unit, colors),
      runnersUp(picture, unit, colors),
      chosenMark(picture, unit, colors),
    ].filter(Boolean),
  };
}

function deadlineLine(picture, unit, colors) {
  const { prediction, deadline } = picture;
  const text = deadlineWords(prediction);
  const place = { position: besideBand(picture), distance: BESIDE_THE_FIRST_RUNS };
  return goalLine({ yAxis: deadline / unit.seconds }, text, colors, place);
}

/** Room at the right for the names of other types. */
function roomForNames({ others, isNarrow }) {
  if (!others.length || isNarrow) return BEFORE_NAMES;
  return BEFORE_NAMES + CHARACTER * Math.max(...others.map(({ type }) => type.length));
}

/** Other types of machine: faint, for the picture is of one. */
function otherLines({ others }, unit, colors) {
  return others.map(({ points }) => ({
    type: "line",
    silent: true,
    clip: true,
    symbol: "none",
    z: 1,
    lineStyle: { color: colors.muted, width: 1.2, opacity: 0.45 },
    data: points.map((each) => [each.executors, each.seconds / unit.seconds]),
  }));
}

/** Their names at the ends of their lines, where there is room. */
function otherNames({ others, isNarrow }, unit, colors) {
  if (isNarrow) return null;
  const beside = { position: "right", distance: BEFORE_NAMES - 4, color: colors.muted };
  return scatter(others.map(({ type, points }) => ({
    value: [points.at(-1).executors, points.at(-1).seconds / unit.seconds], label: label(colors, () => type, beside),
  })), { silent: true, symbolSize: 2, z: 2, itemStyle: { opacity: 0 }, labelLayout: { moveOverlap: "shiftY" } });
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
      return widths.map((width) => [each.executors * width, seconds]);
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
      data: part.map((each) => [each.executors, each.seconds / unit.seconds]),
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
    `${executors(each.executors)}: ${duration(each.seconds)}`,
    each.likely_seconds ? `80 %: ${durationRange(each.likely_seconds)}` : "",
    each.nearly_certain_seconds ? `95 %: ${durationRange(each.nearly_certain_seconds)}` : "",
    each.extrapolates,
  ].filter(Boolean);
  return { value: [each.executors, each.seconds / unit.seconds], tell };
}

function sampleRun(run, unit) {
  const total = fromSubmission(run);
  return {
    value: [run.executors, total / unit.seconds],
    tell: () => [
      `${run.from_history ? "Past" : "Sample"} run ${run.index}: ${duration(total)}`,
      `${executors(run.executors)}, ${inputShare(run.scale)} of the input`,
      run.startup_seconds ? `of it ${duration(run.startup_seconds)} start-up` : "",
    ].filter(Boolean),
  };
}

function production(runs, scale, unit, colors) {
  const marked = (run) => ({
    value: [run.executors, run.seconds / unit.seconds],
    tell: () => [
      `Production run: ${duration(run.seconds)}`,
      `${executors(run.executors)}, ${inputShare(run.scale)} of the input`,
      run.predicted_seconds ? `predicted: ${duration(run.predicted_seconds)}` : "",
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
  const [low, high] = extent(prediction.curve.map((each) => each.executors));
  return chosen.executors > (isLogarithmic ? Math.sqrt(low * high) : (low + high) / 2);
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
  const { chosen, prediction } = picture;
  if (!chosen) return null;
  const text = `${configuration(chosen, prediction)}: ${duration(chosen.seconds)}`;
  return scatter([told(chosen, unit)], {
    ...ring(colors, true),
    z: 6,
    labelLayout: { hideOverlap: true },
    label: label(colors, () => text, {
      // On the side of the line where there is room, not above: there, near, is the deadline with its words.
      ...(isAtRight(picture) ? { position: [18, 26], align: "right" } : { position: "right" }),
      fontWeight: 650,
    }),
  });
}

/** What would have been chosen next: of the types that have a line. */
function runnersUp({ prediction, others }, unit, colors) {
  const own = prediction.curve.map((each) => ({ ...each, instance_type: prediction.instance_type }));
  const drawn = [...own, ...others.flatMap(({ points }) => points)];
  const next = prediction.runners_up.map((each) => drawn.find((other) => isSame(other, each))).filter(Boolean);
  return scatter(next.map((each) => ({
    ...told(each, unit),
    label: label(colors, () => count(each.executors), { position: "top", distance: 3, color: colors.muted }),
  })), { ...ring(colors, false), z: 5, labelLayout: { hideOverlap: true } });
}
