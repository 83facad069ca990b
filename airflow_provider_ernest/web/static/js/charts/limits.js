/** What could be won at most if tasks never waited for one thing. */
import { element } from "../dom.js";
import { duration, isolated, number, percentage } from "../format.js";
import { numeric } from "./columns.js";

const NAMES = new Map([
  ["network", "a faster network"],
  ["disk", "faster disks"],
  ["garbage collection", "no garbage collection"],
  ["scheduler delay", "no scheduler delay"],
  ["serialisation", "free serialisation"],
  ["Python worker", "no waiting for Python"],
]);

/** Of the tasks' time; less that is unexplained is not told. */
const LEAST_UNMEASURED_PERCENT = 10;

const COLUMNS = [
  { key: "resource", title: "Waiting for" },
  numeric("improvement_percent", "Won at most", percentage),
  numeric("saved_seconds", "Seconds won at most", number, { unit: "s" }),
  numeric("seconds_without", "Run without it", number, { unit: "s" }),
  numeric("blocked_seconds", "Waited, all tasks", number, { unit: "s" }),
  numeric("share_percent", "Of the tasks' time", percentage),
];

const CAPTION =
  "Upper bounds: the run replayed as if its tasks never waited for it. More than that cannot be won, less is likely. " +
  "The bars are shares of the run without its start-up, and do not add up.";

/** The figure, for a run of api/clarity. */
export function limitsFigure(run) {
  const { limits } = run;
  const rows = limits.map((limit) => ({ ...limit, saved_seconds: saved(limit) }));
  return {
    description: `What could be won at most. ${rows.map((row) => `${nameOf(row)}: ${words(row)}`).join("; ")}.`,
    caption: [CAPTION, unmeasured(run)].filter(Boolean).join(" "),
    columns: COLUMNS,
    rows,
    draw: (container) => bars(container, rows),
  };
}

/** Bars as plain elements: they reflow on phones, and their words never run into each other. */
function bars(container, rows) {
  container.append(element("div", { class: "bars" }, rows.map((row) =>
    element("div", { class: "bars-row" },
      element("span", { class: "bars-name" }, nameOf(row)),
      element("span", { class: "bars-track" },
        element("span", { class: "bars-bar", style: { width: `${Math.min(100, Math.max(0, row.improvement_percent))}%` } })),
      element("span", { class: "bars-words" }, words(row))))));
  return null;
}

/** What no limit tells of; empty where it is little, or nothing is kept of it. */
function unmeasured({ unmeasured_seconds: taken, stages, left_out_seconds: rest }) {
  const all = stages.reduce((sum, stage) => sum + stage.task_seconds, rest ?? 0);
  const share = all > 0 ? (100 * taken) / all : 0;
  if (!(share >= LEAST_UNMEASURED_PERCENT)) return "";
  return (
    `For ${percentage(share)} of their time tasks neither computed nor waited for anything that Spark measures: they ` +
      "read input, called a service, or shared their cores with others."
  );
}

function nameOf({ resource }) {
  return NAMES.get(resource) ?? isolated(resource);
}

/** The share is of the run with the waiting, of which only the rest is shown. */
function saved({ improvement_percent: won, seconds_without: rest }) {
  return won < 100 ? (rest * won) / (100 - won) : null;
}

function words({ improvement_percent: won, saved_seconds: taken }) {
  if (won < 0.05) return "nothing";
  return `at most ${percentage(won)}, ${rounded(taken)}`;
}

/** An upper bound is no more exact than that. */
function rounded(value) {
  if (value < 0.1) return "under 0.1\u00a0s";
  return value < 10 ? `${value.toFixed(1)}\u00a0s` : duration(Math.round(value));
}
