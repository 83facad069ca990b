/** The controls by which a reader asks how many machines. */
import { numberField, radioSwitch, selectField, slider } from "../controls.js";
import { element } from "../dom.js";
import { probability, scale as percentOf } from "../format.js";
import { BEST_FOR, BOTH, BUDGET, DEADLINE, NO_GOAL } from "./asked.js";
import { billedControls } from "./billed.js";

const MOST_MACHINES = 10_000;

/** No price, deadline or budget beyond them is meant. */
const [SMALLEST, LARGEST] = [1e-9, 1e9];

/** Scales that the slider reaches beyond the input that was sampled from. */
const LARGEST_SCALE = 10;

const CONFIDENCES = [0.5, 0.8, 0.9, 0.95, 0.99];

/** What is to hold, by what is to be kept. */
const HOLDS = {
  [DEADLINE]: "The deadline holds",
  [BUDGET]: "The budget holds",
  [BOTH]: "Deadline and budget hold",
};

const OBJECTIVES = [
  { value: "cheapest", label: "Cheapest" },
  { value: "fastest", label: "Fastest" },
  { value: "balanced", label: "Balanced: least time × cost" },
];

/**
 * The controls.
 *
 * @param {object} asked what is asked at first
 * @param {boolean} isIterative whether the job has iterations
 * @param {number} smallestScale for the slider
 * @param {(changed: object) => void} onChange with what changed of it
 */
export function controls({ asked, isIterative, smallestScale, onChange }) {
  return element(
    "div",
    { class: "asking" },
    element("div", { class: "controls" }, goalControls(asked, onChange)),
    element("div", { class: "controls" }, machineFields(asked, isIterative, onChange)),
    billedControls(asked.billed, (billed) => onChange({ billed })),
    scaleControl(asked, smallestScale, onChange),
  );
}

/** What is to be kept, how surely, and what is best. */
function goalControls(asked, onChange) {
  const limit = { minimum: SMALLEST, maximum: LARGEST, isRequired: true };
  const deadline = numberField({
    ...limit, id: "deadline", label: "Deadline", unit: "s", value: asked.deadline,
    onChange: (value) => onChange({ deadline: value }),
  });
  const budget = numberField({
    ...limit, id: "budget", label: "Budget", unit: "$", value: asked.budget,
    onChange: (value) => onChange({ budget: value }),
  });
  const confidence = selectField({
    id: "confidence", label: "", value: asked.confidence, options: confidencesWith(asked.confidence),
    onChange: (value) => onChange({ confidence: Number(value) }),
  });
  const objective = selectField({
    id: "objective", label: "Best of those is the", value: asked.objective, options: OBJECTIVES,
    onChange: (value) => onChange({ objective: value }),
  });
  const showGoal = (goal) => {
    deadline.hidden = ![DEADLINE, BOTH].includes(goal);
    budget.hidden = ![BUDGET, BOTH].includes(goal);
    confidence.hidden = objective.hidden = goal === NO_GOAL;
    confidence.rename(`${HOLDS[goal] ?? "The goal holds"} with a probability of`);
  };
  showGoal(asked.goal);
  const goal = radioSwitch({
    legend: "Choose by",
    name: "goal",
    value: asked.goal,
    options: [
      { value: DEADLINE, label: "Deadline" },
      { value: BUDGET, label: "Budget" },
      { value: BOTH, label: "Both" },
      { value: NO_GOAL, label: "No goal" },
    ],
    onChange: (chosen) => {
      showGoal(chosen);
      const best = BEST_FOR[chosen];
      if (best) objective.set(best);
      onChange(best ? { goal: chosen, objective: best } : { goal: chosen });
    },
  });
  return [goal, deadline, budget, confidence, objective];
}

/** The usual ones, and the one that is asked for. */
function confidencesWith(asked) {
  const all = [...new Set([...CONFIDENCES, asked])].sort((one, other) => one - other);
  return all.map((value) => ({
    value, label: CONFIDENCES.includes(value) ? `${Math.round(100 * value)} %` : probability(value),
  }));
}

function scaleControl(asked, smallestScale, onChange) {
  return slider({
    id: "scale",
    label: "Scale of the input",
    hint: "1 is the whole input sampled from.",
    minimum: Math.min(smallestScale, asked.scale),
    maximum: Math.max(LARGEST_SCALE, asked.scale),
    value: asked.scale,
    format: (value) => `${percentOf(value)} of the input`,
    onChange: (value) => onChange({ scale: value }),
  });
}

function machineFields(asked, isIterative, onChange) {
  const machines = { minimum: 1, maximum: MOST_MACHINES, step: 1, isWhole: true, isRequired: true };
  return [
    numberField({
      id: "price", label: "Price of a machine", unit: "$ per hour", value: asked.price, minimum: SMALLEST,
      maximum: LARGEST, placeholder: "unknown", onChange: (value) => onChange({ price: value }),
    }),
    numberField({
      ...machines, id: "min-machines", label: "At least", unit: "machines", value: asked.minMachines,
      onChange: (value) => onChange({ minMachines: value }),
    }),
    numberField({
      ...machines, id: "max-machines", label: "At most", unit: "machines", value: asked.maxMachines,
      onChange: (value) => onChange({ maxMachines: value }),
    }),
    isIterative
      ? numberField({
          id: "iterations", label: "Iterations", value: asked.iterations, minimum: 1, step: 1, isWhole: true,
          isRequired: true, onChange: (value) => onChange({ iterations: value }),
        })
      : null,
  ];
}
