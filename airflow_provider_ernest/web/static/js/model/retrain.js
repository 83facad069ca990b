/** Retraining a model: one question, then a run of its DAG by Airflow's own API, with the reader's own rights. */
import { airflowLink, fetchAirflow, runUrl } from "../airflow.js";
import { element, replace } from "../dom.js";
import { isolated } from "../format.js";

const CONFIGURATION = { ernest_retrain: true };

const REFUSED = {
  0: "The server does not answer: see whether Airflow's API server runs, then try again.",
  401: "You are logged out: log in to Airflow, then reload this page.",
  403: "You may not start runs of this DAG: ask your Airflow administrator.",
  404: "Airflow does not know this DAG any more: there is nothing to start.",
};

/** A button, and the place where it asks; nothing for those who may not start the DAG's runs. */
export function retraining({ model: { origin }, retrain: words }) {
  if (!words || !origin) return { button: null, place: null };
  const dag = `api/v2/dags/${encodeURIComponent(origin.dag_id)}`;
  const place = element("div", { role: "status" });
  const close = () => {
    replace(place);
    button.focus();
  };
  const say = (kind, ...children) => replace(place, element("div", { class: `notice ${kind}` }, children));
  const refuse = ({ status, detail }) => say("bad", element("p", {}, REFUSED[status] ?? detail));

  async function start(event) {
    event.target.disabled = true;
    const { status, answer, detail } = await fetchAirflow(`${dag}/dagRuns`, { logical_date: null, conf: CONFIGURATION });
    if (status !== 200) return refuse({ status, detail });
    const link = airflowLink(runUrl(origin.dag_id, answer.dag_run_id), "Open the run in Airflow");
    return say("good", element("p", {}, "The run that retrains is queued. ", link));
  }

  async function ask() {
    const { status, answer, detail } = await fetchAirflow(dag);
    if (status !== 200) return refuse({ status, detail });
    const paused = answer.is_paused ? element("p", {}, "The DAG is paused: its run waits until it is unpaused.") : null;
    const yes = element("button", { type: "button", class: "button primary", onClick: start }, "Start the run");
    const no = element("button", { type: "button", class: "button", onClick: close }, "Cancel");
    say("", element("p", {}, element("strong", {}, `Run ${isolated(origin.dag_id)} now? `), words), paused,
      element("div", { class: "actions" }, yes, no));
    return yes.focus();
  }

  const button = element("button", { type: "button", class: "button primary", id: "retrain", onClick: ask }, "Retrain");
  return { button, place };
}
