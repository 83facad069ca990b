/** One strip of production runs: what was predicted, what they took, and whether they kept their deadlines. */
import { count, counted, dateTime, duration, durationRange, executors } from "../format.js";
import { axis, extent, frame, tick, timeUnit } from "./axes.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { grid, point } from "./plot.js";
import { tooltip } from "./tooltip.js";

/** So many runs are drawn: the newest. */
const MOST_RUNS = 60;

/** So many missed deadlines are told one by one to those who do not see them. */
const MOST_TOLD = 5;

/** Pixels across, of a bar at most; of its place on the strip, a bar and the tick of a deadline take these shares. */
const WIDEST = 22;
const [BAR, TICK] = [0.6, 0.9];

/** So many dates stand below at most. */
const MOST_DATES = 6;

/** Whether a run kept its deadline, in a word; null where it had none. */
function verdict({ kept }) {
  if (kept === null || kept === undefined) return null;
  return kept ? "kept" : "missed";
}

/** The figure, from the outcomes of api/model, newest first, with these columns of its numbers. */
export function stripFigure({ runs: newestFirst, columns }) {
  const runs = newestFirst.slice(0, MOST_RUNS).reverse();
  const missed = runs.filter((run) => run.kept === false);
  return {
    description: describe(runs, missed),
    caption: newestFirst.length > MOST_RUNS ? `The newest ${MOST_RUNS} of ${count(newestFirst.length)} runs.` : null,
    columns,
    rows: [...newestFirst],
    highlight: (row) => (row.kept === false ? "warning" : null),
    legend: legend([
      runs.some((run) => run.likely_seconds) && {
        mark: "band", color: "chart-likely", text: "predicted, 80 % of runs",
      },
      { mark: "circle", color: "chart-production", text: "actual" },
      missed.length && { mark: "cross", color: "chart-culled", text: "deadline missed" },
      runs.some(hasDeadline) && { mark: "tick", color: "chart-goal", text: "deadline" },
    ]),
    draw: (container, colors, view = {}) => chart(container, option(runs, view, colors)),
  };
}

function hasDeadline(run) {
  return Number.isFinite(run.latest_seconds);
}

function describe(runs, missed) {
  if (!runs.length) return "No production run.";
  const judged = runs.filter((run) => run.kept !== null && run.kept !== undefined);
  const within = runs.filter((run) => run.likely_seconds && isWithin(run));
  const ranged = runs.filter((run) => run.likely_seconds);
  const parts = [`${counted(runs.length, "production run")}${runs.length > 1 ? ", oldest first" : ""}.`];
  if (judged.length) parts.push(`Deadlines kept: ${count(judged.length - missed.length)} of ${count(judged.length)}.`);
  if (missed.length) parts.push(`Missed: ${listed(missed)}.`);
  if (ranged.length) parts.push(`Within the 80 % range: ${count(within.length)} of ${count(ranged.length)}.`);
  const last = runs.at(-1);
  parts.push(`The last took ${duration(last.seconds)} on ${executors(last.executors)}.`);
  return parts.join(" ");
}

function isWithin({ seconds: taken, likely_seconds: [low, high] }) {
  return taken >= low && taken <= high;
}

/** The newest of them. */
function listed(missed) {
  const rest = missed.length - MOST_TOLD;
  return missed.slice(-MOST_TOLD).map(missedWords).join("; ") + (rest > 0 ? `; and ${count(rest)} before` : "");
}

function missedWords(run) {
  return `${dateTime(run.recorded_at)}, ${duration(run.seconds)} with a deadline of ${duration(run.latest_seconds)}`;
}

function told(run) {
  return [
    `${duration(run.seconds)} on ${executors(run.executors)}`,
    dateTime(run.recorded_at),
    Number.isFinite(run.predicted_seconds) ? `predicted: ${duration(run.predicted_seconds)}` : "nothing was predicted",
    run.likely_seconds ? `80 % of runs: ${durationRange(run.likely_seconds)}` : "",
    hasDeadline(run) ? `deadline ${duration(run.latest_seconds)}: ${verdict(run) ?? "not known"}` : "no deadline",
  ].filter(Boolean);
}

