/** What production runs took beside what was predicted of them, over time. */
import { machines, percent, plural, seconds, secondsRange, signedPercent, dateTime } from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { DATE_ROOM, moment, signed, timeAxis } from "./over_time.js";
import { grid, hollow, label, point } from "./plot.js";
import { PRODUCTION_COLUMNS, against } from "./production_columns.js";
import { tooltip } from "./tooltip.js";

/** Pixels across: of the intervals of a run, at most and at least, and of what was predicted of it. */
const [WIDEST, NARROWEST] = [14, 3];

/**
 * The figure of the production runs that something was predicted of.
 *
 * @param {object[]} productionRuns newest first
 * @param {boolean} asErrors whether to draw percent errors instead of times
 * @param {string} rest words about runs that are not drawn
 */
export function productionFigure({ productionRuns, asErrors = false, rest = "" }) {
  const runs = productionRuns
    .filter((run) => Number.isFinite(run.predicted_seconds))
    .sort((one, other) => moment(one.recorded_at) - moment(other.recorded_at));
  const judged = runs.filter((run) => run.nearly_certain_seconds);
  const unusual = judged.filter((run) => run.is_unusual);
  const changes = runs.filter((run, at) => at > 0 && run.model_id !== runs[at - 1].model_id);
  const picture = { runs, changes, unusual };
  const meaning = asErrors
    ? "Above 0 the prediction was too high (the run was faster), below it too low."
    : "Runs on other machines or other shares of the input have other predictions: compare each with its own.";
  return {
    description: describe(picture, judged),
    caption: [meaning, rest].filter(Boolean).join(" "),
    columns: PRODUCTION_COLUMNS,
    rows: [...productionRuns],
    legend: legend(entries(picture, asErrors)),
    draw: (container, colors) =>
      chart(container, asErrors ? errorsOption(picture, colors) : timesOption(picture, colors, container)),
  };
}

function describe({ runs, changes, unusual }, judged) {
  const errors = runs.map((run) => Math.abs(run.error_percent)).sort((one, other) => one - other);
  const times = changes.length === 1 ? "once" : `${changes.length} times`;
  return (
    `What ${plural(runs.length, "production run")} took beside what was predicted. Errors: the largest ` +
    `${percent(errors.at(-1))}, the median about ${percent(errors[Math.floor(errors.length / 2)])}.` +
    (judged.length ? ` Outside the 95 % interval: ${unusual.length} of ${judged.length}.` : "") +
    (changes.length ? ` The version that predicted changed ${times}.` : "")
  );
}

function entries({ runs, changes, unusual }, asErrors) {
  const has = (name) => !asErrors && runs.some((run) => run[name]);
  const isSlow = (run) => run.seconds > run.predicted_seconds;
  const color = "chart-culled";
  return [
    { mark: "diamond", color: "chart-production", text: "a production run" },
    unusual.some(isSlow) && { mark: "triangle", color, isHollow: true, text: "slower than its 95 % interval" },
    unusual.some((run) => !isSlow(run)) && {
      mark: "down", color, isHollow: true, text: "faster than its 95 % interval",
    },
    !asErrors && { mark: "line", color: "chart-fit", text: "predicted" },
    has("likely_seconds") && { mark: "band", color: ["chart-nearly-certain", "chart-likely"], text: "80 % interval" },
    has("nearly_certain_seconds") && { mark: "band", color: "chart-nearly-certain", text: "95 % interval" },
    changes.length && { mark: "dashed", color: "text-muted", text: "another version predicts from here on" },
  ];
}

function told(run) {
  return [
    `${signedPercent(run.error_percent)}: ${seconds(run.seconds)} instead of ${seconds(run.predicted_seconds)}`,
    against(run),
    `${machines(run.machines)}, ${dateTime(run.recorded_at)}`,
    run.likely_seconds ? `80 %: ${secondsRange(run.likely_seconds)}` : "",
    run.nearly_certain_seconds ? `95 %: ${secondsRange(run.nearly_certain_seconds)}` : "",
    run.model_id ? `predicted by version ${run.model_id}` : "",
  ].filter(Boolean);
}

