/** One task group of Ernest in a run: headline, numbers, timeline, prediction, steps, sample runs. */

import { pageUrl } from "../api.js";
import { element, renew } from "../dom.js";
import { fallbackWords } from "../fallback.js";
import { dollars, isolated, machines, unbroken } from "../format.js";
import { facts, keyFigures, notice } from "../header.js";
import { choiceCard, outOfReach } from "./choice.js";
import { hasPrediction, predictedAgainstActual } from "./predicted_actual.js";
import { modelUrl, sampleRuns, stepTable, whyUrl } from "./run_tables.js";
import { branchName, figuresOf, headline, reasons } from "./run_words.js";
import { timeline } from "./timeline.js";

function designWords(design) {
  if (!design) return null;
  const { experiments, candidates } = design;
  return `${experiments} of ${candidates} candidates`;
}

function clusterWords(cluster) {
  if (!cluster) return null;
  const culled = cluster.culled ? `, ${cluster.culled} ended as too slow` : "";
  const hourly = cluster.price_per_hour;
  const price = typeof hourly === "number" ? `, ${dollars(hourly)} an hour each` : "";
  return `${machines(cluster.machines)} of ${isolated(cluster.instance_type)}${culled}${price}`;
}

/** What the cost is made of, where it is more than the machines. */
function partsWords(parts) {
  const besides = [["the master", parts?.master], ["volumes", parts?.volumes], ["training", parts?.training]];
  const told = besides.filter(([, cost]) => cost > 0).map(([name, cost]) => `${dollars(cost)} for ${name}`);
  return told.length ? `Of the chosen one's cost ${told.join(", ")}.` : "";
}

function modelLink(model) {
  if (!model) return null;
  const words = `${isolated(model.job)} on ${isolated(model.instance_type)}`;
  return element("a", { href: modelUrl(model) }, words);
}

/** Whether a stored model is reused, and why or why not: [name, words]. */
function reuseFact({ reuse }, decision) {
  const reason = reuse?.reason || decision?.reuse;
  if (!reuse) return ["Reused", reason];
  return reuse.is_reused ? ["Reused", reason || "A stored model is reused."] : ["Why trained", reason];
}

/** Why the job takes as long as it does, by the runs of a training; with where replay and model disagree. */
function whyFact({ bottlenecks, model }) {
  if (!bottlenecks) return null;
  const { headline, disagreement } = bottlenecks;
  const link = model ? [" ", element("a", { href: whyUrl(model), class: "nowrap" }, "See why")] : null;
  return element("span", {}, element("bdi", {}, unbroken(headline)), disagreement
    ? [". ", element("strong", {}, unbroken(disagreement))] : ".", link);
}

function factsOf({ branches, decision }) {
  const [first, ...others] = branches;
  const isThere = ({ design, cluster, model, reuse }) => design || cluster || model || reuse;
  if (!branches.some(isThere) && !decision) return null;
  if (!others.length) {
    const told = [reuseFact(first, decision), ["Bottleneck", whyFact(first)]].filter(([, words]) => words);
    return told.length ? facts(told) : null;
  }
  const designs = branches.map((branch) => designWords(branch.design));
  const isShared = new Set(designs).size === 1;
  return facts([
    ["Design", isShared ? designs[0] : null],
    ...branches.map((branch, place) => [branchName(branch), branchFacts(branch, isShared ? null : designs[place])]),
  ]);
}

/** What came of the training on one of several types. */
function branchFacts({ cluster, model, training, reuse, bottlenecks }, design) {
  const cost = typeof training.cost === "number" ? `training cost ${dollars(training.cost)}` : null;
  const planned = reuse?.is_reused ? "no training: a stored model is reused" : design;
  const told = [planned, clusterWords(cluster), cost].filter(Boolean).join("; ");
  const link = modelLink(model);
  if (!told && !link) return "Nothing has come of it yet.";
  const why = whyFact({ bottlenecks, model });
  return element("span", {}, told, link ? [told ? "; model " : "Model ", link] : null,
    why ? element("span", { class: "below" }, why) : null);
}

