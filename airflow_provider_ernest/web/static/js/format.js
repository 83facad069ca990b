/**
 * Numbers for people: the same words as those of `words.py`; both are tested with the cases of
 * tests/number_cases.json. What is not known, or no finite number, is a dash.
 */

export const UNKNOWN = "–";

const NO_BREAK = "\u00a0"; // a number and its unit stay on one line

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TOO_LONG = 1e9; // measured numbers from here on are written with a power of ten
const TOO_LONG_TO_COUNT = 1e15;
const TOO_SMALL = 1e-6; // so are those below
const LEAST_PERCENT = 5e-4; // what is nearer to 0 is a matter of floating-point numbers

function isKnown(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function withUnit(text, unit) {
  return `${text}${NO_BREAK}${unit}`;
}

function powerOfTen(value) {
  const [digits, power] = value.toExponential(2).split("e");
  return `${Number(digits)}e${Number(power)}`;
}

/** So many decimals, and a comma between thousands; no minus sign before what is rounded to nothing. */
function fixed(value, decimals) {
  if (Math.abs(value) >= TOO_LONG_TO_COUNT) return powerOfTen(value);
  const options = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const text = value.toLocaleString("en-US", options);
  return /[1-9]/.test(text) ? text : text.replace("-", "");
}

/** At most so many significant digits, without zeros at the end. */
function digitsOf(value, digits) {
  const size = Math.abs(value);
  if (size !== 0 && (size < TOO_SMALL || size >= TOO_LONG)) return powerOfTen(value);
  return Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 20 });
}

/** The power of ten of the first of so many significant digits: 0 of 7.3, 1 of 9.996 with three. */
function powerOf(value) {
  return Number(value.toExponential(2).split("e")[1]);
}

/** Three significant digits, whole from 100 on: 0.0123, 7.30, 81.0, 1,204, 4e12. */
export function number(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < TOO_SMALL || size >= TOO_LONG) return powerOfTen(value);
  return fixed(value, Math.max(0, 2 - powerOf(value)));
}

/** At most four significant digits, and no zeros that say nothing: 0.05, 1.5, 0.3, 1,234. */
export function plain(value) {
  return isKnown(value) ? digitsOf(value, 4) : UNKNOWN;
}

/** A whole number: 7, 1,204. */
export function count(value) {
  return isKnown(value) ? fixed(value, 0) : UNKNOWN;
}

