/** A surveyed job on other numbers of executors: what is predicted, how surely, and what it may take. */
import { dollars, duration, durationRange, executors, number, probability, units } from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { area, goalLine, grid, hollow, point, ring } from "./plot.js";
import { tooltip } from "./tooltip.js";

const SOURCES = { model: "by the model of the past runs", replay: "by replay of one run", both: "by model and replay" };

/** The figure of a job of a survey; see `documents.surveys.SurveyedJob`. */
export function surveyedSizesFigure(job) {
  const { sizes, proposed, executors: today } = job;
  const on = ({ executors: on, seconds, likely_seconds: likely }) =>
    `${duration(seconds)} on ${executors(on)} (80 %: ${durationRange(likely)})`;
  const was = `today: ${duration(job.seconds)} on ${executors(today)}`;
  const isOther = proposed && proposed.executors !== today;
  return {
    description: `${was}. ${on(sizes[0])} to ${on(sizes.at(-1))}.${isOther ? ` Proposed: ${on(proposed)}.` : ""}`,
    caption: "Start-up included. The band holds 80 of 100 runs; it is wider where less is known.",
    columns: [
      numeric("executors", "Machines", tick),
      numeric("seconds", "Predicted", number, { unit: "s" }),
      numeric("probability", "Keeps to the goal", (value) => (value === null ? "–" : probability(value))),
      numeric("cost", "A run costs", (value) => dollars(value)),
    ],
    rows: sizes,
    legend: legend([
      { mark: "line", color: "chart-fit", text: "predicted" },
      { mark: "circle", color: "chart-observation", isHollow: true, text: was },
      ...(isOther ? [{ mark: "circle", color: "chart-chosen", isHollow: true, text: "proposed" }] : []),
    ]),
    draw: (container, colors) => chart(container, option({ job, on, was, isOther }, colors)),
  };
}

function option({ job, on, was, isOther }, colors) {
  const { sizes, proposed, limit_seconds: limit } = job;
  const times = [...sizes.flatMap((each) => [each.seconds, ...each.likely_seconds]), job.seconds];
  if (limit) times.push(limit);
  const unit = timeUnit(extent(times)[1]);
  const inUnit = (seconds) => seconds / unit.seconds;
  const shared = { isLogarithmic: true, format: tick, colors };
  const low = sizes.map((each) => [each.executors, inUnit(each.likely_seconds[0])]);
  const high = sizes.map((each) => [each.executors, inUnit(each.likely_seconds[1])]);
  return {
    grid: grid(),
    tooltip: tooltip(colors, ({ data }) => data?.tell),
    xAxis: axis({ ...shared, name: units(), values: sizes.map((each) => each.executors), isMachines: true, along: "x" }),
    yAxis: axis({ ...shared, name: unit.name, values: times.map(inUnit), along: "y" }),
    series: [
      area([...low, ...high.reverse()], colors.likely),
      {
        type: "line", symbol: "circle", symbolSize: 7, z: 3, itemStyle: point(colors.fit, colors),
        lineStyle: { color: colors.fit, width: 2.5 },
        data: sizes.map((each) => ({
          value: [each.executors, inUnit(each.seconds)], tell: [on(each), SOURCES[each.source] ?? ""],
        })),
      },
      {
        type: "scatter", symbolSize: 11, z: 4, itemStyle: hollow(colors.observation, colors),
        data: [{ value: [job.executors, inUnit(job.seconds)], tell: [was] }],
      },
      isOther && {
        type: "scatter", z: 5, silent: true, ...ring(colors, true), data: [[proposed.executors, inUnit(proposed.seconds)]],
      },
      limit && goalLine({ yAxis: inUnit(limit) }, `may take ${duration(limit)}`, colors),
    ].filter(Boolean),
  };
}
