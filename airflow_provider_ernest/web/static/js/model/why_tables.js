/** The tables of "Why it takes this long": stages, stragglers, other machines. */
import { numeric, sizes } from "../charts/columns.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import {
  count, counted, dataAmount, duration, isolated, number, percentage, signedPercentage, unbroken, units,
} from "../format.js";
import { notice } from "../header.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";
import { idOf, resourceName, titleOf, UNMEASURED } from "./why_words.js";

const STAGES_AT_FIRST = 8;
const STRAGGLERS_AT_FIRST = 10;

/** Of the time of a stage's tasks; less waiting is not worth naming. */
const LEAST_PERCENT = 5;

/** Resources of which ideal times are told, in this order. */
const RESOURCES = ["cpu", "network"];

function ideal(resource) {
  return numeric(`ideal_${resource}`, `Ideal, ${resourceName(resource)}`, number, {
    unit: "s", value: (row) => row.ideal_seconds[resource] ?? null,
  });
}

/** What the tasks of a stage waited for most, where it is worth a word: {name, percent} or null. */
function mostWaiting({ blocked_seconds: blocked, unmeasured_seconds: unmeasured, task_seconds: all }) {
  if (!(all > 0)) return null;
  const shares = Object.entries({ ...blocked, [UNMEASURED]: unmeasured })
    .map(([name, taken]) => ({ name, percent: (100 * taken) / all }))
    .sort((one, other) => other.percent - one.percent);
  return shares[0].percent >= LEAST_PERCENT ? shares[0] : null;
}

function waitsFor(row) {
  const most = mostWaiting(row);
  return most && `${resourceName(most.name)} ${percentage(most.percent)}`;
}

function secondsOf({ began_seconds: began, ended_seconds: ended }) {
  return ended - began;
}

const STAGES = [
  { key: "name", title: "Stage", class: "words", render: (row) => element("bdi", {}, row.name) },
  { key: "stage_id", title: "Number", align: "right",
    render: (row) => (row.attempt ? `${row.stage_id}, attempt ${row.attempt + 1}` : String(row.stage_id)) },
  numeric("tasks", "Tasks", count),
  numeric("seconds", "Took", number, { unit: "s", value: secondsOf }),
  { key: "bottleneck", title: "Bound by", class: "nowrap", value: (row) => resourceName(row.bottleneck) || null },
  { key: "waits_for", title: "Waits for", class: "nowrap", value: waitsFor },
  ...RESOURCES.map(ideal),
  numeric("stragglers", "Stragglers", count),
];

const MORE_OF_STAGES = [
  numeric("failed_tasks", "Failed tasks", count),
  numeric("began_seconds", "Began", number, { unit: "s" }),
  numeric("task_seconds", "All tasks", number, { unit: "s" }),
  numeric("input_bytes", "Read", dataAmount),
  numeric("shuffle_remote_bytes", "Fetched", dataAmount),
  numeric("shuffle_written_bytes", "Shuffle written", dataAmount),
  numeric("spilled_bytes", "Spilled", dataAmount),
  numeric("output_bytes", "Written", dataAmount),
];

/** The stages, longest first. */
export function stages(run, name) {
  if (!run.stages.length) return null;
  const rows = [...run.stages].sort((one, other) => secondsOf(other) - secondsOf(one));
  const known = MORE_OF_STAGES.filter((column) => rows.some((row) => column.value(row)));
  const columns = [...STAGES, ...known];
  const left = run.stages_left_out
    ? ` ${counted(run.stages_left_out, "shorter stage")} more, with ${duration(run.left_out_seconds)} of tasks, ` +
      `${run.stages_left_out === 1 ? "is" : "are"} left out.`
    : "";
  return card(
    {
      id: idOf("stages", run), title: titleOf("The stages", run),
      text: "Longest first. A stage is bound by what would take longest of it by itself: what a resource needs at " +
        "least (ideal: its use over what all machines can do), or waiting. What its tasks wait for most is told with " +
        `its share of their time.${left}`,
    },
    downloadButtons({ name, columns, rows }),
    dataTable({
      caption: titleOf("Stages, longest first", run), captionHidden: true, columns, rows, sort: true, limit: STAGES_AT_FIRST,
    }),
  );
}

/** The seconds of a part of two runs; a dash where one of them has no such stage. */
function secondsIn(run, title) {
  return numeric(`${run}_seconds`, title, number, {
    unit: "s", value: (row) => (row.kind === "stage" && row[`${run}_stage`] === null ? null : row[`${run}_seconds`]),
  });
}

function stageNumbers({ earlier_stage: earlier, later_stage: later }) {
  return [...new Set([earlier, later].filter((each) => each !== null))].join(" / ");
}

const PARTS = [
  { key: "name", title: "Part", class: "words", render: (row) => element("bdi", {}, isolated(row.name)) },
  { key: "stage", title: "Stage", align: "right", value: stageNumbers },
  secondsIn("earlier", "Earlier"),
  secondsIn("later", "Later"),
  numeric("difference_seconds", "Difference", signed, { unit: "s" }),
  { key: "causes", title: "Why", class: "words", value: (row) => row.causes.join("; "),
    render: (row) => (row.causes.length ? element("bdi", {}, unbroken(row.causes.join("; "))) : null) },
];

