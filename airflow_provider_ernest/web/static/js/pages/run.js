/** The page of a DAG run: the way from design to decision; follows the run while it goes on. */

import { airflowLink, runUrl } from "../airflow.js";
import { ApiError, fetchJson, pageParams } from "../api.js";
import { taskStateBadge } from "../badge.js";
import { element, renew, replace, setText } from "../dom.js";
import { follower, isGoingOn } from "../follow.js";
import { dateTime, inReadersTime, isolated, unbroken } from "../format.js";
import { fillPage, notice, pageHeader } from "../header.js";
import { emptyState, errorState, loadingState } from "../states.js";
import { MODELS_CRUMB, runGroup } from "./run_group.js";
import { modelUrl } from "./run_tables.js";

class RunPage {
  constructor(params) {
    this.params = { dag_id: params.dag_id, run_id: params.run_id };
    this.groups = new Map();
    this.content = element("div", { class: "stack" });
    this.status = element("p", { class: "muted small-text", role: "status" });
    this.state = element("span", {});
    this.goesOn = false;
    this.hints = element("div", {});
    this.marks = element("div", {});
    this.before = new Map();
    this.follower = follower((signal) => this.load(signal));
  }

  show() {
    const { dag_id: dagId, run_id: runId } = this.params;
    const link = airflowLink(runUrl(dagId, runId), runId);
    fillPage(
      pageHeader({
        title: "Ernest in this run",
        crumbs: [MODELS_CRUMB, { node: element("span", {}, dagId) }, { node: element("span", {}, runId) }],
        subtitle: [element("span", {}, "Run ", link), this.state],
      }),
      this.status,
      this.content,
    );
    this.content.append(loadingState("Loading the run …"));
    this.follower.start();
  }

  async load(signal) {
    try {
      const run = await fetchJson("api/run", this.params, { signal });
      if (signal.aborted) return;
      this.goesOn = isGoingOn(run.state);
      this.showRun(run);
      this.follower.next({ goesOn: this.goesOn });
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  failed(error) {
    if (!(error instanceof ApiError)) console.error(error);
    if (this.before.size) {
      setText(this.status, `Could not refresh: ${error.message}`);
      this.follower.next({ goesOn: this.goesOn && error.status !== 401, hasFailed: true });
      return;
    }
    renew(this.content, errorState(error, () => this.follower.start()));
  }

  /** Fills a place anew where what it shows has changed since. */
  fill(place, data, make) {
    const text = JSON.stringify(data);
    if (text === this.before.get(place)) return;
    renew(place, make());
    this.before.set(place, text);
  }

  showRun(run) {
    replace(this.state, run.state ? taskStateBadge(run.state) : null,
      run.started_at ? element("span", { class: "muted" }, ` started ${dateTime(run.started_at)}`) : null,
      run.ended_at ? element("span", { class: "muted" }, `, ended ${dateTime(run.ended_at)}`) : null);
    setText(this.status, this.goesOn ? "The run goes on: this page follows it." : "");
    const names = run.groups.map((group) => group.group_id);
    this.fill(this.content, [names, names.length ? null : run.hints], () => this.contentOf(run));
    for (const group of run.groups) this.groups.get(group.group_id).update(run, group);
    this.fill(this.hints, run.hints, () => notice({ title: "Hints", items: run.hints }));
    this.hints.hidden = !run.hints.length;
    this.fill(this.marks, run.marks, () => marked(run.marks));
    this.marks.hidden = !run.marks.length;
  }

  contentOf(run) {
    this.groups = new Map(run.groups.map((group, place) =>
      [group.group_id, runGroup(run, group, `group-${place}`)]));
    return run.groups.length ? [this.hints, this.marks, [...this.groups.values()]] : nothingOfErnest(run);
  }
}

/** What the run noted against models. The reasons name the model; which one it is, is a link besides. */
function marked(marks) {
  return notice({
    title: marks.length === 1 ? "This run marked a model as stale" : "This run marked models as stale",
    kind: "warning",
    items: marks.map((mark) => element("span", {},
      element("strong", {}, `${isolated(mark.job)} on ${isolated(mark.instance_type)}, ${mark.cause}: `),
      element("bdi", {}, unbroken(inReadersTime(mark.reason))), " ",
      element("a", { href: modelUrl(mark), class: "nowrap" }, "Open the model"))),
  });
}

function nothingOfErnest(run) {
  return emptyState({
    title: "Nothing of Ernest in this run",
    text: run.hints.length
      ? element("span", {}, run.hints.join(" "))
      : ["No task of this run is one of Ernest's. Put an ", element("code", {}, "ErnestTaskGroup"),
         " ahead of the Spark job in the DAG to have its cluster chosen."],
    actions: [element("a", { class: "button", href: MODELS_CRUMB.href }, "All models")],
    isWholePage: true,
  });
}

function start() {
  const params = pageParams();
  if (params.dag_id && params.run_id) {
    new RunPage(params).show();
    return;
  }
  fillPage(
    pageHeader({ title: "Ernest in a run", crumbs: [MODELS_CRUMB] }),
    emptyState({
      title: "Which run?",
      text: "The address of this page lacks dag_id or run_id: open a DAG run in Airflow, then its tab " +
        "“Ernest”.",
      actions: [element("a", { class: "button", href: MODELS_CRUMB.href }, "All models")],
      isWholePage: true,
    }),
  );
}

start();
