/** "How far to believe it": what predictions of runs by each other were off by, and what was decided. */
import { airflowLink, taskUrl } from "../airflow.js";
import { numeric } from "../charts/columns.js";
import { foldsFigure } from "../charts/folds.js";
import { versionsFigure } from "../charts/history.js";
import { radioSwitch } from "../controls.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { fallbackWords } from "../fallback.js";
import { count, dateTime, dollars, isolated, machines, probability, seconds, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { card, figureOr, figureSlot, part } from "./slot.js";

/** The part of the page, for the answer of api/model. */
export function trust(page) {
  const { model, versions } = page;
  const name = (subject) => `${model.job}-${model.instance_type}-${subject}`;
  const errors = [folds(page, name("validation")), versionErrors(page, name("versions"))];
  return part(
    { id: "trust", title: "How far to believe it" },
    // A sentence has no use for the height of a chart beside it.
    versions.length > 1 ? element("div", { class: "pair" }, errors) : errors,
    decisions(page, name("decisions")),
  );
}

function versionErrors({ versions, model }, name) {
  return figureOr(
    () => versions.length > 1,
    {
      id: "versions",
      title: "Errors of the versions",
      question: "Do the models get better or worse?",
      name,
      specification: () => versionsFigure({ versions, current: model.model_id }),
    },
    "This is the only version so far. Each training of the job on this instance type adds one: run the " +
      "Ernest DAG again to see whether the errors change.",
  );
}

function folds({ observations }, name) {
  const draw = (asErrors) => foldsFigure({ observations, asErrors });
  const slot = figureSlot({
    id: "folds",
    title: "How well the runs predict each other",
    question: "What is each run predicted to take by a model of all the others?",
    name,
    controls: radioSwitch({
      legend: "Show",
      name: "folds-as",
      value: "diagonal",
      options: [
        { value: "diagonal", label: "Times" },
        { value: "errors", label: "Percent errors" },
      ],
      onChange: (chosen) => slot.show(draw(chosen === "errors")),
    }),
  });
  if (observations.some((run) => Number.isFinite(run.predicted_seconds))) slot.show(draw(false));
  else slot.showEmpty("This model has no leave-one-out predictions: train it again.");
  return slot;
}

const DECISION_COLUMNS = [
  { key: "decided_at", title: "Decided", class: "nowrap", render: decidedAt },
  { key: "goal", title: "Goal", class: "words", render: (row) => unbroken(row.goal) },
  numeric("machines", "Machines", count),
  { key: "instance_type", title: "Of type", value: typesOf },
  numeric("predicted_seconds", "Predicted", seconds),
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
  return composition.map((each) => `${machines(each.machines)} of ${isolated(each.instance_type)}`).join(", ");
}

function decidedAt(row) {
  const words = dateTime(row.decided_at);
  return row.origin ? airflowLink(taskUrl(row.origin), words) : words;
}

function decisions({ decisions: rows, model }, name) {
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
