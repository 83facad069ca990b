/** Past runs: production runs beside what was predicted, their deadlines, and the money. */
import { airflowLink, externalLink, taskUrl } from "../airflow.js";
import { numeric, sizes } from "../charts/columns.js";
import { stripFigure } from "../charts/strip.js";
import { element } from "../dom.js";
import {
  count, counted, dateTime, deviation, dollars, duration, durationRange, inputShare, kindOfRun, units,
} from "../format.js";
import { facts } from "../header.js";
import { figureSlot, part } from "./slot.js";

const NO_PRODUCTION =
  "No production run is recorded yet. Submit the job by an ErnestSparkSubmitOperator with the decision, or put a " +
  "RecordRunOperator behind it: each run that succeeds then shows up here beside what was predicted.";

function noProduction(runs) {
  const past = kindOfRun(runs) === "past run" ? `${counted(runs.length, "past run")} are listed under Details. ` : "";
  return past + NO_PRODUCTION;
}

const COLUMNS = [
  { key: "recorded_at", title: "Run", class: "nowrap", render: (row) => (row.origin
    ? airflowLink(taskUrl(row.origin), dateTime(row.recorded_at)) : dateTime(row.recorded_at)) },
  sizes(),
  { key: "scale", title: "Input", align: "right", render: (row) => inputShare(row.scale), isOptional: true,
    value: (row) => row.scale },
  numeric("predicted_seconds", "Predicted", duration),
  numeric("seconds", "Took", duration),
  { key: "error_percent", title: "Than predicted", class: "nowrap", render: (row) => deviation(row.error_percent) },
  numeric("latest_seconds", "Deadline", duration, { isOptional: true }),
  { key: "kept", title: "Kept", isOptional: true, class: "nowrap", value: (row) => row.kept, render: verdict },
  numeric("predicted_cost", "Predicted cost", dollars, { isOptional: true }),
  numeric("cost", "Paid", dollars, { isOptional: true }),
];
/** What files hold besides. */
const MORE_COLUMNS = [
  { key: "likely_seconds", title: "80 % of runs", render: (row) => durationRange(row.likely_seconds) },
  { key: "application_id", title: "Application", render: (row) => (row.history_url
    ? externalLink(row.history_url, row.application_id) : row.application_id) },
  { key: "model_id", title: "By version" },
];

function verdict({ kept }) {
  if (kept === null) return null;
  return element("span", { class: kept ? "good-words" : "bad-words" }, kept ? "✓ kept" : "✕ missed");
}

/** The part of the page, for the answer of api/model. */
export function history(page) {
  const { model, production_runs: runs, production_total: total } = page;
  const titled = { id: "history", title: "Past runs" };
  if (!runs.length) return part(titled, element("p", { class: "card muted" }, noProduction(page.observations)));
  const name = `${model.job}-${model.instance_type}-production`;
  const slot = figureSlot({ id: "production", title: "Production runs", name, height: 160 });
  const columns = COLUMNS.filter((each) => !each.isOptional || isKnown(each, runs));
  slot.show({ ...stripFigure({ runs, columns }), fileColumns: [...COLUMNS, ...MORE_COLUMNS] });
  const older = total > runs.length
    ? element("p", { class: "muted" }, `The newest ${count(runs.length)} of ${count(total)}.`) : null;
  return part(titled, element("div", { class: "card history" }, slot, older, money(page)));
}

function isKnown({ key, value = (row) => row[key] }, rows) {
  const values = rows.map(value);
  // An input that is the same for all runs tells nothing.
  if (key === "scale") return new Set(values).size > 1;
  return values.some((each) => each !== null && each !== undefined);
}

/** Training, savings, break-even. */
function money({ money: known }) {
  const { training, production, production_runs: paid, baseline, saved, break_even_run: even } = known;
  const before = known.is_baseline_of_logs
    ? `before, by ${counted(known.baseline_runs, "event log")} at the price of these ${units()}`
    : "before";
  const rest = training > 0 ? `; less the training ${dollars(saved - training)}` : "";
  return facts([
    ["Training cost", dollars(training)],
    ["Production cost", paid ? `${dollars(production)} for ${counted(paid, "run")}` : null],
    ["Saved", saved === null ? "not known: no earlier run to compare with"
      : `${dollars(saved)}, against ${dollars(baseline)} a run ${before}${rest}`],
    ["Training paid back", even ? `by run ${count(even)}` : null],
  ]);
}
