/** "Where this comes from": the design, the cluster, the observations, the terms and the facts. */
import { airflowLink, taskUrl } from "../airflow.js";
import { designFigure } from "../charts/design.js";
import { hasScores, machinesFigure, workers } from "../charts/machines.js";
import { hasProbabilities, TERM_COLUMNS, termsFigure } from "../charts/terms.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { dateTime, dollars, number, percent, plural, seconds } from "../format.js";
import { facts } from "../header.js";
import { dataTable } from "../table.js";
import { observations } from "./observations.js";
import { card, figureOr, part } from "./slot.js";

const NO_DESIGN =
  "The model was not given its design: models trained before the package kept it, and models fitted to runs " +
  "that were not planned by an ExperimentDesignOperator, have none. Train it by the Ernest DAG to see the design here.";

const NO_SCORES =
  "The machines were not measured. Clusters that Ernest starts on EC2 are probed before the sample runs, and " +
  "their stragglers culled: train the model on one to see how its machines compare.";

/** So many culled machines are named with their reasons; all are in the table. */
const CULLED_NAMED = 5;

/** The part of the page, for the answer of api/model. */
export function origin(page) {
  const { model } = page;
  const name = (subject) => `${model.job}-${model.instance_type}-${subject}`;
  return part(
    { id: "origin", title: "Where this comes from" },
    element("div", { class: "pair" }, design(page, name("design")), cluster(page, name("machines"))),
    observations(page, name("observations")),
    element("div", { class: "pair" }, terms(model, name("terms")), provenance(model)),
  );
}

function design({ design: made }, name) {
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
    NO_DESIGN,
  );
}

function designFacts(made) {
  const observed = made.experiments.filter((each) => each.observed).length;
  const paid = made.experiments.map((each) => each.paid).filter((each) => Number.isFinite(each));
  return facts([
    ["Runs", `${observed} of ${made.experiments.length} made, ${plural(made.candidates, "candidate")}`],
    ["Efficiency", `${percent(100 * made.efficiency, 0)} of the best possible design (${made.criterion})`],
    ["Expected cost", `${number(made.cost)} of a budget of ${number(made.budget)} ${made.cost_unit}`],
    ["Paid", paid.length ? dollars(paid.reduce((sum, each) => sum + each, 0)) : null],
    ["Optimal for", `${made.terms.join(", ")} (${made.weighting} errors)`],
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
    ["Machines", `${workers(made).length - culled.length} kept, ${culled.length} culled`],
    ["Master", made.machines.find((machine) => machine.is_master)?.host],
    ["Culled", culled.length ? reasons : null],
    ["Type", `${made.instance_type}, ${plural(made.cores_per_machine, "core")} each`],
    ["Price", made.price_per_hour ? `${dollars(made.price_per_hour)} for a machine and hour` : null],
  ]);
}

function terms({ terms: rows, method }, name) {
  const titled = { id: "terms", title: "Terms of the model" };
  const explanation =
    "The time of a run is a sum of terms, each the seconds of something. Machines count as numbers, scale as " +
    "the share of the input.";
  if (hasProbabilities(rows)) {
    const specification = () => termsFigure({ terms: rows });
    return figureOr(() => true, { ...titled, question: explanation, name, specification });
  }
  const columns = TERM_COLUMNS.filter((column) => column.key !== "probability");
  return card(
    { ...titled, text: `${explanation} The coefficients were found by the method "${method}".` },
    downloadButtons({ name, columns, rows }),
    dataTable({ caption: "Terms with their coefficients", captionHidden: true, columns, rows }),
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
      ["Start-up", seconds(model.startup_seconds)],
      ["Driver on a machine", model.driver_share ? `${percent(100 * model.driver_share, 0)} probable` : null],
      ["Noise of a run", model.noise > 0 ? percent(100 * model.noise) : null],
      ["Residual sum of squares", `${number(model.residual_sum_of_squares)} s²`],
    ]),
  );
}
