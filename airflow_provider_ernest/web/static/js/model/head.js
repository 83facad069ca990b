/** The head of a model's page: the job, its types of machine, how the model stands, what can be done. */
import { airflowLink, isReport, sharedAddress } from "../airflow.js";
import { pageUrl } from "../api.js";
import { toneBadge } from "../badge.js";
import { copyButton } from "../copy.js";
import { element } from "../dom.js";
import { dateTime, kindOfRun } from "../format.js";
import { pageHeader } from "../header.js";

/** The head, for the answer of api/model. */
export function head(page) {
  const { model, badges } = page;
  return [
    pageHeader({
      title: model.job,
      crumbs: [{ text: "Models", href: "models" }],
      subtitle: [types(page), badges.map(toneBadge), element("span", { id: "range" })],
      actions: isReport ? []
        : [retrain(page), copyButton(sharedAddress, "the link to this question", "Copy link")].filter(Boolean),
    }),
    olderVersion(page),
    page.late ? element("div", { class: "notice" }, element("p", {}, page.late)) : null,
  ];
}

/** The type that the page is of, and those that it can be changed to. */
function types({ model, other_types: others }) {
  if (!others.length) return element("span", {}, "on ", element("strong", {}, model.instance_type));
  const all = [model.instance_type, ...others].sort();
  const go = (event) => {
    window.location.href = pageUrl("model", { job: model.job, instance_type: event.target.value });
  };
  return element("label", { class: "type-switch" }, "on ",
    element("select", { id: "type", "aria-label": "Instance type", onChange: go }, all.map((type) =>
      element("option", { value: type, selected: type === model.instance_type }, type))));
}

/** To the DAG whose run trains a new model. */
function retrain({ model: { origin }, observations }) {
  if (!origin) return null;
  const does = kindOfRun(observations) === "past run" ? "reads the past runs anew" : "makes sample runs and a new model";
  return airflowLink(`dags/${encodeURIComponent(origin.dag_id)}`, "Retrain", {
    class: "button primary", title: `Trigger the DAG ${origin.dag_id}: its next run ${does}.`,
  });
}

function olderVersion({ model, is_newest: isNewest, versions }) {
  if (isNewest) return null;
  const newest = versions[0];
  const words = newest ? `A newer version was trained on ${dateTime(newest.created_at)}. ` : "There is a newer version. ";
  const href = pageUrl("model", { job: model.job, instance_type: model.instance_type });
  return element("div", { class: "notice" },
    element("p", {}, words, element("a", { href }, "Show the newest version")));
}
