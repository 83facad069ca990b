/** The page of a survey of event logs: what all jobs take and could save, a table of them, each folded below. */

import { ApiError, fetchJson, pageParams, pageUrl } from "../api.js";
import { surveyedSizesFigure } from "../charts/survey.js";
import { copyable } from "../copy.js";
import { element, renew, replace } from "../dom.js";
import { downloadButtons } from "../download.js";
import { figure } from "../figure.js";
import {
  asPercent, capitalized, count, counted, countIn, dateTime, dollars, duration, isolated, number, signedPercentage,
  unbroken, units,
} from "../format.js";
import { facts, fillPage, pageHeader } from "../header.js";
import { folded, part, unfold } from "../model/slot.js";
import { errorState, loadingState } from "../states.js";
import { cell, dataTable } from "../table.js";

const params = { survey_id: pageParams().survey_id };
const content = element("div", { class: "stack" });

const idOf = (place) => `job-${place}`;

/** Amounts of a survey: dollars, or hours of machines or executors where no price is known. */
function amountsOf({ is_money: isMoney, unit }) {
  const amount = isMoney ? dollars : number;
  return {
    amount,
    unit: isMoney ? "dollars" : `${unit}-hours`,
    range: ([low, high]) => `80 %: ${amount(low)} to ${amount(high)}`,
  };
}

function head(page) {
  const subtitle = page ? [`By ${counted(page.logs, "event log")}, `, versions(page)] : [];
  return pageHeader({ title: "Survey of event logs", crumbs: [{ text: "Models", href: "models" }], subtitle });
}

/** When it was made, to be changed to when others were that are in the store. */
function versions({ survey_id: shown, at, others }) {
  if (!others.length) return dateTime(at);
  const all = [{ survey_id: shown, at }, ...others].sort((one, other) => (one.survey_id < other.survey_id ? 1 : -1));
  const go = (event) => {
    window.location.href = pageUrl("survey", { survey_id: event.target.value });
  };
  return element("span", { class: "type-switch" },
    element("select", { id: "survey", "aria-label": "Survey", onChange: go }, all.map((each) =>
      element("option", { value: each.survey_id, selected: each.survey_id === shown },
        each.at ? dateTime(each.at) : each.survey_id))));
}

function columnsOf(page) {
  const { amount, unit, range } = amountsOf(page);
  const isKnown = (value) => value !== null;
  const link = (row) => element("a", { href: `#${idOf(row.place)}`, onClick: () => unfold(idOf(row.place)) }, row.job);
  const numbers = { align: "right" };
  return [
    { key: "job", title: "Job", class: "words", value: (row) => row.job,
      render: (row) => cell(link(row), row.bound_by ? `bound by ${row.bound_by}` : null) },
    { key: "executors", title: capitalized(units()), ...numbers,
      render: (row) => (isKnown(row.executors) ? count(row.executors) : null) },
    { key: "seconds", title: "Time", ...numbers, render: (row) => duration(row.seconds) },
    { key: "monthly", title: `${capitalized(unit)} a month`, fileUnit: unit, ...numbers,
      render: (row) => (isKnown(row.monthly)
        ? cell(amount(row.monthly), isKnown(row.runs_per_month) ? `${number(row.runs_per_month)} runs` : null)
        : null) },
    { key: "proposed_executors", title: "Better", ...numbers, render: better },
    { key: "saved", title: "Saves a month", fileUnit: unit, ...numbers,
      render: (row) => (isKnown(row.saved) ? cell(amount(row.saved), range(row.likely_saved)) : unsaved(row)) },
    { key: "runs", title: "Runs", ...numbers, render: (row) => count(row.runs) },
    { key: "slot_utilisation", title: "Slots busy", ...numbers,
      render: (row) => (isKnown(row.slot_utilisation) ? asPercent(row.slot_utilisation) : null) },
    { key: "input_growth_per_month", title: "Input a month", ...numbers, render: growth },
    { key: "late_in", title: "Late", ...numbers, value: ({ lateness }) => lateness?.from_day || null,
      render: (row) => row.late_in || null },
  ].filter(({ key }) => key !== "late_in" || page.jobs.some((job) => job.late_in));
}

function growth({ input_growth_per_month: times }) {
  return times === null ? null : signedPercentage(100 * (times - 1));
}

function better(row) {
  if (row.proposed_executors === null) return row.is_as_today ? "as today" : null;
  return cell(count(row.proposed_executors), `${duration(row.proposed.seconds)} a run`);
}

function unsaved(row) {
  if (row.saved_share !== null) {
    return cell(`${asPercent(row.saved_share)} a run`, `80 %: ${row.likely_saved_share.map(asPercent).join(" to ")}`);
  }
  return element("span", { class: "muted" }, row.is_as_today ? "nothing" : "not known");
}

function table(page) {
  const rows = page.jobs.map((job, place) => ({ ...job, place }));
  const columns = columnsOf(page);
  return [
    dataTable({ caption: "Jobs", captionHidden: true, columns, rows, sort: true, class: "surveyed" }),
    downloadButtons({ name: "survey", columns, rows }),
  ];
}

function jobPart(job, place) {
  return folded({ id: idOf(place), title: element("bdi", {}, job.job), remark: unbroken(job.in_short) }, () => [
    element("p", {}, element("strong", {}, unbroken(job.proposal))),
    job.late ? element("p", {}, unbroken(job.late)) : null,
    job.why ? element("p", {}, `Why it takes as long: ${unbroken(job.why)}`) : null,
    job.sizes.length
      ? figure({
        id: `${idOf(place)}-sizes`, title: `${isolated(job.job)} on other sizes`, level: 3,
        name: `survey-${job.job}`, ...surveyedSizesFigure(job),
      })
      : null,
    facts(job.facts),
    job.dag_lines
      ? element("p", {}, "Sized by its past runs, ahead of its production task: ", copyable(job.dag_lines, "the task group"))
      : null,
    job.unknown.length
      ? [
        element("h3", {}, "What is not known"),
        element("ul", {}, job.unknown.map((each) => element("li", {}, unbroken(each)))),
      ]
      : null,
  ]);
}

function show(page) {
  countIn(page.unit);
  replace(content,
    element("p", { class: "headline" }, element("strong", {}, unbroken(page.headline))),
    page.jobs.length ? part({ id: "jobs", title: "All jobs, what saves most first" }, table(page)) : null,
    element("ul", { class: "muted remarks" }, page.remarks.map((each) => element("li", {}, unbroken(each)))),
    page.jobs.length
      ? part({ id: "each", title: "Job by job" },
        element("div", { class: "card" }, page.jobs.map((job, place) => jobPart(job, place))))
      : null);
  fillPage(head(page), content);
  unfold(decodeURIComponent(window.location.hash.slice(1)))?.scrollIntoView();
}

async function load() {
  try {
    show(await fetchJson("api/survey", params));
  } catch (error) {
    if (!(error instanceof ApiError)) console.error(error);
    renew(content, errorState(error, load));
  }
}

fillPage(head(null), content);
replace(content, loadingState("Loading the survey …"));
load();
