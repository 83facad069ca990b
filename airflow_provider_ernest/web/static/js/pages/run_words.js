/** What came of a run, in sentences. */

import { fallbackWords } from "../fallback.js";
import {
  counted, dateTime, dollars, duration, durationRange, isolated, machines, number, percentage, probability,
} from "../format.js";
import { BOTTLENECKS, stepName } from "./step_kinds.js";

function isKnown(value) {
  return value !== null && value !== undefined;
}

function sharePercent(share) {
  return percentage(share);
}

/** What the training cost beside production: the share is of the cost predicted while there is no other. */
function shareWords({ training, production }) {
  const share = training.share_of_production_percent;
  if (!isKnown(share)) return null;
  const isPaid = production?.state === "success" && isKnown(production.cost);
  const whole = isPaid ? "the production run" : "what production is predicted to cost";
  return share < 200 ? `${sharePercent(share)} of ${whole}` : `${number(share / 100)} times ${whole}`;
}

/** What a branch is called: the type of machine that it trains on, or its task group's name before. */
export function branchName({ instance_type: type, name }) {
  return isolated(type ?? name);
}

/** The machines that were decided, with their type or types. */
function chosenWords({ machines: number, instance_type: type, composition }) {
  const parts = composition.length ? composition : [{ machines: number, instance_type: type }];
  return parts.map((each) => `${machines(each.machines)} of ${isolated(each.instance_type)}`).join(" and ");
}

/** The branches that a stored model made needless to train. */
function reused({ branches }) {
  return branches.filter((branch) => branch.reuse?.is_reused);
}

/** Which types were not trained, where others were. */
function ofReuse(group) {
  const types = reused(group);
  if (!types.length) return null;
  if (types.length === group.branches.length) {
    return types.length > 1 ? "stored models are reused" : "a stored model is reused";
  }
  return `a stored model is reused for ${types.map(branchName).join(" and ")}`;
}

function ofTraining(group) {
  const { branches, training } = group;
  const runs = branches.reduce((sum, branch) => sum + branch.observations.length, 0);
  if (!runs) return null;
  const trained = branches.length - reused(group).length;
  const types = trained > 1 ? ` on ${trained} types` : "";
  const cost = isKnown(training.cost) ? ` for ${dollars(training.cost)}` : "";
  const share = shareWords(group);
  return `${counted(runs, "sample run")}${types}${cost}${share ? `, ${share}` : ""}`;
}

/** Where the actual time lies: "within the 80 % interval"; empty where that is not known. */
export function intervalWords(production) {
  const { held_likely: isLikely, held_nearly_certain: isNearlyCertain } = production ?? {};
  if (isLikely) return "within the 80\u00a0% interval";
  if (isNearlyCertain === false) return "outside the 95\u00a0% interval";
  const isOutside = isLikely === false ? "outside the 80\u00a0% " : "";
  if (isNearlyCertain) return `${isOutside}${isOutside ? "but " : ""}within the 95\u00a0% interval`;
  return isOutside ? `${isOutside}interval` : "";
}

function ofProduction({ decision, production }) {
  const predicted = production?.predicted_seconds ?? decision?.predicted_seconds;
  const words = [];
  if (isKnown(predicted)) words.push(`predicted ${duration(predicted)}`);
  if (isKnown(production?.seconds) && production.state === "success") {
    words.push(`actual ${duration(production.seconds)}`, intervalWords(production));
    if (isKnown(production.kept)) words.push(production.kept ? "deadline kept" : "deadline missed");
  }
  return words.filter(Boolean).join(", ");
}

function ofDecision({ decision }) {
  if (!decision) return null;
  const chosen = chosenWords(decision);
  return decision.fallback ? `fallback to ${fallbackWords(decision)}, ${chosen}` : chosen;
}

/** The steps that failed. What only reports is shown with its step: nothing that was asked for is missing. */
function failed({ steps }) {
  return steps.filter((step) => step.state === "failed" && step.kind !== BOTTLENECKS);
}

function ofFailures(group) {
  const names = new Set(failed(group).map((step) => step.task_id));
  return names.size ? ` Failed: ${[...names].map(isolated).join(", ")}.` : "";
}

