/** A report in a file: draws charts over the tables that it holds, which are read where no script runs. */
import { costFigure } from "../charts/cost.js";
import { foldsFigure } from "../charts/folds.js";
import { limitsFigure } from "../charts/limits.js";
import { phasesFigure } from "../charts/phases.js";
import { idealFigure, sizesFigure, stagesFigure, whatIfsFigure } from "../charts/profile.js";
import { sharesFigure } from "../charts/shares.js";
import { surveyedSizesFigure } from "../charts/survey.js";
import { chosenPoint, timeFigure } from "../charts/time.js";
import { element } from "../dom.js";
import { figure } from "../figure.js";
import { dataTable } from "../table.js";

const NO_REPLAY = { points: [], caption: "", of: () => null };

const OF_A_MODEL = {
  time: ({ prediction, observations }) => timeFigure({
    prediction, observations, productionRuns: [], deadline: prediction.latest_seconds, isLogarithmic: true,
    replay: NO_REPLAY,
  }),
  shares: ({ prediction, terms }) => sharesFigure({
    prediction, terms, chosen: chosenPoint(prediction), deadline: prediction.latest_seconds,
  }),
  cost: ({ prediction, budget }) => costFigure({
    prediction, deadline: prediction.latest_seconds, budget, replay: NO_REPLAY,
  }),
  folds: ({ observations }) => foldsFigure({ observations, asErrors: false }),
};

const OF_A_RUN = {
  limits: limitsFigure,
  stages: stagesFigure,
  ideal: idealFigure,
  "what-ifs": whatIfsFigure,
  sizes: sizesFigure,
  phases: phasesFigure,
};

/** Figures that are as high as what they hold. */
const BARS = ["limits", "stages", "ideal", "what-ifs"];

function draw(id, makeFigure, data) {
  const section = document.getElementById(id);
  if (!section) return;
  try {
    const title = section.querySelector("h2").textContent;
    const height = id === "phases" ? 84 : undefined;
    const drawn = figure({ id, title, name: `${data.name}-${id}`, height, ...makeFigure(data.shown) });
    drawn.classList.toggle("bars-figure", BARS.includes(id));
    section.replaceWith(drawn);
  } catch (error) {
    console.error(error); // the table stays
  }
}

/** What the columns of the jobs are sorted by, in their order. */
const OF_A_JOB = {
  job: (job) => job.job,
  machines: (job) => job.machines,
  time: (job) => job.seconds,
  taken: (job) => job.dollars_per_month ?? job.machine_hours_per_month,
  better: (job) => job.proposed?.machines,
  then: (job) => job.proposed?.seconds,
  saved: (job) => job.saved_per_month ?? job.saved_machine_hours_per_month ?? job.saved_share,
  likely: (job) => job.likely_saved_per_month?.[0] ?? job.likely_saved_share?.[0],
  bound: (job) => job.bottleneck,
  runs: (job) => job.runs,
  slots: (job) => job.slot_utilisation,
  growth: (job) => job.input_growth_per_month,
};

/** The table of all jobs, sortable, with a button at each that unfolds its part below. */
function sortJobs(shown) {
  const written = document.querySelector("#all-jobs .table-scroll");
  if (!written) return;
  const keys = written.closest("#all-jobs").dataset.columns.split(" ");
  const titles = [...written.querySelectorAll("thead th")].map((each) => each.textContent);
  const rows = [...written.querySelectorAll("tbody tr")].map((row, place) => (
    { place, job: shown[place], cells: [...row.children].map((each) => each.textContent) }));
  const unfold = ({ place }) => {
    const part = document.getElementById(`job-${place}`);
    part.open = true;
    part.scrollIntoView();
    part.querySelector("summary").focus();
  };
  const columns = keys.map((key, at) => ({
    key,
    title: titles[at],
    class: key === "job" ? "words" : null,
    align: key === "job" ? null : "right",
    value: (row) => OF_A_JOB[key](row.job),
    render: (row) => (key === "job"
      ? element("button", { type: "button", class: "button small", onClick: () => unfold(row) }, row.cells[at])
      : row.cells[at]),
  }));
  written.replaceWith(dataTable({ caption: "All jobs", captionHidden: true, columns, rows, sort: true }));
}

/** Of hundreds of jobs each is drawn when it is unfolded. */
function drawJobs({ name, shown }) {
  shown.forEach((job, place) => {
    const part = document.getElementById(`job-${place}`);
    const figures = () => {
      if (job.sizes.length) draw(`job-${place}-sizes`, surveyedSizesFigure, { name: `${name}-${place + 1}`, shown: job });
    };
    part?.addEventListener("toggle", figures, { once: true });
    if (part?.open) figures();
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (data.kind === "survey") {
    drawJobs(data);
    try {
      sortJobs(data.shown);
    } catch (error) {
      console.error(error); // the table stays
    }
    return;
  }
  const figures = data.kind === "model" ? OF_A_MODEL : OF_A_RUN;
  for (const [id, makeFigure] of Object.entries(figures)) draw(id, makeFigure, data);
});
