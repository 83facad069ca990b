/** How good the predictions have been so far: of the model's versions, and of the production runs. */
import { airflowLink, externalLink, taskUrl } from "../airflow.js";
import {
  count, dateTime, dollars, machines, number, percent, plural, scale as percentOf, seconds, secondsRange,
  shortHash, signedPercent,
} from "../format.js";
import { axis, frame, tick } from "./axes.js";
import { chart } from "./echart.js";
import { numeric } from "./columns.js";
import { legend } from "./legend.js";
import { grid, HEADROOM, hollow, label, point } from "./plot.js";
import { tooltip } from "./tooltip.js";

const DAY_MILLISECONDS = 24 * 3600 * 1000;

/** Half of a date, in pixels. */
const DATE_ROOM = 40;

/** The figure of the versions' leave-one-out errors; `current` is the id of the version that the page shows. */
export function versionsFigure({ versions, current }) {
  const ordered = [...versions].sort((one, other) => moment(one.created_at) - moment(other.created_at));
  const changes = ordered.filter((each, at) => at > 0 && isOtherCode(ordered[at - 1], each));
  return {
    description:
      `Leave-one-out errors of ${plural(ordered.length, "version")}: median ` +
      `${ordered.map((each) => percent(each.median_error_percent)).join(", ")}, oldest first. ` +
      `The job's code changed ${changes.length === 1 ? "once" : `${changes.length} times`} in between.`,
    columns: VERSION_COLUMNS,
    rows: [...ordered]
      .reverse()
      .map((each) => ({ ...each, remark: each.model_id === current ? "this one" : "" })),
    legend: legend([
      { mark: "rect", color: "chart-fit", text: "median error of a version" },
      { mark: "triangle", color: "text-muted", isHollow: true, text: "its largest error" },
      { mark: "pin", color: "chart-chosen", text: "the version shown here" },
      changes.length && { mark: "dashed", color: "chart-goal", text: "the job's code changed" },
    ]),
    draw: (container, colors) => chart(container, versionsOption(ordered, changes, current, colors)),
  };
}

const VERSION_COLUMNS = [
  { key: "created_at", title: "Trained", render: (row) => dateTime(row.created_at) },
  { key: "model_id", title: "Version" },
  numeric("observations", "Runs", count),
  numeric("median_error_percent", "Median error", percent),
  numeric("max_error_percent", "Largest error", percent),
  { key: "artifact_sha256", title: "Code", render: (row) => shortHash(row.artifact_sha256) },
  { key: "remark", title: "Shown" },
];

function moment(iso) {
  return new Date(iso).getTime();
}

function isOtherCode(one, other) {
  return Boolean(one.artifact_sha256 && other.artifact_sha256 && one.artifact_sha256 !== other.artifact_sha256);
}

function timeAxis(moments, colors) {
  const [first, last] = [Math.min(...moments), Math.max(...moments)];
  const pad = Math.max((last - first) * 0.04, DAY_MILLISECONDS / 24);
  const isLong = last - first > 3 * DAY_MILLISECONDS;
  return {
    ...frame("x", "", colors),
    type: "time",
    min: first - pad,
    max: last + pad,
    splitLine: { show: false },
    axisTick: { lineStyle: { color: colors.border } },
    axisLabel: {
      color: colors.muted,
      fontSize: 12,
      hideOverlap: true,
      showMinLabel: false,
      showMaxLabel: false,
      formatter: (value) => {
        const words = dateTime(new Date(value).toISOString());
        return isLong ? words.slice(0, 10) : words.slice(5, 16);
      },
    },
  };
}

function inPercent(value) {
  return `${tick(value)} %`;
}

function signed(value) {
  return `${value > 0 ? "+" : ""}${inPercent(value)}`;
}

function versionsOption(versions, changes, current, colors) {
  const values = versions.flatMap((each) => [each.median_error_percent, each.max_error_percent]);
  const told = (name) => (each) => ({ value: [moment(each.created_at), each[name]], each });
  const linesOf = ({ data }) => data?.each && [
    `${percent(data.each.median_error_percent)} median, ${percent(data.each.max_error_percent)} at most`,
    `trained ${dateTime(data.each.created_at)} on ${plural(data.each.observations, "run")}`,
    data.each.artifact_sha256 ? `code ${shortHash(data.each.artifact_sha256)}` : "",
    data.each.model_id === current ? "the version shown here" : "",
  ].filter(Boolean);
  const shown = versions.filter((each) => each.model_id === current);
  return {
    grid: grid({ top: HEADROOM.top, bottom: 8, right: DATE_ROOM }),
    tooltip: tooltip(colors, linesOf),
    xAxis: timeAxis(versions.map((each) => moment(each.created_at)), colors),
    yAxis: {
      ...axis({ name: "leave-one-out error", values, fromZero: true, format: inPercent, along: "y", colors }),
      nameGap: HEADROOM.nameGap,
    },
    series: [
      {
        type: "line", symbol: "triangle", symbolSize: 9, z: 2, emphasis: { disabled: true },
        itemStyle: hollow(colors.muted, colors), lineStyle: { color: colors.muted, width: 1, type: [3, 4] },
        data: versions.map(told("max_error_percent")),
      },
      {
        type: "line", symbol: "rect", symbolSize: 9, z: 3, emphasis: { disabled: true },
        itemStyle: point(colors.fit, colors), lineStyle: { color: colors.fit, width: 2 },
        data: versions.map(told("median_error_percent")),
        markLine: codeChanges(changes, colors),
      },
      {
        type: "scatter", symbol: "pin", symbolSize: 30, z: 4, emphasis: { disabled: true },
        itemStyle: point(colors.chosen, colors), data: shown.map(told("median_error_percent")),
      },
    ],
  };
}

