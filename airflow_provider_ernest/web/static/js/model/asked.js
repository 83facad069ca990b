/** What the reader asks of a model: kept in the page's address, so that it can be sent to others. */
import { rememberParams } from "../api.js";

/** What may be best; the first where nothing else is said. */
const OBJECTIVES = ["best_value", "cheapest", "fastest", "balanced"];

/** What the address says of a number that was taken away: else the one last known would come back. */
const TAKEN_AWAY = "none";

/** What is billed besides the hours of the machines, by the API's names; these may be 0. */
const BILLED = [
  "increment_seconds", "minimum_seconds", "boot_seconds", "master_price_per_hour", "volume_gigabytes",
  "volume_price_per_gigabyte_month",
];
/** These may be unknown, too. */
const SHARED = ["training_dollars", "expected_runs"];

/** What is asked at first: what the address says, else the defaults that the API gives. */
export function askedAtFirst(params, { defaults: request, model }) {
  const defaults = { ...request.billing, ...request };
  const given = (name) => positive(params[name]);
  const orKnown = (name) => (params[name] === TAKEN_AWAY ? null : (number(params[name]) ?? defaults[name]));
  const isLimited = ["deadline_seconds", "budget_dollars"].some((name) => params[name] !== undefined);
  // One limit in the address is all that is asked: the other is not taken from the last decision.
  const limit = (name) => (isLimited ? given(name) : defaults[name]);
  return {
    instanceType: model.instance_type,
    scale: given("scale") ?? defaults.scale ?? 1,
    iterations: iterationsOf(given("iterations"), defaults, model),
    deadline: limit("deadline_seconds"),
    budget: limit("budget_dollars"),
    objective: OBJECTIVES.includes(params.objective) ? params.objective : (defaults.objective ?? OBJECTIVES[0]),
    confidence: confidenceOf(params, defaults),
    price: orKnown("price_per_hour"),
    billed: Object.fromEntries([...BILLED, ...SHARED].map((name) => [name, orKnown(name)])),
    minMachines: given("min_executors") ?? defaults.min_executors ?? 1,
    maxMachines: given("max_executors") ?? defaults.max_executors ?? 32,
  };
}

/** Whether anything is to be kept. */
export function hasLimits({ deadline, budget }) {
  return Boolean(deadline || budget);
}

/** Only jobs that iterate can be asked about iterations. */
function iterationsOf(given, defaults, model) {
  if (!model.trained_iterations) return null;
  return given ?? defaults.iterations ?? model.trained_iterations;
}

function number(text) {
  const value = Number(text);
  return text !== undefined && text !== "" && Number.isFinite(value) && value >= 0 ? value : null;
}

function positive(text) {
  return number(text) || null;
}

function confidenceOf(params, defaults) {
  const given = positive(params.confidence);
  return given && given < 1 ? given : defaults.confidence;
}

/** What api/prediction is asked for. */
export function predictionParams(page, asked) {
  const { job, instance_type: instanceType, model_id: modelId } = page.model;
  return {
    job,
    instance_type: instanceType,
    model_id: modelId,
    scale: asked.scale,
    iterations: asked.iterations,
    deadline_seconds: asked.deadline,
    budget_dollars: asked.budget,
    // Where nothing is to be kept nothing is chosen: all is shown.
    objective: hasLimits(asked) ? asked.objective : null,
    confidence: asked.confidence,
    price_per_hour: asked.price,
    ...asked.billed,
    min_executors: asked.minMachines,
    max_executors: asked.maxMachines,
  };
}

/** Puts what is asked into the address; the version only where the reader had asked for one. */
export function remember(params, asked) {
  const orTakenAway = (value) => value ?? TAKEN_AWAY;
  rememberParams({
    job: params.job,
    instance_type: params.instance_type,
    model_id: params.model_id,
    scale: asked.scale,
    iterations: asked.iterations,
    deadline_seconds: orTakenAway(asked.deadline),
    budget_dollars: orTakenAway(asked.budget),
    objective: asked.objective,
    confidence: asked.confidence,
    price_per_hour: orTakenAway(asked.price),
    ...Object.fromEntries(Object.entries(asked.billed).map(([name, value]) => [name, orTakenAway(value)])),
    min_executors: asked.minMachines,
    max_executors: asked.maxMachines,
  });
}
