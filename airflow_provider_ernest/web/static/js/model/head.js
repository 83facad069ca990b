/** The head of a model's page: what it is, how it stands, its key figures and what to know before trusting it. */
import { airflowLink, taskUrl } from "../airflow.js";
import { pageUrl } from "../api.js";
import { stateBadge } from "../badge.js";
import { element } from "../dom.js";
import { age, count, dateTime, inReadersTime, percent, pluralRange, seconds, unbroken } from "../format.js";
import { keyFigures, notice, pageHeader } from "../header.js";

/** The head, for the answer of api/model. */
export function head(page) {
  const { model, state } = page;
  return [
    pageHeader({
      title: model.job,
      crumbs: [{ text: "Models", href: "models" }],
      subtitle: [
        element("span", {}, "on ", element("strong", {}, model.instance_type)),
        stateBadge({ name: state.name, reason: "", cause: state.cause }),
        state.reason ? element("span", { class: "state-reason" }, whyAndWhatNext(page)) : null,
      ],
      actions: [
        element("a", { href: "#why", class: "button" }, "Why it takes this long"),
        model.origin ? airflowLink(taskUrl(model.origin), "Task that fitted it", { class: "button" }) : null,
      ].filter(Boolean),
    }),
    olderVersion(page),
    keyFigures(figures(page)),
    notice({ title: "Before you trust this", items: model.warnings.map(unbroken), kind: "warning" }),
  ];
}

/** What is noted against a model says why, and not what comes of it. */
function whyAndWhatNext({ state, is_newest: isNewest, life }) {
  const why = unbroken(inReadersTime(state.reason));
  return isNewest && life.marks.length ? `${why} The next run of its DAG trains a new model.` : why;
}

function olderVersion({ model, is_newest: isNewest, versions }) {
  if (isNewest) return null;
  const newest = versions[0];
  const words = newest
    ? `A newer version was trained on ${dateTime(newest.created_at)}. `
    : "There is a newer version. ";
  const href = pageUrl("model", { job: model.job, instance_type: model.instance_type });
  const link = element("a", { href }, "Show the newest version");
  return element("div", { class: "notice" }, element("p", {}, words, link));
}

function figures({ model, observations, production_runs: runs, production_total: total }) {
  const held = runs.filter((run) => !run.is_unusual && run.nearly_certain_seconds).length;
  const judged = runs.filter((run) => run.nearly_certain_seconds).length;
  const counts = observations.map((run) => run.machines);
  const range = counts.length ? `on ${pluralRange(Math.min(...counts), Math.max(...counts), "machine")}` : "";
  return [
    {
      label: "Error to expect",
      value: percent(model.median_error_percent),
      remark: `median of runs predicted from the others, ${percent(model.max_error_percent)} at most`,
    },
    {
      label: "Observations",
      value: count(observations.length),
      remark: model.learned_from ? `${range}; ${count(model.learned_from)} of them in production` : range,
    },
    {
      label: "Age",
      value: ageOf(model.created_at),
      remark: ["trained ", element("span", { class: "nowrap" }, dateTime(model.created_at).slice(0, 10))],
    },
    { label: "Start-up", value: seconds(model.startup_seconds), remark: "median, part of each prediction" },
    {
      label: "Noise",
      // Only averaging estimates it.
      value: model.noise > 0 ? percent(100 * model.noise) : null,
      remark: "by which runs that are alike differ",
    },
    {
      label: "Production runs",
      value: count(total),
      remark: judged
        ? `${held} of ${total > runs.length ? "the newest " : ""}${judged} within the 95 % interval`
        : "none to judge the predictions by",
    },
  ];
}

function ageOf(createdAt) {
  return age((Date.now() - new Date(createdAt).getTime()) / 1000);
}
