/** The controls by which a reader asks how many machines. */
import { numberField, radioSwitch, slider } from "../controls.js";
import { element } from "../dom.js";
import { scale as percentOf } from "../format.js";
import { BUDGET, DEADLINE, NO_GOAL } from "./asked.js";

const MOST_MACHINES = 10_000;

/** No price, deadline or budget beyond them is meant. */
const [SMALLEST, LARGEST] = [1e-9, 1e9];

/** Scales that the slider reaches beyond the input that was sampled from. */
const LARGEST_SCALE = 10;

/**
 * The controls.
 *
 * @param {object} asked what is asked at first
 * @param {boolean} isIterative whether the job has iterations
 * @param {number} smallestScale for the slider
 * @param {(changed: object) => void} onChange with what changed of it
 */
export function controls({ asked, isIterative, smallestScale, onChange }) {
  const deadline = numberField({
    id: "deadline", label: "Deadline", unit: "s", value: asked.deadline, minimum: SMALLEST, maximum: LARGEST,
    isRequired: true, onChange: (value) => onChange({ deadline: value }),
  });
  const budget = numberField({
    id: "budget", label: "Budget", unit: "$", value: asked.budget, minimum: SMALLEST, maximum: LARGEST,
    isRequired: true, onChange: (value) => onChange({ budget: value }),
  });
  const showGoal = (goal) => {
    deadline.hidden = goal !== DEADLINE;
    budget.hidden = goal !== BUDGET;
  };
  showGoal(asked.goal);
  const goal = radioSwitch({
    legend: "Choose by",
    name: "goal",
    value: asked.goal,
    options: [
      { value: DEADLINE, label: "Deadline" },
      { value: BUDGET, label: "Budget" },
      { value: NO_GOAL, label: "No goal" },
    ],
    onChange: (chosen) => {
      showGoal(chosen);
      onChange({ goal: chosen });
    },
  });
  return element(
    "div",
    { class: "asking" },
    element("div", { class: "controls" }, goal, deadline, budget, machineFields(asked, isIterative, onChange)),
    scaleControl(asked, smallestScale, onChange),
  );
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
