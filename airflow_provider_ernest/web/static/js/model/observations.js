/** The table of the sample runs, with the ways to their logs. */
import { airflowLink, externalLink, taskName, taskUrl } from "../airflow.js";
import { numeric, sizes } from "../charts/columns.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { count, counted, dollars, duration, inputShare, number, signedPercentage } from "../format.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";

const ROWS_AT_FIRST = 25;
const HOSTS_SHOWN = 2;

const COLUMNS = [
  numeric("index", "Run", count),
  { key: "is_production", title: "Of", isOptional: true, class: "nowrap",
    value: (row) => (row.is_production ? "production" : row.from_history ? "history" : null),
    render: (row) => (row.is_production ? "production" : row.from_history ? "from history" : "sampling") },
  sizes(),
  numeric("scale", "Scale", inputShare),
  numeric("seconds", "Took", number, { unit: "s" }),
  numeric("startup_seconds", "Start-up", number, { unit: "s" }),
  numeric("waited_seconds", "Waited", number, { unit: "s", isOptional: true }),
  numeric("cost", "Cost", dollars, { isOptional: true }),
  numeric("predicted_seconds", "Predicted", number, { unit: "s", isOptional: true }),
  numeric("error_percent", "Error", signedPercentage, { isOptional: true }),
  numeric("iterations", "Iterations", count, { isOptional: true }),
  { key: "application_id", title: "Application", isOptional: true, class: "nowrap", render: application },
  { key: "task", title: "Log in Airflow", isOptional: true, sortable: false, class: "nowrap",
    value: (row) => (row.origin ? taskUrl(row.origin) : null),
    render: (row) => (row.origin ? airflowLink(taskUrl(row.origin), taskName(row.origin)) : null) },
  { key: "event_log", title: "Event log", isOptional: true, class: "words",
    render: (row) => (row.event_log ? element("code", {}, row.event_log) : null) },
  { key: "hosts", title: "Hosts", isOptional: true, sortable: false, class: "nowrap",
    value: (row) => (row.hosts?.length ? row.hosts : null), render: hosts },
];

function application(row) {
  const words = row.application_id ?? (row.history_url ? "Spark history" : null);
  return row.history_url ? externalLink(row.history_url, words) : words;
}

function hosts(row) {
  const all = row.hosts ?? [];
  const more = all.length - HOSTS_SHOWN;
  const words = all.slice(0, more === 1 ? HOSTS_SHOWN + 1 : HOSTS_SHOWN).join(", ");
  return more > 1 ? `${words} and ${count(more)} more` : words;
}

/** The columns of which any row knows something. */
function known(rows) {
  const has = (column) => rows.some((row) => {
    const value = column.value ? column.value(row) : row[column.key];
    return value !== null && value !== undefined && value !== "" && value !== 0;
  });
  return COLUMNS.filter((column) => !column.isOptional || has(column));
}

/** Of the sample runs; what production costs is no cost of the model's. */
function altogether(all) {
  const rows = all.filter((run) => !run.is_production && !run.from_history);
  const past = all.filter((run) => run.from_history).length;
  const learned = all.length - rows.length - past;
  const others = [
    past ? `${counted(past, "past run")}, at no cost` : null,
    learned ? `${counted(learned, "production run")} that it has learned from` : null,
  ].filter(Boolean);
  if (!rows.length) return `${others.join(", and ")}. What is predicted of a run comes from all the others.`;
  const besides = others.length ? ` Besides, ${others.join(", and ")}.` : "";
  return `${ofSamples(rows, others.length ? "sample run" : "run")}${besides}`;
}

function ofSamples(rows, name) {
  const total = rows.reduce((sum, run) => sum + run.seconds + (run.startup_seconds ?? 0), 0);
  const isPriced = rows.every((run) => Number.isFinite(run.cost));
  const paid = isPriced ? ` and cost ${dollars(rows.reduce((sum, run) => sum + run.cost, 0))}` : "";
  const took = `${counted(rows.length, name)} took ${duration(total)}`;
  if (rows.length === 1) return `${took}${paid}.`;
  return `${took} altogether${paid}. What is predicted of a run comes from all the others.`;
}

/** The table, for the answer of api/model. */
export function observations({ observations: rows }, name) {
  const columns = known(rows);
  return card(
    { id: "observations", title: "The observed runs", text: rows.length ? altogether(rows) : "" },
    downloadButtons({ name, columns, rows }),
    dataTable({
      caption: "Observed runs with their logs", captionHidden: true, columns, rows, sort: true, limit: ROWS_AT_FIRST,
      class: "observations", emptyText: "No run was kept with this model: train it again.",
    }),
  );
}
