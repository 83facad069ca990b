/** A run by its profile: its stages over time, what its resources need, and the run on other machines. */
import { duration, machines, number, percentage, signedPercentage } from "../format.js";
import { axis, tick } from "./axes.js";
import { bars } from "./bars.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { grid, hollow, point } from "./plot.js";
import { tooltip } from "./tooltip.js";

/** So many stages have a bar: those that took longest. */
const MOST_STAGES = 30;

/** So many things that bind stages are told apart: those that bind the longest. */
const MOST_BOTTLENECKS = 4;

/** A resource has the same colour in all charts. */
const COLORS = new Map([
  ["cpu", "series-1"], ["network", "series-2"], ["disk", "series-3"], ["garbage collection", "series-4"],
  ["scheduler delay", "series-5"], ["serialisation", "series-6"], ["Python worker", "series-7"],
]);

const OTHER = "series-8";

function colorOf(resource) {
  return COLORS.get(resource) ?? OTHER;
}

function nameOf(resource) {
  return resource === "cpu" ? "CPU" : resource;
}

function stageNumber({ stage_id: id, attempt }) {
  return attempt ? `${id}.${attempt}` : String(id);
}

const STAGES = [
  { key: "stage", title: "Stage", value: stageNumber },
  { key: "name", title: "Name", class: "words" },
  numeric("began_seconds", "From", number, { unit: "s" }),
  numeric("ended_seconds", "To", number, { unit: "s" }),
  numeric("seconds", "Took", number, { unit: "s", value: lasted }),
  { key: "bottleneck", title: "Bound by", value: (row) => nameOf(row.bottleneck) },
  { key: "parents", title: "After stages", value: (row) => row.parents.join(", ") },
];

function lasted({ began_seconds: from, ended_seconds: to }) {
  return to - from;
}

/** The stages over time, each in the colour of what it is bound by. */
export function stagesFigure({ stages, stages_left_out: leftOut }) {
  const inOrder = (one, other) => one.began_seconds - other.began_seconds || one.stage_id - other.stage_id;
  const shown = [...stages].sort((one, other) => lasted(other) - lasted(one)).slice(0, MOST_STAGES).sort(inOrder);
  const first = Math.min(0, ...shown.map((stage) => stage.began_seconds));
  const whole = Math.max(...shown.map((stage) => stage.ended_seconds)) - first || 1;
  const without = stages.length - shown.length + leftOut;
  const told = longestBinding(shown);
  const isOther = (stage) => !told.includes(stage.bottleneck);
  const toldWords = (name) => (name ? `bound by ${nameOf(name)}` : "not known what binds it");
  return {
    description: `${shown.length} stages over time: ${shown.map(stageWords).join("; ")}.`,
    caption:
      `The tracks are ${duration(whole)} long. Where no bar is, no task ran: the driver worked or waited.` +
      (without ? ` ${without} shorter ${without === 1 ? "stage has" : "stages have"} no bar.` : ""),
    columns: STAGES,
    rows: stages,
    legend: legend([
      ...told.map((name) => ({ mark: "band", color: colorOf(name), text: toldWords(name) })),
      shown.some(isOther) && { mark: "band", color: OTHER, text: "bound by something else" },
    ]),
    draw: (container) => bars(container, shown.map((stage) => ({
      name: `${stageNumber(stage)} ${stage.name}`,
      from: (stage.began_seconds - first) / whole,
      share: lasted(stage) / whole,
      color: isOther(stage) ? OTHER : colorOf(stage.bottleneck),
      words: [duration(lasted(stage)), nameOf(stage.bottleneck)].filter(Boolean).join(", "),
    }))),
  };
}

/** What binds the stages, what binds them longest first. */
function longestBinding(stages) {
  const taken = new Map();
  for (const stage of stages) taken.set(stage.bottleneck, (taken.get(stage.bottleneck) ?? 0) + lasted(stage));
  const names = [...taken.keys()].sort((one, other) => taken.get(other) - taken.get(one));
  return names.length > MOST_BOTTLENECKS + 1 ? names.slice(0, MOST_BOTTLENECKS) : names;
}

function stageWords(stage) {
  return `stage ${stageNumber(stage)} ${duration(lasted(stage))}`;
}

