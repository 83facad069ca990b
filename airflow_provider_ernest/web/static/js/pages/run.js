/** The tab of a DAG run or a task instance: a card for each decision of Ernest; follows the run. */

import { airflowLink, externalLink, isFramed, runUrl, taskUrl } from "../airflow.js";
import { ApiError, fetchJson, pageParams, pageUrl } from "../api.js";
import { badge } from "../badge.js";
import { element, hidden, renew, setText } from "../dom.js";
import { fallbackWords } from "../fallback.js";
import { follower, isGoingOn } from "../follow.js";
import {
  asPercent, capitalized, dateTime, deviation, dollars, duration, durationRange, inReadersTime, isolated, number, percentage,
  unbroken,
} from "../format.js";
import { facts, fillPage, notice, pageHeader } from "../header.js";
import { emptyState, errorState, loadingState } from "../states.js";

const MODELS = { text: "Models", href: pageUrl("models") };
const TITLE = "Cluster size of this run";

function isKnown(value) {
  return value !== null && value !== undefined;
}

function titleOf({ sentence, failures }) {
  if (sentence) return sentence;
  return failures.length ? "Nothing was decided" : "Nothing is decided yet";
}

function verdicts({ outcome }) {
  if (!outcome) return null;
  const { likely_seconds: likely, is_unlikely: isUnlikely, kept } = outcome;
  return element("p", { class: "badges" },
    isKnown(kept) ? badge(kept ? { kind: "good", sign: "✓", text: "deadline kept" }
      : { kind: "bad", sign: "✕", text: "deadline missed" }) : null,
    likely ? badge(isUnlikely ? { kind: "warning", sign: "!", text: "outside the 80\u00a0% range" }
      : { kind: "good", sign: "✓", text: "within the 80\u00a0% range" }) : null);
}

/** Time and cost, predicted beside actual. */
function comparison({ decision, production, latest_seconds: latest }) {
  const outcome = production?.outcome;
  const isOver = production?.state === "success";
  const predicted = outcome?.predicted_seconds ?? decision?.predicted_seconds;
  const likely = outcome?.likely_seconds ?? decision?.likely_seconds;
  const seconds = outcome?.seconds ?? (isOver ? production.seconds : null);
  const cost = outcome?.predicted_cost ?? decision?.predicted_cost;
  if (!isKnown(predicted) && !isKnown(seconds)) return null;
  const row = (name, ...cells) => element("tr", {}, element("th", { scope: "row" }, name),
    cells.map(([value, remark]) => element("td", { class: "number" }, value,
      remark ? element("span", { class: "below" }, unbroken(remark)) : null)));
  const deadline = isKnown(latest) ? `deadline ${duration(latest)}` : null;
  return element("table", { class: "comparison" },
    element("caption", { class: "visually-hidden" }, "Predicted and actual"),
    element("thead", {}, element("tr", {}, element("td", {}),
      ["Predicted", "Actual"].map((title) => element("th", { scope: "col", class: "number" }, title)))),
    element("tbody", {},
      row("Time", [duration(predicted), likely ? `${durationRange(likely)} in 80 % of runs` : null],
        [duration(seconds), [isKnown(outcome?.error_percent) && `${deviation(outcome.error_percent)} than predicted`, deadline].filter(Boolean).join(", ")]),
      isKnown(cost) || isKnown(outcome?.cost) ? row("Cost", [dollars(cost)], [dollars(outcome?.cost)]) : null));
}

function whyWords({ decision: { goal, worth } }) {
  const words = `${isolated(capitalized(goal))}.`;
  return element("bdi", {}, unbroken([words, worth].filter(Boolean).join(" ")));
}

/** What the training cost, also beside a production run; why there was one, or none, for each type. */
function trainingWords({ training, production, decision }) {
  const { is_reused: isReused, reasons, cost } = training;
  const run = production?.outcome?.cost ?? decision?.predicted_cost;
  const share = cost > 0 && run > 0 ? cost / run : null;
  const beside = share === null ? ""
    : share < 1 ? `, ${asPercent(share)} of a production run` : `, as much as ${number(share)} production runs`;
  const paid = isReused ? "none: a stored model is reused" : isKnown(cost) ? `${dollars(cost)}${beside}` : "";
  const types = Object.keys(reasons);
  const why = types.map((type) => element("span", { class: "below" },
    types.length > 1 ? [element("bdi", {}, isolated(type)), ": "] : null,
    element("bdi", {}, unbroken(inReadersTime(reasons[type])))));
  return paid || why.length ? element("span", {}, paid, why) : null;
}

/** The address of the model's page, with what was asked. */
function modelUrl({ job, instance_type, model_id }, question) {
  const { billing, ...asked } = question ?? {};
  return pageUrl("model", { job, instance_type, model_id, ...billing, ...asked });
}

function modelLink({ model, is_model_of_run: isOfRun, question }) {
  if (!model) return null;
  const words = `${isolated(model.job)} on ${isolated(model.instance_type)}`;
  const link = element("a", { href: modelUrl(model, isOfRun ? question : null) }, words);
  return element("span", {}, link, isOfRun ? null : " (the newest of this DAG; this run made none)");
}

