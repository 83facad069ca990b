/** The page of a task instance: what this task of Ernest did. */

import { airflowLink, externalLink, runUrl, taskUrl } from "../airflow.js";
import { analyzeCommand } from "../analyze.js";
import { ApiError, fetchJson, pageParams, pageUrl } from "../api.js";
import { taskStateBadge } from "../badge.js";
import { copyable } from "../copy.js";
import { element } from "../dom.js";
import { follower, isGoingOn } from "../follow.js";
import { dollars, duration, inputShare, isolated, number, unbroken } from "../format.js";
import { facts, fillPage, keyFigures, notice, pageHeader } from "../header.js";
import { emptyState, errorState, loadingState } from "../states.js";
import { choiceCard, outOfReach } from "./choice.js";
import { modelUrl, whyUrl } from "./run_tables.js";
import { errorWords } from "./run_words.js";
import { BOTTLENECKS } from "./step_kinds.js";

const KINDS = {
  find: "The search for a stored model",
  preflight: "The check ahead",
  history: "The past runs",
  design: "The design of the sample runs",
  cluster: "The cluster of the sample runs",
  sample_run: "A sample run",
  next_runs: "The choice of further sample runs",
  fit: "The fit of the model",
  bottleneck_report: "Why the job takes this long",
  choose: "The choice of the cluster",
  resize: "The resizing of the cluster",
  terminate: "The end of the cluster",
  production: "The production run",
  record: "The record of the production run",
};

/** Airflow leaves {MAP_INDEX} in the address of tasks that are not mapped. */
function originFromAddress() {
  const { dag_id, run_id, task_id, map_index } = pageParams();
  return { dag_id, run_id, task_id, map_index: /^\d+$/.test(map_index ?? "") ? Number(map_index) : -1 };
}

function runPage(origin) {
  return pageUrl("run", { dag_id: origin.dag_id, run_id: origin.run_id });
}

function runLink(origin, isPrimary = false) {
  const attributes = { href: runPage(origin), class: isPrimary ? "button primary" : "button" };
  return element("a", attributes, "Ernest in the whole run");
}

function header(origin, answer) {
  const name = origin.map_index >= 0 ? `${origin.task_id} [${origin.map_index}]` : origin.task_id;
  return pageHeader({
    title: KINDS[answer?.kind] ?? "Ernest in this task",
    crumbs: [
      { text: "Models", href: pageUrl("models") },
      { text: origin.run_id, href: runPage(origin) },
      { node: element("span", {}, name) },
    ],
    subtitle: [
      element("span", {}, "Task ", airflowLink(taskUrl(origin), name)),
      answer?.state ? taskStateBadge(answer.state) : null,
    ],
  });
}

/** The model; of the report, the part of its page that says why the job takes as long as it does. */
function modelCard({ kind, model, choice }) {
  const { job, instance_type, model_id } = model;
  const isReport = kind === BOTTLENECKS;
  const href = isReport ? whyUrl(model) : modelUrl(model, choice?.question);
  return element("section", { class: "card", "aria-labelledby": "model-title" },
    element("h2", { id: "model-title" }, "The model"),
    facts([
      ["Job", element("a", { href }, job)],
      ["Instance type", instance_type],
      ["Model", element("code", {}, model_id)],
    ]),
    element("div", { class: "actions" },
      element("a", { class: "button primary", href }, isReport ? "See why" : "Open the model page")));
}

/** What the model, fitted to all the other runs, says of this one; null where there is no such model. */
async function opinionOf(answer, signal) {
  if (!answer.model || !answer.observation) return null;
  const { job, instance_type, model_id } = answer.model;
  try {
    const { observations } = await fetchJson("api/model", { job, instance_type, model_id }, { signal });
    const { index, machines, seconds: took } = answer.observation;
    const isSame = (each) => each.index === index && each.machines === machines && each.seconds === took;
    return observations.find(isSame) ?? null;
  } catch (error) {
    if (!signal.aborted) console.warn(error.message); // the page says all else without it
    return null;
  }
}