/** Why steps failed, a line for each; a goal out of reach is told of by itself. */
export function reasons(group) {
  const told = failed(group).filter((step) => !(step.kind === "choose" && group.choice?.out_of_reach));
  return told.map((step) => `${isolated(stepName(step))}: ${isolated(step.says)}`);
}

function nothingYet({ training }) {
  const hasBegun = isKnown(training.seconds) || isKnown(training.cost);
  return hasBegun ? "No sample run has ended yet." : "Nothing has come of this group yet.";
}

/** The group in a sentence: training, choice, predicted against actual; and what failed. */
export function headline(group) {
  const models = [ofTraining(group), ofReuse(group)].filter(Boolean).join("; ");
  const way = [models, ofDecision(group)].filter(Boolean).join(" → ");
  const words = [way, ofProduction(group)].filter(Boolean).join("; ");
  const failures = ofFailures(group);
  if (!words) return failures.trim() || nothingYet(group);
  return `${words[0].toUpperCase()}${words.slice(1)}.${failures}`;
}

/** The numbers to be seen first. */
export function figuresOf(group) {
  const { training, decision, production, branches, choice } = group;
  const { model } = branches.find((branch) => branch.is_decided_by) ?? branches[0];
  const predicted = production?.predicted_seconds ?? decision?.predicted_seconds;
  const likely = production?.likely_seconds ?? decision?.likely_seconds;
  const error = production?.error_percent;
  const took = [isKnown(training.seconds) ? duration(training.seconds) : null,
    isKnown(training.machines) ? `on ${machines(training.machines)}` : null].filter(Boolean).join(" ");
  return [
    decision && {
      label: decision.fallback ? "Fallback" : "Chosen", value: machines(decision.machines),
      remark: isolated(decision.instance_type),
    },
    decision && isKnown(decision.probability) && {
      label: isKnown(choice?.latest_seconds) ? "Chance to meet the deadline" : "Chance to meet the goal",
      value: probability(decision.probability),
      remark: isKnown(decision.confidence) ? `asked: ${probability(decision.confidence)}` : null,
    },
    isKnown(predicted) && {
      label: "Predicted", value: duration(predicted),
      remark: likely ? `${durationRange(likely)} in 80\u00a0% of runs` : null,
    },
    isKnown(production?.seconds) && {
      label: production.state === "success" ? "Actual" : `Production, ${production.state ?? "not started"}`,
      value: duration(production.seconds),
      remark: isKnown(error) ? errorWords(error) : null,
    },
    isKnown(production?.kept) && {
      label: "Deadline", value: production.kept ? "✓ kept" : "✕ missed", tone: production.kept ? "good" : "bad",
      remark: isKnown(choice?.latest_seconds) ? `asked: ${duration(choice.latest_seconds)}` : null,
    },
    reused(group).length === branches.length && {
      label: "Training cost", value: "none", remark: `${ofReuse(group)}${trainedWords(branches)}`,
    },
    isKnown(training.cost)
      ? { label: "Training cost", value: dollars(training.cost),
          remark: [took, shareWords(group)].filter(Boolean).join("; ") }
      : took && { label: "Training time", value: duration(training.seconds), remark: took.replace(/^.* on /, "on ") },
    model && isKnown(model.median_error_percent) && {
      label: "Model error", value: percentage(model.median_error_percent),
      remark: `${branches.length > 1 ? `on ${isolated(model.instance_type)}: ` : ""}median; ` +
        `at most ${percentage(model.max_error_percent)}`,
    },
  ];
}

/** When the model that is reused was trained, where there is but one. */
function trainedWords(branches) {
  const trainedAt = branches.length === 1 ? branches[0].reuse.trained_at : null;
  return trainedAt ? `, trained ${dateTime(trainedAt).slice(0, 10)}` : "";
}

/** "Predicted 4.0 % too low": errors are positive where the prediction was too high. */
export function errorWords(error) {
  if (Math.abs(error) < 0.05) return "As predicted";
  return `Predicted ${percentage(Math.abs(error))} too ${error > 0 ? "high" : "low"}`;
}
