/** What a run costs against how long it takes, for all types of machine. */
import { count, counted, dollars, duration, isolated, executors, number, probability } from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { numeric, sizes } from "./columns.js";
import { chart } from "./echart.js";
import { legend, SYMBOLS } from "./legend.js";
import { goalLine, grid, HEADROOM, hollow, label, point, ring } from "./plot.js";
import { deadlineInFull, deadlineWords } from "./time_words.js";
import { tooltip } from "./tooltip.js";

/** So many types have a colour and a symbol of their own; where there are more, the others share one. */
const MOST_TYPES = 3;

/** Pixels: about as wide is a character, and the room around the picture. */
const [CHARACTER, AROUND] = [7.5, 90];

const OTHERS = { symbol: "diamond", color: "text-muted" };

/** It may well keep the goal, and the probability beside it says how surely. */
const LESS_SURE = "less sure than asked for";

/**
 * The figure, from the answer of api/prediction and the goal: deadline and budget, null where there is none.
 */
export function costFigure({ prediction, deadline, budget }) {
  const { alternatives, decision, runners_up: runnersUp, most_probable: mostProbable } = prediction;
  const types = byWeight(prediction);
  const same = (one, other) => one.executors === other.executors && one.instance_type === other.instance_type;
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
    columns: COLUMNS,
    rows: alternatives.map((each) => ({ ...each, remark: remark(each, picture) })),
    legend: legend(entries(picture)),
    draw: (container, colors, view = {}) => chart(container, option({ ...picture, ...view }, colors)),
  };
}

/** The types: that of the page first, then the chosen one, then those that are worth their money most often. */
function byWeight({ alternatives, decision, instance_type: own }) {
  const worth = new Map();
  for (const { instance_type: type, is_pareto: isPareto } of alternatives) {
    worth.set(type, (worth.get(type) ?? 0) + Number(isPareto));
  }
  const weight = (type) => (type === own ? Infinity : type === decision?.instance_type ? 1e9 : worth.get(type));
  return [...worth.keys()].sort((one, other) => weight(other) - weight(one));
}

/** How a type is drawn: {symbol, color}. */
function styleOf(type, types) {
  const at = types.indexOf(type);
  const named = types.length > MOST_TYPES ? MOST_TYPES - 1 : MOST_TYPES;
  return at < named ? { symbol: SYMBOLS[at], color: `series-${at + 1}` } : OTHERS;
}

const CAPTION =
  "Down is cheaper, left is faster. The line joins what is worth its money: nothing else is both faster and cheaper " +
  "(the Pareto front).";

const COLUMNS = [
  { key: "instance_type", title: "Instance type" },
  sizes(),
  numeric("seconds", "Predicted", number, { unit: "s" }),
  numeric("cost", "Cost", dollars),
  numeric("probability", "Keeps the goal", probability),
  { key: "is_pareto", title: "Pareto front", render: (row) => (row.is_pareto ? "on it" : "") },
  { key: "remark", title: "Remark" },
  { key: "memory_shortage", title: "Memory", class: "words" },
  { key: "extrapolates", title: "Not supported by the runs", class: "words" },
];

function remark(each, { chosen, runnersUp, mostProbable }) {
  const words = [
    each === chosen ? "chosen" : runnersUp.includes(each) ? "runner-up" : "",
    each === mostProbable ? "most probable" : "",
    each.feasible ? "" : LESS_SURE,
  ];
  return words.filter(Boolean).join(", ");
}

function inWords(each) {
  return `${executors(each.executors)} of ${isolated(each.instance_type)}, ${duration(each.seconds)} for ${dollars(each.cost)}`;
}

