/** What the reader asks of a model: kept in the page's address, so that it can be sent to others. */
import { rememberParams } from "../api.js";

export const DEADLINE = "deadline";
export const BUDGET = "budget";
export const BOTH = "both";
export const NO_GOAL = "none";

/** What is best, by what is to be kept where nothing else is said. */
export const BEST_FOR = { [DEADLINE]: "cheapest", [BUDGET]: "fastest", [BOTH]: "balanced" };
const OBJECTIVES = ["cheapest", "fastest", "balanced"];

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
  const deadline = given("deadline_seconds") ?? defaults.deadline_seconds;
  const budget = given("budget_dollars") ?? defaults.budget_dollars;
  const goal = goalOf(params, deadline, budget);
  return {
    instanceType: model.instance_type,
    scale: given("scale") ?? defaults.scale ?? 1,
    iterations: iterationsOf(given("iterations"), defaults, model),
    goal,
    deadline,
    budget,
    objective: objectiveOf(params, defaults, goal),
    confidence: confidenceOf(params, defaults),
    price: orKnown("price_per_hour"),
    billed: Object.fromEntries([...BILLED, ...SHARED].map((name) => [name, orKnown(name)])),
    minMachines: given("min_machines") ?? defaults.min_machines ?? 1,
    maxMachines: given("max_machines") ?? defaults.max_machines ?? 32,
  };
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

function goalOf(params, deadline, budget) {
  if ([DEADLINE, BUDGET, BOTH, NO_GOAL].includes(params.goal)) return params.goal;
  const given = [params.deadline_seconds, params.budget_dollars].map(positive);
  const [hasDeadline, hasBudget] = given.some(Boolean) ? given : [deadline, budget];
  if (hasDeadline && hasBudget) return BOTH;
  if (hasDeadline) return DEADLINE;
  return hasBudget ? BUDGET : NO_GOAL;
}

function objectiveOf(params, defaults, goal) {
  if (OBJECTIVES.includes(params.objective)) return params.objective;
  return defaults.objective ?? BEST_FOR[goal] ?? BEST_FOR[DEADLINE];
}

function confidenceOf(params, defaults) {
  const given = positive(params.confidence);
  return given && given < 1 ? given : defaults.confidence;
}

/** The deadline in seconds that is to be kept; null where there is none. */
function deadlineOf(asked) {
  return [DEADLINE, BOTH].includes(asked.goal) ? asked.deadline : null;
}

/** The budget in dollars that is to be kept; null where there is none. */
export function budgetOf(asked) {
  return [BUDGET, BOTH].includes(asked.goal) ? asked.budget : null;
}

/** Whether the numbers that the goal needs are there. */
function isGoalComplete({ goal, deadline, budget, price }) {
  const needed = { [DEADLINE]: [deadline], [BUDGET]: [budget], [BOTH]: [deadline, budget] }[goal];
  return Boolean(price && needed?.every(Boolean));
}

/** What api/prediction is asked for. Nothing can be chosen without a price, so then it gets no goal. */
export function predictionParams(page, asked) {
  const { job, instance_type: instanceType, model_id: modelId } = page.model;
  const hasGoal = isGoalComplete(asked);
  return {
    job,
    instance_type: instanceType,
    model_id: modelId,
    scale: asked.scale,
    iterations: asked.iterations,
    deadline_seconds: hasGoal ? deadlineOf(asked) : null,
    budget_dollars: hasGoal ? budgetOf(asked) : null,
    objective: hasGoal ? asked.objective : null,
    confidence: asked.confidence,
    price_per_hour: asked.price,
    ...asked.billed,
    min_machines: asked.minMachines,
    max_machines: asked.maxMachines,
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
    goal: asked.goal,
    deadline_seconds: asked.deadline,
    budget_dollars: asked.budget,
    objective: asked.objective,
    confidence: asked.confidence,
    price_per_hour: orTakenAway(asked.price),
    ...Object.fromEntries(Object.entries(asked.billed).map(([name, value]) => [name, orTakenAway(value)])),
    min_machines: asked.minMachines,
    max_machines: asked.maxMachines,
  });
}