/** The fallback by itself, before anything else: production does not run on what was asked for. */
function warningsOf(group) {
  const { decision, choice } = group;
  const why = notice({ title: "Why it failed", kind: "bad", level: 3, items: reasons(group) });
  if (!decision) return [outOfReach(choice), why];
  const reason = decision.fallback_reason;
  const warnings = (decision.warnings ?? []).filter((each) => !reason || !each.includes(reason));
  return [
    why,
    decision.fallback
      ? notice({ title: `Fallback: ${fallbackWords(decision)}`, kind: "warning", level: 3, items: [reason] })
      : null,
    notice({ title: "Warnings", kind: "warning", level: 3, items: warnings }),
  ];
}

function choiceOf({ choice, branches, decision }, id) {
  const { model } = branches.find((branch) => branch.is_decided_by) ?? branches[0];
  return choiceCard(choice, { model, id, level: 3, isWhole: false, remark: partsWords(decision?.cost_parts) });
}

/** A part of the page that is made anew only when the data that it shows have changed. */
function part(dataOf, make) {
  const container = element("div", {});
  let before;
  const update = (run, group) => {
    const text = JSON.stringify(dataOf(group));
    if (text === before) return;
    before = text;
    renew(container, make(group, run));
  };
  return { container, update };
}

function figureOfPrediction(id, file) {
  let node = null;
  const container = element("div", {});
  const update = (_run, group) => {
    if (node) node.update(group);
    else if (hasPrediction(group)) {
      node = predictedAgainstActual({ id: `${id}-prediction`, name: `prediction-${file}`, group });
      container.append(node);
    }
  };
  return { container, update };
}

/** The sample runs on all types; each names its own where there are several. */
function runsOf({ branches }) {
  if (branches.length === 1) return branches[0].observations;
  return branches.flatMap((branch) =>
    branch.observations.map((run) => ({ ...run, instance_type: branchName(branch) })));
}

function samplesOf(id, file) {
  const view = {};
  return part(runsOf, (group) => {
    const observations = runsOf(group);
    return observations.length
      ? sampleRuns({ id: `${id}-samples`, name: `sample-runs-${file}`, observations, view })
      : null;
  });
}

/**
 * The part of the page about one group.
 *
 * @param {Object} run the whole answer of the API.
 * @param {Object} first the group in it.
 * @param {string} id for the elements' ids.
 * @returns {HTMLElement} a section with `update(run, group)`.
 */
export function runGroup(run, first, id) {
  const file = `${first.group_id || "ernest"}-${run.run_id}`;
  const whole = (group) => group;
  const words = part(headline, (group) => element("p", { class: "headline" }, unbroken(headline(group))));
  const warnings = part(whole, warningsOf);
  const numbers = part(whole, (group) => keyFigures(figuresOf(group)));
  const told = part(whole, factsOf);
  const choice = part((group) => [group.choice, group.branches], (group) => choiceOf(group, `${id}-choice`));
  const view = {};
  const steps = part(whole, (group, now) => stepTable(now, group, view));
  const prediction = figureOfPrediction(id, file);
  const samples = samplesOf(id, file);
  const bars = timeline({ id: `${id}-timeline`, name: `steps-${file}`, steps: first.steps });
  const parts = [words, warnings, numbers, told, choice, steps, prediction, samples];
  let before = JSON.stringify(first);

  const node = element("section", { class: "run-group", "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, first.group_id ? `Task group ${first.group_id}` : "Tasks of Ernest"),
    words.container, warnings.container, numbers.container,
    element("div", { class: "side-by-side" }, choice.container, prediction.container), bars,
    element("section", { class: "card", "aria-labelledby": `${id}-steps-title` },
      element("h3", { id: `${id}-steps-title` }, "Steps"), told.container, steps.container),
    samples.container);
  node.update = (now, group) => {
    const text = JSON.stringify(group);
    if (text === before) return;
    before = text;
    for (const each of parts) each.update(now, group);
    bars.update(group.steps);
  };
  for (const each of parts) each.update(run, first);
  return node;
}

/** The link to all models, for the breadcrumb. */
export const MODELS_CRUMB = { text: "Models", href: pageUrl("models") };
