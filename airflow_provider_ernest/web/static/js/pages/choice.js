/** What a run had to choose from: the configurations beside each other, and why nothing was chosen. */

import { element } from "../dom.js";
import { isolated, unbroken } from "../format.js";
import { candidates } from "../model/decision.js";
import { modelUrl } from "./run_tables.js";

/** So many rows are short enough for a page that shows more than the choice. */
const FEW = 6;

/** That nothing keeps the goal, with the nearest that could be asked for; null where something was chosen. */
export function outOfReach(choice) {
  if (!choice?.out_of_reach) return null;
  const words = element("p", {}, unbroken(isolated(choice.out_of_reach)));
  return element("div", { class: "notice bad out-of-reach" }, words);
}

/**
 * The configurations that there were; null where none are known.
 *
 * @param {Object} choice of the API's answer.
 * @param {{model: Object|null, id: string, level: number, isWhole: boolean, remark?: string}} options
 *   isWhole: those without a role, too.
 */
export function choiceCard(choice, { model, id, level, isWhole, remark = "" }) {
  const all = choice?.rows ?? [];
  const rows = isWhole || all.length <= FEW ? all : all.filter((row) => row.roles.length);
  if (!rows.length) return null;
  const others = choice.considered - rows.length;
  const words = [remark, others > 0 ? `${others} more were considered.` : ""].filter(Boolean).join(" ");
  return element("section", { class: "card choice", "aria-labelledby": `${id}-title` },
    element(`h${level}`, { id: `${id}-title` }, "What there was to choose from"),
    candidates({ rows }),
    words ? element("p", { class: "muted small-text" }, unbroken(words)) : null,
    model ? element("p", {}, element("a", { href: modelUrl(model, choice.question) }, "Ask the model what if")) : null);
}
