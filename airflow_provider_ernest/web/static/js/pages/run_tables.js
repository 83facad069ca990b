/** The tables of a run: its steps, its sample runs. */

import { airflowLink, externalLink, taskUrl } from "../airflow.js";
import { pageUrl } from "../api.js";
import { taskStateBadge } from "../badge.js";
import { copyButton } from "../copy.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { counted, dollars, duration, inputShare, number, unbroken } from "../format.js";
import { dataTable } from "../table.js";
import { BOTTLENECKS, stepName } from "./step_kinds.js";
import { typeName } from "./timeline.js";

const SUM = "sum";

/** The address of a model's page; with what was asked of it, where that is given. */
export function modelUrl({ job, instance_type, model_id }, question = null) {
  const { billing, ...asked } = question ?? {};
  const { market: _, ...billed } = billing ?? {};
  return pageUrl("model", { job, instance_type, model_id, ...asked, ...billed });
}

/** The address of the part of it that says why the job takes as long as it does. */
export function whyUrl(model) {
  return `${modelUrl(model)}#why`;
}

function stepLink(run, step) {
  const origin = { dag_id: run.dag_id, run_id: run.run_id, task_id: step.task_id, map_index: step.map_index };
  return airflowLink(taskUrl(origin), stepName(step));
}

/** Steps name the model that they were to make or to read: it is not there if they failed or fell back. */
function isModelThere(step, { branches, decision }) {
  const named = branches.find(({ model }) => model?.model_id === step.model.model_id);
  if (typeof named?.model.median_error_percent === "number") return true;
  return step.state === "success" && !(step.kind === "choose" && decision?.fallback);
}

function outcome(step, group) {
  if (step.kind === BOTTLENECKS) return ofBottlenecks(step, group);
  const isOfModel = step.model && ["find", "fit", "choose"].includes(step.kind) && step.state !== "skipped";
  const question = step.kind === "choose" ? group.choice?.question : null;
  const link = isOfModel && isModelThere(step, group)
    ? [" ", element("a", { href: modelUrl(step.model, question), class: "nowrap" }, "Open the model")]
    : null;
  return element("span", {}, element("bdi", {}, unbroken(step.says ?? "")), link);
}

function ofBottlenecks(step, { branches }) {
  const isTold = step.state === "success" && step.model &&
    branches.some(({ bottlenecks, model }) => bottlenecks && model?.model_id === step.model.model_id);
  const link = isTold ? [" ", element("a", { href: whyUrl(step.model), class: "nowrap" }, "See why")] : null;
  return element("span", {}, element("bdi", {}, unbroken(step.says ?? "")), link);
}

function sum(name, cost, says) {
  return { kind: SUM, name, cost, says };
}

/** The rows below the steps, by which the costs of these add up to what the training cost. */
function sums({ training: { cost, idle_cost: idle } }) {
  if (typeof cost !== "number" || typeof idle !== "number") return [];
  return [
    sum("Idle machines", idle, "Machines that no sample run used, and the time between steps."),
    sum("Training", cost, "All from the start of the cluster to the decision."),
  ];
}

/** A report that failed is no training that failed. */
function markOf({ kind, state }) {
  if (state !== "failed") return null;
  return kind === BOTTLENECKS ? "warning" : "failed";
}

function stateOf(step) {
  if (step.kind === SUM) return null;
  const attempt = step.try_number > 1 ? element("span", { class: "below" }, `attempt ${step.try_number}`) : null;
  return element("span", {}, taskStateBadge(step.state), attempt);
}

function stepColumns(run, group) {
  const type = { key: "instance_type", title: "Type", class: "nowrap", value: typeName };
  return [
    { key: "name", title: "Step", class: "step-name",
      value: (step) => (step.kind === SUM ? step.name : stepName(step)),
      render: (step) => (step.kind === SUM ? step.name : stepLink(run, step)) },
    ...(group.branches.length > 1 ? [type] : []),
    { key: "state", title: "State", render: stateOf },
    { key: "seconds", title: "Time", align: "right", render: (step) => duration(step.seconds) },
    { key: "cost", title: "Cost", align: "right", render: (step) => dollars(step.cost) },
    { key: "says", title: "What came of it", class: "wide", render: (step) => outcome(step, group) },
  ];
}

/** The steps of a group with what came of each; `view` as of `dataTable`. */
export function stepTable(run, group, view) {
  return dataTable({
    caption: "Steps, in the order of the way from design to production", captionHidden: true,
    columns: stepColumns(run, group), rows: [...group.steps, ...sums(group)],
    emptyText: "No step of this group has been scheduled.", class: "steps",
    highlight: markOf, view,
  });
}

function logCell(row) {
  const links = [];
  if (row.history_url) links.push(externalLink(row.history_url, "Spark UI"));
  if (row.event_log) links.push(copyButton(row.event_log, "the event log's path", "Copy log path"));
  return links.length ? element("span", { class: "log" }, links) : null;
}

const TYPE = { key: "instance_type", title: "Type", class: "nowrap" };

const SAMPLE_RUNS = [
  { key: "index", title: "Experiment", align: "right" },
  { key: "machines", title: "Machines", align: "right" },
  { key: "scale", title: "Scale", align: "right", render: (row) => inputShare(row.scale) },
  { key: "seconds", title: "Run time", unit: "s", align: "right", render: (row) => number(row.seconds) },
  { key: "startup_seconds", title: "Start-up", unit: "s", align: "right",
    render: (row) => number(row.startup_seconds) },
  { key: "waited_seconds", title: "Waited", unit: "s", align: "right",
    render: (row) => number(row.waited_seconds) },
  { key: "cost", title: "Cost", align: "right", fileUnit: "dollars", render: (row) => dollars(row.cost) },
  { key: "application_id", title: "Spark application", class: "nowrap" },
  { key: "event_log", title: "Logs", class: "nowrap", render: logCell },
];

/** The sample runs of a group, with downloads; `view` as of `dataTable`. */
export function sampleRuns({ id, name, observations, view }) {
  const [first, ...others] = SAMPLE_RUNS;
  const columns = observations.some((run) => run.instance_type) ? [first, TYPE, ...others] : SAMPLE_RUNS;
  return element("details", { class: "card", id },
    element("summary", {}, `${counted(observations.length, "sample run")}: what each took`),
    downloadButtons({ name, columns, rows: observations }),
    dataTable({
      caption: "Sample runs: times and costs", captionHidden: true, columns, rows: observations,
      sort: true, view,
    }));
}
