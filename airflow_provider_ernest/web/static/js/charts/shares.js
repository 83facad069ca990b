/** What the time is spent on, against the number of machines: why it does not get faster. */
import { asPercent, duration, executors, number, units } from "../format.js";
import { frame } from "./axes.js";
import { numeric, sizes } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { PATTERNS } from "./patterns.js";
import { grid, HEADROOM, label, patternColor } from "./plot.js";
import { tooltip } from "./tooltip.js";

/** Terms that never explain so large a share of the time are drawn together. */
const WORTH_A_COLOR = 0.01;

const OTHERS = "others";
const MOST_COLORS = 7;

/** So many parts are shown, the others together as one of them. */
const MOST_SHOWN = 5;
const START_UP = "start-up";
const HALF = 0.5;

/** Bars stand apart up to so many; more of them become an area. */
const MOST_GAPS = 60;

/**
 * The figure, from the answer of api/prediction, the model's terms and the point of the curve that was chosen.
 */
export function sharesFigure({ prediction, terms, chosen }) {
  const { curve } = prediction;
  const meanings = new Map(terms.map((term) => [term.name, term.meaning]));
  const names = Object.keys(curve[0].parts);
  const picture = { curve, chosen, names, meanings, shown: shownParts(curve, names) };
  return {
    description: describe(picture),
    caption: dominance(picture),
    columns: columnsOf(names),
    rows: curve,
    legend: legend(entries(picture)),
    draw: (container, colors, view = {}) => chart(container, option({ ...picture, ...view }, colors)),
  };
}

function total(each) {
  return Object.values(each.parts).reduce((sum, part) => sum + part, 0);
}

function share(each, name, shown) {
  if (name === OTHERS) {
    const named = shown.filter((other) => other !== OTHERS);
    return Math.max(0, 1 - named.reduce((sum, other) => sum + share(each, other), 0));
  }
  return total(each) > 0 ? each.parts[name] / total(each) : 0;
}

/** The names with a colour of their own from the bottom up: what shrinks most with machines is on top. */
function shownParts(curve, names) {
  const largest = new Map(names.map((name) => [name, Math.max(...curve.map((each) => share(each, name)))]));
  const worth = names
    .filter((name) => largest.get(name) >= WORTH_A_COLOR)
    .sort((one, other) => largest.get(other) - largest.get(one));
  const isAll = names.length <= MOST_SHOWN && worth.length === names.length;
  const kept = isAll ? worth : worth.slice(0, MOST_SHOWN - 1);
  const growth = (name) => share(curve.at(-1), name) - share(curve[0], name);
  kept.sort((one, other) => growth(other) - growth(one));
  return isAll ? kept : [...kept, OTHERS];
}

function inWords(name, meanings) {
  if (name === START_UP) return `start-up until all ${units()} work`;
  if (name === OTHERS) return "all other terms together";
  return meanings.get(name) ?? name;
}

function columnsOf(names) {
  const of = (name) => [
    numeric(`seconds of ${name}`, name, number, { unit: "s", value: (row) => row.parts[name] }),
    numeric(`share of ${name}`, `share of ${name}`, (part) => asPercent(part), {
      value: (row) => share(row, name),
    }),
  ];
  return [sizes(), ...names.flatMap(of)];
}

function describe({ curve, shown }) {
  const told = (each, name) => `${name} ${asPercent(share(each, name, shown))}`;
  const listed = (each) => [...shown].reverse().map((name) => told(each, name)).join(", ");
  const [first, last] = [curve[0], curve.at(-1)];
  const on = (each) => `On ${executors(each.executors)}: ${listed(each)}.`;
  return `Shares of the time against ${units()}. ${on(first)}${last === first ? "" : ` ${on(last)}`}`;
}

/** What takes most of the time at the chosen and at the largest number of machines, in sentences. */
function dominance({ curve, chosen, names, meanings }) {
  const last = curve.at(-1);
  const most = (each) => names.reduce((best, name) => (each.parts[name] > each.parts[best] ? name : best));
  const says = (each) => {
    const name = most(each);
    return `${asPercent(share(each, name))} of the time is ${inWords(name, meanings)}`;
  };
  const sentences = [];
  if (chosen && chosen !== last) sentences.push(`On the chosen ${executors(chosen.executors)}, ${says(chosen)}.`);
  sentences.push(`On ${executors(last.executors)}, ${says(last)}.`);
  const turn = turningPoint(curve, names);
  if (turn === curve[0] && curve.length > 1) {
    sentences.push("At any of these sizes more than half of the time is work that does not spread.");
  } else if (turn) {
    sentences.push(
      `From ${executors(turn.executors)} on, more than half of the time is work that does not spread: further ` +
        `${units()} cannot help it.`,
    );
  } else if (curve.length > 1) {
    sentences.push(`Up to there more than half of the time is work that spreads: more ${units()} still help.`);
  }
  return sentences.join(" ");
}

