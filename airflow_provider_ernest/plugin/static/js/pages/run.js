/** The page of a DAG run: the way from design to decision; follows the run while it goes on. */

import { airflowLink, runUrl } from "../airflow.js";
import { ApiError, fetchJson, pageParams } from "../api.js";
import { taskStateBadge } from "../badge.js";
import { element, replace } from "../dom.js";
import { follower, isGoingOn } from "../follow.js";
import { dateTime } from "../format.js";
import { fillPage, notice, pageHeader } from "../header.js";
import { emptyState, errorState, loadingState } from "../states.js";
import { MODELS_CRUMB, runGroup } from "./run_group.js";

class RunPage {
  constructor(params) {
    this.params = { dag_id: params.dag_id, run_id: params.run_id };
    this.groups = new Map();
    this.content = element("div", { class: "stack" });
    this.status = element("p", { class: "muted small-text", role: "status" });
    this.state = element("span", {});
    this.goesOn = false;
    this.follower = follower(() => this.load());
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
    this.load();
  }

  async load() {
    try {
      const run = await fetchJson("api/run", this.params);
      this.goesOn = isGoingOn(run.state);
      this.showRun(run);
      this.follower.next({ goesOn: this.goesOn });
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    if (!(error instanceof ApiError)) console.error(error);
    if (this.groups.size) {
      this.status.textContent = `Could not refresh: ${error.message}`;
      this.follower.next({ goesOn: this.goesOn && error.status !== 401, hasFailed: true });
      return;
    }
    replace(this.content, errorState(error, () => {
      replace(this.content, loadingState("Loading the run …"));
      this.load();
    }));
  }

  showRun(run) {
    replace(this.state, run.state ? taskStateBadge(run.state) : null,
      run.started_at ? element("span", { class: "muted" }, ` started ${dateTime(run.started_at)}`) : null,
      run.ended_at ? element("span", { class: "muted" }, `, ended ${dateTime(run.ended_at)}`) : null);
    this.status.textContent = this.goesOn ? "The run goes on: this page follows it." : "";
    if (!run.groups.length) {
      this.groups.clear();
      replace(this.content, nothingOfErnest(run));
      return;
    }
    const names = run.groups.map((group) => group.group_id);
    const isSame = names.length === this.groups.size && names.every((name) => this.groups.has(name));
    if (isSame) for (const group of run.groups) this.groups.get(group.group_id).update(run, group);
    else this.build(run);
    replace(this.hints, notice({ title: "Hints", items: run.hints, level: 2 }));
    this.hints.hidden = !run.hints.length;
  }

  build(run) {
    this.hints = element("div", {});
    this.groups = new Map(run.groups.map((group, place) =>
      [group.group_id, runGroup(run, group, `group-${place}`)]));
    replace(this.content, this.hints, [...this.groups.values()]);
  }
}

function nothingOfErnest(run) {
  return emptyState({
    title: "Nothing of Ernest in this run",
    text: run.hints.length
      ? element("span", {}, run.hints.join(" "))
      : ["No task of this run is one of Ernest's. Put an ", element("code", {}, "ErnestTaskGroup"),
         " ahead of the Spark job in the DAG to have its cluster chosen."],
    actions: [element("a", { class: "button", href: MODELS_CRUMB.href }, "All models")],
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
    }),
  );
}

start();
