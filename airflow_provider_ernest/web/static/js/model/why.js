/** "What to fix in the job": what the event logs of its runs tell. Asked for once the page is there. */
import { airflowLink, externalLink, isReport, taskName, taskUrl } from "../airflow.js";
import { fetchJson } from "../api.js";
import { limitsFigure } from "../charts/limits.js";
import { phasesFigure } from "../charts/phases.js";
import { copyable } from "../copy.js";
import { element, replace } from "../dom.js";
import { figure } from "../figure.js";
import {
  bandwidth, capitalized, counted, dateTime, duration, executors, inputShare, inReadersTime, isolated, oneUnit,
  percentage, signedPercentage, unbroken,
} from "../format.js";
import { facts, notice } from "../header.js";
import { errorState, loadingState } from "../states.js";
import { folded, part } from "./slot.js";
import { otherSizes, stages, stragglers, twoRuns, whatIfs } from "./why_tables.js";
import { categoryName, idOf, resourceName, sourceWords, titleOf } from "./why_words.js";

const NOTHING =
  "No report of this model's runs is kept: the task bottleneck_report of an ErnestTaskGroup makes one from their " +
  "event logs, so run the Ernest DAG again to see what the time goes into; or give one of their event logs to " +
  "the command ernest analyze.";

/** A replay that is further off says nothing about what was replayed with changes. */
const FAR_OFF_PERCENT = 15;

const PRODUCTION = "production";

/**
 * The part of the page.
 *
 * @param {object} page the answer of api/model
 * @returns {HTMLElement} which fills itself
 */
export function why(page) {
  const content = element("div", { class: "why" });
  const load = async () => {
    try {
      const { job, instance_type, model_id } = page.model;
      const told = await fetchJson("api/clarity", { job, instance_type, model_id });
      replace(content, shown(page, told));
    } catch (error) {
      if (!error.status && error.status !== 0) console.error(error);
      replace(content, errorState(error, load));
    }
  };
  replace(content, loadingState("Loading what the event logs tell …"));
  load();
  return part({ id: "why", title: "What to fix in the job" }, content);
}

/** Production tells most; what differs in the sample run is said. */
function shown({ model }, { sample, production, reported_by: by, comparison }) {
  const run = production ?? sample;
  if (!run) return element("p", { class: "card muted" }, NOTHING);
  const other = production && sample ? sample : null;
  const details = (each) => folded(
    { id: `logs-${each.purpose}`, title: `What the event log of the ${each.purpose} run tells` },
    () => explained(each, `${model.job}-${model.instance_type}-${each.purpose}`, each === sample ? by : null));
  return [
    element("div", { class: "card" },
      found(run),
      other ? disagreement(run, other) : null,
      element("div", { class: "folds" }, sinceLastGood(comparison, model), details(run), other ? details(other) : null)),
  ];
}

/** The newest production run beside the last good one before it. */
function sinceLastGood(comparison, { job, instance_type: type }) {
  if (!comparison) return null;
  const difference = comparison.difference_seconds;
  return folded(
    { id: "since-last-good", title: "What changed since the last good run",
      remark: `${duration(Math.abs(difference))} ${difference > 0 ? "longer" : "less"}` },
    () => twoRuns(comparison, `${job}-${type}-changes`));
}

/** That the run that the machines were chosen by is bound by something else than production. */
function disagreement(production, sample) {
  if (!production.bottleneck || !sample.bottleneck || production.bottleneck === sample.bottleneck) return null;
  return notice({
    kind: "warning",
    items: [`Sample and production differ: the sample run was bound by ${resourceName(sample.bottleneck)}, production is ` +
      `bound by ${resourceName(production.bottleneck)}. Go by production.`],
  });
}

/** What binds the run, and what to do about it. */
export function found(run) {
  return [
    element("p", { class: "headline" }, element("bdi", {}, unbroken(run.headline) || "Nothing stands out.")),
    advice(run.advice),
  ];
}

/** All that the event log of a run tells; `of` begins the names of the files of its figures. */
export function explained(run, of, reportedBy = null) {
  const name = (subject) => `${of}-${subject}`;
  return element("div", { class: "why-run" },
    notice({ title: "Before you trust this", kind: "warning", level: 3, items: warningsOf(run) }),
    facts(factsOf(run, reportedBy)),
    pair(limits(run, name("limits")), phases(run, name("phases"))),
    stages(run, name("stages")),
    stragglers(run, name("stragglers")),
    pair(whatIfs(run), otherSizes(run)));
}

function pair(...children) {
  const known = children.flat().filter(Boolean);
  return known.length ? element("div", { class: "pair" }, known) : null;
}

