/** What was decided with the model, newest first. */
import { airflowLink, taskUrl } from "../airflow.js";
import { numeric, sizes } from "../charts/columns.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { fallbackWords } from "../fallback.js";
import { dateTime, dollars, duration, executors, isolated, probability, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";

const DECISION_COLUMNS = [
  { key: "decided_at", title: "Decided", class: "nowrap", render: decidedAt },
  { key: "goal", title: "Goal", class: "words", render: (row) => unbroken(row.goal) },
  sizes(),
  { key: "instance_type", title: "Of type", value: typesOf },
  numeric("predicted_seconds", "Predicted", duration),
  numeric("predicted_cost", "Cost", dollars),
  numeric("confidence", "Asked for", probability),
  numeric("probability", "Keeps the goal", probability),
];
const FALLBACK_COLUMNS = [
  { key: "fallback", title: "Fallback", value: (row) => row.fallback },
  { key: "fallback_reason", title: "Because" },
];

/** Both in one, where there is little room. */
const FALLBACK_COLUMN = { key: "fallback", title: "Fallback", class: "long", render: (row) => (row.fallback
  ? element("span", {}, element("strong", {}, fallbackWords(row)), `: ${unbroken(row.fallback_reason)}`)
  : null) };

function typesOf({ composition, instance_type: type }) {
  if (!composition.length) return type;
  return composition.map((each) => `${executors(each.executors)} of ${isolated(each.instance_type)}`).join(", ");
}

function decidedAt(row) {
  const words = dateTime(row.decided_at);
  return row.origin ? airflowLink(taskUrl(row.origin), words) : words;
}

/** The card, for the answer of api/model. */
export function decisions({ decisions: rows, model }, name) {
  const titled = { id: "decisions", title: "What was decided" };
  if (!rows.length) {
    return card(titled, element("p", { class: "muted" },
      "This model has taken part in no decision: a ChooseConfigOperator behind the FitModelOperator makes one, and it " +
        "is kept here."));
  }
  const version = [
    { key: "model_id", title: "By version", value: (row) => row.model_id,
      render: (row) => (row.model_id === model.model_id ? "this one" : row.model_id) },
  ];
  const columns = [...DECISION_COLUMNS, ...(rows.some((row) => row.fallback) ? [FALLBACK_COLUMN] : []), ...version];
  const all = [...DECISION_COLUMNS, ...FALLBACK_COLUMNS, ...version];
  return card(
    titled,
    downloadButtons({ name, columns: all, rows }),
    dataTable({
      caption: "Decisions, newest first", captionHidden: true, columns, rows, limit: 10,
      highlight: (row) => (row.fallback ? "warning" : null),
    }),
  );
}
