/** The page of one model: the decision, what if, past runs, can it be trusted, what to fix, details. */
import { isReport } from "../airflow.js";
import { fetchJson, pageParams } from "../api.js";
import { element } from "../dom.js";
import { countIn } from "../format.js";
import { fillPage, pageHeader } from "../header.js";
import { head } from "../model/head.js";
import { details } from "../model/details.js";
import { history } from "../model/history.js";
import { question } from "../model/question.js";
import { unfold } from "../model/slot.js";
import { trust } from "../model/trust.js";
import { why } from "../model/why.js";
import { emptyState, errorState, loadingState } from "../states.js";

const params = pageParams();

const LONGEST_WAIT_MILLISECONDS = 200;

/** Once the page has been painted; soon where it is hidden and not painted at all. */
function painted() {
  return new Promise((resolve) => {
    window.requestAnimationFrame(() => window.setTimeout(resolve));
    window.setTimeout(resolve, LONGEST_WAIT_MILLISECONDS);
  });
}

function bareHeader() {
  return pageHeader({ title: params.job ?? "Model", crumbs: [{ text: "Models", href: "models" }] });
}

async function show() {
  try {
    const page = await fetchJson("api/model", {
      job: params.job,
      instance_type: params.instance_type,
      model_id: params.model_id,
    });
    countIn(page.model.unit);
    const checks = trust(page);
    const folded = details(page);
    let isFirst = true;
    const onAnswer = (prediction) => {
      checks.show(prediction);
      // The checks have moved what is below them, or are what is looked for.
      if (isFirst) goToAnchor();
      isFirst = false;
    };
    const shown = element("div", { class: "model-page" }, head(page), question(page, params, onAnswer));
    fillPage(shown);
    // What was asked for is painted first; the rest is drawn while the prediction is on its way.
    await painted();
    // A report is of a model alone: it knows no production run and no event log.
    shown.append(...(isReport ? [checks, folded] : [history(page), checks, why(page), folded]));
    goToAnchor();
  } catch (error) {
    if (!error.status && error.status !== 0) console.error(error);
    fillPage(bareHeader(), errorState(error, show));
  }
}

/** Where the address names a part of the page: the browser looked for it before it was there. */
function goToAnchor() {
  const name = window.location.hash.slice(1);
  if (name) unfold(name)?.scrollIntoView();
}

function showNothing() {
  fillPage(
    bareHeader(),
    emptyState({
      title: "Which model?",
      text: "The address names no job and instance type. Choose a model from the list.",
      actions: [element("a", { class: "button primary", href: "models" }, "All models")],
      isWholePage: true,
    }),
  );
}

if (params.job && params.instance_type) {
  fillPage(bareHeader(), loadingState("Loading the model …"));
  show();
} else {
  showNothing();
}