/** What each resource needs at least for what the run did, against what it took. */
export function idealFigure({ ideal_seconds: ideal, seconds: taken }) {
  const rows = Object.entries(ideal).map(([resource, needed]) => ({ resource, needed }))
    .sort((one, other) => other.needed - one.needed);
  return againstTheRun(taken, rows.map((row) => (
    { ...row, name: nameOf(row.resource), taken: row.needed, color: colorOf(row.resource) })), {
    caption: "Were a resource used all the time by all machines, it would need so long for what the run asked of it.",
    columns: [
      { key: "name", title: "Resource" },
      numeric("needed", "Needs at least", number, { unit: "s" }),
    ],
  });
}

/** The run on machines that are others, against what it took. */
export function whatIfsFigure({ what_ifs: whatIfs, seconds: taken }) {
  return againstTheRun(taken, whatIfs.map((each) => ({ ...each, name: each.change, taken: each.seconds })), {
    caption:
      "Predicted from what each stage asks of the machines' resources, and what its tasks waited for. Ousterhout's " +
      "thesis found such predictions within 28 % for most jobs.",
    columns: [
      { key: "change", title: "Machines with" },
      numeric("seconds", "The run", number, { unit: "s" }),
      numeric("change_percent", "Change", (change) => signedPercentage(change)),
    ],
  });
}

function againstTheRun(run, rows, more) {
  const longest = Math.max(run, ...rows.map((row) => row.taken));
  const words = ({ taken, change_percent: change }) =>
    (Number.isFinite(change) ? `${duration(taken)} (${signedPercentage(change)})` : duration(taken));
  return {
    description: `${rows.map((row) => `${row.name}: ${words(row)}`).join("; ")}; the run took ${duration(run)}.`,
    rows,
    legend: legend([{ mark: "line", color: "chart-chosen", text: `the run as it was: ${duration(run)}` }]),
    draw: (container) => bars(
      container,
      rows.map((row) => ({ name: row.name, color: row.color, share: row.taken / longest, words: words(row) })),
      run / longest,
    ),
    ...more,
  };
}

/** The run replayed on other numbers of machines. */
export function sizesFigure({ sizes, seconds: taken, machines: ranOn }) {
  const fastest = sizes.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const was = `the run: ${duration(taken)} on ${machines(ranOn)}`;
  const on = (each) => `${duration(each.seconds)} on ${machines(each.machines)}`;
  return {
    description: `Replayed: ${on(sizes[0])} to ${on(sizes.at(-1))}; the fastest is ${on(fastest)}; ${was}.`,
    caption:
      "The same tasks on other numbers of machines of the same kind, without start-up. They take as long as they did, " +
      "but for the warm-up of first tasks and for fetching: fewer machines fetch less. A stage of fewer tasks than " +
      "there is room for gains nothing from more machines, and the driver works alone.",
    columns: [
      numeric("machines", "Machines", tick),
      numeric("seconds", "Replayed", number, { unit: "s" }),
      numeric("error_percent", "Change", (change) => percentage(change), {
        value: (row) => (100 * (row.seconds - taken)) / taken,
      }),
    ],
    rows: sizes,
    legend: legend([
      { mark: "line", color: "chart-fit", text: "replayed" },
      { mark: "circle", color: "chart-observation", isHollow: true, text: was },
    ]),
    draw: (container, colors) => chart(container, sizesOption({ sizes, taken, ranOn, was, on }, colors)),
  };
}

function sizesOption({ sizes, taken, ranOn, was, on }, colors) {
  const shared = { isLogarithmic: true, format: tick, colors };
  const counts = [...sizes.map((each) => each.machines), ranOn];
  const times = [...sizes.map((each) => each.seconds), taken];
  return {
    grid: grid(),
    tooltip: tooltip(colors, ({ data }) => data.tell),
    xAxis: axis({ ...shared, name: "machines", values: counts, isMachines: true, along: "x" }),
    yAxis: axis({ ...shared, name: "seconds", values: times, along: "y" }),
    series: [
      {
        type: "line", symbol: "circle", symbolSize: 7, itemStyle: point(colors.fit, colors),
        lineStyle: { color: colors.fit, width: 2.5 },
        data: sizes.map((each) => ({ value: [each.machines, each.seconds], tell: [on(each)] })),
      },
      {
        type: "scatter", symbolSize: 11, z: 4, itemStyle: hollow(colors.observation, colors),
        data: [{ value: [ranOn, taken], tell: [was] }],
      },
    ],
  };
}
