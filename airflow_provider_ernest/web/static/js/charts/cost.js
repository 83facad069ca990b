/** What a run costs against how long it takes, for all types of machine. */
import { count, dollars, isolated, machines, number, plural, probability, seconds } from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { legend, SYMBOLS } from "./legend.js";
import { goalLine, grid, HEADROOM, hollow, label, point } from "./plot.js";
import { deadlineWords } from "./time_words.js";
import { tooltip } from "./tooltip.js";

/** So many points of a type have their number beside them: more would run into each other. */
const NUMBERED = 8;

const MOST_COLORS = 8;

/** It may well keep the goal, and the probability beside it says how surely. */
const LESS_SURE = "less sure than asked for";

/**
 * The figure, from the answer of api/prediction and the goal: deadline and budget, null where there is none; and from
 * what replay says, as of `replayed`.
 */
export function costFigure({ prediction, deadline, budget, replay }) {
  const { alternatives, decision, runners_up: runnersUp, most_probable: mostProbable } = prediction;
  const types = [...new Set(alternatives.map((each) => each.instance_type))];
  const same = (one, other) => one.machines === other.machines && one.instance_type === other.instance_type;
  const picture = {
    latest_seconds: prediction.latest_seconds,
    boot_seconds: prediction.boot_seconds,
    alternatives,
    types,
    deadline,
    budget,
    front: alternatives.filter((each) => each.is_pareto).sort((one, other) => one.seconds - other.seconds),
    chosen: decision ? alternatives.find((each) => same(each, decision)) : undefined,
    runnersUp: runnersUp.map((each) => alternatives.find((other) => same(each, other)) ?? each),
    mostProbable: mostProbable ? alternatives.find((each) => same(each, mostProbable)) : undefined,
  };
  return {
    description: describe(picture),
    caption: CAPTION,
    ...numbers(picture, replay),
    legend: legend(entries(picture)),
    draw: (container, colors) => chart(container, option(picture, colors)),
  };
}

const CAPTION =
  "Down is cheaper, left is faster; the numbers beside the points are machines. A point that has another one " +
  "both below and to its left is never worth its money: those that have none are joined by the line (the Pareto " +
  "front).";

const COLUMNS = [
  { key: "instance_type", title: "Instance type" },
  numeric("machines", "Machines", count),
  numeric("seconds", "Predicted", number, { unit: "s" }),
  numeric("cost", "Cost", dollars),
  numeric("probability", "Keeps the goal", probability),
  { key: "is_pareto", title: "Pareto front", render: (row) => (row.is_pareto ? "on it" : "") },
  { key: "remark", title: "Remark" },
  { key: "memory_shortage", title: "Memory", class: "words" },
  { key: "extrapolates", title: "Not supported by the runs", class: "words" },
];

const BY_REPLAY = numeric("replayed_seconds", "By replay", number, {
  unit: "s", value: (row) => row.replay?.seconds ?? null,
});

/** The table of the alternatives; replay stands beside the prediction where it says anything. */
function numbers(picture, replay) {
  const rows = picture.alternatives.map((each) => {
    const told = replay.of(each);
    const words = [remark(each, picture), told?.isOutside ? "replay and model disagree" : ""];
    return { ...each, replay: told, remark: words.filter(Boolean).join(", ") };
  });
  const at = COLUMNS.findIndex((column) => column.key === "cost");
  const columns = rows.some((row) => row.replay) ? COLUMNS.toSpliced(at, 0, BY_REPLAY) : COLUMNS;
  return { columns, rows, highlight: (row) => (row.replay?.isOutside ? "warning" : null) };
}

function remark(each, { chosen, runnersUp, mostProbable }) {
  const words = [
    each === chosen ? "chosen" : runnersUp.includes(each) ? "runner-up" : "",
    each === mostProbable ? "most probable" : "",
    each.feasible ? "" : LESS_SURE,
  ];
  return words.filter(Boolean).join(", ");
}

function inWords(each) {
  return `${machines(each.machines)} of ${isolated(each.instance_type)}, ${seconds(each.seconds)} for ${dollars(each.cost)}`;
}

function describe(picture) {
  const { alternatives, front, chosen, runnersUp, types, deadline, budget } = picture;
  if (!alternatives.length) return "Cost against time: nothing to show without a price.";
  const cheapest = alternatives.reduce((best, each) => (each.cost < best.cost ? each : best));
  const fastest = alternatives.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const ofTypes = types.length === 1 ? types[0] : `${types.length} types`;
  const parts = [
    `Cost against time of ${plural(alternatives.length, "configuration")} of ${ofTypes}.`,
    `The fastest is ${inWords(fastest)}; the cheapest ${inWords(cheapest)}.`,
    `On the Pareto front: ${count(front.length)} of them.`,
  ];
  if (chosen) parts.push(`Chosen: ${inWords(chosen)}.`);
  if (runnersUp.length) parts.push(`Runners-up: ${runnersUp.map(inWords).join("; ")}.`);
  if (deadline) parts.push(`The line: ${deadlineWords(picture)}.`);
  if (budget) parts.push(`The budget is ${dollars(budget)}.`);
  return parts.join(" ");
}

