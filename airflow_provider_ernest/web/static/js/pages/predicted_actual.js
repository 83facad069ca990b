/** What was predicted of the production run beside what it took, on one line of time. */

import { element } from "../dom.js";
import { figure } from "../figure.js";
import { duration, durationRange } from "../format.js";
import { errorWords, intervalWords } from "./run_words.js";

const COLUMNS = [
  { key: "name", title: "Number" },
  { key: "seconds", title: "Time", align: "right", render: (row) => duration(row.seconds) },
  { key: "low_seconds", title: "From", align: "right", render: (row) => duration(row.low_seconds) },
  { key: "high_seconds", title: "To", align: "right", render: (row) => duration(row.high_seconds) },
];

function numbersOf({ decision, production, choice }) {
  const isOver = production?.state === "success";
  return {
    predicted: production?.predicted_seconds ?? decision?.predicted_seconds ?? null,
    likely: production?.likely_seconds ?? decision?.likely_seconds ?? null,
    nearlyCertain: production?.nearly_certain_seconds ?? decision?.nearly_certain_seconds ?? null,
    actual: isOver ? (production.seconds ?? null) : null,
    deadline: choice?.latest_seconds ?? null,
  };
}

function axisOf({ predicted, likely, nearlyCertain, actual, deadline }) {
  const all = [predicted, actual, deadline, ...(likely ?? []), ...(nearlyCertain ?? [])];
  const values = all.filter((each) => each !== null);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const margin = Math.max((high - low) * 0.12, high * 0.02);
  const start = Math.max(0, low - margin);
  const length = high + margin - start;
  return (value) => `${(100 * (value - start)) / length}%`;
}

function band(range, at, name) {
  if (!range) return null;
  const [low, high] = range.map(at);
  return element("span", { class: `range ${name}`, style: { left: low, width: `calc(${high} - ${low})` } });
}

function marker(value, at, name, words) {
  if (value === null) return null;
  const place = parseFloat(at(value));
  const side = place > 65 ? "left-of" : place < 35 ? "right-of" : "centred";
  return element("span", { class: `marker ${name}`, style: { left: at(value) } },
    element("span", { class: `marker-label ${side}` }, `${words} ${duration(value)}`));
}

function end(value, at, side) {
  return element("span", { class: `range-end ${side}`, style: { left: at(value) } }, duration(value));
}

function draw(numbers) {
  return (container) => {
    const at = axisOf(numbers);
    const widest = numbers.nearlyCertain ?? numbers.likely;
    const hasDeadline = numbers.deadline !== null;
    container.append(element("div", { class: `ranges${hasDeadline ? " with-deadline" : ""}` },
      band(numbers.nearlyCertain, at, "nearly-certain"),
      band(numbers.likely, at, "likely"),
      marker(numbers.predicted, at, "predicted", "predicted"),
      marker(numbers.actual, at, "actual", "actual"),
      marker(numbers.deadline, at, "deadline", "deadline"),
      widest ? [end(widest[0], at, "low"), end(widest[1], at, "high")] : null));
    return null;
  };
}

function describe(numbers, production) {
  const words = [`Predicted ${duration(numbers.predicted)}`];
  if (numbers.likely) words.push(`in four of five runs ${durationRange(numbers.likely)}`);
  if (numbers.nearlyCertain) words.push(`in 19 of 20 ${durationRange(numbers.nearlyCertain)}`);
  if (numbers.deadline !== null) words.push(`deadline ${duration(numbers.deadline)}`);
  if (numbers.actual === null) words.push("production has not ended successfully yet");
  else words.push(`actual ${duration(numbers.actual)}`, intervalWords(production));
  return `${words.filter(Boolean).join("; ")}.`;
}

function legend(numbers) {
  const item = (name, text) => element("span", { class: "legend-item" },
    element("span", { class: `swatch ${name}`, "aria-hidden": "true" }), text);
  return [
    numbers.likely ? item("likely", "80 % interval") : null,
    numbers.nearlyCertain ? item("nearly-certain", "95 % interval") : null,
  ];
}

function optionsOf(group) {
  const numbers = numbersOf(group);
  const error = group.production?.error_percent;
  const range = (name, values) => (values ? [{ name, low_seconds: values[0], high_seconds: values[1] }] : []);
  return {
    description: describe(numbers, group.production),
    caption: numbers.actual !== null && typeof error === "number" ? `${errorWords(error)}.` : null,
    legend: legend(numbers),
    draw: draw(numbers),
    rows: [
      { name: "predicted", seconds: numbers.predicted },
      ...range("80 % interval", numbers.likely),
      ...range("95 % interval", numbers.nearlyCertain),
      { name: "actual", seconds: numbers.actual },
      ...(numbers.deadline === null ? [] : [{ name: "deadline", seconds: numbers.deadline }]),
    ],
  };
}

/** Whether there is anything to draw of the group. */
export function hasPrediction(group) {
  return numbersOf(group).predicted !== null;
}

/** A figure of the prediction and the production run; `update(group)` redraws it. */
export function predictedAgainstActual({ id, name, group }) {
  const node = figure({
    id, name, title: "Predicted against actual", question: "Did the prediction hold?", level: 3,
    columns: COLUMNS, ...optionsOf(group),
  });
  node.classList.add("ranges-figure");
  const update = node.update;
  node.update = (changed) => update(optionsOf(changed));
  return node;
}
