/** Types of machines at the same dollars per hour: asked for when it is unfolded. */
import { fetchJson } from "../api.js";
import { numeric } from "../charts/columns.js";
import { element, renew, setText } from "../dom.js";
import { downloadButtons } from "../download.js";
import { count, counted, dollars, duration, durationRange, isolated } from "../format.js";
import { dataTable } from "../table.js";

const COLUMNS = [
  numeric("dollars_per_hour", "Dollars per hour", dollars, { value: (row) => row.rate }),
  { key: "instance_type", title: "Instance type" },
  numeric("machines", "Machines", count),
  numeric("seconds", "Predicted", duration),
  { key: "likely_seconds", title: "80 % of runs", class: "nowrap", render: (row) => durationRange(row.likely_seconds) },
  numeric("dollars", "Cost of the run", dollars),
  { key: "remark", title: "Remark" },
  { key: "extrapolates", title: "Not supported by the runs", class: "words" },
];

const NONE_IN_COMMON =
  "There are no dollars per hour that whole machines of two types come to: allow more machines, or give the price of " +
  "a machine above.";

/**
 * The table, folded away.
 *
 * @param {string} name of the downloads
 * @returns {HTMLElement} with `ask(params)`, for other parameters of api/same_cost
 */
export function sameCost(name) {
  // Read aloud is only that there is another answer: all of the table is too much at each slider step.
  const status = element("p", { class: "muted", role: "status" });
  const content = element("div", {});
  const explained = element("p", { class: "muted" },
    "Which type makes the most of the money? Each has as many machines as the rate pays for.");
  const node = element("details", { class: "folded", id: "same-cost" },
    element("summary", {}, "Types at the same dollars per hour"), explained, status, content);
  const view = {};
  let wanted = null;
  let shown = null;
  let request = null;

  async function refresh() {
    // What is under way answers another question, or is asked again.
    request?.abort();
    request = null;
    content.removeAttribute("aria-busy");
    if (!node.open || !wanted || JSON.stringify(wanted) === shown) return;
    const own = new AbortController();
    request = own;
    const params = wanted;
    content.setAttribute("aria-busy", "true");
    try {
      const answer = await fetchJson("api/same_cost", params, { signal: own.signal });
      setText(status, answer.rates.length ? inWords(answer.rates) : NONE_IN_COMMON);
      renew(content, answer.rates.length ? table(answer.rates, name, view) : null);
      shown = JSON.stringify(params);
    } catch (error) {
      if (error.name === "AbortError" || request !== own) return;
      shown = null;
      setText(status, error.message);
      renew(content, element("button", { type: "button", class: "button small", onClick: refresh }, "Try again"));
    }
    if (request === own) content.removeAttribute("aria-busy");
  }

  node.addEventListener("toggle", refresh);
  node.ask = (params) => {
    wanted = params;
    refresh();
  };
  return node;
}

/** Which type is the fastest most often. */
function inWords(rates) {
  const wins = new Map();
  for (const { types } of rates) {
    for (const each of types) {
      if (each.is_fastest) wins.set(each.instance_type, (wins.get(each.instance_type) ?? 0) + 1);
    }
  }
  const told = [...wins].map(([type, won]) => `${isolated(type)} at ${count(won)}`);
  return `Fastest of ${counted(rates.length, "rate")}: ${told.join(", ")}.`;
}

function table(rates, name, view) {
  const rows = rates.flatMap(({ dollars_per_hour: rate, types }) =>
    types.map((each) => ({ ...each, rate, remark: each.is_fastest ? "fastest" : "" })));
  return [
    downloadButtons({ name, columns: COLUMNS, rows }),
    dataTable({
      caption: "Types of machines at the same dollars per hour", captionHidden: true, columns: COLUMNS, rows,
      sort: true, view, highlight: (row) => row.is_fastest,
    }),
  ];
}
