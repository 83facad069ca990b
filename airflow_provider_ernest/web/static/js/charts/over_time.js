/** Axes of what happened over days and months. */
import { dateTime } from "../format.js";
import { frame, tick } from "./axes.js";

const DAY_MILLISECONDS = 24 * 3600 * 1000;

/** Half of a date, in pixels. */
export const DATE_ROOM = 40;

/** A moment (ISO 8601) in milliseconds. */
export function moment(iso) {
  return new Date(iso).getTime();
}

/** The axis of moments in milliseconds. */
export function timeAxis(moments, colors) {
  const [first, last] = [Math.min(...moments), Math.max(...moments)];
  const pad = Math.max((last - first) * 0.04, DAY_MILLISECONDS / 24);
  const isLong = last - first > 3 * DAY_MILLISECONDS;
  return {
    ...frame("x", "", colors),
    type: "time",
    min: first - pad,
    max: last + pad,
    splitLine: { show: false },
    axisTick: { lineStyle: { color: colors.border } },
    axisLabel: {
      color: colors.muted,
      fontSize: 12,
      hideOverlap: true,
      showMinLabel: false,
      showMaxLabel: false,
      formatter: (value) => {
        const words = dateTime(new Date(value).toISOString());
        return isLong ? words.slice(0, 10) : words.slice(5, 16);
      },
    },
  };
}

/** A tick of a percentage. */
export function inPercent(value) {
  return `${tick(value)} %`;
}

/** A tick of a percentage with its sign. */
export function signed(value) {
  return `${value > 0 ? "+" : ""}${inPercent(value)}`;
}
