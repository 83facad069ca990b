/** The second opinion by replay beside the model, for what is asked. */
import { counted, inputShare, isolated, percentage } from "../format.js";

/** Shares of the input that differ by less are the same. */
const SAME_SCALE = 1e-3;

/**
 * What replay says of a prediction.
 *
 * @param {object} prediction the answer of api/prediction, with replays by type of machine
 * @returns {{replay: object|null, isAsked: boolean, points: object[]}} `replay` of the model's own type, whether it is
 *   for what is asked, and its points: {machines, seconds, predicted, nearlyCertain, isOutside}
 */
export function replayed(prediction) {
  const own = prediction.replays.find((replay) => replay.instance_type === prediction.instance_type) ?? null;
  const isAsked = own !== null && isFor(own, prediction);
  return { replay: own, isAsked, points: isAsked ? pointsOf(own, prediction.curve) : [] };
}

/** Whether it is for the share of the input and the iterations that are asked. */
function isFor(replay, { scale, iterations }) {
  const isSameScale = Math.abs(replay.scale / scale - 1) <= SAME_SCALE;
  const [known, asked] = [replay.iterations ?? null, iterations ?? null];
  return isSameScale && (known === null || asked === null || known === asked);
}

/** What is stored may hold any numbers. */
function isSound({ replayed_seconds: taken }) {
  return Number.isFinite(taken) && taken > 0;
}

function isOutside(seconds, range) {
  return Boolean(range) && (seconds < range[0] || seconds > range[1]);
}

function pointsOf({ sizes }, curve) {
  const byMachines = new Map(curve.map((each) => [each.executors, each]));
  const [least, most] = [curve[0].executors, curve.at(-1).executors];
  const isShown = (size) => isSound(size) && size.executors >= least && size.executors <= most;
  return sizes.filter(isShown).map(({ executors: number, replayed_seconds: taken }) => {
    const model = byMachines.get(number);
    const nearlyCertain = model?.nearly_certain_seconds ?? null;
    return {
      executors: number, seconds: taken, predicted: model?.seconds ?? null, nearlyCertain,
      isOutside: isOutside(taken, nearlyCertain),
    };
  });
}

function ofRun({ from_application_id: application, from_scale: share }) {
  const name = application ? isolated(application) : "a run";
  return Number.isFinite(share) ? `${name} (${inputShare(share)} of the input)` : name;
}

/** How to read it, or why it is not there; empty where nothing is known of any. */
export function replayCaption({ replay, isAsked, points }) {
  if (!replay) return "";
  if (replay.problem) return `There is no second opinion by replay: ${replay.problem}`;
  if (!isAsked) {
    const rounds = replay.iterations ? ` and ${counted(replay.iterations, "iteration")}` : "";
    const share = `${inputShare(replay.scale)} of the input${rounds}`;
    return `A second opinion by replay is known for ${share} only.`;
  }
  if (!points.length) return "A second opinion by replay is known for other sizes only.";
  const error = Number.isFinite(replay.error_percent)
    ? ` The same replay was off by ${percentage(replay.error_percent)} (median) for the job's other runs.` : "";
  return (
    `A second opinion: the tasks of ${ofRun(replay)}, as its event log has them, at other sizes, ` +
      `without the model.${error}`
  );
}