function describe(picture) {
  const { alternatives, front, chosen, runnersUp, types, deadline, budget } = picture;
  if (!alternatives.length) return "Cost against time: nothing to show without a price.";
  const cheapest = alternatives.reduce((best, each) => (each.cost < best.cost ? each : best));
  const fastest = alternatives.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const ofTypes = types.length === 1 ? types[0] : `${types.length} types`;
  const parts = [
    `Cost against time of ${counted(alternatives.length, "configuration")} of ${ofTypes}.`,
    `The fastest is ${inWords(fastest)}; the cheapest ${inWords(cheapest)}.`,
    `On the Pareto front: ${count(front.length)} of them.`,
  ];
  if (chosen) parts.push(`Chosen: ${inWords(chosen)}.`);
  if (runnersUp.length) parts.push(`Runners-up: ${runnersUp.map(inWords).join("; ")}.`);
  if (deadline) parts.push(deadlineInFull(picture));
  if (budget) parts.push(`The budget is ${dollars(budget)}.`);
  return parts.join(" ");
}

function entries({ alternatives, types, front }) {
  const styled = types.map((type) => ({ type, ...styleOf(type, types) }));
  const own = styled.filter(({ color }) => color !== OTHERS.color);
  return [
    ...own.map(({ type, symbol, color }) => ({ mark: symbol, color, text: type })),
    own.length < types.length && {
      mark: OTHERS.symbol, color: OTHERS.color, text: counted(types.length - own.length, "other type"),
    },
    alternatives.some((each) => !each.feasible) && {
      mark: "circle", color: "text-muted", isHollow: true, text: LESS_SURE,
    },
    front.length > 1 && { mark: "line", color: "text-muted", text: "worth its money" },
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
      ...types.map((type) => ofType(type, picture, place, colors)),
      next(runnersUp, place, colors),
      chosen && chosenMark(picture, times, place, colors),
    ].filter(Boolean),
  };
}

function lines(each, picture) {
  const remarks = [remark(each, picture), each.is_pareto ? "on the Pareto front" : ""];
  return [
    `${executors(each.executors)} of ${isolated(each.instance_type)}`,
    `${duration(each.seconds)} for ${dollars(each.cost)}`,
    Number.isFinite(each.probability) ? `${probability(each.probability)} chance to meet the goal` : "",
    remarks.filter(Boolean).join(", "),
    each.memory_shortage,
    each.extrapolates,
  ].filter(Boolean);
}

function ofType(type, { alternatives, types }, place, colors) {
  const own = alternatives.filter((each) => each.instance_type === type);
  const { symbol, color: name } = styleOf(type, types);
  const color = name === OTHERS.color ? colors.muted : colors.series[types.indexOf(type)];
  const missing = hollow(color, colors, { opacity: 0.8, borderWidth: 1.4 });
  return {
    type: "scatter",
    symbol,
    symbolSize: own.length > 60 ? 7 : 10,
    z: 3,
    emphasis: { disabled: true },
    data: own.map((each) => ({
      value: place(each), each, itemStyle: each.feasible ? point(color, colors) : missing,
    })),
  };
}

function next(runnersUp, place, colors) {
  return {
    type: "scatter",
    ...ring(colors, false),
    symbolSize: 16,
    z: 2,
    emphasis: { disabled: true },
    labelLayout: { hideOverlap: true },
    data: runnersUp.map((each) => ({
      value: place(each),
      each,
      label: label(colors, () => count(each.executors), { position: "bottom", distance: 3, color: colors.muted }),
    })),
  };
}

/** Whether words to the left of it would leave the picture. */
function isAtLeft(chosen, words, times, width) {
  const [low, high] = extent(times);
  return Math.log(chosen.seconds / low) / Math.log(high / low) < (CHARACTER * words.length) / (width - AROUND);
}

function chosenMark({ chosen, width = 2 * AROUND }, times, place, colors) {
  const words = `${executors(chosen.executors)}: ${dollars(chosen.cost)}`;
  const isLeft = isAtLeft(chosen, words, times, width);
  return {
    type: "scatter",
    ...ring(colors, true),
    z: 5,
    emphasis: { disabled: true },
    labelLayout: { hideOverlap: true },
    data: [{
      value: place(chosen),
      each: chosen,
      label: label(colors, () => words, {
        // Below the line: there nothing is.
        position: isLeft ? [0, 26] : [18, 26], align: isLeft ? "left" : "right", fontWeight: 650,
      }),
    }],
  };
}
