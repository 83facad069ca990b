/** The table of models: what each job runs on, takes, costs and saves; on phones its rows are cards. */

import { pageUrl } from "../api.js";
import { toneBadge } from "../badge.js";
import { element } from "../dom.js";
import { age, count, dateTime, dollars, duration, percentage, probability } from "../format.js";
import { cell, dataTable } from "../table.js";

const BY_SIZE = ["smallest first", "largest first"];

/** What the server sorts by; `orders`: in words, ascending and descending. A run's dollars stand below a month's. */
export const SORTS = [
  { key: "month", title: "Dollars a month", orders: BY_SIZE },
  { key: "saved", title: "Saved a month", orders: ["least first", "most first"] },
  { key: "cost", title: "Dollars a run", orders: BY_SIZE },
  { key: "deadlines", title: "Deadlines kept", orders: ["fewest first", "most first"] },
  { key: "seconds", title: "Time", orders: ["shortest first", "longest first"] },
  { key: "executors", title: "Size", orders: BY_SIZE },
  { key: "state", title: "State", orders: ["best first", "worst first"] },
  { key: "run_at", title: "Last run", orders: ["oldest first", "newest first"] },
  { key: "job", title: "Job", orders: ["A to Z", "Z to A"] },
];

/** Whether the first click sorts from the newest, worst or most on. */
export function startsDescending(key) {
  return !["job", "deadlines"].includes(key);
}

function jobCell(row) {
  const href = pageUrl("model", { job: row.job, instance_type: row.instance_type });
  const below = [row.instance_type, row.dag_id ? `DAG ${row.dag_id}` : null].filter(Boolean).join(" · ");
  return cell(element("a", { href }, row.job), below);
}

function machinesCell(row) {
  const below = [row.executors_type, row.is_fallback ? "fallback" : null].filter(Boolean).join(", ");
  return row.executors === null ? null : cell(count(row.executors), below);
}

function timeCell(row) {
  if (row.predicted_seconds === null) return row.seconds === null ? null : duration(row.seconds);
  if (row.seconds === null) return cell(duration(row.predicted_seconds), "predicted");
  const predicted = duration(row.predicted_seconds);
  return cell(duration(row.seconds), `predicted ${predicted}`, row.is_far_off ? deviation(row) : null);
}

function deviation(row) {
  const over = 100 * (row.seconds / row.predicted_seconds - 1);
  return `${percentage(Math.abs(over))} ${over < 0 ? "shorter" : "longer"}`;
}

const NOT_KNOWN = element("span", { class: "muted" }, "not known");

function monthCell(row) {
  const { cost, is_cost_predicted: isPredicted, dollars_per_month: month } = row;
  if (cost === null && month === null) return row.production_runs ? NOT_KNOWN.cloneNode(true) : null;
  const run = cost === null ? null : `${isPredicted ? "predicted " : ""}${dollars(cost)} a run`;
  return cell(month === null ? NOT_KNOWN.cloneNode(true) : dollars(month), run);
}

/** Against what a run cost before. */
function savedCell(row) {
  const { saved_per_month: saved, cost_before: before } = row;
  const was = before === null ? null : `was ${dollars(before)}`;
  if (saved === null) return row.production_runs ? cell(NOT_KNOWN.cloneNode(true), was) : null;
  return cell(dollars(saved), was, saved < 0 ? "dearer now" : null);
}

function deadlinesCell({ deadlines: { kept, judged, asked, is_short: isShort } }) {
  if (!judged) return null;
  return cell(`${count(kept)} of ${count(judged)}`, null,
    isShort ? `asked: ${probability(asked)}` : null);
}

function stateCell({ badges }) {
  return element("span", { class: "badges" }, badges.map(toneBadge));
}

function ago(value) {
  const words = age(value);
  return /\d/.test(words) ? `${words} ago` : words;
}

function lastRunCell(row) {
  const moment = (iso, value) =>
    element("time", { class: "nowrap", datetime: iso, title: dateTime(iso) }, ago(value));
  if (row.run_at !== null) return moment(row.run_at, row.run_age_seconds);
  return cell("Not run yet", ["trained ", moment(row.created_at, row.age_seconds)]);
}

const COLUMNS = [
  { key: "job", title: "Job", class: "words", render: jobCell },
  { key: "executors", title: "Size", align: "right", render: machinesCell },
  { key: "seconds", title: "Time", align: "right", render: timeCell },
  { key: "month", title: "Dollars a month", align: "right", render: monthCell },
  { key: "saved", title: "Saved a month", align: "right", render: savedCell },
  { key: "deadlines", title: "Deadlines kept", align: "right", render: deadlinesCell },
  { key: "state", title: "State", class: "standing", render: stateCell },
  { key: "run_at", title: "Last run", render: lastRunCell },
];

/**
 * The models of one page.
 *
 * @param {Array} rows of the API.
 * @param {{key: string, descending: boolean, onSort: function}} sort
 */
export function modelsTable(rows, sort) {
  return dataTable({
    caption: "Models", captionHidden: true, columns: COLUMNS, rows, sort, class: "models",
    limit: Infinity,
  });
}
