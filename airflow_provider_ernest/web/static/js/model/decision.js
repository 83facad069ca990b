/** The decision: the sentence, at most one caution, and the few configurations to compare. */
import { numeric, sizes } from "../charts/columns.js";
import { element, replace, setText } from "../dom.js";
import { count, dollars, duration, inReadersTime, isolated, probability, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { unfold } from "./slot.js";

/** Where the page shows why, by what a caution is about. */
const SHOWN_AT = {
  error: "check-error", size: "check-size", replay: "check-replay", conditions: "check-conditions", drift: "history",
  history: "history",
};

const OUTDATED = "Still showing the previous answer.";

/** Where the decision stands: the sentence, which is read aloud, a line of facts, and at most one caution. */
export function decisionPlace() {
  const sentence = element("p", { class: "headline", role: "status", "aria-live": "polite" });
  const facts = element("p", { class: "muted facts-line" });
  const caution = element("div", {});
  const place = element("section", { class: "decision is-waiting", id: "decision", "aria-label": "Decision", tabindex: "-1" },
    sentence, facts, caution);
  let isSaid = false;
  place.say = (answer) => {
    place.classList.remove("is-outdated", "is-empty", "is-waiting");
    isSaid = true;
    setText(sentence, unbroken(answer.sentence));
    setText(facts, unbroken(answer.facts.join(" · ")));
    replace(caution, answer.caution ? cautionLine(answer.caution) : null);
  };
  place.fail = (words, ...more) => {
    place.classList.remove("is-waiting");
    place.classList.add(isSaid ? "is-outdated" : "is-empty");
    replace(caution, element("div", { class: "notice bad", role: "alert" },
      element("p", {}, unbroken(words)), isSaid ? element("p", { class: "muted" }, OUTDATED) : null, more));
  };
  return place;
}

function cautionLine({ words, about, tone }) {
  const text = element("bdi", {}, unbroken(inReadersTime(words)));
  const id = SHOWN_AT[about];
  const link = id ? [" ", element("a", { href: `#${id}`, onClick: () => unfold(id) }, "Why")] : null;
  return element("div", { class: `notice ${tone}`, id: "caution" }, element("p", {}, text, link));
}

const COLUMNS = [
  { key: "roles", title: "Which", class: "words", value: (row) => row.roles.join(", "),
    render: (row) => (row.roles.length ? element("span", {}, row.roles.map(inSentence).join(", ")) : null) },
  sizes(),
  { key: "seconds", title: "Time", align: "right", class: "nowrap",
    render: (row) => `${duration(row.seconds)}${row.extrapolates ? " *" : ""}` },
  numeric("cost", "Cost", dollars),
  numeric("probability", "Chance", probability),
];

function inSentence(role, place) {
  return place ? role.charAt(0).toLowerCase() + role.slice(1) : role;
}

/** The type of machine stands below the number where there are several to choose from. */
function withType(column) {
  return { ...column, render: (row) => element("span", {}, count(row.executors),
    element("span", { class: "below" }, element("bdi", {}, isolated(row.instance_type)))) };
}

/** The rows of an answer beside each other. */
export function candidates({ rows, worth }) {
  const isKnown = (column) => rows.some((row) => (column.value ? column.value(row) : row[column.key]) !== null);
  const types = new Set(rows.map((row) => row.instance_type));
  const columns = COLUMNS.filter(isKnown).map((column) =>
    (column.key === "executors" && types.size > 1 ? withType(column) : column));
  const beyond = rows.find((row) => row.extrapolates);
  return [
    dataTable({
      caption: "Configurations to compare", captionHidden: true, columns, rows, class: "candidates",
      highlight: (row) => (row.is_chosen ? "highlight" : row.is_actual ? "actual" : null),
    }),
    worth ? element("p", { class: "muted small-text" }, unbroken(worth)) : null,
    beyond ? element("p", { class: "muted small-text" }, `* ${unbroken(beyond.extrapolates)}`) : null,
  ];
}
