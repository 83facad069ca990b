/** Axes whose ticks are round numbers, logarithmic and linear ones. */
const MINUTE = 60;
const HOUR = 3600;

/** Shares of a decade (or of a range, on both sides) that points keep from the frame. */
const MARGIN = 0.04;

const FEWEST_TICKS = 3;
const MOST_TICKS = 7;

/** Ratios up to here are too small for ticks at the same digits of each decade. */
const WITHIN_A_DECADE = 6;

/** Digits of the ticks within a decade, from many to few. */
const LADDERS = [
  [1, 2, 5],
  [1, 3],
  [1],
];

/** The unit in which so many seconds are read best: {name, seconds}. */
export function timeUnit(longestSeconds) {
  if (longestSeconds >= 3 * HOUR) return { name: "hours", seconds: HOUR };
  if (longestSeconds >= 20 * MINUTE) return { name: "minutes", seconds: MINUTE };
  return { name: "seconds", seconds: 1 };
}

/** A round number on an axis: 0.05, 2, 1,000. */
export function tick(value) {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
}

/** Round numbers between two, evenly spaced, about as many as wanted. */
function linearTicks(low, high, most = MOST_TICKS) {
  const raw = (high - low) / most;
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = decade * ([1, 2, 5, 10].find((each) => each * decade >= raw * 0.999) ?? 10);
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-12) + step * 1e-9; at += 1) {
    // Rounded, for 3 times 0.1 is not 0.3.
    ticks.push(Number((at * step).toPrecision(12)));
  }
  return ticks;
}

/** Round numbers between two above 0 for a logarithmic axis. */
function logarithmicTicks(low, high, most = MOST_TICKS) {
  if (high < WITHIN_A_DECADE * low) return linearTicks(low, high, most);
  const found = LADDERS.map((digits) => onLadder(low, high, digits)).find(
    (ticks) => ticks.length <= most && ticks.length >= FEWEST_TICKS,
  );
  if (found) return found;
  const decades = onLadder(low, high, [1]);
  if (decades.length <= most) return linearTicks(low, high, most);
  const every = Math.ceil(decades.length / most);
  return decades.filter((_, at) => at % every === 0);
}

function onLadder(low, high, digits) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const digit of digits) {
      const tick = Number((digit * 10 ** power).toPrecision(12));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Numbers of machines for an axis: each where there are few, doubling where there are many. */
function machineTicks(low, high, isLogarithmic) {
  const first = Math.ceil(low);
  const last = Math.floor(high);
  if (last - first < MOST_TICKS) return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  if (!isLogarithmic) return linearTicks(first, last).filter((tick) => Number.isInteger(tick) && tick >= 1);
  if (last < 4 * first) {
    return logarithmicTicks(first, last).filter((tick) => Number.isInteger(tick));
  }
  const doublings = [];
  for (let tick = 1; tick <= last; tick *= 2) if (tick >= first) doublings.push(tick);
  const every = Math.ceil(doublings.length / (MOST_TICKS + 1));
  return doublings.filter((_, at) => at % every === 0);
}

/** The lowest and the highest of the finite numbers; [1, 1] where there is none. */
export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [1, 1];
}

/**
 * An axis for ECharts.
 *
 * @param {object} options {name, values, isLogarithmic?, fromZero?, isMachines?, format?, mostTicks?, along, colors}: the
 *   name has the unit, the values must all be on the axis, format gives the words of a tick, along is "x" or "y"
 */
export function axis(options) {
  const { name, values, isLogarithmic, fromZero, isMachines, format = tick, along, colors } = options;
  const [min, max] = isLogarithmic ? paddedByRatio(values) : padded(values, fromZero);
  const most = options.mostTicks ?? (along === "x" ? MOST_TICKS : MOST_TICKS - 1);
  const ticks = isMachines
    ? machineTicks(min, max, isLogarithmic)
    : (isLogarithmic ? logarithmicTicks : linearTicks)(min, max, most);
  return {
    ...frame(along, name, colors),
    type: isLogarithmic ? "log" : "value",
    min,
    max,
    axisTick: { show: true, customValues: ticks, lineStyle: { color: colors.border } },
    axisLabel: {
      customValues: ticks,
      color: colors.muted,
      fontSize: 12,
      hideOverlap: true,
      formatter: (value) => format(value),
    },
  };
}

function paddedByRatio(values) {
  const [low, high] = extent(values.filter((value) => value > 0));
  const pad = Math.max((high / low) ** MARGIN, 1.06);
  return [low / pad, high * pad];
}

function padded(values, fromZero) {
  const [low, high] = extent(values);
  const pad = (high - (fromZero ? 0 : low)) * (fromZero ? MARGIN : 2 * MARGIN) || Math.abs(high) * 0.1 || 1;
  return [fromZero ? 0 : low - pad, high + pad];
}

/** What all axes share: their lines, and their names where they take no room from the picture. */
export function frame(along, name, colors) {
  const across = along === "x";
  return {
    name,
    nameLocation: across ? "middle" : "end",
    nameGap: across ? 28 : 12,
    nameTextStyle: { color: colors.muted, fontSize: 12, align: across ? "center" : "left" },
    axisLine: { show: across, onZero: false, lineStyle: { color: colors.muted } },
    splitLine: { show: true, lineStyle: { color: colors.grid, width: 1 } },
    minorTick: { show: false },
  };
}
