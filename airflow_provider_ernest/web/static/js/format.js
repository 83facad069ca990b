/** Numbers for people: the same words as the package's report. What is not known is a dash. */

export const UNKNOWN = "–";

const NO_BREAK = "\u00a0"; // a number and its unit stay on one line

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TOO_LONG = 1e9; // numbers from here on are written with a power of ten

function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function grouped(value, decimals) {
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function withoutNegativeZero(text) {
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
}

/** Three significant digits, whole from 100 on: 0.0123, 7.30, 81.0, 1,204. */
export function number(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value === 0) return "0";
  if (Math.abs(value) >= TOO_LONG || Math.abs(value) < 1e-6) return value.toExponential(2);
  // Rounded first: 9.996 has as many decimals as 10.0.
  const rounded = Math.abs(Number(value.toPrecision(3)));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)));
  return grouped(value, Math.min(decimals, 8));
}

/** A count: 7, 1,204. */
export function count(value) {
  return isNumber(value) ? grouped(Math.round(value), 0) : UNKNOWN;
}

function inTwoUnits(value, by, larger, smaller) {
  const whole = `${grouped(Math.floor(value / by), 0)}${NO_BREAK}${larger}`;
  return value % by ? [whole, value % by, smaller].join(NO_BREAK) : whole;
}

/** A duration: 73.0 s, 2 min 5 s, 2 h 5 min. */
export function seconds(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value < 0) return `-${seconds(-value)}`;
  if (value >= TOO_LONG) return `${value.toExponential(2)}${NO_BREAK}s`;
  if (value < 2 * MINUTE) return `${Number.isInteger(value) ? value : number(value)}${NO_BREAK}s`;
  if (value < 2 * HOUR) return inTwoUnits(Math.round(value), MINUTE, "min", "s");
  return inTwoUnits(Math.round(value / MINUTE), MINUTE, "h", "min");
}

/** A span of time: "73.0 s to 81.0 s", for [low, high]. */
export function secondsRange(range) {
  if (!Array.isArray(range) || range.length !== 2) return UNKNOWN;
  return `${seconds(range[0])} to ${seconds(range[1])}`;
}

/** US dollars: at least cents, three digits of what is less than one. */
export function dollars(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value < 0) return `-${dollars(-value)}`;
  if (value > TOO_LONG) return `$${value.toExponential(2)}`;
  const decimals = value >= 1 || value === 0 ? 2 : Math.min(8, 2 - Math.floor(Math.log10(value)));
  const [whole, cents = ""] = grouped(value, decimals).split(".");
  return `$${whole}.${cents.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** A percentage (not a share) with its unit: 4.2 %. */
export function percent(value, digits = 1) {
  return isNumber(value) ? `${withoutNegativeZero(grouped(value, digits))}${NO_BREAK}%` : UNKNOWN;
}

/** A signed percentage: +4.2 %, -1.0 %. */
export function signedPercent(value, digits = 1) {
  const text = percent(value, digits);
  // By the text, not the value: what is rounded to 0.0 has no sign.
  return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** No model tells probabilities nearer to 1, or to 0. */
const ALMOST_ONE = 0.999;

/** A probability (not a percentage), of which none is certain: 87 %, 99.6 %, over 99.9 %. */
export function probability(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value > ALMOST_ONE) return `over ${percent(100 * ALMOST_ONE)}`;
  if (value < 1 - ALMOST_ONE) return `below ${percent(100 * (1 - ALMOST_ONE))}`;
  return percent(100 * value, value > 0.99 || value < 0.0995 ? 1 : 0);
}

/** A scale (a share of the target input) as a percentage: 5 %, 9.82 %, 100 %, 1,235 %. */
export function scale(value) {
  if (!isNumber(value)) return UNKNOWN;
  const share = 100 * value;
  if (Math.abs(share) >= TOO_LONG) return `${share.toExponential(2)}${NO_BREAK}%`;
  const rounded = Math.abs(share) < 1000 ? Number(share.toPrecision(3)) : Math.round(share);
  return `${rounded.toLocaleString("en-US", { maximumFractionDigits: 12 })}${NO_BREAK}%`;
}

const BYTES = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/** An amount of data: 512 bytes, 1.50 GB. */
export function bytes(value) {
  if (!isNumber(value)) return UNKNOWN;
  const power = value < 1000 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(value) / 3));
  const amount = value / 1000 ** power;
  return `${power ? number(amount) : count(amount)}${NO_BREAK}${BYTES[power]}`;
}

/** A count with what is counted: 1 run, 2 runs, 1,204 runs. `many`: where the plural does not end in s. */
export function plural(amount, one, many = `${one}s`) {
  return `${count(amount)} ${amount === 1 ? one : many}`;
}

/** From one count to another: 2 to 8 machines; 12 machines where both are the same. */
export function pluralRange(low, high, one, many = `${one}s`) {
  return low === high ? plural(low, one, many) : `${count(low)} to ${plural(high, one, many)}`;
}

/** How long ago: just now, 5 minutes, 3 hours, 12 days. */
export function age(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value < MINUTE) return "just now";
  if (value < HOUR) return plural(Math.floor(value / MINUTE), "minute");
  if (value < 2 * DAY) return plural(Math.floor(value / HOUR), "hour");
  return plural(Math.floor(value / DAY), "day");
}

/** A moment (ISO 8601) in the reader's time zone: 2026-11-21 18:45:03. */
export function dateTime(iso) {
  const moment = iso ? new Date(iso) : null;
  if (!moment || Number.isNaN(moment.getTime())) return UNKNOWN;
  const two = (value) => String(value).padStart(2, "0");
  const day = `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
  return `${day} ${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;
}

const MOMENT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/g;

/** The text with its moments (ISO 8601) as they are written elsewhere on the page. */
export function inReadersTime(text) {
  return text.replace(MOMENT, (iso) => {
    const words = dateTime(iso);
    return words === UNKNOWN ? iso : words;
  });
}

/** The first characters of a hash, as people compare them. */
export function shortHash(sha) {
  return sha ? String(sha).slice(0, 10) : UNKNOWN;
}

/** A bandwidth in gigabytes per second, with its unit. */
export function bandwidth(value) {
  return isNumber(value) ? `${number(value)}${NO_BREAK}GB/s` : UNKNOWN;
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

/** 1 machine, 4 machines. */
export function machines(value) {
  return isNumber(value) ? plural(value, "machine") : UNKNOWN;
}
