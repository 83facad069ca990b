/** The table of models: what each job runs on, takes, costs and saves; on phones its rows are cards. */

import { pageUrl } from "../api.js";
import { toneBadge } from "../badge.js";
import { element, hidden } from "../dom.js";
import { age, count, dateTime, deviation, dollars, duration, probability, unbroken } from "../format.js";
import { downloadButtons } from "../download.js";
import { cell, dataTable } from "../table.js";

const BY_SIZE = ["smallest first", "largest first"];

/** What the server sorts by; `orders`: in words, ascending and descending. A run's dollars stand below a month's. */
export const SORTS = [
  { key: "need", title: "What to do", orders: ["least dollars first", "most dollars first"] },
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
  if (row.seconds === null) return null;
  return cell(duration(row.seconds), row.is_predicted ? "predicted" : null,
    row.is_far_off ? `last run ${deviation(row.error_percent)} than predicted` : null);
}

const NOT_KNOWN = element("span", { class: "muted" }, "not known");

function monthCell(row) {
  const { cost, is_predicted: isPredicted, dollars_per_month: month } = row;
  if (cost === null && month === null) return row.production_runs ? NOT_KNOWN.cloneNode(true) : null;
  const run = cost === null ? null : `${isPredicted ? "predicted " : ""}${dollars(cost)} a run`;
  return cell(month === null ? NOT_KNOWN.cloneNode(true) : dollars(month), run);
}

/** Against what a run cost before. */
function savedCell(row) {
  const { saved_per_month: saved, cost_before: before } = row;
  const was = before === null ? null : `was ${dollars(before)} a run`;
  if (saved === null) return row.production_runs ? cell(NOT_KNOWN.cloneNode(true), was) : null;
  return cell(dollars(saved), was, saved < 0 ? "dearer now" : null);
}

function deadlinesCell({ deadlines: { kept, judged, asked, is_short: isShort } }) {
  if (!judged) return null;
  return cell(`${count(kept)} of ${count(judged)}`, null,
    isShort ? `asked: ${probability(asked)}` : null);
}

/** How the model stands, and what is to be done, with what it is about in dollars. */
function stateCell(row) {
  const { badges, need } = row;
  if (!need) return element("span", { class: "muted" }, "Nothing");
  const shown = element("span", { class: "badges" }, badges.map(toneBadge));
  const { action, dollars_per_month: month } = need;
  const href = pageUrl("model", { job: row.job, instance_type: row.instance_type });
  const link = element("a", { href: action === "Retrain" ? `${href}#retrain` : href }, action, hidden(` ${row.job}`));
  return [shown, element("span", { class: "below" }, unbroken(need.words), " ",
    month === null ? null : `${dollars(month)} a month. `, link)];
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
  { key: "need", title: "What to do", class: "standing", render: stateCell },
  { key: "executors", title: "Size", align: "right", render: machinesCell },
  { key: "seconds", title: "Time", align: "right", render: timeCell },
  { key: "month", title: "Dollars a month", align: "right", render: monthCell },
  { key: "saved", title: "Saved a month", align: "right", render: savedCell },
  { key: "deadlines", title: "Deadlines kept", align: "right", render: deadlinesCell },
    { key: "run_at", title: "Last run", render: lastRunCell },
];

const FILE_COLUMNS = [
  "job", "instance_type", "dag_id", "state", "executors", "seconds", "cost", "is_predicted", "runs_per_month",
  "dollars_per_month", "saved_per_month", "run_at",
].map((key) => ({ key, fileUnit: key === "cost" || key === "saved_per_month" ? "dollars" : null }));

/** Buttons that save all models that match, which `rows` gives. */
export function modelsDownload(rows) {
  const attention = { key: "needs", value: (row) => row.need && `${row.need.words} ${row.need.action}` };
  return downloadButtons({ name: "models", columns: [...FILE_COLUMNS, attention], rows });
}

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
