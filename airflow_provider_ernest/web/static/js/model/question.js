/** "How many machines?": what is asked, the answer, and the figures that explain it. */
import { ApiError, fetchJson, pageUrl } from "../api.js";
import { costFigure } from "../charts/cost.js";
import { sharesFigure } from "../charts/shares.js";
import { chosenPoint, timeFigure } from "../charts/time.js";
import { debounce, radioSwitch } from "../controls.js";
import { element, replace } from "../dom.js";
import { count, isolated, scale as percentOf, unbroken } from "../format.js";
import { notice } from "../header.js";
import { answer } from "./answer.js";
import { askedAtFirst, budgetOf, NO_GOAL, predictionParams, remember } from "./asked.js";
import { controls } from "./asking.js";
import { painted } from "./painted.js";
import { disagreementWords, opinionWords, replayCaption, replayed } from "./replay.js";
import { sameCost } from "./same_cost.js";
import { figureSlot, part } from "./slot.js";

const NO_PRODUCTION = "No production run is known yet: see below how they are recorded.";
const NEEDS_A_PRICE =
  "Enter the price of a machine and hour above to see what each number of machines costs. Clusters that Ernest " +
  "starts on EC2 keep their price with the model.";

const OUTDATED = "This is still of what was asked before: see above what is wrong.";

const NOTHING_TO_COMPARE = "There is nothing to compare: see above what is wrong.";

const NOTHING_TO_DRAW = "There is no prediction to draw: see above what is wrong.";

/** So many numbers of machines are compared at most. */
const WIDEST_SPAN = 1000;

/**
 * The part of the page, for the answer of api/model and the parameters of the address.
 *
 * @returns {HTMLElement} with `showReplays(replays)`, for those of api/clarity
 */
export function question(page, params) {
  const state = { asked: askedAtFirst(params, page), prediction: null, isLogarithmic: true, replays: [] };
  const reply = replyPlace();
  const figures = slots(page, state);
  const compared = page.other_types.length
    ? sameCost(`${page.model.job}-${page.model.instance_type}-same-cost`)
    : null;

  const refresh = () => predict(page, state, { reply, figures, compared });
  const soon = debounce(refresh, 30);
  const asking = controls({
    asked: state.asked,
    isIterative: Boolean(page.model.trained_iterations),
    smallestScale: Math.min(0.01, ...page.observations.map((run) => run.scale)),
    onChange: (changed) => {
      Object.assign(state.asked, changed);
      remember(params, state.asked);
      soon();
    },
  });
  refresh();
  const node = part(
    { id: "question", title: "How many machines?" },
    element("div", { class: "card" }, asking, reply),
    figures.time,
    figures.shares,
    figures.cost,
    compared,
  );
  node.showReplays = (replays) => {
    state.replays = replays;
    // Where the answer is still to come, or an error, it is shown with them then.
    if (state.prediction && replays.length && !state.isOutdated) showPrediction(page, state, { reply, figures });
  };
  return node;
}

/** Where the answer stands. Only its headline is read aloud: all of it is too much at each slider step. */
function replyPlace() {
  const headline = element("p", { class: "headline" });
  const rest = element("div", { class: "answer-rest" });
  const live = element("div", { role: "status", "aria-live": "polite" }, headline);
  const place = element("div", { class: "answer", id: "answer", tabindex: "-1" }, live, rest);
  place.say = ({ words, isBad }, ...others) => {
    const hadFocus = rest.contains(document.activeElement);
    headline.classList.toggle("out-of-reach", isBad);
    if (headline.textContent !== words) headline.textContent = words;
    replace(rest, ...others);
    // The button that was pressed is gone.
    if (hadFocus) (rest.querySelector("button") ?? place).focus();
  };
  return place;
}

function slots(page, state) {
  const name = (subject) => `${page.model.job}-${page.model.instance_type}-${subject}`;
  const figures = {
    time: figureSlot({
      id: "time",
      title: "Time against machines",
      question: "How long does a run take on each number of machines?",
      name: name("time"),
      height: 420,
      controls: radioSwitch({
        legend: "Axes",
        name: "axes",
        value: "logarithmic",
        options: [{ value: "logarithmic", label: "Logarithmic" }, { value: "linear", label: "Linear" }],
        onChange: (chosen) => {
          state.isLogarithmic = chosen === "logarithmic";
          if (state.prediction) drawTime(page, state, figures.time);
        },
      }),
    }),
    shares: figureSlot({
      id: "shares",
      title: "Where the time goes",
      question: "Why does it not get faster with more machines?",
      name: name("shares"),
      height: 340,
    }),
    cost: figureSlot({
      id: "cost",
      title: "Cost against time",
      question: "What does it cost to be faster?",
      name: name("cost"),
      height: 400,
    }),
  };
  return figures;
}