function signed(seconds) {
  return seconds > 0 ? `+${number(seconds)}` : number(seconds);
}

/** Two runs side by side: the sum first, then its parts. */
export function twoRuns(comparison, name) {
  const { headline, changes, cautions, parts: rows } = comparison;
  return element("div", { class: "why-run" },
    element("p", {}, element("bdi", {}, unbroken(headline))),
    notice({ title: "Before you trust this", kind: "warning", level: 3, items: cautions }),
    changes.length ? element("div", { class: "advice" }, element("p", {}, "What else has changed:"),
      element("ul", {}, changes.map((each) => element("li", {}, element("bdi", {}, unbroken(each)))))) : null,
    downloadButtons({ name, columns: PARTS, rows }),
    dataTable({
      caption: "Where the seconds are, those that differ most first", columns: PARTS, rows, sort: true,
      limit: STAGES_AT_FIRST,
    }));
}

/** An upper bound; null where it is not known how long the replay with them took. */
function wonWithoutThem({ replayed_seconds: whole }) {
  return numeric("won_percent", "Won at most", (won) => percentage(won), {
    value: ({ seconds_without: rest }) => (whole > 0 ? Math.max(0, (100 * (whole - rest)) / whole) : null),
  });
}

const WORST = [
  numeric("stage_id", "Stage", count),
  numeric("task_id", "Task", count),
  { key: "host", title: "Host", class: "nowrap", render: (row) => element("bdi", {}, row.host) },
  numeric("seconds", "Took", number, { unit: "s" }),
  numeric("median_seconds", "Median", number, { unit: "s" }),
  { key: "cause", title: "Cause", class: "nowrap" },
  { key: "evidence", title: "By", class: "words", render: (row) => element("bdi", {}, row.evidence) },
];

const STRAGGLERS_IN_WORDS =
  "Tasks that took over 1.5 times their stage's median (the warm-up of first tasks included), by what the metrics " +
  "explain it with. They were too long by what they took over it; the run without is replayed with each taking the " +
  "median.";

/** The stragglers by cause, and the worst of them. */
export function stragglers(run, name) {
  const titled = { id: idOf("stragglers", run), title: titleOf("Stragglers", run) };
  if (!run.straggler_causes.length) {
    return card(titled, element("p", { class: "muted" }, "No task took over 1.5 times its stage's median."));
  }
  const causes = [
    { key: "cause", title: "Cause" },
    numeric("tasks", "Tasks", count),
    numeric("excess_seconds", "Too long by", duration),
    numeric("seconds_without", "Run without", duration),
    wonWithoutThem(run),
  ];
  return card(
    { ...titled, text: STRAGGLERS_IN_WORDS },
    dataTable({ caption: titleOf("Stragglers by cause", run), captionHidden: true, columns: causes,
      rows: run.straggler_causes }),
    run.stragglers.length ? worst(run, name) : null,
  );
}

function worst(run, name) {
  const { stragglers: rows } = run;
  return element("details", {},
    element("summary", {}, "The worst of them"),
    element("div", { class: "numbers" },
      downloadButtons({ name, columns: WORST, rows }),
      dataTable({
        caption: titleOf("The worst stragglers", run), captionHidden: true, columns: WORST, rows, sort: true,
        limit: STRAGGLERS_AT_FIRST,
      })));
}

const WHAT_IFS = [
  { key: "change", title: "With", render: (row) => element("bdi", {}, row.change) },
  numeric("seconds", "Run would take", duration),
  numeric("change_percent", "Change", signedPercentage),
];

/** The same run on other machines. */
export function whatIfs(run) {
  if (!run.what_ifs.length) return null;
  return card(
    {
      id: idOf("what-ifs", run), title: titleOf("What if the machines were others?", run),
      text: "Predicted from what each stage needs of each resource; start-up is not in it.",
    },
    dataTable({ caption: titleOf("The run on other machines", run), captionHidden: true, columns: WHAT_IFS,
      rows: run.what_ifs }),
  );
}

/** The same run on other numbers of machines. */
export function otherSizes(run) {
  if (!run.sizes.length) return null;
  const columns = [
    sizes(),
    numeric("seconds", "Run would take", duration),
    numeric("change", "Change", signedPercentage, {
      value: (row) => (run.replayed_seconds > 0
        ? (100 * (row.seconds - run.replayed_seconds)) / run.replayed_seconds : null),
    }),
  ];
  return card(
    {
      id: idOf("other-sizes", run), title: titleOf(`The same run on more or fewer ${units()}`, run),
      text: `Its tasks replayed on more or fewer ${units()} of the same kind; start-up is not in it.`,
    },
    dataTable({
      caption: titleOf(`The run on other numbers of ${units()}`, run), captionHidden: true, columns, rows: run.sizes,
      limit: STAGES_AT_FIRST, highlight: (row) => row.executors === run.executors,
    }),
  );
}
