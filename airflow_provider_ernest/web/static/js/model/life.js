/** The life of a model: what was noted against it, what it goes on from. */
import { airflowLink, taskUrl } from "../airflow.js";
import { pageUrl } from "../api.js";
import { toneBadge } from "../badge.js";
import { numeric } from "../charts/columns.js";
import { element } from "../dom.js";
import { count, counted, dateTime, inReadersTime, percentage, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";

const MARK_COLUMNS = [
  { key: "marked_at", title: "Noted", class: "nowrap", render: (row) => dateTime(row.marked_at) },
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
  const { life: { marks: rows }, state, model } = page;
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

function lineageColumns(model) {
  return [
    { key: "model_id", title: "Version", class: "nowrap",
      render: (row) => (row.model_id === model.model_id ? "this one" : versionLink(model, row.model_id)) },
    { key: "created_at", title: "Made", class: "nowrap", render: (row) => dateTime(row.created_at) },
    numeric("learned_from", "Learned from", (value) => (value ? counted(value, "production run") : "sample runs alone")),
    numeric("observations", "Runs", count),
    numeric("median_error_percent", "Median error", percentage),
  ];
}

export function lineage({ life: { lineage: versions, base_model_id: base }, model }) {
  const titled = { id: "lineage", title: "What it goes on from" };
  const isBaseThere = versions.some((each) => each.model_id === base);
  const learned = model.learned_from
    ? ["Fitted to sample runs and, since, ", counted(model.learned_from, "production run"), ". "]
    : ["Fitted to its sample runs alone: it has learned from no production run. "];
  const gone = isBaseThere ? null : ["The version of the sample runs alone, ", element("code", {}, base),
    ", is no longer in the store, or of a DAG that you may not read."];
  const text = element("p", { class: "muted" }, learned, gone);
  if (versions.length < 2) return card(titled, text);
  return card(titled, text, dataTable({
    caption: "Versions that learn on from each other, newest first", captionHidden: true, limit: 8,
    columns: lineageColumns(model), rows: [...versions].reverse(),
    highlight: (row) => row.model_id === model.model_id,
  }));
}
