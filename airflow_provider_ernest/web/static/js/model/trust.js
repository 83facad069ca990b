/** "Can I trust it?": a few questions with their answers, each of which opens what shows it. */
import { numeric, sizes } from "../charts/columns.js";
import { foldsFigure } from "../charts/folds.js";
import { element, replace } from "../dom.js";
import { duration, durationRange, inReadersTime, isolated, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { conditions } from "./conditions.js";
import { design } from "./details.js";
import { marks } from "./life.js";
import { replayCaption, replayed } from "./replay.js";
import { figureSlot, part } from "./slot.js";

const SIGNS = { true: ["✓", "good"], false: ["✕", "bad"], null: ["?", "unknown"] };
const SPOKEN = { true: "Yes: ", false: "No: ", null: "Not known: " };

/** What each check opens, from the page and the latest prediction. */
const SHOWN = {
  error: errors,
  size: ({ model, ...page }) => design({ model, ...page }, `${model.job}-${model.instance_type}-design`),
  replay: replays,
  drift: () => element("p", {}, element("a", { href: "#history" }, "Each production run, beside what was predicted of it")),
  conditions: (page) => [conditions(page.conditions), marks(page)],
};

/**
 * The part of the page, for the answer of api/model.
 *
 * @returns {HTMLElement} with `show(prediction)`, for each answer of api/prediction
 */
export function trust(page) {
  const lines = new Map();
  const list = element("ul", { class: "checks" });
  const node = part({ id: "trust", title: "Can I trust it?" }, element("div", { class: "card" }, list));
  // Of a model that cannot predict there is nothing to check.
  node.hidden = true;
  node.show = (prediction) => {
    node.hidden = false;
    for (const check of prediction.answer.checks) {
      if (!lines.has(check.name)) {
        lines.set(check.name, line(check.name, page));
        list.append(lines.get(check.name));
      }
      lines.get(check.name).say(check, prediction);
    }
  };
  return node;
}

/** A check: its sign, title and words; unfolded, what shows it. */
function line(name, page) {
  const sign = element("span", { class: "check-sign", "aria-hidden": "true" });
  const spoken = element("span", { class: "visually-hidden" });
  const title = element("strong", {});
  const words = element("span", { class: "check-words" });
  const row = [sign, element("span", {}, spoken, title, element("br", {}), words)];
  const content = element("div", { class: "check-content" });
  const makeContent = SHOWN[name];
  let latest = null;
  const details = makeContent
    ? element("details", {}, element("summary", {}, row), content) : element("div", { class: "summary" }, row);
  let drawn = null; // what the content is of
  const fill = () => {
    if (!details.open || !latest) return;
    const chosen = latest.decision?.instance_type ?? latest.instance_type;
    // What depends on the page alone is not drawn anew while it is looked at.
    const wanted = name === "replay" ? latest : chosen;
    if (wanted === drawn) return;
    drawn = wanted;
    const isOther = chosen !== latest.instance_type && name !== "replay";
    replace(content, isOther ? element("p", { class: "muted" }, `The page of ${isolated(chosen)} shows it.`)
      : makeContent(page, latest));
  };
  details.addEventListener("toggle", fill);
  const node = element("li", { id: `check-${name}`, class: "check" }, details);
  node.say = (check, prediction) => {
    const [mark, kind] = SIGNS[check.passed];
    sign.textContent = mark;
    node.className = `check ${kind}`;
    spoken.textContent = SPOKEN[check.passed];
    title.textContent = check.title;
    const isSaidAbove = prediction.answer.caution?.about === check.name;
    replace(words, isSaidAbove ? "See above." : element("bdi", {}, unbroken(inReadersTime(check.words))));
    latest = prediction;
    fill();
  };
  return node;
}

function errors({ observations, model }) {
  const slot = figureSlot({
    id: "folds",
    title: "Each run, predicted from the others",
    name: `${model.job}-${model.instance_type}-validation`,
  });
  if (observations.some((run) => Number.isFinite(run.predicted_seconds))) slot.show(foldsFigure({ observations }));
  else slot.showEmpty("This model has no leave-one-out predictions: train it again.");
  return slot;
}

const REPLAY_COLUMNS = [
  sizes(),
  numeric("seconds", "By replay", duration),
  numeric("predicted", "By the model", duration),
  { key: "nearlyCertain", title: "95 % of runs", class: "nowrap", render: (row) => durationRange(row.nearlyCertain) },
];

function replays(_page, prediction) {
  const found = replayed(prediction);
  const caption = element("p", { class: "muted" }, replayCaption(found) ||
    "The task bottleneck_report of an ErnestTaskGroup replays a run from its event log.");
  if (!found.points.length) return [caption];
  return [caption, dataTable({
    caption: "Replay beside the model", captionHidden: true, columns: REPLAY_COLUMNS, rows: found.points,
    highlight: (row) => (row.isOutside ? "warning" : null),
  })];
}
