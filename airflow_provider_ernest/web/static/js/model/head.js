/** The head of a model's page: the job, its types of machine, how the model stands, what can be done. */
import { isReport, sharedAddress } from "../airflow.js";
import { pageUrl } from "../api.js";
import { toneBadge } from "../badge.js";
import { copyButton } from "../copy.js";
import { element } from "../dom.js";
import { dateTime } from "../format.js";
import { pageHeader } from "../header.js";
import { retraining } from "./retrain.js";

/** The head, for the answer of api/model. */
export function head(page) {
  const { model, badges } = page;
  const { button, place } = retraining(page);
  return [
    pageHeader({
      title: model.job,
      crumbs: [{ text: "Models", href: "models" }],
      subtitle: [types(page), page.is_newest ? badges.map(toneBadge) : null],
      actions: isReport ? []
        : [button, copyButton(sharedAddress, "the link to this question", "Copy link")].filter(Boolean),
    }),
    place,
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

function olderVersion({ model, is_newest: isNewest, versions }) {
  if (isNewest) return null;
  const newest = versions[0];
  const words = newest ? `A newer version was trained on ${dateTime(newest.created_at)}. ` : "There is a newer version. ";
  const href = pageUrl("model", { job: model.job, instance_type: model.instance_type });
  return element("div", { class: "notice" },
    element("p", {}, words, element("a", { href }, "Show the newest version")));
}