/** Whether a part is work that machines shorten: by its formula, or by its seconds where it has only a name. */
function spreads(curve, name) {
  if (/executors|scale|^1$/.test(name) || name === START_UP) return /\/\s*(sqrt)?\(?\s*executors/.test(name);
  return curve.at(-1).parts[name] < HALF * curve[0].parts[name];
}

/** The first number of machines from which on most of the time does not spread; undefined if there is none. */
function turningPoint(curve, names) {
  const fixed = names.filter((name) => !spreads(curve, name));
  const isMostlyFixed = (each) => fixed.reduce((sum, name) => sum + share(each, name), 0) > HALF;
  const lastSpread = curve.findLastIndex((each) => !isMostlyFixed(each));
  return curve[lastSpread + 1];
}

/** The colour of a part by its place in the model, so that it is the same at each scale; -1 for the others. */
function place(name, { names, shown }) {
  return name === OTHERS ? -1 : (names.length > MOST_COLORS ? shown : names).indexOf(name);
}

function entries(picture) {
  return [...picture.shown].reverse().map((name) => {
    const at = place(name, picture);
    const words = inWords(name, picture.meanings);
    return {
      mark: "band",
      color: at < 0 ? "text-muted" : `series-${at + 1}`,
      pattern: PATTERNS[at]?.path,
      text: [START_UP, OTHERS, words].includes(name) ? words : `${words}: ${name}`,
    };
  });
}

function option(picture, colors) {
  const { curve, shown, chosen } = picture;
  const across = { ...frame("x", units(), colors), axisTick: { show: false } };
  return {
    grid: grid({ top: HEADROOM.top }),
    tooltip: {
      ...tooltip(colors, (params) => lines(params, picture)),
      trigger: "axis",
      axisPointer: { type: "shadow" },
    },
    xAxis: {
      ...across, type: "category", data: curve.map((each) => String(each.executors)), splitLine: { show: false },
      axisLabel: { color: colors.muted, fontSize: 12, hideOverlap: true },
    },
    yAxis: {
      ...frame("y", "share of the time", colors), nameGap: HEADROOM.nameGap, type: "value",
      min: 0, max: 1, interval: 0.25,
      axisLabel: { color: colors.muted, fontSize: 12, formatter: (value) => `${Math.round(100 * value)} %` },
    },
    series: [...shown.map((name, at) => {
      const of = place(name, picture);
      const decal = PATTERNS[of]?.decal;
      return {
        type: "bar", stack: "time", barMaxWidth: 100, emphasis: { disabled: true },
        barCategoryGap: curve.length > MOST_GAPS ? "0%" : "12%",
        itemStyle: {
          color: of < 0 ? colors.muted : colors.series[of],
          decal: decal && { ...decal, color: patternColor(colors) },
        },
        data: curve.map((each) => share(each, name, shown)),
        markLine: at === 0 && chosen ? chosenLine(chosen, curve, colors) : undefined,
      };
    })],
  };
}

function chosenLine(chosen, curve, colors) {
  return {
    silent: true, symbol: "none", animation: false,
    lineStyle: { color: colors.text, width: 2, type: "solid" },
    label: label(colors, () => "chosen", { position: "end", distance: 3, fontWeight: 650 }),
    data: [{ xAxis: curve.indexOf(chosen) }],
  };
}

function lines(params, { curve, shown, meanings }) {
  const each = curve[params[0]?.dataIndex];
  if (!each) return null;
  const ofPart = (name) => {
    const part = share(each, name, shown);
    return `${asPercent(part)}, ${duration(part * total(each))}: ${inWords(name, meanings)}`;
  };
  return [`${executors(each.executors)}: ${duration(each.seconds)}`, ...[...shown].reverse().map(ofPart)];
}
