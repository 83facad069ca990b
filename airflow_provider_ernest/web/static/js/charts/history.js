/** How good the models of a job on a type of machine have been: the errors of the versions. */
import { count, counted, dateTime, percentage, shortHash } from "../format.js";
import { axis, frame, tick } from "./axes.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { grid, HEADROOM, hollow, label, point, ring } from "./plot.js";
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
      `Leave-one-out errors of ${counted(ordered.length, "version")}: median ` +
      `${ordered.map((each) => percentage(each.median_error_percent)).join(", ")}, oldest first. ` +
      `The job's code changed ${changes.length === 1 ? "once" : `${changes.length} times`} in between.`,
    columns: VERSION_COLUMNS,
    rows: [...ordered]
      .reverse()
      .map((each) => ({ ...each, remark: each.model_id === current ? "this one" : "" })),
    legend: legend([
      { mark: "rect", color: "chart-fit", text: "median error of a version" },
      { mark: "triangle", color: "text-muted", isHollow: true, text: "its largest error" },
      { mark: "circle", color: "chart-chosen", isHollow: true, text: "the version shown here" },
      changes.length && { mark: "dashed", color: "chart-goal", text: "the job's code changed" },
    ]),
    draw: (container, colors) => chart(container, versionsOption(ordered, changes, current, colors)),
  };
}

const VERSION_COLUMNS = [
  { key: "created_at", title: "Trained", render: (row) => dateTime(row.created_at) },
  { key: "model_id", title: "Version" },
  numeric("observations", "Runs", count),
  numeric("median_error_percent", "Median error", percentage),
  numeric("max_error_percent", "Largest error", percentage),
  { key: "artifact_sha256", title: "Code", render: (row) => shortHash(row.artifact_sha256) },
  { key: "remark", title: "Shown" },
];

function isOtherCode(one, other) {
  return Boolean(one.artifact_sha256 && other.artifact_sha256 && one.artifact_sha256 !== other.artifact_sha256);
}

function versionsOption(versions, changes, current, colors) {
  const values = versions.flatMap((each) => [each.median_error_percent, each.max_error_percent]);
  const told = (name) => (each) => ({ value: [moment(each.created_at), each[name]], each });
  const linesOf = ({ data }) => data?.each && [
    `${percentage(data.each.median_error_percent)} median, ${percentage(data.each.max_error_percent)} at most`,
    `trained ${dateTime(data.each.created_at)} on ${counted(data.each.observations, "run")}`,
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
        type: "scatter", ...ring(colors, true), z: 4, emphasis: { disabled: true },
        data: shown.map(told("median_error_percent")),
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

/** A moment (ISO 8601) in milliseconds. */
function moment(iso) {
  return new Date(iso).getTime();
}

/** The axis of moments in milliseconds. */
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

/** A tick of a percentage. */
function inPercent(value) {
  return `${tick(value)} %`;
}
