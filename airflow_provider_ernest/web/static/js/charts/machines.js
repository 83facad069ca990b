/** How the machines of the sample runs compare, and which were let go. */
import { bandwidth, executors as countOf, number } from "../format.js";
import { axis, frame } from "./axes.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { HATCHED } from "./patterns.js";
import { patternColor } from "./plot.js";
import { tooltip } from "./tooltip.js";

/** So many of the worst are drawn; all are in the table. */
const MOST_DRAWN = 40;

const ROW_PIXELS = 26;
const FRAME_PIXELS = 64;
const CHARACTER_PIXELS = 7;
const NAME_MARGIN_PIXELS = 24;

/** Whether there is anything to draw. */
export function hasScores(cluster) {
  return cluster.machines.some((machine) => isMeasured(machine));
}

/** The machines that the sample runs could have run on; the master runs none. */
export function workers(cluster) {
  return cluster.machines.filter((machine) => !machine.is_master);
}

/** The figure, from the cluster of api/model. */
export function machinesFigure({ cluster }) {
  const ordered = workers(cluster).sort((one, other) => (one.score ?? -1) - (other.score ?? -1));
  const drawn = ordered.slice(0, MOST_DRAWN);
  const culled = cluster.machines.filter((machine) => machine.culled_because);
  return {
    description: describe(ordered, culled),
    caption: caption(ordered.length, drawn.length),
    columns: COLUMNS,
    rows: ordered,
    height: FRAME_PIXELS + ROW_PIXELS * drawn.length,
    legend: legend([
      { mark: "band", color: "chart-fit", text: "kept" },
      culled.length && {
        mark: "band", color: "chart-culled", pattern: HATCHED.path, text: "culled before the runs",
      },
      { mark: "line", color: "text-muted", text: "the median machine" },
    ]),
    draw: (container, colors, { isNarrow } = {}) => chart(container, option(drawn, isNarrow, colors)),
  };
}

function caption(all, drawn) {
  const rest = all > drawn ? ` The ${drawn} lowest of ${all} are drawn.` : "";
  return (
    "The score is the worse of memory and network bandwidth, relative to the median machine of the cluster: " +
    `1 is ordinary.${rest}`
  );
}

const COLUMNS = [
  { key: "host", title: "Machine" },
  { key: "instance_id", title: "Instance" },
  numeric("memory_gigabytes_per_second", "Memory", number, { unit: "GB/s" }),
  numeric("network_gigabytes_per_second", "Network", number, { unit: "GB/s" }),
  numeric("score", "Score", number),
  { key: "culled_because", title: "Culled because" },
];

function isMeasured(machine) {
  return machine.score !== null && machine.score !== undefined;
}

function describe(ordered, culled) {
  const scores = ordered.filter(isMeasured).map((machine) => machine.score);
  const range = `from ${number(scores[0])} to ${number(scores.at(-1))}`;
  const parts = [`Straggler scores of ${countOf(ordered.length)}, ${range}.`];
  parts.push(
    culled.length
      ? `Culled: ${culled.map((machine) => `${machine.host} (${machine.culled_because})`).join("; ")}.`
      : "None was culled.",
  );
  return parts.join(" ");
}

/** The first part of a name where that is enough to tell the machines apart. */
function shortNames(drawn) {
  const short = drawn.map(({ host }) => (/^[\d.]+$/.test(host) ? host : host.split(".")[0]));
  return new Set(short).size === short.length ? short : drawn.map(({ host }) => host);
}

function option(drawn, isNarrow, colors) {
  const names = shortNames(drawn);
  const words = drawn.map(inWords);
  const longest = (texts) => Math.max(...texts.map((text) => text.length));
  const room = (texts) =>
    Math.min(isNarrow ? 108 : 200, NAME_MARGIN_PIXELS + CHARACTER_PIXELS * longest(texts));
  const [left, right] = [room(names), room(words)];
  const scores = [1, ...drawn.map((machine) => machine.score ?? 0)];
  return {
    grid: { left, right, top: 8, bottom: 48 },
    tooltip: tooltip(colors, ({ data }) => data?.machine && lines(data.machine)),
    xAxis: axis({
      name: "score", values: scores, fromZero: true, mostTicks: isNarrow ? 3 : 6, along: "x", colors,
    }),
    // The scores stand in a column of their own: beside the bars the line of the median would cross them.
    yAxis: [
      rows(names, left, colors),
      { ...rows(words, right, colors), position: "right" },
    ],
    series: [{
      type: "bar",
      barWidth: "58%",
      emphasis: { disabled: true },
      data: drawn.map((machine) => bar(machine, colors)),
      markLine: {
        silent: true, z: 1, symbol: "none", animation: false, label: { show: false },
        lineStyle: { color: colors.muted, width: 1.6, type: "solid" }, data: [{ xAxis: 1 }],
      },
    }],
  };
}

/** The axis of the machines, with words for each. */
function rows(words, room, colors) {
  return {
    ...frame("y", "", colors),
    type: "category",
    inverse: true,
    // By their places: two machines may have one name.
    data: words.map((_, at) => at),
    axisTick: { show: false },
    splitLine: { show: false },
    axisLabel: {
      color: colors.text, fontSize: 12, interval: 0, formatter: (_, at) => words[at],
      width: room - NAME_MARGIN_PIXELS / 2, overflow: "truncate",
    },
  };
}

function inWords(machine) {
  const score = isMeasured(machine) ? number(machine.score) : "not measured";
  return machine.culled_because ? `${score}, culled` : score;
}

function bar(machine, colors) {
  const why = machine.culled_because;
  return {
    value: machine.score ?? 0,
    machine,
    itemStyle: {
      color: why ? colors.culled : colors.fit,
      decal: why ? { ...HATCHED.decal, color: patternColor(colors) } : undefined,
    },
  };
}

function lines(machine) {
  return [
    machine.host,
    isMeasured(machine) ? `score ${number(machine.score)}` : "not measured",
    `memory ${bandwidth(machine.memory_gigabytes_per_second)}`,
    `network ${bandwidth(machine.network_gigabytes_per_second)}`,
    machine.culled_because ? `culled: ${machine.culled_because}` : "kept",
  ];
}
