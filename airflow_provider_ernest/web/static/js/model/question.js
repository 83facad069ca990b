/** The decision and what it hangs on: what is asked, the answer, one chart and one table. */
import { isReport } from "../airflow.js";
import { ApiError, fetchJson, pageUrl } from "../api.js";
import { costFigure } from "../charts/cost.js";
import { sharesFigure } from "../charts/shares.js";
import { chosenPoint, timeFigure } from "../charts/time.js";
import { debounce, radioSwitch } from "../controls.js";
import { element, replace } from "../dom.js";
import { count, counted, executors, inputShare, isolated, oneUnit, units } from "../format.js";
import { askedAtFirst, predictionParams, remember } from "./asked.js";
import { controls } from "./asking.js";
import { candidates, decisionPlace } from "./decision.js";
import { figureSlot } from "./slot.js";

const needsAPrice = () => (isReport ? `No price of ${oneUnit()} and hour was given.`
  : `Enter the price of ${oneUnit()} and hour under More to see what each number of ${units()} costs.`);

const TABS = [
  { value: "time", label: "Time" },
  { value: "cost", label: "Cost" },
  { value: "shares", label: "Where time goes" },
];

/**
 * The parts of the page, for the answer of api/model and the parameters of the address.
 *
 * @param {function} onAnswer called with each prediction
 * @returns {HTMLElement[]} decision, what-if, chart and table
 */
export function question(page, params, onAnswer) {
  const state = { asked: askedAtFirst(params, page), prediction: null, tab: "time", isLogarithmic: true };
  const decision = decisionPlace();
  const rows = element("div", { class: "compared", id: "candidates" });
  const figures = slots(page, state);
  // A report holds one answer, and nobody to ask for another: it says what was asked.
  const places = { decision, rows, figures, onAnswer, asked: element("p", { class: "muted" }) };
  const refresh = () => predict(page, state, places);
  const soon = debounce(refresh, 30);
  const ask = (changed) => {
    Object.assign(state.asked, changed);
    remember(params, state.asked);
    soon();
  };
  const asking = controls({
    asked: state.asked,
    isIterative: Boolean(page.model.trained_iterations),
    onChange: ask,
    onInvalid: (words) => decision.fail(words),
  });
  refresh();
  return [
    decision,
    isReport ? places.asked
      : element("section", { class: "card what-if", id: "question", "aria-label": "What if" }, asking),
    element("div", { class: "chart-and-table" }, tabs(state, figures, () => draw(page, state, figures)), rows),
  ];
}

function slots(page, state) {
  const name = (subject) => `${page.model.job}-${page.model.instance_type}-${subject}`;
  const slot = (id, title, more) => figureSlot({ id, title, name: name(id), height: 340, isCaptionFolded: true, ...more });
  const figures = {
    time: slot("time", `Time against ${units()}`, {
      controls: radioSwitch({
        legend: "Axes",
        name: "axes",
        value: "logarithmic",
        options: [{ value: "logarithmic", label: "Logarithmic" }, { value: "linear", label: "Linear" }],
        onChange: (chosen) => {
          state.isLogarithmic = chosen === "logarithmic";
          if (state.prediction) draw(page, state, figures);
        },
      }),
    }),
    cost: slot("cost", "Cost against time"),
    shares: slot("shares", "Where the time goes"),
  };
  return figures;
}

/** One chart at a time; another is drawn when it is first asked for. */
function tabs(state, figures, redraw) {
  const show = (chosen) => {
    state.tab = chosen;
    for (const [name, slot] of Object.entries(figures)) slot.hidden = name !== chosen;
    if (state.prediction) redraw();
  };
  show(state.tab);
  return element("section", { class: "card tabs", "aria-label": "Chart" },
    element("h2", { class: "visually-hidden" }, "Chart"),
    radioSwitch({ legend: "Chart", name: "chart", value: state.tab, options: TABS, onChange: show }),
    Object.values(figures));
}

/** Asks the server. The last question counts; the old answer stays until the new one is there. */
async function predict(page, state, places) {
  state.request?.abort();
  const request = new AbortController();
  state.request = request;
  const asked = { ...state.asked };
  const { decision, figures, rows, onAnswer } = places;
  decision.setAttribute("aria-busy", "true");
  try {
    checkMachines(asked);
    const prediction = await fetchJson("api/prediction", predictionParams(page, asked), { signal: request.signal });
    if (state.request !== request) return;
    Object.assign(state, { prediction, answered: asked });
    decision.say(prediction.answer);
    places.asked.textContent = askedWords(prediction);
    replace(rows, candidates(prediction.answer), elsewhere(prediction, page));
    onAnswer(prediction);
    draw(page, state, figures);
  } catch (error) {
    if (error.name === "AbortError" || state.request !== request) return;
    const retry = () => predict(page, state, places);
    decision.fail(error.message || "The prediction failed: reload the page.",
      element("button", { type: "button", class: "button small", onClick: retry }, "Try again"));
  }
  if (state.request === request) decision.removeAttribute("aria-busy");
}

function askedWords({ curve, scale, iterations, goal }) {
  return [
    `Asked for: ${count(curve[0].executors)} to ${executors(curve.at(-1).executors)}`,
    `${inputShare(scale)} of the input`,
    iterations ? counted(iterations, "iteration") : "",
    goal ?? "",
  ].filter(Boolean).join(", ");
}

/** A notice if another type than the page's is chosen. */
function elsewhere({ decision, instance_type: own, offered_types: types }, { model }) {
  const chosen = decision?.instance_type;
  const modelId = types[chosen];
  if (!modelId || chosen === own) return null;
  const href = pageUrl("model", { job: model.job, instance_type: chosen, model_id: modelId });
  return element("p", { class: "notice" },
    "The chosen type is not the one on this page. ",element("a", { href }, `Open the model of ${isolated(chosen)}`));
}

/** Refuses here what the server would refuse. */
function checkMachines({ minMachines, maxMachines }) {
  const [least, most] = [minMachines, maxMachines].map(count);
  if (maxMachines < minMachines) {
    throw new ApiError(422, `At least ${least} and at most ${most} ${units()} leave none: exchange the two.`);
  }
}

/** Draws the chart that is shown. */
function draw(page, state, figures) {
  const { prediction, answered: asked, tab } = state;
  const deadline = prediction.latest_seconds;
  if (tab === "time") {
    figures.time.show(timeFigure({
      prediction, observations: page.observations, productionRuns: page.production_runs, deadline,
      isLogarithmic: state.isLogarithmic,
    }));
  } else if (tab === "shares") {
    figures.shares.show(sharesFigure({
      prediction, terms: page.model.terms, chosen: chosenPoint(prediction),
    }));
  } else if (!prediction.alternatives.length) {
    figures.cost.showEmpty(needsAPrice());
  } else {
    const drawn = costFigure({ prediction, deadline, budget: asked.budget });
    figures.cost.show({ ...drawn, caption: [drawn.caption, ...skipped(prediction)] });
  }
}

function skipped({ skipped_types: types, scale }) {
  const skippedOnes = Object.entries(types);
  if (!skippedOnes.length) return [];
  return [
    element("p", {}, `Not shown at ${inputShare(scale)} of the input:`),
    element("ul", { class: "skipped" }, skippedOnes.map(([type, reason]) =>
      element("li", {}, element("strong", {}, type), ": ", reason))),
  ];
}
