/** One task group of Ernest in a run: headline, numbers, timeline, prediction, steps, sample runs. */

import { pageUrl } from "../api.js";
import { element, renew } from "../dom.js";
import { dollars, isolated, machines, number, percent, unbroken } from "../format.js";
import { facts, keyFigures, notice } from "../header.js";
import { hasPrediction, predictedAgainstActual } from "./predicted_actual.js";
import { modelUrl, sampleRuns, stepTable } from "./run_tables.js";
import { figuresOf, headline } from "./run_words.js";
import { timeline } from "./timeline.js";

function designWords(design) {
  if (!design) return null;
  const { experiments, candidates, efficiency, criterion, cost, cost_unit: unit } = design;
  return `${experiments} of ${candidates} candidates, ${criterion}-optimal with an efficiency of ` +
    `${percent(100 * efficiency, 0)}, expected cost ${number(cost)} ${unit ?? ""}`.trim();
}

function clusterWords(cluster) {
  if (!cluster) return null;
  const culled = cluster.culled ? `, ${cluster.culled} culled as slow` : "";
  const hourly = cluster.price_per_hour;
  const price = typeof hourly === "number" ? `, ${dollars(hourly)} an hour each` : "";
  return `${machines(cluster.machines)} of ${isolated(cluster.instance_type)}${culled}${price}`;
}

function choiceWords(decision) {
  if (!decision) return null;
  const { predicted_cost: predicted, instance_type: type, goal } = decision;
  const cost = typeof predicted === "number" ? `, predicted cost ${dollars(predicted)}` : "";
  return `${machines(decision.machines)} of ${isolated(type)}: ${unbroken(isolated(goal))}${cost}`;
}

function modelLink(model) {
  if (!model) return null;
  const words = `${isolated(model.job)} on ${isolated(model.instance_type)}`;
  return element("a", { href: modelUrl(model) }, words);
}

function factsOf(group) {
  if (!group.design && !group.cluster && !group.decision && !group.model) return null;
  return facts([
    ["Design", designWords(group.design)],
    ["Cluster", clusterWords(group.cluster)],
    ["Choice", choiceWords(group.decision)],
    ["Model", modelLink(group.model)],
  ]);
}

function warningsOf({ decision }) {
  if (!decision) return null;
  const fallback = decision.fallback_reason
    ? [`The default configuration was taken, not one of a model: ${decision.fallback_reason}`]
    : [];
  return notice({
    title: "Warnings", kind: "warning", level: 3, items: [...fallback, ...(decision.warnings ?? [])],
  });
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

function samplesOf(id, file) {
  const view = {};
  return part((group) => group.observations, ({ observations }) => observations.length
    ? sampleRuns({ id: `${id}-samples`, name: `sample-runs-${file}`, observations, view })
    : null);
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
  const warnings = part((group) => group.decision, warningsOf);
  const numbers = part(whole, (group) => keyFigures(figuresOf(group)));
  const told = part(whole, factsOf);
  const view = {};
  const steps = part(whole, (group, now) => stepTable(now, group, view));
  const prediction = figureOfPrediction(id, file);
  const samples = samplesOf(id, file);
  const bars = timeline({ id: `${id}-timeline`, name: `steps-${file}`, steps: first.steps });
  const parts = [words, warnings, numbers, told, steps, prediction, samples];
  let before = JSON.stringify(first);

  const node = element("section", { class: "run-group", "aria-labelledby": `${id}-title` },
    element("h2", { id: `${id}-title` }, first.group_id ? `Task group ${first.group_id}` : "Tasks of Ernest"),
    words.container, warnings.container, numbers.container, prediction.container, bars,
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