function codeChanges(changes, colors) {
  return {
    silent: true, symbol: "none", animation: false,
    lineStyle: { color: colors.goal, width: 1.5, type: [6, 4] },
    label: label(colors, () => "code changed", { position: "end", color: colors.muted }),
    // Between the versions the change cannot be dated: it is drawn where it was first seen.
    data: changes.map((each) => ({ xAxis: moment(each.created_at) })),
  };
}

/** The figure of what the predictions of production runs were off by. */
export function productionFigure({ productionRuns }) {
  const runs = productionRuns
    .filter((run) => run.error_percent !== null && run.error_percent !== undefined)
    .sort((one, other) => moment(one.recorded_at) - moment(other.recorded_at));
  const judged = runs.filter((run) => run.nearly_certain_seconds);
  const unusual = judged.filter((run) => run.is_unusual);
  const errors = runs.map((run) => Math.abs(run.error_percent)).sort((one, other) => one - other);
  return {
    description:
      `Errors of the predictions of ${plural(runs.length, "production run")}: the largest ` +
      `${percent(errors.at(-1))}, the median about ${percent(errors[Math.floor(errors.length / 2)])}.` +
      (judged.length ? ` Outside the 95 % interval: ${unusual.length} of ${judged.length}.` : ""),
    caption: "Above 0 the prediction was too high (the run was faster), below it too low.",
    columns: PRODUCTION_COLUMNS,
    rows: [...runs].reverse(),
    legend: legend([
      { mark: "diamond", color: "chart-production", text: "a production run" },
      unusual.length && {
        mark: "triangle", color: "chart-culled", isHollow: true, text: "outside its 95 % interval",
      },
    ]),
    draw: (container, colors) => chart(container, productionOption(runs, colors)),
  };
}

const PRODUCTION_COLUMNS = [
  { key: "recorded_at", title: "Recorded", render: (row) => dateTime(row.recorded_at) },
  numeric("machines", "Machines", count),
  numeric("scale", "Scale", percentOf),
  numeric("seconds", "Took", number, { unit: "s" }),
  numeric("predicted_seconds", "Predicted", number, { unit: "s" }),
  numeric("error_percent", "Error", signedPercent),
  { key: "is_unusual", title: "Outside 95 %",
    value: (row) => (row.nearly_certain_seconds ? (row.is_unusual ? "yes" : "no") : null) },
  numeric("cost", "Cost", dollars),
  { key: "application_id", title: "Application", class: "nowrap", render: application },
  { key: "task", title: "Log in Airflow", class: "nowrap", sortable: false,
    value: (row) => (row.origin ? taskUrl(row.origin) : null),
    render: (row) => (row.origin ? airflowLink(taskUrl(row.origin), row.origin.task_id) : null) },
  { key: "event_log", title: "Event log", class: "nowrap" },
  { key: "model_id", title: "Predicted by version", class: "nowrap" },
];

function application(row) {
  const words = row.application_id ?? (row.history_url ? "Spark history" : null);
  return row.history_url ? externalLink(row.history_url, words) : words;
}

function productionOption(runs, colors) {
  const linesOf = ({ data }) => data?.run && told(data.run);
  const of = (wanted) => runs.filter((run) => run.is_unusual === wanted)
    .map((run) => ({ value: [moment(run.recorded_at), run.error_percent], run }));
  const dots = { type: "scatter", z: 3, emphasis: { disabled: true } };
  return {
    grid: grid({ bottom: 8, right: DATE_ROOM }),
    tooltip: tooltip(colors, linesOf),
    xAxis: timeAxis(runs.map((run) => moment(run.recorded_at)), colors),
    yAxis: axis({ name: "error of the prediction", values: [-5, 5, ...runs.map((run) => run.error_percent)],
      format: signed, along: "y", colors }),
    series: [
      { ...dots, symbol: "diamond", symbolSize: 13, itemStyle: point(colors.production, colors), data: of(false),
        markLine: zeroLine(colors) },
      { ...dots, symbol: "triangle", symbolSize: 13, itemStyle: hollow(colors.culled, colors), data: of(true) },
    ],
  };
}

function told(run) {
  return [
    `${signedPercent(run.error_percent)}: ${seconds(run.seconds)} instead of ${seconds(run.predicted_seconds)}`,
    `${machines(run.machines)}, ${dateTime(run.recorded_at)}`,
    run.nearly_certain_seconds ? `95 %: ${secondsRange(run.nearly_certain_seconds)}` : "",
  ].filter(Boolean);
}

function zeroLine(colors) {
  return { silent: true, symbol: "none", animation: false, label: { show: false },
    lineStyle: { color: colors.muted, width: 1.6, type: "solid" }, data: [{ yAxis: 0 }] };
}
