/** Details, closed: sample runs, design, machines, terms, decisions, versions, facts. */
import { airflowLink, isReport, taskUrl } from "../airflow.js";
import { numeric } from "../charts/columns.js";
import { designFigure } from "../charts/design.js";
import { hasScores, machinesFigure, workers } from "../charts/machines.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import {
  asPercent, capitalized, count, counted, dateTime, dollars, duration, kindOfRun, number, oneUnit, unbroken, units,
} from "../format.js";
import { facts } from "../header.js";
import { dataTable } from "../table.js";
import { conditions } from "./conditions.js";
import { decisions } from "./decisions.js";
import { versions as versionsCard } from "./life.js";
import { observations } from "./observations.js";
import { card, figureOr, folded, part } from "./slot.js";

const NO_DESIGN =
  "The model was not given its design: models trained before the package kept it, and models fitted to runs " +
  "that were not planned by an ExperimentDesignOperator, have none. Train it by the Ernest DAG to see the design here.";

const NO_SCORES =
  "The machines were not measured. Clusters that Ernest starts on EC2 are probed before the sample runs, and " +
  "their stragglers culled: train the model on one to see how its machines compare.";

/** So many culled machines are named with their reasons; all are in the table. */
const CULLED_NAMED = 5;

/** The part of the page, for the answer of api/model. */
export function details(page) {
  const { model, observations: runs, versions, decisions: made } = page;
  const name = (subject) => `${model.job}-${model.instance_type}-${subject}`;
  const isPast = kindOfRun(runs) === "past run";
  return part(
    { id: "details", title: "Details" },
    element("div", { class: "card folds" },
      folded({ id: "sample-runs", title: isPast ? "Past runs" : "Sample runs", remark: count(runs.length) },
        () => observations(page, name("observations"))),
      isPast ? null
        : folded({ id: "measured", title: "Machines of the sample runs" }, () => cluster(page, name("machines"))),
      folded({ id: "fitted", title: "Terms of the model" }, () => terms(model, name("terms"))),
      isReport ? null
        : folded({ id: "decided", title: "Decisions", remark: count(made.length) }, () => decisions(page, name("decisions"))),
      folded({ id: "versions-of", title: "Versions", remark: count(versions.length) }, () => versionsCard(page)),
      folded({ id: "known", title: "Facts" }, () => [provenance(model), isReport ? conditions(page.conditions) : null])),
  );
}

/** The figure of what was planned and what came of it. */
export function design({ design: made }, name) {
  return figureOr(
    () => Boolean(made?.experiments.length),
    {
      id: "design",
      title: "Design of the sample runs",
      question: "Which runs tell the most for their cost?",
      name,
      specification: () => {
        const specification = designFigure({ design: made });
        return { ...specification, caption: [specification.caption, designFacts(made)] };
      },
    },
    made?.reason || NO_DESIGN,
  );
}

function designFacts(made) {
  const observed = made.experiments.filter((each) => each.observed).length;
  const paid = made.experiments.map((each) => each.paid).filter((each) => Number.isFinite(each));
  const inRounds = made.criterion === "decision";
  return facts([
    ["Runs", `${observed} of ${made.experiments.length} made, ${counted(made.candidates, "candidate")}`],
    ["Past runs", made.past_runs ? `${count(made.past_runs)} counted, at no cost` : null],
    ["Rounds", inRounds ? made.reason : null],
    ["Efficiency",
      inRounds ? null : `${asPercent(made.efficiency)} of the best possible design (${made.criterion})`],
    ["Expected cost",
      inRounds ? null : `${number(made.cost)} of a budget of ${number(made.budget)} ${made.cost_unit}`],
    ["Paid", paid.length ? dollars(paid.reduce((sum, each) => sum + each, 0)) : null],
    [inRounds ? "For a model of" : "Optimal for", `${made.terms.join(", ")} (${made.weighting} errors)`],
  ]);
}