function entries({ alternatives, types, front, chosen, runnersUp, deadline, budget }) {
  return [
    ...types.map((type, at) => ({
      mark: SYMBOLS[at % SYMBOLS.length],
      color: `series-${(at % MOST_COLORS) + 1}`,
      text: type,
    })),
    alternatives.some((each) => !each.feasible) && {
      mark: "circle", color: "text-muted", isHollow: true, text: LESS_SURE,
    },
    front.length > 1 && { mark: "line", color: "text-muted", text: "Pareto front" },
    chosen && { mark: "pin", color: "chart-chosen", text: "chosen" },
    runnersUp.length && { mark: "circle", color: "chart-chosen", isHollow: true, text: "runner-up" },
    deadline && { mark: "dashed", color: "chart-goal", text: "deadline" },
    budget && { mark: "dashed", color: "chart-goal", text: "budget" },
  ];
}

function option(picture, colors) {
  const { alternatives, types, front, chosen, runnersUp, deadline, budget } = picture;
  const unit = timeUnit(extent(alternatives.map((each) => each.seconds))[1]);
  const place = (each) => [each.seconds / unit.seconds, each.cost];
  const times = [...alternatives.map((each) => each.seconds), ...(deadline ? [deadline] : [])];
  return {
    grid: grid({ top: HEADROOM.top }),
    tooltip: tooltip(colors, ({ data }) => data?.each && lines(data.each, picture)),
    xAxis: axis({
      name: unit.name, values: times.map((time) => time / unit.seconds), isLogarithmic: true, format: tick,
      along: "x", colors,
    }),
    yAxis: {
      ...axis({
        name: "dollars", values: [...alternatives.map((each) => each.cost), budget ?? 0], fromZero: true,
        format: (value) => (value ? dollars(value) : "$0"), along: "y", colors,
      }),
      nameGap: HEADROOM.nameGap,
    },
    series: [
      {
        type: "line", silent: true, symbol: "none", z: 1, data: front.map(place),
        lineStyle: { color: colors.muted, width: 1.8, opacity: 0.8 },
      },
      deadline && goalLine({ xAxis: deadline / unit.seconds }, deadlineWords(picture), colors),
      budget && goalLine({ yAxis: budget }, `budget ${dollars(budget)}`, colors),
      ...types.map((type, at) => ofType(type, at, picture, place, colors)),
      rings(runnersUp, place, colors),
      chosen && chosenMark(chosen, place, colors),
    ].filter(Boolean),
  };
}

function lines(each, picture) {
  const remarks = [remark(each, picture), each.is_pareto ? "on the Pareto front" : ""];
  return [
    `${machines(each.machines)} of ${isolated(each.instance_type)}`,
    `${seconds(each.seconds)} for ${dollars(each.cost)}`,
    Number.isFinite(each.probability) ? `keeps the goal with ${probability(each.probability)}` : "",
    remarks.filter(Boolean).join(", "),
    each.memory_shortage,
    each.extrapolates,
  ].filter(Boolean);
}

function ofType(type, at, { alternatives, chosen }, place, colors) {
  const own = alternatives.filter((each) => each.instance_type === type);
  const color = colors.series[at % colors.series.length];
  const missing = hollow(color, colors, { opacity: 0.8, borderWidth: 1.4 });
  const style = (each) => (each.feasible ? point(color, colors) : missing);
  const every = Math.max(1, Math.ceil(own.length / NUMBERED));
  const isLabelled = (each, index) => each !== chosen && (index % every === 0 || index === own.length - 1);
  return {
    type: "scatter",
    symbol: SYMBOLS[at % SYMBOLS.length],
    symbolSize: own.length > 60 ? 7 : 10,
    z: 3,
    emphasis: { disabled: true },
    labelLayout: { hideOverlap: true },
    data: own.map((each, index) => ({
      value: place(each),
      each,
      itemStyle: style(each),
      label: isLabelled(each, index)
        ? label(colors, () => String(each.machines), { position: "top", distance: 3, color: colors.muted })
        : { show: false },
    })),
  };
}

function rings(runnersUp, place, colors) {
  return {
    type: "scatter",
    symbol: "circle",
    symbolSize: 16,
    z: 2,
    emphasis: { disabled: true },
    itemStyle: { color: "transparent", borderColor: colors.chosen, borderWidth: 1.6, opacity: 1 },
    data: runnersUp.map((each) => ({ value: place(each), each })),
  };
}

function chosenMark(chosen, place, colors) {
  return {
    type: "scatter",
    symbol: "pin",
    symbolSize: 34,
    z: 5,
    emphasis: { disabled: true },
    itemStyle: point(colors.chosen, colors),
    labelLayout: { hideOverlap: true },
    data: [{
      value: place(chosen),
      each: chosen,
      label: label(colors, () => `${machines(chosen.machines)}: ${dollars(chosen.cost)}`, {
        position: "top", fontWeight: 650,
      }),
    }],
  };
}
