/** The answer to how many machines, in words. */
import { count, dollars, machines, seconds, secondsRange, unbroken } from "../format.js";
import { BUDGET, budgetOf, DEADLINE, deadlineOf, NO_GOAL } from "./asked.js";

/** So many times the shortest time is still about as fast. */
const NEARLY_AS_FAST = 1.1;

/**
 * The answer.
 *
 * @param {object} prediction the answer of api/prediction
 * @param {object} asked
 * @returns {{headline: string, more: string[], warnings: string[], isOutOfReach: boolean}}
 */
export function answer(prediction, asked) {
  const { headline, more, warnings, isOutOfReach = false } = inWords(prediction, asked);
  return {
    headline: unbroken(headline), more: more.map(unbroken), warnings: warnings.map(unbroken), isOutOfReach,
  };
}

function inWords(prediction, asked) {
  if (prediction.out_of_reach) return missed(prediction, asked);
  return prediction.decision ? chosen(prediction, asked) : withoutGoal(prediction, asked);
}

/** That no number of machines keeps the goal, and how near the nearest comes to it. */
function missed(prediction, asked) {
  const own = prediction.alternatives.filter((each) => each.instance_type === asked.instanceType);
  if (!own.length) return { headline: prediction.out_of_reach, more: [], warnings: [], isOutOfReach: true };
  const isBudget = asked.goal === BUDGET;
  const worth = isBudget ? "cost" : "seconds";
  const nearest = own.reduce((best, each) => (each[worth] < best[worth] ? each : best));
  const headline =
    (isBudget
      ? `No number of machines allowed costs ${dollars(budgetOf(asked))} or less: the cheapest is `
      : `No number of machines allowed ends within ${seconds(deadlineOf(asked))}: the fastest is `) +
    `${machines(nearest.machines)}, ${seconds(nearest.seconds)} for ${dollars(nearest.cost)}.`;
  const advice =
    `${isBudget ? "Raise the budget" : "Extend the deadline"}, allow other numbers of machines, or train ` +
    "on another instance type.";
  const more = [advice, ...notAll(prediction, asked), ...betterElsewhere(prediction, asked)];
  return { headline, more, warnings: [], isOutOfReach: true };
}

/** Between what 80 of 100 runs take, behind what is predicted. */
function mostly(range) {
  return ` (80 % of runs: ${secondsRange(range)})`;
}

function chosen(prediction, asked) {
  const { decision, runners_up: runnersUp } = prediction;
  const runs = machines(decision.config.machines);
  const headline =
    `${runs}: ${seconds(decision.predicted_seconds)} for ${dollars(decision.predicted_cost)}` +
    (decision.likely_seconds ? mostly(decision.likely_seconds) : "");
  const more = [];
  if (prediction.goal) more.push(`${sentence(prediction.goal)}, of the numbers of machines allowed.`);
  if (runnersUp.length) {
    const next = runnersUp.map(
      (each) => `${machines(each.machines)} (${seconds(each.seconds)} for ${dollars(each.cost)})`,
    );
    more.push(`Runners-up: ${next.join(", ")}.`);
  }
  more.push(...betterElsewhere(prediction, asked));
  const warnings = [...mayMiss(decision, asked), ...(decision.warnings ?? [])];
  return { headline, more, warnings };
}

/** That numbers of machines in between were passed over; a decision has a warning that says so. */
function notAll({ curve }, { minMachines, maxMachines }) {
  const span = maxMachines - minMachines + 1;
  if (curve.length >= span) return [];
  return [
    `Only ${count(curve.length)} of the ${count(span)} numbers of machines allowed were looked at, ` +
      "evenly spread by ratio: narrow them to look at each.",
  ];
}

/** That machines of another type would serve the goal better: the choice is made among those of this type. */
function betterElsewhere({ decision, alternatives }, asked) {
  const worth = asked.goal === BUDGET ? "seconds" : "cost";
  const own = asked.goal === BUDGET ? decision?.predicted_seconds : decision?.predicted_cost;
  const type = decision?.config.instance_type ?? asked.instanceType;
  const [best] = alternatives
    .filter((each) => each.feasible && each.instance_type !== type)
    .sort((one, other) => one[worth] - other[worth]);
  if (!best || best[worth] >= own) return [];
  const gain = decision ? (asked.goal === BUDGET ? "be faster" : "be cheaper") : "do";
  const doubt = best.extrapolates ? ` (${best.extrapolates})` : "";
  return [
    `Another type would ${gain}: ${machines(best.machines)} of ${best.instance_type}, ` +
      `${seconds(best.seconds)} for ${dollars(best.cost)}${doubt}.`,
  ];
}

function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1).replace(/\.$/, "");
}

/** That a deadline may well be missed although the prediction keeps it. */
function mayMiss(decision, asked) {
  const deadline = deadlineOf(asked);
  if (!deadline || !decision.likely_seconds || decision.likely_seconds[1] <= deadline) return [];
  return [
    `The deadline of ${seconds(deadline)} lies within what 80 % of runs take: the run may miss it. A shorter ` +
      "deadline chooses with more to spare.",
  ];
}

function withoutGoal(prediction, asked) {
  const fastest = prediction.curve.reduce((best, each) => (each.seconds < best.seconds ? each : best));
  const near = prediction.curve.find((each) => each.seconds <= NEARLY_AS_FAST * fastest.seconds);
  const headline =
    `Fastest: ${machines(fastest.machines)}, ${seconds(fastest.seconds)}${mostly(fastest.likely_seconds)}`;
  const more = [];
  if (near !== fastest) more.push(`Nearly as fast: ${machines(near.machines)}, ${seconds(near.seconds)}.`);
  more.push(...notAll(prediction, asked), howToChoose(asked));
  return { headline, more, warnings: fastest.extrapolates ? [fastest.extrapolates] : [] };
}

function howToChoose(asked) {
  const price = "the price of a machine and hour";
  if (asked.goal === NO_GOAL) {
    const also = asked.price ? "" : ` and enter ${price}`;
    return `Choose by a deadline or a budget${also} to have a number chosen.`;
  }
  const number = { [DEADLINE]: asked.deadline, [BUDGET]: asked.budget }[asked.goal];
  if (!number) return `Enter the ${asked.goal} to have a number of machines chosen.`;
  return `Enter ${price} to have a number of machines chosen.`;
}
