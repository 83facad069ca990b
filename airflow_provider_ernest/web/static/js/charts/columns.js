/** Columns of the numbers behind the charts. */
import {
  capitalized, count, dataAmount, dollars, duration, percentage, signedPercentage, units,
} from "../format.js";

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

/** How many executors, titled as the page calls them: that is not known yet where columns are constants. */
export function sizes() {
  return { ...numeric("executors", "", count), get title() { return capitalized(units()); } };
}