/** Asks the server. The last question counts; the old pictures stay until its answer is there. */
async function predict(page, state, places) {
  state.request?.abort();
  const request = new AbortController();
  state.request = request;
  const asked = { ...state.asked };
  places.reply.setAttribute("aria-busy", "true");
  try {
    checkMachines(asked);
    const params = predictionParams(page, asked);
    const prediction = await fetchJson("api/prediction", params, { signal: request.signal });
    if (state.request !== request) return;
    Object.assign(state, { prediction, answered: asked, isOutdated: false });
    const drawn = showPrediction(page, state, places);
    // What is no choice does not depend on the goal.
    places.compared?.ask(predictionParams(page, { ...asked, goal: NO_GOAL, confidence: null }));
    await drawn;
  } catch (error) {
    if (error.name === "AbortError" || state.request !== request) return;
    showFailure(state, places, error, () => predict(page, state, places));
  }
  if (state.request === request) places.reply.removeAttribute("aria-busy");
}

/** Refuses here what the server would refuse. */
function checkMachines({ minMachines, maxMachines }) {
  const [least, most] = [minMachines, maxMachines].map(count);
  const span = maxMachines - minMachines + 1;
  let problem = "";
  if (span < 1) problem = `At least ${least} and at most ${most} machines leave none: exchange the two.`;
  if (span > WIDEST_SPAN) {
    problem =
      `From ${least} to ${most} machines there are ${count(span)} numbers of machines to compare, but only ` +
      `${count(WIDEST_SPAN)} can be: ask for ${count(minMachines + WIDEST_SPAN - 1)} machines at most.`;
  }
  if (problem) throw new ApiError(422, problem);
}

/** That the choice is of another type than the one that the page is of; nothing where it is not. */
function elsewhere({ decision, instance_type: own, offered_types: types }, { model }) {
  const chosen = decision?.instance_type;
  const offered = types.find((each) => each.instance_type === chosen);
  if (!offered || chosen === own) return null;
  const href = pageUrl("model", { job: model.job, instance_type: chosen, model_id: offered.model_id });
  return element("p", { class: "muted" },
    `The time and what it is spent on are drawn for ${isolated(own)}. `,
    element("a", { href }, `Open the model of ${isolated(chosen)}`));
}

/** Answer and figures; the figures are drawn when the promise is kept. */
function showPrediction(page, state, { reply, figures }) {
  const { prediction } = state;
  const replay = replayed(prediction, state.replays);
  state.replay = { ...replay, caption: replayCaption(replay) };
  showAnswer(reply, state, elsewhere(prediction, page));
  return showFigures(page, state, figures);
}

function showAnswer(reply, { prediction, answered: asked, replay }, link) {
  const { headline, more, warnings, isOutOfReach } = answer(prediction, asked);
  const opinion = opinionWords(replay, prediction.decision);
  const disagreement = disagreementWords(replay, chosenPoint(prediction));
  reply.say(
    { words: headline, isBad: isOutOfReach },
    [...more, opinion].filter(Boolean).map((words) => element("p", { class: "muted" }, unbroken(words))),
    link,
    notice({ items: [...warnings, disagreement].filter(Boolean), kind: "warning" }),
  );
}

function showFailure(state, { reply, figures, compared }, error, retry) {
  const words = unbroken(error.message || "The prediction failed: reload the page.");
  const button = element("button", { type: "button", class: "button small", onClick: retry }, "Try again");
  reply.say({ words, isBad: true }, button);
  state.isOutdated = true;
  compared?.outdate(NOTHING_TO_COMPARE);
  for (const slot of Object.values(figures)) {
    if (state.prediction) slot.outdate(OUTDATED);
    else slot.showEmpty(NOTHING_TO_DRAW);
  }
}

function drawTime(page, state, slot) {
  const drawn = timeFigure({
    prediction: state.prediction,
    observations: page.observations,
    productionRuns: page.production_runs,
    deadline: state.prediction.latest_seconds,
    isLogarithmic: state.isLogarithmic,
    replay: state.replay,
  });
  slot.show(page.production_runs.length ? drawn : { ...drawn, caption: `${drawn.caption} ${NO_PRODUCTION}` });
  // The axes can be changed while the answer is an error.
  if (state.isOutdated) slot.outdate(OUTDATED);
}

async function showFigures(page, state, figures) {
  const { prediction, answered: asked, replay } = state;
  drawTime(page, state, figures.time);
  await painted();
  // Another answer may have come meanwhile.
  if (state.prediction !== prediction) return;
  figures.shares.show(sharesFigure({ prediction, terms: page.model.terms, chosen: chosenPoint(prediction) }));
  if (!prediction.alternatives.length) {
    figures.cost.showEmpty(NEEDS_A_PRICE);
    return;
  }
  const drawn = costFigure({ prediction, deadline: prediction.latest_seconds, budget: budgetOf(asked), replay });
  figures.cost.show({ ...drawn, caption: [drawn.caption, ...skipped(prediction, page)] });
}

function skipped({ skipped_types: types, scale }, page) {
  const words = [];
  if (page.other_types.length === 0 && types.length === 0) {
    words.push(element("p", {}, "Train a model of this job on another instance type to compare the types here."));
  }
  if (types.length) {
    words.push(
      element("p", {}, `Not shown at ${percentOf(scale)} of the input:`),
      element("ul", { class: "skipped" }, types.map((each) =>
        element("li", {}, element("strong", {}, each.instance_type), ": ", each.reason))),
    );
  }
  return words;
}