function option(runs, { isNarrow }, colors) {
  const times = runs
    .flatMap((run) => [run.seconds, ...(run.likely_seconds ?? []), run.latest_seconds])
    .filter(Number.isFinite);
  const unit = timeUnit(extent(times)[1]);
  return {
    grid: grid({ bottom: 8 }),
    tooltip: {
      ...tooltip(colors, (params) => runs[params[0]?.dataIndex] && told(runs[params[0].dataIndex])),
      trigger: "axis",
      axisPointer: { type: "shadow", z: 0, shadowStyle: { color: colors.grid } },
    },
    xAxis: {
      ...frame("x", "", colors), type: "category", data: runs.map((run) => dateTime(run.recorded_at)),
      splitLine: { show: false }, axisTick: { show: false },
      axisLabel: {
        color: colors.muted, fontSize: 12, hideOverlap: true, alignMaxLabel: "right",
        formatter: (moment) => moment.slice(0, 10),
        interval: (at) => isDated(at, runs.length, isNarrow ? MOST_DATES / 2 : MOST_DATES),
      },
    },
    yAxis: axis({
      name: unit.name, values: times.map((time) => time / unit.seconds), fromZero: true, format: tick, mostTicks: 4,
      along: "y", colors,
    }),
    series: [
      spans(runs, unit, colors),
      deadlines(runs, unit, colors),
      actual(runs, unit, (run) => run.kept !== false, {
        symbol: "circle", symbolSize: 9, itemStyle: point(colors.production, colors),
      }),
      actual(runs, unit, (run) => run.kept === false, {
        symbol: CROSS, symbolSize: 11, itemStyle: { color: "none", borderColor: colors.culled, borderWidth: 3 },
      }),
    ],
  };
}

/** A cross of two strokes. */
const CROSS = "path://M0 0L10 10M10 0L0 10";

/** Whether a date stands below: evenly spaced, the last one among them. */
function isDated(at, all, most) {
  const every = Math.max(1, Math.ceil(all / most));
  return (all - 1 - at) % every === 0;
}

/** Room for a bar on the strip, in pixels. */
function widthOf(api, share) {
  return Math.min(WIDEST, api.size([1, 0])[0]) * share;
}

function spans(runs, unit, colors) {
  return {
    type: "custom", silent: true, emphasis: { disabled: true }, z: 1,
    data: runs.map((run, at) => [at, ...(run.likely_seconds ?? [NaN, NaN]).map((end) => end / unit.seconds)]),
    renderItem: (_, api) => {
      if (!Number.isFinite(api.value(1))) return null;
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const [, high] = api.coord([api.value(0), api.value(2)]);
      const width = widthOf(api, BAR);
      return {
        type: "rect", shape: { x: x - width / 2, y: high, width, height: Math.max(1, low - high), r: 2 },
        style: { fill: colors.likely },
      };
    },
  };
}

function deadlines(runs, unit, colors) {
  return {
    type: "custom", silent: true, emphasis: { disabled: true }, z: 2,
    data: runs.map((run, at) => [at, hasDeadline(run) ? run.latest_seconds / unit.seconds : NaN]),
    renderItem: (_, api) => {
      if (!Number.isFinite(api.value(1))) return null;
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      const half = widthOf(api, TICK) / 2;
      return {
        type: "line", shape: { x1: x - half, y1: y, x2: x + half, y2: y },
        style: { stroke: colors.goal, lineWidth: 2.5 },
      };
    },
  };
}

function actual(runs, unit, isShown, style) {
  return {
    type: "scatter", z: 3, emphasis: { disabled: true }, ...style,
    data: runs.map((run, at) => [at, isShown(run) ? run.seconds / unit.seconds : NaN]),
  };
}
