/** The columns of the production runs behind their chart. */
import { airflowLink, externalLink, taskUrl } from "../airflow.js";
import { count, dateTime, dollars, number, scale as percentOf, signedPercent } from "../format.js";
import { numeric } from "./columns.js";

/** Where a run lies in what was to be expected of it, in words; null where nothing was predicted. */
export function against(run) {
  if (!Number.isFinite(run.predicted_seconds)) return null;
  const how = run.seconds > run.predicted_seconds ? "slower" : "faster";
  if (run.is_unusual) return `${how} than its 95 % interval`;
  if (run.is_unlikely) return `${how} than its 80 % interval`;
  if (run.likely_seconds) return "within its 80 % interval";
  return run.nearly_certain_seconds ? "within its 95 % interval" : `${how} than predicted`;
}

export const PRODUCTION_COLUMNS = [
  { key: "recorded_at", title: "Recorded", class: "nowrap", render: (row) => dateTime(row.recorded_at) },
  numeric("machines", "Machines", count),
  numeric("scale", "Scale", percentOf),
  numeric("seconds", "Took", number, { unit: "s" }),
  numeric("predicted_seconds", "Predicted", number, { unit: "s" }),
  numeric("error_percent", "Error", signedPercent),
  { key: "against", title: "It was", class: "nowrap", value: against },
  numeric("cost", "Cost", dollars),
  { key: "model_id", title: "Predicted by version", class: "nowrap" },
  { key: "application_id", title: "Application", class: "nowrap", render: application },
  { key: "task", title: "Log in Airflow", class: "nowrap", sortable: false,
    value: (row) => (row.origin ? taskUrl(row.origin) : null),
    render: (row) => (row.origin ? airflowLink(taskUrl(row.origin), row.origin.task_id) : null) },
  { key: "event_log", title: "Event log", class: "nowrap" },
];

function application(row) {
  const words = row.application_id ?? (row.history_url ? "Spark history" : null);
  return row.history_url ? externalLink(row.history_url, words) : words;
}
