/** Retraining a model: one question, then a run of its DAG by Airflow's own API, with the reader's own rights. */
import { airflowLink, runUrl } from "../airflow.js";
import { fetchJson } from "../api.js";
import { element, replace } from "../dom.js";
import { isolated } from "../format.js";

const CONFIGURATION = { ernest_retrain: true };

const REFUSED = {
  403: "You may not start runs of this DAG: ask your Airflow administrator.",
  404: "Airflow does not know this DAG any more: there is nothing to start.",
};

/** A button, and the place where it asks; nothing for those who may not start the DAG's runs. */
export function retraining({ model: { origin }, retrain: words }) {
  if (!words || !origin) return { button: null, place: null };
  const dag = `../api/v2/dags/${encodeURIComponent(origin.dag_id)}`;
  const place = element("div", { role: "status" });
  const close = () => {
    replace(place);
    button.focus();
  };
  const say = (kind, ...children) => replace(place, element("div", { class: `notice ${kind}` }, children));
  const refuse = ({ status, message }) => say("bad", element("p", {}, REFUSED[status] ?? message));

  async function start(event) {
    event.target.disabled = true;
    const body = { logical_date: null, conf: CONFIGURATION };
    const run = await fetchJson(`${dag}/dagRuns`, {}, { body });
    const link = airflowLink(runUrl(origin.dag_id, run.dag_run_id), "Open the run in Airflow");
    say("good", element("p", {}, "The run that retrains is queued. ", link));
  }

  async function ask() {
    const { is_paused: isPaused } = await fetchJson(dag);
    const paused = isPaused ? element("p", {}, "The DAG is paused: its run waits until it is unpaused.") : null;
    const onClick = (event) => start(event).catch(refuse);
    const yes = element("button", { type: "button", class: "button primary", onClick }, "Start the run");
    const no = element("button", { type: "button", class: "button", onClick: close }, "Cancel");
    say("", element("p", {}, element("strong", {}, `Run ${isolated(origin.dag_id)} now? `), words), paused,
      element("div", { class: "actions" }, yes, no));
    yes.focus();
  }

  const onClick = () => ask().catch(refuse);
  const button = element("button", { type: "button", class: "button primary", id: "retrain", onClick }, "Retrain");
  return { button, place };
}
