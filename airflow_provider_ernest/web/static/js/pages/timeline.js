/** The steps of a run over time, as bars. Plain elements: they reflow on phones by the style sheet. */

import { taskStateBadge } from "../badge.js";
import { element } from "../dom.js";
import { dateTime, dollars, duration, isolated } from "../format.js";
import { figure } from "../figure.js";
import { BOTTLENECKS, stepName } from "./step_kinds.js";

const TICK_SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
];
const MOST_TICKS = 6;
const FAILED = new Set(["failed", "upstream_failed"]);
const LEAST_WIDTH_PERCENT = 0.4;

function moment(iso) {
  const value = iso ? new Date(iso).getTime() / 1000 : NaN;
  return Number.isFinite(value) ? value : null;
}

/** [{step, start, end, isRunning}] of the steps that have started, in the order given. */
function barsOf(steps) {
  const now = Date.now() / 1000;
  const bars = [];
  for (const step of steps) {
    const start = moment(step.started_at);
    if (start === null) continue;
    const end = moment(step.ended_at);
    const isRunning = end === null && ["running", "deferred"].includes(step.state);
    bars.push({ step, start, end: end ?? (isRunning ? Math.max(now, start) : start), isRunning });
  }
  return bars;
}

function spanOf(bars) {
  const first = Math.min(...bars.map((bar) => bar.start));
  const last = Math.max(...bars.map((bar) => bar.end));
  return { first, length: Math.max(last - first, 1) };
}

function ticksOf(length, most) {
  const step = TICK_SECONDS.find((each) => length / each <= most) ?? Math.ceil(length / most / 86400) * 86400;
  const ticks = [];
  for (let at = 0; at <= length; at += step) ticks.push(at);
  return ticks;
}

function tickWords(at) {
  if (at === 0) return "0";
  return at === 60 ? "1 min" : duration(at);
}

function kindOf(step) {
  // A report that failed is no training that failed: its sign says that it did.
  if (FAILED.has(step.state) && step.kind !== BOTTLENECKS) return "failed";
  if (step.kind === "production") return "production";
  return step.kind === "sample_run" ? "sample" : "step";
}

/** The type of machine that the step trains on, where there are several; the branch's name before. */
export function typeName({ instance_type: type, branch }) {
  return branch ? isolated(type ?? branch) : null;
}

/** The task's name with its type: types may be trained at the same time. */
function typedName(step) {
  const type = typeName(step);
  return type ? `${type}: ${stepName(step)}` : stepName(step);
}

function barRow({ step, start, end, isRunning }, span) {
  const left = (100 * (start - span.first)) / span.length;
  const width = Math.max((100 * (end - start)) / span.length, LEAST_WIDTH_PERCENT);
  const isAtTheEnd = left + width > 75;
  const sign = FAILED.has(step.state) ? "✕ " : isRunning ? "… " : "";
  const label = element("span", {
    class: "bar-label",
    style: isAtTheEnd ? { right: `${100 - left}%` } : { left: `${left + width}%` },
  }, `${sign}${duration(end - start)}`);
  const bar = element("span", {
    class: `bar ${kindOf(step)}${isRunning ? " running" : ""}`,
    style: {
      left: `${Math.min(left, 100 - LEAST_WIDTH_PERCENT)}%`,
      width: `${Math.max(Math.min(width, 100 - left), LEAST_WIDTH_PERCENT)}%`,
    },
    title: `${typedName(step)}: ${step.state ?? "no state"}, ${duration(end - start)}`,
  });
  return element("div", { class: "timeline-row" },
    element("span", { class: "timeline-name", title: typedName(step) }, typedName(step)),
    element("span", { class: "timeline-track" }, bar, isAtTheEnd && left < 25 ? element("span",
      { class: "bar-label inside", style: { left: `${left}%` } }, `${sign}${duration(end - start)}`) : label));
}

function draw(bars) {
  return (container, _colors, { isNarrow }) => {
    const span = spanOf(bars);
    const ticks = ticksOf(span.length, isNarrow ? 3 : MOST_TICKS);
    const axis = element("div", { class: "timeline-row timeline-axis" },
      element("span", { class: "timeline-name" }, "Since the first step"),
      element("span", { class: "timeline-track" }, ticks.map((at) =>
        element("span", { class: "tick", style: { left: `${(100 * at) / span.length}%` } }, tickWords(at)))));
    container.append(element("div", { class: "timeline" }, axis, bars.map((bar) => barRow(bar, span))));
    return null;
  };
}

const LEGEND = [
  ["step", "Ernest"],
  ["sample", "Sample runs"],
  ["production", "Production"],
  ["failed", "Failed"],
];

function legendOf(bars) {
  const kinds = new Set(bars.map((bar) => kindOf(bar.step)));
  return LEGEND.filter(([kind]) => kinds.has(kind)).map(([kind, text]) =>
    element("span", { class: "legend-item" },
      element("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), text));
}

const COLUMNS = [
  { key: "name", title: "Step", value: typedName },
  { key: "task_id", title: "Task" },
  { key: "map_index", title: "Map index", align: "right" },
  { key: "state", title: "State", render: (step) => taskStateBadge(step.state) },
  { key: "started_at", title: "Started", class: "nowrap", render: (step) => dateTime(step.started_at) },
  { key: "ended_at", title: "Ended", class: "nowrap", render: (step) => dateTime(step.ended_at) },
  { key: "seconds", title: "Time", align: "right", render: (step) => duration(step.seconds) },
  { key: "cost", title: "Cost", align: "right", render: (step) => dollars(step.cost) },
];

/** The steps that have no bar, and why. */
function waitingWords(waiting) {
  const skipped = waiting.filter((step) => step.state === "skipped").length;
  const others = waiting.length - skipped;
  const steps = (number, one, many) => `${number === 1 ? `1 step ${one}` : `${number} steps ${many}`}`;
  const words = [
    skipped ? `${steps(skipped, "was", "were")} skipped.` : "",
    others ? `${steps(others, "has", "have")} not started.` : "",
  ];
  return words.filter(Boolean).join(" ") || null;
}

function optionsOf(steps) {
  const bars = barsOf(steps);
  const longest = [...bars].sort((left, right) => right.end - right.start - (left.end - left.start))[0];
  const description = bars.length
    ? `Bars of ${bars.length} steps over ${duration(Math.round(spanOf(bars).length))}. The longest is ` +
      `${typedName(longest.step)} with ${duration(longest.end - longest.start)}.`
    : "No step has started yet.";
  const waiting = steps.filter((step) => moment(step.started_at) === null);
  return {
    description,
    rows: steps,
    legend: legendOf(bars),
    caption: waitingWords(waiting),
    draw: bars.length
      ? draw(bars)
      : (container) => void container.append(element("p", { class: "muted" }, description)),
  };
}

/** A figure of the steps; `update(steps)` redraws it. */
export function timeline({ id, name, steps }) {
  const node = figure({
    id, name, title: "Timeline", question: "Where did the time go?", level: 3, columns: COLUMNS,
    ...optionsOf(steps),
  });
  node.classList.add("timeline-figure");
  const update = node.update;
  node.update = (changed) => update(optionsOf(changed));
  return node;
}
