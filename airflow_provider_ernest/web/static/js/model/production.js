/** The production runs beside their predictions: the newest at first, older ones when they are asked for. */
import { fetchJson } from "../api.js";
import { productionFigure } from "../charts/production.js";
import { radioSwitch } from "../controls.js";
import { element } from "../dom.js";
import { count, plural } from "../format.js";
import { announce } from "../states.js";
import { figureSlot } from "./slot.js";

const NO_PRODUCTION =
  "No production run of this job has been recorded with a prediction. Submit the production job by an " +
  "ErnestSparkSubmitOperator with the decision, or put a RecordRunOperator behind it: each run that succeeds is then " +
  "compared with what was predicted, and shows up here.";

const NOTHING_PREDICTED =
  "nothing was predicted: the machines were not chosen by a model. Runs that are sized by a decision of this model show " +
  "up here.";

/** Why nothing is drawn. */
function nothingToDraw(runs, rest) {
  if (!runs.length) return NO_PRODUCTION;
  return [`Of ${plural(runs.length, "production run")} ${NOTHING_PREDICTED}`, rest].filter(Boolean).join(" ");
}

/** The figure, for the answer of api/model. */
export function production({ model, production_runs: newest, production_total: total }) {
  const state = { runs: newest, total, asErrors: false };
  const holder = element("div", { class: "production" });
  const slot = figureSlot({
    id: "production",
    title: "Predicted against actual in production",
    question: "Did production runs take as long as predicted?",
    name: `${model.job}-${model.instance_type}-production`,
    height: 320,
    controls: radioSwitch({
      legend: "Show",
      name: "production-as",
      value: "times",
      options: [{ value: "times", label: "Times" }, { value: "errors", label: "Percent errors" }],
      onChange: (chosen) => {
        state.asErrors = chosen === "errors";
        draw();
      },
    }),
  });
  const rest = () => (state.runs.length < state.total
    ? `These are the newest ${count(state.runs.length)} of ${count(state.total)} runs.` : "");
  const draw = () => {
    if (state.runs.some((run) => Number.isFinite(run.predicted_seconds))) {
      slot.show(productionFigure({ productionRuns: state.runs, asErrors: state.asErrors, rest: rest() }));
    } else {
      slot.showEmpty(nothingToDraw(state.runs, rest()));
    }
  };
  draw();
  holder.append(slot, olderRuns(model, state, draw));
  return holder;
}

/** The button that asks for older runs; gone where there are none. */
function olderRuns(model, state, draw) {
  const button = element("button", { type: "button", class: "button small" });
  const problem = element("span", { class: "muted", role: "status" });
  const line = element("p", { class: "older-runs" }, button, " ", problem);
  const refresh = () => {
    const left = state.total - state.runs.length;
    line.hidden = left <= 0;
    button.textContent = `Show older runs (${count(left)})`;
  };
  button.addEventListener("click", async () => {
    button.setAttribute("aria-busy", "true");
    try {
      const { job, instance_type, model_id } = model;
      const asked = { job, instance_type, model_id, offset: state.runs.length };
      const older = await fetchJson("api/production", asked);
      const known = new Set(state.runs.map((run) => run.production_id));
      const added = older.runs.filter((run) => !known.has(run.production_id));
      state.runs = [...state.runs, ...added];
      // Where some cannot be read, there are no more to ask for.
      state.total = added.length ? older.total : state.runs.length;
      problem.textContent = "";
      draw();
      refresh();
      announce(`${count(state.runs.length)} production runs are shown.`);
    } catch (error) {
      problem.textContent = error.message;
    }
    button.removeAttribute("aria-busy");
  });
  refresh();
  return line;
}