function limits(run, name) {
  if (!run.limits.length) return null;
  const node = figure({
    id: idOf("limits", run), title: titleOf("What could be won at most", run),
    question: "Would a faster network or disks help?", level: 3, name,
    ...limitsFigure(run),
  });
  node.classList.add("bars-figure");
  return node;
}

function phases(run, name) {
  return figure({
    id: idOf("phases", run), title: titleOf("The phases of the run", run),
    question: "What is it doing, moment by moment?", level: 3, name,
    height: 84, ...phasesFigure(run),
  });
}

function advice(all) {
  if (!all.length) return null;
  return element("div", { class: "advice" },
    element("ul", {}, all.map((each) => element("li", {},
      element("bdi", {}, unbroken(each.text)), " ",
      element("span", { class: "muted" }, "(", element("bdi", {}, unbroken(each.figure)), ")"),
      each.documentation && [" ", externalLink(each.documentation, "Spark's documentation")]))));
}

/** By how many percent the replay of the very same run is off. */
function replayError({ seconds: taken, replayed_seconds: replayed }) {
  return (100 * (replayed - taken)) / taken;
}

function warningsOf(run) {
  const error = replayError(run);
  const told = run.warnings.map((words) => element("bdi", {}, unbroken(inReadersTime(words))));
  if (Math.abs(error) > FAR_OFF_PERCENT) {
    told.unshift(`The replay of the very same run is ${percentage(Math.abs(error))} off: what could be won, and other ` +
      "sizes, are no better known than that.");
  }
  return told;
}

function factsOf(run, reportedBy) {
  return [
    ["Goes by", whichRun(run)],
    ["It ran", conditionsOf(run)],
    ["It took", timesOf(run)],
    ["Kind", `${categoryName(run.category)}${run.spark ? `, Spark ${isolated(run.spark)}` : ""}`],
    ["Tasks", tasksOf(run)],
    [capitalized(oneUnit()), capacityOf(run.capacity)],
    ["Its own replay", replayOf(run)],
    ["Event log", run.event_log ? copyable(run.event_log, "the event log's path") : null],
    ["The same in a terminal", run.event_log && !isReport ? copyable(analyzeCommand(run), "the command") : null],
    ["Reported by", reportedBy ? airflowLink(taskUrl(reportedBy), reportedBy.task_id) : null],
  ];
}

function whichRun({ purpose, application_id: application, history_url: history, origin }) {
  const named = history ? externalLink(history, application) : element("code", {}, application);
  const task = origin ? [", ", airflowLink(taskUrl(origin), taskName(origin))] : null;
  const kind = purpose === PRODUCTION ? "production run " : "sample run ";
  return element("span", {}, isReport ? null : kind, named, task);
}

function conditionsOf({ recorded_at: at, executors: number, slots, scale, iterations }) {
  const told = [
    `${at ? `${dateTime(at).slice(0, 16)} ` : ""}on ${executors(number)}, ${counted(slots, "task")} at once`,
    `${inputShare(scale)} of the input`,
    iterations ? counted(iterations, "iteration") : "",
  ];
  return told.filter(Boolean).join(", ");
}

function timesOf({ seconds: taken, startup_seconds: startup, driver_seconds: driver }) {
  const alone = driver > 0 ? `; of it ${duration(driver)} in which no task ran` : "";
  return `${duration(taken)} after ${duration(startup)} of start-up${alone}`;
}

function tasksOf({ tasks, failed_tasks: failed }) {
  return `${counted(tasks, "task")}${failed ? `, and ${failed} that failed or were killed` : ""}`;
}

function capacityOf(capacity) {
  if (!capacity) return null;
  const { cores, network_gigabytes_per_second: network, source } = capacity;
  const told = [
    counted(cores, "core"),
    Number.isFinite(network) ? `${bandwidth(network)} over the network` : "",
  ];
  return `${told.filter(Boolean).join(", ")} (${sourceWords(source)})`;
}

function replayOf(run) {
  return `${duration(run.replayed_seconds)}, off by ${signedPercentage(replayError(run))}: what cannot be replayed cannot be predicted`;
}

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Paths may have any characters: none of them may command a shell. */
function quoted(path) {
  return PLAIN.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/** The command that writes the same as a page with charts. */
function analyzeCommand({ event_log: log, scale, iterations }) {
  const share = Number.isFinite(scale) && scale !== 1 ? ` --scale ${scale}` : "";
  return `ernest analyze ${quoted(log)}${share}${iterations ? ` --iterations ${iterations}` : ""} --html why.html`;
}
