/** The phases of a run (OptEx) as one stacked bar. */
import { asPercent, duration, number } from "../format.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { PATTERNS } from "./patterns.js";
import { patternColor } from "./plot.js";
import { tooltip } from "./tooltip.js";

const PHASES = [
  ["initialisation_seconds", "initialisation", "starting the application, until all machines work"],
  ["preparation_seconds", "preparation", "before tasks start: planning, and what only the driver does"],
  ["variable_sharing_seconds", "variable sharing", "sending broadcast variables to the machines"],
  ["computation_seconds", "computation", "running tasks"],
  ["communication_seconds", "communication", "fetching and writing what tasks exchange"],
];

const COLUMNS = [
  { key: "name", title: "Phase" },
  numeric("taken", "Time", number, { unit: "s" }),
  numeric("share", "Share", asPercent),
  { key: "meaning", title: "Is", class: "words" },
];

/** The figure, for a run of api/clarity. */
export function phasesFigure({ phases }) {
  const total = PHASES.reduce((sum, [key]) => sum + phases[key], 0);
  const rows = PHASES.map(([key, name, meaning], place) =>
    ({ name, meaning, place, taken: phases[key], share: total > 0 ? phases[key] / total : 0 }));
  const shown = rows.filter((row) => row.taken > 0);
  return {
    description: `${duration(total)} by phases: ${shown.map((row) => `${row.name} ${words(row)}`).join(", ")}.`,
    caption: `${duration(total)} from submission to end. At each moment the run is in one phase.`,
    columns: COLUMNS,
    rows,
    legend: legend(shown.map((row) => ({
      mark: "band", color: `series-${row.place + 1}`, pattern: PATTERNS[row.place]?.path,
      text: `${row.name} ${words(row)}`,
    }))),
    draw: (container, colors) => chart(container, option(shown, colors)),
  };
}

function words({ taken, share }) {
  return `${duration(taken)} (${asPercent(share)})`;
}

function option(rows, colors) {
  return {
    grid: { left: 2, right: 2, top: 6, bottom: 24 },
    tooltip: tooltip(colors, ({ seriesIndex: at }) => [rows[at].name, words(rows[at]), rows[at].meaning]),
    xAxis: {
      type: "value", min: 0, max: 1, interval: 0.25, splitLine: { show: false }, axisLine: { show: false },
      axisTick: { show: true, lineStyle: { color: colors.border } },
      axisLabel: {
        color: colors.muted, fontSize: 12, alignMinLabel: "left", alignMaxLabel: "right",
        formatter: (share) => `${Math.round(100 * share)} %`,
      },
    },
    yAxis: { type: "category", data: [""], show: false },
    series: rows.map((row) => {
      const decal = PATTERNS[row.place]?.decal;
      return {
        type: "bar", stack: "phases", barWidth: "100%", emphasis: { disabled: true }, data: [row.share],
        itemStyle: {
          color: colors.series[row.place], borderColor: colors.surface, borderWidth: 1,
          decal: decal && { ...decal, color: patternColor(colors) },
        },
      };
    }),
  };
}
