/** The tables of "Why it takes this long": stages, stragglers, other machines. */
import { numeric } from "../charts/columns.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { bytes, count, number, percent, plural, seconds, signedPercent } from "../format.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";
import { resourceName, UNMEASURED } from "./why_words.js";

const STAGES_AT_FIRST = 8;
const STRAGGLERS_AT_FIRST = 10;

/** Of the time of a stage's tasks; less waiting is not worth naming. */
const LEAST_PERCENT = 5;

/** Resources of which ideal times are told, in this order. */
const RESOURCES = ["cpu", "disk", "network"];

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
  return most && `${resourceName(most.name)} ${percent(most.percent, 0)}`;
}

const STAGES = [
  { key: "name", title: "Stage", class: "words", render: (row) => element("bdi", {}, row.name) },
  { key: "stage_id", title: "Number", align: "right",
    render: (row) => (row.attempt ? `${row.stage_id}, attempt ${row.attempt + 1}` : String(row.stage_id)) },
  numeric("tasks", "Tasks", count),
  numeric("seconds", "Took", number, { unit: "s" }),
  { key: "bottleneck", title: "Bound by", class: "nowrap", value: (row) => resourceName(row.bottleneck) || null },
  { key: "waits_for", title: "Waits for", class: "nowrap", value: waitsFor },
  ...RESOURCES.map(ideal),
  numeric("stragglers", "Stragglers", count),
];

const MORE_OF_STAGES = [
  numeric("failed_tasks", "Failed tasks", count),
  numeric("began_seconds", "Began", number, { unit: "s" }),
  numeric("task_seconds", "All tasks", number, { unit: "s" }),
  numeric("input_bytes", "Read", bytes),
  numeric("shuffle_remote_bytes", "Fetched", bytes),
  numeric("shuffle_written_bytes", "Shuffle written", bytes),
  numeric("spilled_bytes", "Spilled", bytes),
  numeric("output_bytes", "Written", bytes),
];

/** The stages, longest first. */
export function stages(run, name) {
  if (!run.stages.length) return null;
  const rows = [...run.stages].sort((one, other) => other.seconds - one.seconds);
  const known = MORE_OF_STAGES.filter((column) => rows.some((row) => column.value(row)));
  const columns = [...STAGES, ...known];
  const left = run.stages_left_out
    ? ` ${plural(run.stages_left_out, "shorter stage")} more, with ${seconds(run.left_out_seconds)} of tasks, ` +
      `${run.stages_left_out === 1 ? "is" : "are"} left out.`
    : "";
  return card(
    {
      id: "stages", title: "The stages",
      text: "Longest first. A stage is bound by what would take longest of it by itself: what a resource needs at " +
        "least (ideal: its use over what all machines can do), or waiting. What its tasks wait for most is told with " +
        `its share of their time.${left}`,
    },
    downloadButtons({ name, columns, rows }),
    dataTable({
      caption: "Stages, longest first", captionHidden: true, columns, rows, sort: true, limit: STAGES_AT_FIRST,
    }),
  );
}

/** An upper bound; null where it is not known how long the replay with them took. */
function wonWithoutThem({ replayed_seconds: whole }) {
  return numeric("won_percent", "Won at most", (won) => percent(won), {
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
  const titled = { id: "stragglers", title: "Stragglers" };
  if (!run.straggler_causes.length) {
    return card(titled, element("p", { class: "muted" },
      run.has_profile ? "No task took over 1.5 times its stage's median." : "Nothing is kept of them."));
  }
  const causes = [
    { key: "cause", title: "Cause" },
    numeric("tasks", "Tasks", count),
    numeric("excess_seconds", "Too long by", seconds),
    numeric("seconds_without", "Run without", seconds),
    wonWithoutThem(run),
  ];
  return card(
    { ...titled, text: STRAGGLERS_IN_WORDS },
    dataTable({ caption: "Stragglers by cause", captionHidden: true, columns: causes, rows: run.straggler_causes }),
    run.stragglers.length ? worst(run.stragglers, name) : null,
  );
}

function worst(rows, name) {
  return element("details", {},
    element("summary", {}, "The worst of them"),
    element("div", { class: "numbers" },
      downloadButtons({ name, columns: WORST, rows }),
      dataTable({
        caption: "The worst stragglers", captionHidden: true, columns: WORST, rows, sort: true,
        limit: STRAGGLERS_AT_FIRST,
      })));
}

const WHAT_IFS = [
  { key: "change", title: "With", render: (row) => element("bdi", {}, row.change) },
  numeric("seconds", "Run would take", seconds),
  numeric("change_percent", "Change", signedPercent),
];

/** The same run on other machines. */
export function whatIfs(run) {
  if (!run.what_ifs.length) return null;
  return card(
    {
      id: "what-ifs", title: "What if the machines were others?",
      text: "Predicted from what each stage needs of each resource; start-up is not in it.",
    },
    dataTable({ caption: "The run on other machines", captionHidden: true, columns: WHAT_IFS, rows: run.what_ifs }),
  );
}

/** The same run on other numbers of machines. */
export function otherSizes(run) {
  if (!run.sizes.length) return null;
  const columns = [
    numeric("machines", "Machines", count),
    numeric("seconds", "Run would take", seconds),
    numeric("change", "Change", signedPercent, {
      value: (row) => (run.replayed_seconds > 0
        ? (100 * (row.seconds - run.replayed_seconds)) / run.replayed_seconds : null),
    }),
  ];
  return card(
    {
      id: "other-sizes", title: "The same run on more or fewer machines",
      text: "Its tasks replayed on other machines of the same kind; start-up is not in it.",
    },
    dataTable({
      caption: "The run on other numbers of machines", captionHidden: true, columns, rows: run.sizes,
      limit: STAGES_AT_FIRST, highlight: (row) => row.machines === run.machines,
    }),
  );
}
