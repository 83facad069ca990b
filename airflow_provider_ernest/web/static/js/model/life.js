/** What was noted against a model, and its versions. */
import { airflowLink, taskUrl } from "../airflow.js";
import { pageUrl } from "../api.js";
import { toneBadge } from "../badge.js";
import { numeric } from "../charts/columns.js";
import { element } from "../dom.js";
import { count, counted, dateTime, inReadersTime, percentage, shortHash, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";

const MARK_COLUMNS = [
  { key: "at", title: "Noted", class: "nowrap", render: (row) => dateTime(row.at) },
  { key: "cause", title: "Cause" },
  { key: "reason", title: "Why", class: "wide", render: (row) => element("bdi", {}, unbroken(inReadersTime(row.reason))) },
  { key: "task", title: "By", class: "nowrap", sortable: false,
    value: (row) => (row.origin ? taskUrl(row.origin) : null),
    render: (row) => (row.origin ? airflowLink(taskUrl(row.origin), row.origin.task_id) : null) },
];

/** What comes of the marks: the newest version is not reused while one of them holds. */
function outcome({ state, is_newest: isNewest }) {
  if (!isNewest) return null;
  return element("p", { class: "muted" }, state.name === "fresh"
    ? "What was marked has been changed back since: the model is reused again."
    : "The next run of its DAG trains a new model: this one is not reused, unless what was marked is changed back.");
}

export function marks(page) {
  const { marks: rows, state, model } = page;
  const titled = { id: "marks", title: "What was noted against it" };
  const badge = element("p", {}, toneBadge(page.badges[0]));
  if (!rows.length) {
    const words = state.name === "fresh"
      ? "Nothing. The search for a stored model notes here when the application, the settings or the input have " +
        "changed, and production runs note when they no longer go as predicted."
      : unbroken(inReadersTime(state.reason));
    return card(titled, badge, element("p", { class: "muted" }, words));
  }
  const ofOthers = rows.some((row) => row.model_id !== model.model_id);
  const version = { key: "model_id", title: "Version", class: "nowrap",
    render: (row) => (row.model_id === model.model_id ? "this one" : row.model_id) };
  return card(titled, badge, outcome(page), dataTable({
    caption: "Marks, newest first", captionHidden: true, limit: 5,
    columns: ofOthers ? [...MARK_COLUMNS, version] : MARK_COLUMNS, rows,
  }));
}

function versionLink(model, id) {
  const { job, instance_type } = model;
  return element("a", { href: pageUrl("model", { job, instance_type, model_id: id }) }, id);
}

function versionColumns(model) {
  return [
    { key: "created_at", title: "Trained", class: "nowrap", render: (row) => dateTime(row.created_at) },
    { key: "model_id", title: "Version", class: "nowrap",
      render: (row) => (row.model_id === model.model_id ? "this one" : versionLink(model, row.model_id)) },
    numeric("observations", "Runs", count),
    numeric("learned_from", "Learned from", (value) => (value ? counted(value, "production run") : "sample runs alone")),
    numeric("median_error_percent", "Median error", percentage),
    numeric("max_error_percent", "Largest error", percentage),
    { key: "artifact_sha256", title: "Code", render: (row) => shortHash(row.artifact_sha256) },
  ];
}

/** All versions on the type, newest first, with their errors. */
export function versions({ versions: rows, model }) {
  return card({ id: "versions", title: "Versions, newest first" }, dataTable({
    caption: "Versions of the model", captionHidden: true, limit: 8, columns: versionColumns(model), rows,
    highlight: (row) => row.model_id === model.model_id,
  }));
}
