/** What came of a run, in sentences. */

import { dollars, isolated, machines, percent, seconds, secondsRange } from "../format.js";

function isKnown(value) {
  return value !== null && value !== undefined;
}

function sharePercent(share) {
  return percent(share, share < 9.95 ? 1 : 0);
}

function ofTraining({ observations, training }) {
  const runs = observations.length;
  if (!runs) return null;
  const cost = isKnown(training.cost) ? ` for ${dollars(training.cost)}` : "";
  const share = training.share_of_production_percent;
  const ofIt = isKnown(share) ? `, ${sharePercent(share)} of production` : "";
  return `${runs === 1 ? "1 sample run" : `${runs} sample runs`}${cost}${ofIt}`;
}

/** Where the actual time lies: "within the 80 % interval"; empty where that is not known. */
export function intervalWords(production) {
  if (production?.held_likely) return "within the 80 % interval";
  if (production?.held_nearly_certain) return "outside the 80 % but within the 95 % interval";
  if (production?.held_nearly_certain === false) return "outside the 95 % interval";
  return "";
}

function ofProduction({ decision, production }) {
  const predicted = production?.predicted_seconds ?? decision?.predicted_seconds;
  const words = [];
  if (isKnown(predicted)) words.push(`predicted ${seconds(predicted)}`);
  if (isKnown(production?.seconds) && production.state === "success") {
    words.push(`actual ${seconds(production.seconds)}`, intervalWords(production));
  }
  return words.filter(Boolean).join(", ");
}

function ofDecision({ decision }) {
  if (!decision) return null;
  const chosen = `${machines(decision.machines)} of ${isolated(decision.instance_type)}`;
  return decision.fallback_reason ? `fallback to ${chosen}` : chosen;
}

function ofFailures({ steps }) {
  const failed = [...new Set(steps.filter((step) => step.state === "failed").map((step) => step.task_id))];
  return failed.length ? ` Failed: ${failed.map(isolated).join(", ")}; the log in Airflow says why.` : "";
}

/** The group in a sentence: training, choice, predicted against actual; and what failed. */
export function headline(group) {
  const way = [ofTraining(group), ofDecision(group)].filter(Boolean).join(" → ");
  const words = [way, ofProduction(group)].filter(Boolean).join("; ");
  const failures = ofFailures(group);
  if (!words) return failures.trim() || "Nothing has come of this group yet.";
  return `${words[0].toUpperCase()}${words.slice(1)}.${failures}`;
}

/** The numbers to be seen first. */
export function figuresOf({ training, decision, production, model }) {
  const share = training.share_of_production_percent;
  const predicted = production?.predicted_seconds ?? decision?.predicted_seconds;
  const likely = production?.likely_seconds ?? decision?.likely_seconds;
  const error = production?.error_percent;
  return [
    isKnown(training.cost) && {
      label: "Training cost", value: dollars(training.cost),
      remark: isKnown(share) ? `${sharePercent(share)} of the production run` : null,
    },
    isKnown(training.seconds) && {
      label: "Training time", value: seconds(training.seconds),
      remark: isKnown(training.machines) ? `on ${machines(training.machines)}` : null,
    },
    model && isKnown(model.median_error_percent) && {
      label: "Model error", value: percent(model.median_error_percent),
      remark: `median of leaving one out; at most ${percent(model.max_error_percent)}`,
    },
    decision && { label: "Chosen", value: machines(decision.machines), remark: decision.instance_type },
    isKnown(predicted) && {
      label: "Predicted", value: seconds(predicted), remark: likely ? `80 %: ${secondsRange(likely)}` : null,
    },
    isKnown(production?.seconds) && {
      label: production.state === "success" ? "Actual" : `Production, ${production.state ?? "not started"}`,
      value: seconds(production.seconds),
      remark: isKnown(error) ? errorWords(error) : null,
    },
  ];
}

/** "Predicted 4.0 % too low": errors are positive where the prediction was too high. */
export function errorWords(error) {
  if (Math.abs(error) < 0.05) return "As predicted";
  return `Predicted ${percent(Math.abs(error))} too ${error > 0 ? "high" : "low"}`;
}