/** A count with what is counted: 1 run, 2 runs, 1,204 runs. `many`: where the plural does not end in s. */
export function counted(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

/** What runs are called that a model was fitted to: "past run" where it was of past runs alone, else "sample run". */
export function kindOfRun(runs) {
  return runs.length && runs.every((run) => run.from_history) ? "past run" : "sample run";
}

let noun = "machine";

/** What the sizes of this page's model count: "machine", or "executor" of a shared cluster. */
export function countIn(unit) {
  noun = unit;
}

/** A machine, an executor. */
export function oneUnit() {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** Machines, executors. */
export function units() {
  return `${noun}s`;
}

/** 1 machine, 4 machines; or executors, see `countIn`. */
export function executors(value) {
  return isKnown(value) ? counted(value, noun) : UNKNOWN;
}

/** From one number to another: 2 to 8 machines; 12 machines where both are the same. */
export function executorsRange(low, high) {
  return low === high ? executors(low) : `${count(low)} to ${executors(high)}`;
}

/** With a capital letter at its beginning. */
export function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function inTwoUnits(value, by, larger, smaller) {
  const most = withUnit(count(Math.floor(value / by)), larger);
  return value % by ? withUnit(withUnit(most, value % by), smaller) : most;
}

/** How long something takes: 0.3 s, 12.3 s, 5 min 12 s, 1 h 5 min. */
export function duration(seconds) {
  if (!isKnown(seconds)) return UNKNOWN;
  if (seconds < 0) return `-${duration(-seconds)}`;
  const whole = Math.round(seconds);
  if (whole < 2 * MINUTE || seconds >= TOO_LONG) return withUnit(digitsOf(seconds, 3), "s");
  if (whole < HOUR) return inTwoUnits(whole, MINUTE, "min", "s");
  return inTwoUnits(Math.round(seconds / MINUTE), MINUTE, "h", "min");
}

/** From how long to how long, for [low, high]: 73.1 to 81 s, 4 min 50 s to 5 min 32 s. */
export function durationRange(range) {
  if (!Array.isArray(range) || range.length !== 2) return UNKNOWN;
  const [low, high] = range;
  const isShort = low >= 0 && low <= high && high < 2 * MINUTE - 1;
  return `${isShort ? digitsOf(low, 3) : duration(low)} to ${duration(high)}`;
}

/** How long ago: just now, 5 minutes, 3 hours, 12 days. */
export function age(seconds) {
  if (!isKnown(seconds)) return UNKNOWN;
  if (seconds < MINUTE) return "just now";
  if (seconds < HOUR) return counted(Math.floor(seconds / MINUTE), "minute");
  if (seconds < 2 * DAY) return counted(Math.floor(seconds / HOUR), "hour");
  return counted(Math.floor(seconds / DAY), "day");
}

/** The time zone that the reader has chosen in Airflow; without one the browser's, as on Airflow's pages. */
export function timeZone() {
  const named = (zone) => new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
  try {
    return named(JSON.parse(window.localStorage.getItem("timezone")) ?? undefined);
  } catch {
    return named(undefined); // storage is forbidden, or holds no zone
  }
}

/** A moment (ISO 8601) in the time zone of Airflow's pages: 2026-11-21 18:45:03. */
export function dateTime(iso) {
  const moment = iso ? new Date(iso) : null;
  if (!moment || Number.isNaN(moment.getTime())) return UNKNOWN;
  // Swedish dates are ISO 8601.
  return moment.toLocaleString("sv-SE", { timeZone: timeZone() });
}

const MOMENT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/g;

/** The text with its moments (ISO 8601) as they are written elsewhere on the page. */
export function inReadersTime(text) {
  return text.replace(MOMENT, (iso) => {
    const words = dateTime(iso);
    return words === UNKNOWN ? iso : words;
  });
}

/** US dollars: at least cents, three digits of what is less than one. */
export function dollars(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value < 0) return `-${dollars(-value)}`;
  if (value >= TOO_LONG || (value > 0 && value < TOO_SMALL)) return `$${powerOfTen(value)}`;
  const decimals = value >= 1 || value === 0 ? 2 : 2 - powerOf(value);
  const [whole, cents = ""] = fixed(value, decimals).split(".");
  return `$${whole}.${cents.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** A percentage (not a share), with a decimal where it is below 10: 0.04 %, 4.2 %, 5 %, 41 %. */
export function percentage(percent) {
  if (!isKnown(percent)) return UNKNOWN;
  const size = Math.abs(percent);
  if ((size >= LEAST_PERCENT && size < 0.095) || size >= TOO_LONG) return withUnit(digitsOf(percent, 1), "%");
  return withUnit(fixed(percent, size < 9.95 ? 1 : 0).replace(/\.0$/, ""), "%");
}

/** An error or a change, in percent, with its sign: -9.1 %, +63 %. */
export function signedPercentage(percent) {
  const text = percentage(percent);
  // By the text, not the value: what is rounded to 0 has no sign.
  return percent > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** An error of the API, positive where the prediction was too high, as what the run took: 5 % longer, 21 % shorter. */
export function deviation(error) {
  if (!isKnown(error) || error <= -100) return UNKNOWN;
  const change = 100 / (1 + error / 100) - 100;
  if (Math.abs(change) < 0.05) return "the same";
  return `${percentage(Math.abs(change))} ${change > 0 ? "longer" : "shorter"}`;
}

/** A share (not a percentage), with the digits of `percentage`: 0.5 %, 12 %, 100 %. */
export function asPercent(share) {
  return isKnown(share) ? percentage(100 * share) : UNKNOWN;
}

/** How much of the input a run reads, to three digits: 5 %, 9.82 %, 100 %, 1,235 %. */
export function inputShare(scale) {
  if (!isKnown(scale)) return UNKNOWN;
  const percent = 100 * scale;
  const isLong = Math.abs(percent) >= 1000 && Math.abs(percent) < TOO_LONG;
  return withUnit(isLong ? fixed(percent, 0) : digitsOf(percent, 3), "%");
}

/** A probability that somebody asks for, with all its digits: 80 %, 99.95 %. */
export function confidence(share) {
  return isKnown(share) ? withUnit(digitsOf(100 * share, 10), "%") : UNKNOWN;
}

/** No model tells probabilities nearer to 1, or to 0. */
const ALMOST_ONE = 0.999;
const MOST_DECIMALS = 3;

/**
 * A probability, of which none is certain: 87 %, 99.6 %, over 99.9 %.
 *
 * @param {number} value
 * @param {number} [asked] for: a lower probability gets as many decimals as tell it from that: 79.8 %.
 */
export function probability(value, asked) {
  if (!isKnown(value)) return UNKNOWN;
  if (value > ALMOST_ONE) return withUnit(`over ${digitsOf(100 * ALMOST_ONE, 3)}`, "%");
  if (value < 1 - ALMOST_ONE) return withUnit(`under ${digitsOf(100 * (1 - ALMOST_ONE), 3)}`, "%");
  let decimals = value > 0.99 || value < 0.0995 ? 1 : 0;
  const isSame = () => fixed(100 * value, decimals) === fixed(100 * asked, decimals);
  if (isKnown(asked) && value < asked) while (decimals < MOST_DECIMALS && isSame()) decimals += 1;
  return withUnit(fixed(100 * value, decimals).replace(/\.0$/, ""), "%");
}

const BYTES = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/** An amount of data in bytes: 512 bytes, 1.50 GB. */
export function dataAmount(value) {
  if (!isKnown(value)) return UNKNOWN;
  if (value < 1000) return withUnit(count(value), BYTES[0]);
  const digits = BigInt(Math.floor(value)).toString().length;
  const power = Math.min(BYTES.length - 1, Math.floor((digits - 1) / 3));
  return withUnit(number(value / 1000 ** power), BYTES[power]);
}

/** Gigabytes per second: 1.3 GB/s. */
export function bandwidth(value) {
  return isKnown(value) ? withUnit(digitsOf(value, 3), "GB/s") : UNKNOWN;
}

/** The first characters of a hash, as people compare them. */
export function shortHash(sha) {
  return sha ? String(sha).slice(0, 10) : UNKNOWN;
}

const TURNS_DIRECTION = /[\u202a-\u202e\u2066-\u2069]/;
const ISOLATE = "\u2068";
const END_OF_ISOLATE = "\u2069";

/** A name within a sentence: characters in it that turn the direction of writing turn nothing behind it. */
export function isolated(text) {
  return TURNS_DIRECTION.test(text ?? "") ? `${ISOLATE}${text}${END_OF_ISOLATE}` : String(text ?? "");
}

/** The text with its quantities unbroken: "9 min 50 s" and "5 %" stay on one line. */
export function unbroken(text) {
  return text.replace(/(\d|\bmin|\bh) (?=\d|%|(?:s|min|h)\b)/g, `$1${NO_BREAK}`);
}