function shared({ runs }, colors) {
  return {
    grid: grid({ bottom: 8, right: DATE_ROOM }),
    tooltip: tooltip(colors, ({ data }) => data?.run && told(data.run)),
    xAxis: timeAxis(runs.map((run) => moment(run.recorded_at)), colors),
  };
}

/** The runs as points at the values; those outside nearly certain stand out by shape and colour. */
function points({ runs, changes }, valueOf, colors) {
  const of = (wanted) => runs.filter(wanted).map((run) => ({ value: [moment(run.recorded_at), valueOf(run)], run }));
  const dots = { type: "scatter", z: 3, emphasis: { disabled: true } };
  const isSlow = (run) => run.seconds > run.predicted_seconds;
  const unusual = { ...dots, symbol: "triangle", symbolSize: 13, itemStyle: hollow(colors.culled, colors) };
  return [
    {
      ...dots, symbol: "diamond", symbolSize: runs.length > 60 ? 9 : 13, itemStyle: point(colors.production, colors),
      data: of((run) => !run.is_unusual), markLine: versionChanges(changes, colors),
    },
    { ...unusual, data: of((run) => run.is_unusual && isSlow(run)) },
    { ...unusual, symbolRotate: 180, data: of((run) => run.is_unusual && !isSlow(run)) },
  ];
}

function versionChanges(changes, colors) {
  return {
    silent: true, symbol: "none", animation: false,
    lineStyle: { color: colors.muted, width: 1.2, type: [4, 4] },
    label: label(colors, () => "", { show: false }),
    data: changes.map((run) => ({ xAxis: moment(run.recorded_at) })),
  };
}

function errorsOption(picture, colors) {
  const errors = picture.runs.map((run) => run.error_percent);
  const [first, ...others] = points(picture, (run) => run.error_percent, colors);
  const line = { yAxis: 0, lineStyle: { color: colors.muted, width: 1.6, type: "solid" } };
  const markLine = { ...first.markLine, data: [line, ...first.markLine.data] };
  return {
    ...shared(picture, colors),
    yAxis: axis({ name: "error of the prediction", values: [-5, 5, ...errors], format: signed, along: "y", colors }),
    series: [{ ...first, markLine }, ...others],
  };
}

function timesOption(picture, colors, container) {
  const { runs } = picture;
  const ends = runs.flatMap((run) => [run.seconds, run.predicted_seconds, ...(run.nearly_certain_seconds ?? [])]);
  const unit = timeUnit(extent(ends)[1]);
  const width = Math.max(NARROWEST, Math.min(WIDEST, (0.5 * container.clientWidth) / runs.length));
  return {
    ...shared(picture, colors),
    yAxis: axis({
      name: unit.name, values: ends.map((end) => end / unit.seconds), fromZero: true, format: tick, along: "y", colors,
    }),
    series: [
      intervals(runs, "nearly_certain_seconds", colors.nearlyCertain, unit, width),
      intervals(runs, "likely_seconds", colors.likely, unit, width),
      predictions(runs, colors, unit, width + 4),
      ...points(picture, (run) => run.seconds / unit.seconds, colors),
    ],
  };
}

/** What each run was to lie between, as a column. */
function intervals(runs, name, color, unit, width) {
  const known = runs.filter((run) => run[name]);
  return {
    type: "custom", silent: true, clip: true, z: 1,
    data: known.map((run) => [moment(run.recorded_at), ...run[name].map((end) => end / unit.seconds)]),
    renderItem: (_, api) => {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const [, high] = api.coord([api.value(0), api.value(2)]);
      return {
        type: "rect",
        shape: { x: x - width / 2, y: high, width, height: Math.max(1, low - high) },
        style: { fill: color },
      };
    },
  };
}

/** What was predicted of each run, as a short line. */
function predictions(runs, colors, unit, width) {
  return {
    type: "custom", silent: true, clip: true, z: 2,
    data: runs.map((run) => [moment(run.recorded_at), run.predicted_seconds / unit.seconds]),
    renderItem: (_, api) => {
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      return {
        type: "line",
        shape: { x1: x - width / 2, y1: y, x2: x + width / 2, y2: y },
        style: { stroke: colors.fit, lineWidth: 2.5 },
      };
    },
  };
}