/** The task without its group; of a mapped one, which instance it is. */
function taskName({ task_id: id, map_index: index, name }) {
  const own = id.split(".").pop();
  if (index >= 0) return `${own} [${name || index}]`;
  return name && name !== id ? name : own;
}

/** What failed, each with its log: Airflow's page of the task instance opens it. */
function failuresOf(run, { failures }) {
  const items = failures.map((task) => {
    const name = taskName(task);
    const address = taskUrl({ dag_id: run.dag_id, run_id: run.run_id, ...task });
    return element("span", {}, element("strong", {}, element("bdi", {}, isolated(name))), ": ",
      element("bdi", {}, unbroken(inReadersTime(task.reason))), " ",
      airflowLink(address, ["Open its log", hidden(`: ${name}`)], { class: "nowrap" }));
  });
  return notice({ title: "What failed", kind: "bad", level: 3, items });
}

/** A fallback by itself, before anything else: production does not run on what was asked for. */
function warningsOf(decision) {
  if (!decision) return [];
  const reason = decision.fallback_reason;
  const others = decision.warnings.filter((each) => !reason || !each.includes(reason));
  return [
    decision.fallback
      ? notice({ title: `Fallback: ${fallbackWords(decision)}`, kind: "warning", level: 3, items: [reason] }) : null,
    notice({ title: "Warnings", kind: "warning", level: 3, items: others }),
  ];
}

function card(run, data, id) {
  const { decision, production, group_id: group } = data;
  const history = production?.outcome?.history_url;
  const isOneOfMany = run.cards.length > 1;
  const label = isOneOfMany ? `${id}-group ${id}` : id;
  return element("section", { class: "card run-card", "aria-labelledby": label },
    isOneOfMany
      ? element("p", { class: "muted small-text", id: `${id}-group` }, isolated(group || "in no task group")) : null,
    element("h2", { id, class: "headline" }, unbroken(titleOf(data))),
    production ? verdicts(production) : null,
    failuresOf(run, data), warningsOf(decision), comparison(data),
    facts([
      ["Why", decision ? whyWords(data) : null],
      ["Decided", decision?.decided_at ? dateTime(decision.decided_at) : null],
      ["Training", trainingWords(data)],
      ["Model", modelLink(data)],
      ["Spark", history ? externalLink(history, "Open the production run in the history server") : null],
    ]));
}

/** Airflow's frame shows DAG, run and task above the page: there only what it does not show is said. */
function header(params) {
  const { dag_id: dagId, run_id: runId, task_id: taskId } = params;
  const names = [dagId, runId, taskId].filter(Boolean);
  return pageHeader({
    title: TITLE,
    crumbs: [MODELS, ...(isFramed() ? [] : names.map((name) => ({ node: element("span", {}, name) })))],
    subtitle: isFramed() || !dagId || !runId ? [] : [airflowLink(runUrl(dagId, runId), "The run in Airflow")],
  });
}

function nothing(title, text) {
  const actions = [element("a", { class: "button", href: MODELS.href }, "All models")];
  return emptyState({ title, text, actions, isWholePage: true });
}

class RunPage {
  constructor({ dag_id, run_id, task_id, map_index }) {
    this.params = { dag_id, run_id, task_id, map_index: task_id ? map_index : null };
    this.content = element("div", { class: "stack" });
    this.status = element("p", { class: "muted small-text", role: "status" });
    this.before = "";
    this.goesOn = false;
    this.follower = follower((signal) => this.load(signal));
  }

  show() {
    fillPage(header(this.params), this.status, this.content);
    this.content.append(loadingState("Loading the run …"));
    this.follower.start();
  }

  async load(signal) {
    try {
      const run = await fetchJson("api/run", this.params, { signal });
      if (signal.aborted) return;
      this.goesOn = isGoingOn(run.state);
      setText(this.status, this.goesOn ? "The run goes on: this page follows it." : "");
      this.showRun(run);
      this.follower.next({ goesOn: this.goesOn });
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  failed(error) {
    if (!(error instanceof ApiError)) console.error(error);
    if (this.before) {
      setText(this.status, `Could not refresh: ${error.message}`);
      this.follower.next({ goesOn: this.goesOn && error.status !== 401, hasFailed: true });
      return;
    }
    renew(this.content, errorState(error, () => this.follower.start()));
  }

  showRun(run) {
    const text = JSON.stringify([run.cards, run.hints]);
    if (text === this.before) return;
    this.before = text;
    renew(this.content, run.cards.length
      ? [run.cards.map((each, place) => card(run, each, `card-${place}`)),
         notice({ title: "Hints", items: run.hints.map((each) => inReadersTime(each)) })]
      : nothing("Nothing of Ernest here", run.hints.join(" ")));
  }
}

const params = pageParams();
if (params.dag_id && params.run_id) new RunPage(params).show();
else {
  fillPage(header({}), nothing("Which run?", "The address of this page lacks dag_id or run_id: open a DAG run in " +
    "Airflow, then its tab “Ernest”."));
}
