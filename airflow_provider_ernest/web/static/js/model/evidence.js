/** What production runs say against the model, in words and as a bar. */
import { element } from "../dom.js";
import { count, number, plural, unbroken } from "../format.js";
import { card } from "./slot.js";

/** How often a run of a model that is right lies outside of its intervals. */
const [UNLIKELY, UNUSUAL] = [0.2, 0.05];

const NO_RUNS =
  "No production run that it predicted has been recorded: nothing confirms its predictions yet, and nothing " +
  "against them.";

/** The card, for `life.evidence` of api/model. */
export function evidence(found) {
  const titled = { id: "evidence", title: "Do its predictions still hold?" };
  if (!found.runs) return card(titled, element("p", { class: "muted" }, NO_RUNS));
  return card(
    titled,
    element("p", { class: "headline" }, verdict(found)),
    bar(found),
    element("p", {}, unbroken(outside(found))),
    element("p", { class: "muted" },
      "The evidence is weighed anew after each run: it grows where a run misses its interval, and falls where it " +
        `does not. From ${count(found.threshold)} on the predictions no longer hold. A model that is right gets there ` +
        `by chance at most once in ${count(found.threshold)} production runs on average.`),
  );
}

function verdict({ is_drift: isDrift, is_suspicious: isSuspicious, runs }) {
  if (isDrift) return "No: make the sample runs again.";
  if (isSuspicious) return "Perhaps not: a drift may have begun. The next runs will tell; until then none is learned from.";
  return runs < 5 ? "Nothing speaks against it so far." : "Yes.";
}

function outside({ is_drift: isDrift, runs, unlikely, unusual }) {
  const expected = (share) => (runs * share < 1 ? "less than one" : (runs * share).toFixed(1));
  // A drift is found once and for all: what came after is not weighed any more.
  const those = isDrift ? `the first ${plural(runs, "production run")}` : plural(runs, "production run");
  return (
    `Of ${those} that it predicted, ${count(unlikely)} lay outside the 80 % interval, where ` +
    `${expected(UNLIKELY)} should, and ${count(unusual)} outside the 95 % interval, where ${expected(UNUSUAL)} should.`
  );
}

/** By powers of ten, for the evidence multiplies. */
function bar({ value, threshold, is_drift: isDrift, is_suspicious: isSuspicious }) {
  const share = Math.min(1, Math.log(1 + value) / Math.log(1 + threshold));
  const kind = isDrift ? "bad" : isSuspicious ? "warning" : "good";
  const shown = element("span", { class: `evidence-bar ${kind}`, style: { width: `${Math.max(1, 100 * share)}%` } });
  return element("div", { class: "evidence" },
    element("div", { class: "evidence-track", "aria-hidden": "true" }, shown),
    element("p", { class: "evidence-words" }, `Evidence against it: ${number(value)} of ${count(threshold)}`));
}
