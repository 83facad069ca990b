/** What the reader asks of a model: kept in the page's address, so that it can be sent to others. */
import { rememberParams } from "../api.js";

export const DEADLINE = "deadline";
export const BUDGET = "budget";
export const NO_GOAL = "none";

/** What the address says of a price that was taken away: else the one last known would come back. */
const NO_PRICE = "none";

/** What is asked at first: what the address says, else the defaults that the API gives. */
export function askedAtFirst(params, page) {
  const { defaults, model } = page;
  const given = (name) => positive(params[name]);
  const deadline = given("deadline_seconds") ?? defaults.deadline_seconds;
  const budget = given("budget_dollars") ?? defaults.budget_dollars;
  return {
    instanceType: model.instance_type,
    scale: given("scale") ?? defaults.scale ?? 1,
    iterations: iterationsOf(given("iterations"), page),
    goal: goalOf(params, deadline, budget),
    deadline,
    budget,
    price: params.price_per_hour === NO_PRICE ? null : (given("price_per_hour") ?? defaults.price_per_hour),
    minMachines: given("min_machines") ?? defaults.min_machines ?? 1,
    maxMachines: given("max_machines") ?? defaults.max_machines ?? 32,
  };
}

/** Only jobs that iterate can be asked about iterations. */
function iterationsOf(given, { defaults, model }) {
  if (!model.trained_iterations) return null;
  return given ?? defaults.iterations ?? model.trained_iterations;
}

function positive(text) {
  const value = Number(text);
  return text !== undefined && text !== "" && Number.isFinite(value) && value > 0 ? value : null;
}

function goalOf(params, deadline, budget) {
  if ([DEADLINE, BUDGET, NO_GOAL].includes(params.goal)) return params.goal;
  if (positive(params.budget_dollars)) return BUDGET;
  if (positive(params.deadline_seconds)) return DEADLINE;
  if (deadline) return DEADLINE;
  return budget ? BUDGET : NO_GOAL;
}

/** The deadline in seconds that is to be kept; null where there is none. */
export function deadlineOf(asked) {
  return asked.goal === DEADLINE ? asked.deadline : null;
}

/** The budget in dollars that is to be kept; null where there is none. */
export function budgetOf(asked) {
  return asked.goal === BUDGET ? asked.budget : null;
}

/** What api/prediction is asked for. Nothing can be chosen without a price, so then it gets no goal. */
export function predictionParams(page, asked) {
  const { job, instance_type: instanceType, model_id: modelId } = page.model;
  return {
    job,
    instance_type: instanceType,
    model_id: modelId,
    scale: asked.scale,
    iterations: asked.iterations,
    deadline_seconds: asked.price ? deadlineOf(asked) : null,
    budget_dollars: asked.price ? budgetOf(asked) : null,
    price_per_hour: asked.price,
    min_machines: asked.minMachines,
    max_machines: asked.maxMachines,
  };
}

/** Puts what is asked into the address; the version only where the reader had asked for one. */
export function remember(params, asked) {
  rememberParams({
    job: params.job,
    instance_type: params.instance_type,
    model_id: params.model_id,
    scale: asked.scale,
    iterations: asked.iterations,
    goal: asked.goal,
    deadline_seconds: asked.deadline,
    budget_dollars: asked.budget,
    price_per_hour: asked.price ?? NO_PRICE,
    min_machines: asked.minMachines,
    max_machines: asked.maxMachines,
  });
}
