/** The table of models; on phones its rows are cards. */

import { pageUrl } from "../api.js";
import { stateBadge } from "../badge.js";
import { element } from "../dom.js";
import { age, count, dateTime, number, shortHash } from "../format.js";
import { dataTable } from "../table.js";

const BY_NAME = ["A to Z", "Z to A"];
const BY_SIZE = ["smallest first", "largest first"];

/** What the server sorts by; `orders`: in words, ascending and descending. */
export const SORTS = [
  { key: "job", title: "Job", orders: BY_NAME },
  { key: "instance_type", title: "Instance type", orders: BY_NAME },
  { key: "state", title: "State", orders: BY_NAME },
  { key: "median_error_percent", title: "Error", orders: BY_SIZE },
  { key: "created_at", title: "Trained", orders: ["oldest first", "newest first"] },
  { key: "production_runs", title: "Production runs", orders: BY_SIZE },
  { key: "terms", title: "Terms", orders: BY_NAME },
  { key: "artifact_sha256", title: "Artifact", orders: BY_NAME },
];

/** Whether the first click sorts from the newest, worst or most on. */
export function startsDescending(key) {
  return ["created_at", "median_error_percent", "production_runs"].includes(key);
}

function ago(row) {
  const words = age(row.age_seconds);
  return words.endsWith("s") || /^1 /.test(words) ? `${words} ago` : words;
}

function jobCell(row) {
  return [
    element("a", { href: pageUrl("model", { job: row.job, instance_type: row.instance_type }) }, row.job),
    row.dag_id ? element("span", { class: "below" }, `DAG ${row.dag_id}`) : null,
  ];
}

function errorCell(row) {
  return [
    number(row.median_error_percent),
    typeof row.max_error_percent === "number"
      ? element("span", { class: "below" }, `at most ${number(row.max_error_percent)}`)
      : null,
  ];
}

function artifactCell(row) {
  if (!row.artifact_sha256 && !row.artifact) return null;
  const name = row.artifact ? String(row.artifact).split("/").pop() : null;
  const hash = row.artifact_sha256;
  return [
    hash ? element("code", { title: hash }, shortHash(hash)) : null,
    name ? element("span", { class: "below", title: row.artifact }, name) : null,
  ];
}

const COLUMNS = [
  { key: "job", title: "Job", class: "words", render: (row) => element("span", {}, jobCell(row)) },
  { key: "instance_type", title: "Instance type", class: "nowrap" },
  { key: "state", title: "State",
    render: (row) => stateBadge({ name: row.state, reason: row.state_reason, cause: row.state_cause }) },
  { key: "median_error_percent", title: "Error", unit: "%", align: "right",
    render: (row) => element("span", {}, errorCell(row)) },
  { key: "created_at", title: "Trained", class: "nowrap",
    render: (row) =>
      element("time", { datetime: row.created_at, title: dateTime(row.created_at) }, ago(row)) },
  { key: "production_runs", title: "Production runs", align: "right",
    render: (row) => count(row.production_runs) },
  { key: "terms", title: "Terms", class: "wide",
    render: (row) => element("code", {}, (row.terms ?? []).join(" + ")) },
  { key: "artifact_sha256", title: "Artifact",
    render: (row) => {
      const content = artifactCell(row);
      return content ? element("span", {}, content) : null;
    } },
];

/**
 * The models of one page.
 *
 * @param {Array} rows of the API.
 * @param {{key: string, descending: boolean, onSort: function}} sort
 */
export function modelsTable(rows, sort) {
  return dataTable({
    caption: "Models", captionHidden: true, columns: COLUMNS, rows, sort, class: "cards-on-phones",
    limit: Infinity,
  });
}