function cluster({ cluster: made }, name) {
  const options = {
    id: "machines",
    title: "Machines of the sample runs",
    question: "Were any machines slower than the others?",
    name,
    specification: () => {
      const specification = machinesFigure({ cluster: made });
      return { ...specification, caption: [specification.caption, clusterFacts(made)] };
    },
  };
  if (made && !made.machines.length) {
    return card({ id: "machines", title: options.title, text: "No cluster was started: past runs told enough." });
  }
  if (made && !hasScores(made)) {
    return card({ id: "machines", title: options.title, text: NO_SCORES }, clusterFacts(made));
  }
  return figureOr(() => Boolean(made), options,
    `The cluster of the sample runs was not kept with this model. ${NO_SCORES}`);
}

function clusterFacts(made) {
  const culled = made.machines.filter((machine) => machine.culled_because);
  const reasons = culled.slice(0, CULLED_NAMED).map((machine) =>
    element("div", {}, element("strong", {}, machine.host), `: ${machine.culled_because}`));
  if (culled.length > CULLED_NAMED) reasons.push(element("div", {}, "The others are among the numbers."));
  return facts([
    ["Cluster", `${made.name} (${made.kind})`],
    [capitalized(units()), `${workers(made).length - culled.length} kept, ${culled.length} culled`],
    ["Master", made.machines.find((machine) => machine.is_master)?.host],
    ["Culled", culled.length ? reasons : null],
    ["Type", `${made.instance_type}, ${counted(made.executor_cores, "core")} each`],
    ["Price", made.price_per_hour ? `${dollars(made.price_per_hour)} for ${oneUnit()} and hour` : null],
  ]);
}

const TERM_COLUMNS = [
  { key: "name", title: "Term", render: (row) => element("code", {}, row.name) },
  { key: "meaning", title: "What the time is spent on", class: "words" },
  numeric("coefficient", "Coefficient", number, { unit: "s per unit" }),
  numeric("probability", "Probability", asPercent),
];

function terms({ terms: rows, method }, name) {
  // Where terms were averaged over, each has a probability of its own.
  const isAveraged = rows.some((term) => term.probability < 1);
  const found = isAveraged
    ? "Which terms the job has is not certain, so the prediction averages over all sets of them: the coefficient is the " +
      "mean, the probability that of the job having the term at all."
    : `The coefficients were found by the method "${method}".`;
  const columns = isAveraged ? TERM_COLUMNS : TERM_COLUMNS.slice(0, -1);
  const ordered = isAveraged ? [...rows].sort((one, other) => other.probability - one.probability) : rows;
  return card(
    { id: "terms", title: "Terms of the model",
      text: "The time of a run is a sum of terms, each the seconds of something. " +
        `${capitalized(units())} count as numbers, scale as the ` +
        `share of the input. ${found}` },
    downloadButtons({ name, columns, rows: ordered }),
    dataTable({ caption: "Terms with their coefficients", captionHidden: true, columns, rows: ordered }),
  );
}

function provenance(model) {
  const code = (text) => (text ? element("code", {}, text) : null);
  const { origin: made } = model;
  return card(
    { id: "facts", title: "Facts" },
    facts([
      ["Version", code(model.model_id)],
      ["Trained", dateTime(model.created_at)],
      ["Fitted by", made ? airflowLink(taskUrl(made), `${made.dag_id}, ${made.task_id}`) : null],
      ["Method", model.method],
      ["Job", model.job],
      ["Instance type", model.instance_type],
      ["Artifact", code(model.artifact)],
      ["Its SHA-256", code(model.artifact_sha256)],
      ["Input at scale 1", code(model.input_path)],
      ["Iterations of the samples", model.trained_iterations],
      ["Start-up", duration(model.startup_seconds)],
      ["Driver on a machine", model.driver_share ? `${asPercent(model.driver_share)} probable` : null],
      ["Noise of a run", model.noise > 0 ? asPercent(model.noise) : null],
      ["Intervals", model.calibration || null],
      ["Warnings", model.warnings.length ? model.warnings.map((words) =>
        element("div", {}, element("bdi", {}, unbroken(words)))) : null],
      ["Residual sum of squares", `${number(model.residual_sum_of_squares)} s²`],
    ]),
  );
}
