/** A report in a file: draws charts over the tables that it holds, which are read where no script runs. */
import { costFigure } from "../charts/cost.js";
import { foldsFigure } from "../charts/folds.js";
import { limitsFigure } from "../charts/limits.js";
import { phasesFigure } from "../charts/phases.js";
import { idealFigure, sizesFigure, stagesFigure, whatIfsFigure } from "../charts/profile.js";
import { sharesFigure } from "../charts/shares.js";
import { chosenPoint, timeFigure } from "../charts/time.js";
import { figure } from "../figure.js";

const NO_REPLAY = { points: [], caption: "", of: () => null };

const OF_A_MODEL = {
  time: ({ prediction, observations }) => timeFigure({
    prediction, observations, productionRuns: [], deadline: prediction.latest_seconds, isLogarithmic: true,
    replay: NO_REPLAY,
  }),
  shares: ({ prediction, terms }) => sharesFigure({ prediction, terms, chosen: chosenPoint(prediction) }),
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

/** A drawing has the size of the screen: on paper it is scaled to the room that there is. */
function scaleForPaper() {
  for (const svg of document.querySelectorAll(".chart svg")) {
    svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const figures = data.kind === "model" ? OF_A_MODEL : OF_A_RUN;
  for (const [id, makeFigure] of Object.entries(figures)) draw(id, makeFigure, data);
  window.addEventListener("beforeprint", scaleForPaper);
});
