/** The controls of what is billed besides the hours of the machines, folded away until they are wanted. */
import { numberField } from "../controls.js";
import { element, setText } from "../dom.js";
import { count, dollars, duration, number, units } from "../format.js";

const LARGEST = 1e9;

/** Of `Billing`, by the API's names. */
const FIELDS = [
  { key: "boot_seconds", id: "boot", label: "Launch and boot", unit: "s",
    hint: "Before the submission: billed, and part of what the deadline allows." },
  { key: "master_price_per_hour", id: "master-price", label: "Master", unit: "$ per hour",
    hint: "0 where it is none of its own." },
  { key: "volume_gigabytes", id: "volume", label: "Volume of a machine", unit: "GB" },
  { key: "volume_price_per_gigabyte_month", id: "volume-price", label: "Volumes", unit: "$ per GB-month" },
  { key: "minimum_seconds", id: "minimum-seconds", label: "Billed at least", unit: "s" },
  { key: "increment_seconds", id: "increment-seconds", label: "Billed in steps of", unit: "s",
    hint: "3600 where by the hour.", minimum: 1e-9 },
  { key: "expected_runs", id: "expected-runs", label: "Runs that share the training", isOptional: true,
    isWhole: true, minimum: 1, placeholder: "not counted", hint: "Left empty, it is not counted." },
  { key: "training_dollars", id: "training-dollars", label: "Training", unit: "$", isOptional: true,
    placeholder: "unknown", hint: "What all sample runs cost." },
];

/**
 * The controls.
 *
 * @param {object} billed what is asked at first
 * @param {(changed: object) => void} onChange with all of it, changed
 * @param {(words: string) => void} onInvalid with what is wrong with a value
 */
export function billedControls(billed, onChange, onInvalid) {
  const now = { ...billed };
  const words = element("span", { class: "muted" });
  const tell = () => setText(words, inWords(now));
  const fields = FIELDS.map(({ key, isOptional, minimum = 0, ...field }) => numberField({
    minimum, maximum: LARGEST, onInvalid, ...field, isRequired: !isOptional, value: now[key],
    onChange: (value) => {
      now[key] = value;
      tell();
      onChange({ ...now });
    },
  }));
  tell();
  return element("details", { class: "billed" },
    element("summary", {}, "What is billed", words),
    element("div", { class: "controls" }, fields));
}

/** What is billed besides the machines, behind the heading: it counts while it is folded away, too. */
function inWords(billed) {
  const parts = [
    billed.boot_seconds && `${duration(billed.boot_seconds)} to boot`,
    billed.master_price_per_hour && `a master at ${dollars(billed.master_price_per_hour)} an hour`,
    billed.volume_gigabytes && `volumes of ${number(billed.volume_gigabytes)} GB`,
    billed.training_dollars && billed.expected_runs &&
      `1/${count(billed.expected_runs)} of ${dollars(billed.training_dollars)} of training`,
  ].filter(Boolean);
  return `: ${[`the ${units()}`, ...parts].join(", ")}`;
}
