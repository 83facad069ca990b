/** What, beside the code, the model was trained under: it is reused only where that is still so. */
import { element } from "../dom.js";
import { count, counted, dataAmount, oneUnit } from "../format.js";
import { facts } from "../header.js";
import { card } from "./slot.js";

const UNKNOWN =
  "What it was trained under was not kept: models trained without a search for a stored model have none of it. " +
  "Train it by an ErnestTaskGroup to have it compared, and the model reused while nothing changes.";
const NOT_KNOWN = "not known, so not compared";

/** The card, for `conditions` of api/model. */
export function conditions(known) {
  const titled = { id: "conditions", title: "What it was trained under" };
  if (!known) return card(titled, element("p", { class: "muted" }, UNKNOWN));
  const columns = known.input?.columns ?? null;
  return card(
    { ...titled, text: "A stored model is reused while these, and the application, are the same. More data of the " +
      "same shape is no difference." },
    facts([
      ["Spark", known.spark ?? NOT_KNOWN],
      ["Settings", settings(known)],
      ["Input", known.input ? input(known.input) : NOT_KNOWN],
      ["Columns", columns === null ? NOT_KNOWN : count(columns)],
      [`Cores of ${oneUnit()}`, known.executor_cores === null ? NOT_KNOWN : count(known.executor_cores)],
    ]),
  );
}

function settings({ settings: known }) {
  if (known === null) return NOT_KNOWN;
  const names = Object.keys(known);
  if (!names.length) return "none are set";
  return element("details", { class: "settings" },
    element("summary", {}, `${count(names.length)} compared`),
    element("ul", {}, names.map((name) => element("li", {}, element("code", {}, name)))));
}

function input({ partitions, total_bytes: all, format }) {
  const words = [
    partitions === null ? "" : counted(partitions, "partition"),
    partitions && all ? `${dataAmount(all / partitions)} each` : "",
    all === null ? "" : `${dataAmount(all)} in all`,
    format ?? "",
  ];
  return words.filter(Boolean).join(", ") || NOT_KNOWN;
}
