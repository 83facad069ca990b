/** What people type into fields: numbers, and how long something may take. */

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const WITH_COMMA = /^([+-]?\d+),(\d+)$/;

/** By their names, from long ones to short ones. */
const UNITS = [
  ["d", /^d(?:ays?)?$/, 86_400],
  ["h", /^h(?:(?:ou)?rs?)?$/, 3600],
  ["min", /^m(?:in(?:ute)?s?)?$/, 60],
  ["s", /^s(?:ec(?:ond)?s?)?$/, 1],
];
const PART = /^(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*/;
const CLOCK = /^(?:(\d+):)?(\d{1,2}):(\d{2}(?:\.\d+)?)$/;

/** The number that somebody typed, or null where it is none: "12,5", "1e" and "abc" are none. */
export function typedNumber(text) {
  const value = NUMBER.test(text.trim()) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
}

/** What is wrong with a text that is no number, and what to type instead. */
export function noNumber(text) {
  const [, whole, decimals] = WITH_COMMA.exec(text.trim()) ?? [];
  if (whole === undefined) return `“${text.trim()}” is not a number: type digits, such as 12.5.`;
  const instead = decimals.length === 3 ? `${whole}${decimals}, or ${whole}.${decimals}` : `${whole}.${decimals}`;
  return `“${text.trim()}” is not a number: type ${instead}, without a comma.`;
}

/** The seconds that somebody typed as 420, 7m, 1h30, 1h 30m, 90 s or 1:30:00; null where it is no time. */
export function typedDuration(text) {
  const typed = text.replace(/\s+/g, " ").trim().toLowerCase();
  const seconds = typedNumber(typed) ?? byTheClock(typed) ?? inUnits(typed);
  return seconds !== null && seconds >= 0 ? seconds : null;
}

/** What is wrong with a text that is no time, and what to type instead. */
export function noDuration(text) {
  if (WITH_COMMA.test(text.trim())) return noNumber(text);
  return `“${text.trim()}” is no time: type 7m, 1h30, or seconds as 420.`;
}

function byTheClock(typed) {
  const [, hours, minutes, seconds] = CLOCK.exec(typed) ?? [];
  if (minutes === undefined || Number(seconds) >= 60 || (hours !== undefined && Number(minutes) >= 60)) return null;
  return 3600 * Number(hours ?? 0) + 60 * Number(minutes) + Number(seconds);
}

function inUnits(typed) {
  let [rest, sum, last] = [typed, 0, -1];
  while (rest) {
    const [part, amount, name] = PART.exec(rest) ?? [];
    // A last number without a unit is of the next shorter one: 1h30.
    const isLast = part !== undefined && name === "" && part.length === rest.length && last >= 0;
    const unit = isLast ? last + 1 : UNITS.findIndex(([, named]) => name && named.test(name));
    if (part === undefined || unit <= last || unit >= UNITS.length) return null;
    sum += Number(amount) * UNITS[unit][2];
    [rest, last] = [rest.slice(part.length), unit];
  }
  return last >= 0 ? sum : null;
}

/** Seconds as they are typed and read, with nothing rounded: 420 is 7 min, 5405 is 1 h 30 min 5 s. */
export function asTyped(seconds) {
  if (!Number.isInteger(seconds) || seconds < 120) return `${seconds} s`;
  let rest = seconds;
  const parts = UNITS.slice(1).map(([name, , length]) => {
    const amount = Math.floor(rest / length);
    rest -= amount * length;
    return amount ? `${amount} ${name}` : "";
  });
  return parts.filter(Boolean).join(" ");
}
