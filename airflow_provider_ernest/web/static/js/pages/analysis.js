/** The page that `ernest analyze --html` writes: why the run of one event log took as long as it did. */
import { fetchJson, pageParams } from "../api.js";
import { element } from "../dom.js";
import { countIn } from "../format.js";
import { fillPage, pageHeader } from "../header.js";
import { card } from "../model/slot.js";
import { explained, found } from "../model/why.js";
import { twoRuns } from "../model/why_tables.js";
import { errorState } from "../states.js";

const { job } = pageParams();

countIn("executor"); // Spark's word, as in the event log

async function show() {
  const header = pageHeader({ title: job, subtitle: ["Why it takes this long"] });
  try {
    const { sample: run, comparison } = await fetchJson("api/clarity");
    fillPage(header, element("div", { class: "why" },
      element("h2", { class: "visually-hidden" }, "Why"),
      comparison ? card({ id: "two-runs", title: "The two runs side by side" }, twoRuns(comparison, `${job}-two-runs`))
        : null,
      element("div", { class: "card" }, found(run)),
      explained(run, job)));
  } catch (error) {
    console.error(error);
    fillPage(header, errorState(error, show));
  }
}

show();
