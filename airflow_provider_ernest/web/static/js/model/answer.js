/** The answer to how many machines, in words. */
import {
  count, dollars, isolated, machines, percent, probability, seconds, secondsRange, unbroken,
} from "../format.js";
import { BOTH, BUDGET, DEADLINE, NO_GOAL } from "./asked.js";

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
  const words = [...more, opinionWords(prediction.second_opinion)].filter(Boolean);
  return {
    headline: unbroken(headline), more: words.map(unbroken), warnings: warnings.map(unbroken), isOutOfReach,
  };
}

function inWords(prediction, asked) {
  if (prediction.out_of_reach) return missed(prediction);
  return prediction.decision ? chosen(prediction, asked) : withoutGoal(prediction, asked);
}

/** What the extended Amdahl model says, which learns from each production run. */
function opinionWords(opinion) {
  if (!opinion) return "";
  const { alpha, machines: number, seconds: taken, problem } = opinion;
  const name = "the extended Amdahl model";
  if (problem) return `A second opinion, by ${name}, cannot be had yet: ${problem}`;
  const spread = `${percent(100 * alpha, 0)} of the work spreads over the machines`;
  if (!Number.isFinite(taken)) return `A second opinion, by ${name}: ${spread}.`;
  return `A second opinion, by ${name}: ${seconds(taken)} on ${machines(number)}; ${spread}.`;
}

/** Machines of a type. */
function configuration({ machines: number, instance_type: type }) {
  return `${machines(number)} of ${isolated(type)}`;
}

/** That nothing keeps the goal as surely as was asked for, and what keeps it most probably. */
function missed({ out_of_reach: reason, most_probable: best }) {
  if (!best) return { headline: reason, more: [], warnings: [], isOutOfReach: true };
  const headline =
    `Out of reach. Most probable: ${configuration(best)}, with a probability of ` +
    `${probability(best.probability)}: ${seconds(best.seconds)} for ${dollars(best.cost)}`;
  return { headline, more: [reason], warnings: [], isOutOfReach: true };
}

/** Between what 80 of 100 runs take, behind what is predicted. */
function mostly(range) {
  return ` (80 % of runs: ${secondsRange(range)})`;
}

function chosen(prediction, { objective }) {
  const { decision, runners_up: runnersUp } = prediction;
  const headline =
    `${configuration(decision)}: ${seconds(decision.predicted_seconds)} for ` +
    `${dollars(decision.predicted_cost)}${decision.likely_seconds ? mostly(decision.likely_seconds) : ""}`;
  const more = [goalWords(prediction), bargainWords(prediction, objective), costWords(decision)].filter(Boolean);
  if (runnersUp.length) {
    const next = runnersUp.map((each) =>
      `${configuration(each)} (${seconds(each.seconds)} for ${dollars(each.cost)})`);
    more.push(`Runners-up: ${next.join(", ")}.`);
  }
  return { headline, more, warnings: decision.warnings ?? [] };
}

function goalWords({ goal, decision, offered_types: types }) {
  const among = types.length > 1 ? `, of ${count(types.length)} types and` : ", of";
  const isKept = Number.isFinite(decision.probability)
    ? ` This choice keeps it with a probability of ${probability(decision.probability)}.`
    : "";
  return `${sentence(goal)}${among} the numbers of machines allowed.${isKept}`;
}

/** What counts by itself, without the probability. */
const COUNTS = {
  cheapest: ({ cost }) => cost,
  fastest: ({ seconds: taken }) => taken,
  balanced: ({ cost, seconds: taken }) => cost * taken,
};

/** Figures that differ by a smaller share are equal. */
const SAME = 1 - 1e-6;

/** Why something that is sure enough, and cheaper where the cheapest was wanted, say, was left. */
function bargainWords({ decision, runners_up: runnersUp }, objective) {
  const counts = COUNTS[objective];
  const own = counts({ cost: decision.predicted_cost, seconds: decision.predicted_seconds });
  return runnersUp.some((each) => counts(each) < own * SAME)
    ? "What is best counts per run that keeps the goal: a little more for much more certainty is a bargain."
    : "";
}

/** What the cost is made of, where it is more than the machines. */
function costWords({ cost_parts: parts }) {
  const besides = [["the master", parts?.master], ["volumes", parts?.volumes], ["training", parts?.training]];
  const told = besides.filter(([, cost]) => cost > 0).map(([name, cost]) => `${dollars(cost)} for ${name}`);
  if (!told.length) return "";
  return `Of the cost, ${[`${dollars(parts.machines)} is for the machines`, ...told].join(", ")}.`;
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

function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1).replace(/\.$/, "");
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
    return `Choose by a deadline or a budget${also} to have machines chosen.`;
  }
  const numbers = { [DEADLINE]: asked.deadline, [BUDGET]: asked.budget };
  const needed = asked.goal === BOTH ? [DEADLINE, BUDGET] : [asked.goal];
  const missing = needed.filter((name) => !numbers[name]).map((name) => `the ${name}`);
  return `Enter ${missing.length ? missing.join(" and ") : price} to have machines chosen.`;
}
