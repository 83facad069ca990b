/** Columns of the numbers behind the charts. */
import { dataAmount, dollars, duration, percentage, signedPercentage } from "../format.js";

/** The units of numbers that are shown with theirs. */
const UNITS = new Map([
  [dollars, "dollars"], [duration, "seconds"], [percentage, "percent"], [signedPercentage, "percent"],
  [dataAmount, "bytes"],
]);

/** A column of numbers: the table shows them by `format`, files hold the numbers themselves. */
export function numeric(key, title, format, more = {}) {
  const value = more.value ?? ((row) => row[key]);
  const render = (row) => format(value(row));
  return { key, title, align: "right", value, render, fileUnit: UNITS.get(format), ...more };
}
