/** The tables of "Why it takes this long": stages, stragglers, other machines. */
import { numeric } from "../charts/columns.js";
import { element } from "../dom.js";
import { downloadButtons } from "../download.js";
import { bytes, count, number, plural, seconds, signedPercent } from "../format.js";
import { dataTable } from "../table.js";
import { card } from "./slot.js";
import { resourceName } from "./why_words.js";

const STAGES_AT_FIRST = 8;
const STRAGGLERS_AT_FIRST = 10;

/** Resources of which ideal times are told, in this order. */
const RESOURCES = ["cpu", "disk", "network"];

function ideal(resource) {
  return numeric(`ideal_${resource}`, `Ideal, ${resourceName(resource)}`, number, {
    unit: "s", value: (row) => row.ideal_seconds[resource] ?? null,
  });
}

const STAGES = [
  { key: "name", title: "Stage", class: "words", render: (row) => element("bdi", {}, row.name) },
  { key: "stage_id", title: "Number", align: "right",
    render: (row) => (row.attempt ? `${row.stage_id}, attempt ${row.attempt + 1}` : String(row.stage_id)) },
  numeric("tasks", "Tasks", count),
  numeric("seconds", "Took", number, { unit: "s" }),
  { key: "bottleneck", title: "Bound by", class: "nowrap", value: (row) => resourceName(row.bottleneck) || null },
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
      text: "Longest first. What a resource needs at least (ideal) is its use over what all machines can do; the " +
        `longest of these binds the stage.${left}`,
    },
    downloadButtons({ name, columns, rows }),
    dataTable({
      caption: "Stages, longest first", captionHidden: true, columns, rows, sort: true, limit: STAGES_AT_FIRST,
    }),
  );
}

function withoutThem(run) {
  const whole = run.replayed_seconds;
  return numeric("seconds_without", "Run without", seconds, {
    render: ({ seconds_without: rest }) =>
      (whole > 0 ? `${seconds(rest)} (${signedPercent((100 * (rest - whole)) / whole)})` : seconds(rest)),
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
    numeric("excess_seconds", "Over their medians", seconds),
    withoutThem(run),
  ];
  return card(
    { ...titled, text: "Tasks that took over 1.5 times their stage's median, by what the metrics explain it with." },
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
      text: "Its tasks replayed on other slots; start-up is not in it.",
    },
    dataTable({
      caption: "The run on other numbers of machines", captionHidden: true, columns, rows: run.sizes,
      limit: STAGES_AT_FIRST, highlight: (row) => row.machines === run.machines,
    }),
  );
}