function observationCard(observation, opinion) {
  const { predicted_seconds: predicted, error_percent: error } = opinion ?? {};
  const { application_id: application, history_url: history, event_log: log } = observation;
  return element("section", { class: "card", "aria-labelledby": "observation-title" },
    element("h2", { id: "observation-title" }, "What was observed"),
    keyFigures([
      { label: "Run time", value: duration(observation.seconds), remark: "without start-up" },
      { label: "Machines", value: String(observation.machines) },
      { label: "Scale", value: inputShare(observation.scale), remark: "of the input" },
      typeof observation.cost === "number" && { label: "Cost", value: dollars(observation.cost) },
      typeof predicted === "number" && {
        label: "Predicted by the other runs", value: duration(predicted),
        remark: typeof error === "number" ? errorWords(error) : null,
      },
    ]),
    facts([
      ["Start-up", duration(observation.startup_seconds)],
      ["Waited for executors", duration(observation.waited_seconds)],
      ["Iterations", observation.iterations],
      ["Hosts", observation.hosts?.length ? observation.hosts.join(", ") : null],
      ["Spark application", application ? element("code", {}, application) : null],
      ["History server", history ? externalLink(history, "Open the Spark UI") : null],
      ["Event log", log ? copyable(log, "the event log's path") : null],
      ["Why it took so long", log ? copyable(analyzeCommand(observation), "the command") : null],
    ]));
}

function experimentCard(experiment, isObserved) {
  return element("section", { class: "card", "aria-labelledby": "experiment-title" },
    element("h2", { id: "experiment-title" }, isObserved ? "What was planned" : "What is planned"),
    facts([
      ["Experiment", String(experiment.index)],
      ["Machines", String(experiment.machines)],
      ["Scale", inputShare(experiment.scale)],
      ["Partitions", String(experiment.partitions)],
      ["Weight in the design", number(experiment.weight)],
      ["Iterations", experiment.iterations],
    ]));
}

function otherTask(origin, answer) {
  return emptyState({
    title: "This task is not one of Ernest's",
    text: answer.hints.length
      ? answer.hints.join(" ")
      : "What Ernest did for this run, from the sample runs to the choice, is on the page of the run.",
    actions: [runLink(origin, true)],
    isWholePage: true,
  });
}

/** What came of the task; a fallback stands out, since production does not run on what was asked for. */
function outcome({ says, fallback, instance_type: type }) {
  if (!says) return null;
  const words = unbroken(type ? `On ${isolated(type)}: ${says}` : says);
  if (fallback) return notice({ items: [element("strong", {}, words)], kind: "warning" });
  return element("p", { class: "headline" }, words);
}

function contentOf(origin, answer, opinion) {
  if (!answer.kind) return [otherTask(origin, answer)];
  return [
    outOfReach(answer.choice) ?? outcome(answer),
    choiceCard(answer.choice, { model: null, id: "choice", level: 2, isWhole: true }),
    notice({ title: "Hints", items: answer.hints }),
    answer.observation ? observationCard(answer.observation, opinion) : null,
    answer.experiment ? experimentCard(answer.experiment, Boolean(answer.observation)) : null,
    answer.model ? modelCard(answer) : null,
    element("div", { class: "actions" }, runLink(origin),
      airflowLink(runUrl(origin.dag_id, origin.run_id), "The run in Airflow", { class: "button" })),
  ];
}

class TaskPage {
  constructor(origin) {
    this.origin = origin;
    this.before = "";
    this.opinion = null;
    this.follower = follower((signal) => this.load(signal));
  }

  start() {
    fillPage(header(this.origin), loadingState("Loading the task …"));
    this.follower.start();
  }

  async load(signal) {
    try {
      const answer = await fetchJson("api/task", this.origin, { signal });
      if (!signal.aborted) await this.show(answer, signal);
      if (!signal.aborted) this.follower.next({ goesOn: isGoingOn(answer.state) });
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  async show(answer, signal) {
    const text = JSON.stringify(answer);
    if (text === this.before) return;
    this.fill(answer);
    const opinion = await opinionOf(answer, signal);
    if (signal.aborted) return;
    this.before = text;
    if (JSON.stringify(opinion) === JSON.stringify(this.opinion)) return;
    this.opinion = opinion;
    this.fill(answer);
  }

  fill(answer) {
    fillPage(header(this.origin, answer),
      element("div", { class: "stack" }, contentOf(this.origin, answer, this.opinion)));
  }

  failed(error) {
    if (!(error instanceof ApiError)) console.error(error);
    if (this.before) this.follower.next({ goesOn: error.status !== 401, hasFailed: true });
    else fillPage(header(this.origin), errorState(error, () => this.follower.start()));
  }
}

function start() {
  const origin = originFromAddress();
  if (origin.dag_id && origin.run_id && origin.task_id) {
    new TaskPage(origin).start();
    return;
  }
  fillPage(
    pageHeader({ title: "Ernest in a task", crumbs: [{ text: "Models", href: pageUrl("models") }] }),
    emptyState({
      title: "Which task?",
      text: "The address of this page lacks dag_id, run_id or task_id: open a task instance in Airflow, " +
        "then its tab “Ernest”.",
      actions: [element("a", { class: "button", href: pageUrl("models") }, "All models")],
      isWholePage: true,
    }),
  );
}

start();
