/** Which sample runs were chosen, out of which, and which of them were made. */
import { count, counted, dollars, duration, executors, executorsRange, inputShare, number, units } from "../format.js";
import { axis } from "./axes.js";
import { numeric, sizes } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { grid, label } from "./plot.js";
import { tooltip } from "./tooltip.js";

const SMALLEST_PIXELS = 9;
const LARGEST_PIXELS = 30;

/** The figure, from the design of api/model. */
export function designFigure({ design }) {
  const { experiments, candidate_ranges: ranges } = design;
  const missing = experiments.filter((each) => !each.observed);
  return {
    description: describe(design, missing),
    caption: ranges.length
      ? "A run's weight is how much the fit gains by it. Both axes are logarithmic."
      : "The design was made by an earlier version of this package, which did not keep the candidates.",
    columns: columnsOf(design),
    rows: experiments,
    legend: legend([
      ranges.length && { mark: "band", color: "grid", text: "candidates" },
      { mark: "circle", color: "chart-fit", text: "chosen and run, larger by weight" },
      missing.length && { mark: "circle", color: "chart-culled", isHollow: true, text: "chosen, not run" },
    ]),
    draw: (container, colors) => chart(container, option(design, colors)),
  };
}

function describe({ experiments, candidates, candidate_ranges: ranges }, missing) {
  const listed = experiments.map((each) => `${executors(each.executors)} on ${inputShare(each.scale)}`).join(", ");
  const chosenRuns = counted(experiments.length, "sample run");
  const parts = [`Chosen of ${counted(candidates, "candidate")}: ${chosenRuns}, ${listed}.`];
  if (ranges.length) {
    const counts = ranges.map((range) => range.executors);
    parts.push(`Candidates had ${executorsRange(Math.min(...counts), Math.max(...counts))}.`);
  }
  const notRun = missing.map((each) => `run ${each.index}`).join(", ");
  parts.push(missing.length ? `Not run: ${notRun}.` : "All of them were run.");
  return parts.join(" ");
}

function columnsOf(design) {
  return [
    numeric("index", "Run", count),
    sizes(),
    numeric("scale", "Scale", inputShare),
    numeric("partitions", "Partitions", count),
    numeric("weight", "Weight", number),
    numeric("cost", "Expected cost", number, { unit: design.cost_unit }),
    { key: "observed", title: "Run?", value: (row) => (row.observed ? "yes" : "no") },
    numeric("seconds", "Took", number, { unit: "s" }),
    numeric("paid", "Paid", dollars),
  ];
}

function option({ experiments, candidate_ranges: ranges, cost_unit: unit }, colors) {
  const counts = [...experiments, ...ranges].map((each) => each.executors);
  const scales = [
    ...experiments.map((each) => each.scale),
    ...ranges.flatMap((range) => [range.lowest_scale, range.highest_scale]),
  ];
  return {
    grid: grid({ right: 30 }),
    tooltip: tooltip(colors, ({ data }) => data?.lines),
    xAxis: axis({ name: units(), values: counts, isLogarithmic: true, isMachines: true, along: "x", colors }),
    yAxis: axis({
      name: "share of the input", values: scales, isLogarithmic: true, format: inputShare, along: "y", colors,
    }),
    series: [
      ...ranges.map((range) => candidatesBar(range, ranges.length > 8 ? 9 : 16, colors)),
      chosen(experiments, unit, colors),
    ],
  };
}

function candidatesBar(range, width, colors) {
  const lines = [
    `${executors(range.executors)}: ${counted(range.candidates, "candidate")}`,
    `${inputShare(range.lowest_scale)} to ${inputShare(range.highest_scale)} of the input`,
  ];
  const ends = [range.lowest_scale, range.highest_scale];
  return {
    type: "line",
    symbol: "circle",
    symbolSize: 16,
    z: 1,
    emphasis: { disabled: true },
    itemStyle: { opacity: 0 },
    lineStyle: { color: colors.grid, width, cap: "round" },
    data: ends.map((each) => ({ value: [range.executors, each], lines })),
  };
}

function chosen(experiments, unit, colors) {
  const heaviest = Math.max(...experiments.map((each) => each.weight), 1e-12);
  return {
    type: "scatter",
    symbol: "circle",
    z: 3,
    emphasis: { disabled: true },
    // The heaviest first, so that small ones are not hidden below.
    data: [...experiments].sort((one, other) => other.weight - one.weight).map((each) => ({
      value: [each.executors, each.scale],
      // Area by weight.
      symbolSize: Math.max(SMALLEST_PIXELS, LARGEST_PIXELS * Math.sqrt(each.weight / heaviest)),
      itemStyle: each.observed
        ? { color: colors.fit, opacity: 0.85, borderColor: colors.surface, borderWidth: 1.5 }
        : { color: colors.surface, borderColor: colors.culled, borderWidth: 2, borderType: "dashed" },
      label: label(colors, () => (each.observed ? `${each.index}` : `${each.index}: not run`), {
        position: "right", color: each.observed ? colors.muted : colors.culled,
      }),
      lines: told(each, unit),
    })),
    labelLayout: { hideOverlap: true },
  };
}

function told(each, unit) {
  return [
    `Run ${each.index}: ${executors(each.executors)}, ${inputShare(each.scale)} of the input`,
    `${counted(each.partitions, "partition")}, weight ${number(each.weight)}`,
    // Of the first of several rounds nothing tells it.
    each.cost > 0 ? `expected to cost ${number(each.cost)} ${unit}` : "",
    each.observed ? `took ${duration(each.seconds)}` : "was not run",
    each.paid === null || each.paid === undefined ? "" : `cost ${dollars(each.paid)}`,
  ].filter(Boolean);
}
