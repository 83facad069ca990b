/** The controls by which a reader asks how many machines. */
import { durationField, numberField, selectField } from "../controls.js";
import { element } from "../dom.js";
import { confidence as inWords, oneUnit, units } from "../format.js";
import { hasLimits } from "./asked.js";
import { billedControls } from "./billed.js";

const MOST_MACHINES = 10_000;

/** No price, deadline or budget beyond them is meant. */
const [SMALLEST, LARGEST] = [1e-9, 1e9];

const CONFIDENCES = [0.5, 0.8, 0.9, 0.95, 0.99];

const OBJECTIVES = [
  { value: "best_value", label: "Best value" },
  { value: "cheapest", label: "Cheapest" },
  { value: "fastest", label: "Fastest" },
  { value: "balanced", label: "Balanced: least time × cost" },
];

/** The controls: what is asked at first, what is called with what changed of it, and with what is wrong. */
export function controls({ asked, isIterative, onChange, onInvalid }) {
  const limits = { deadline: asked.deadline, budget: asked.budget };
  const limit = { minimum: SMALLEST, maximum: LARGEST, onInvalid };
  const objective = selectField({
    id: "objective", label: "Then choose", value: asked.objective, options: OBJECTIVES,
    onChange: (value) => onChange({ objective: value }),
  });
  const change = (changed) => {
    Object.assign(limits, changed);
    showGoal();
    onChange(changed);
  };
  const deadline = durationField({
    ...limit, id: "deadline", label: "Deadline", value: asked.deadline, placeholder: "7m, 1h30",
    onChange: (value) => change({ deadline: value }),
  });
  const confidence = selectField({
    id: "confidence", label: "Met in", value: asked.confidence, options: confidencesWith(asked.confidence),
    onChange: (value) => onChange({ confidence: Number(value) }),
  });
  const showGoal = () => {
    confidence.hidden = objective.hidden = !hasLimits(limits);
  };
  showGoal();
  const budget = numberField({
    ...limit, id: "budget", label: "Budget", unit: "$ a run", value: asked.budget, placeholder: "none",
    onChange: (value) => change({ budget: value }),
  });
  return element("div", { class: "asking" },
    element("div", { class: "controls" }, deadline, confidence, objective),
    element("details", { class: "more" },
      element("summary", {}, `More: budget, price, ${units()}, input`),
      element("div", { class: "controls" }, budget, machineFields(asked, isIterative, onChange, onInvalid)),
      billedControls(asked.billed, (billed) => onChange({ billed }), onInvalid)));
}

/** The usual ones, and the one that is asked for. */
function confidencesWith(asked) {
  const all = [...new Set([...CONFIDENCES, asked])].sort((one, other) => one - other);
  return all.map((value) => ({
    value, label: `${inWords(value)} of runs`,
  }));
}

function machineFields(asked, isIterative, onChange, onInvalid) {
  const bounds = { minimum: 1, maximum: MOST_MACHINES, isWhole: true, isRequired: true, onInvalid };
  return [
    numberField({
      id: "scale", label: "Scale of the input", hint: "1 is the whole input sampled from.", value: asked.scale,
      minimum: SMALLEST, maximum: LARGEST, isRequired: true, onInvalid, onChange: (value) => onChange({ scale: value }),
    }),
    numberField({
      id: "price", label: `Price of ${oneUnit()}`, unit: "$ per hour", value: asked.price, minimum: SMALLEST,
      maximum: LARGEST, placeholder: "unknown", onInvalid, onChange: (value) => onChange({ price: value }),
    }),
    numberField({
      ...bounds, id: "min-machines", label: "At least", unit: units(), value: asked.minMachines,
      onChange: (value) => onChange({ minMachines: value }),
    }),
    numberField({
      ...bounds, id: "max-machines", label: "At most", unit: units(), value: asked.maxMachines,
      onChange: (value) => onChange({ maxMachines: value }),
    }),
    isIterative
      ? numberField({
          id: "iterations", label: "Iterations", value: asked.iterations, minimum: 1, isWhole: true,
          isRequired: true, onInvalid, onChange: (value) => onChange({ iterations: value }),
        })
      : null,
  ];
}
