/** The page of one model: how many machines, why, how far to believe it, and where it comes from. */
import { fetchJson, pageParams } from "../api.js";
import { element } from "../dom.js";
import { fillPage, pageHeader } from "../header.js";
import { head } from "../model/head.js";
import { life } from "../model/life.js";
import { origin } from "../model/origin.js";
import { painted } from "../model/painted.js";
import { question } from "../model/question.js";
import { trust } from "../model/trust.js";
import { why } from "../model/why.js";
import { emptyState, errorState, loadingState } from "../states.js";

const params = pageParams();

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
    const asked = question(page, params);
    const shown = element("div", { class: "model-page" }, head(page), asked);
    fillPage(shown);
    // What was asked for is painted first; the rest is drawn while the prediction is on its way.
    for (const part of [(all) => why(all, asked.showReplays), trust, life, origin]) {
      await painted();
      shown.append(part(page));
    }
    goToAnchor();
  } catch (error) {
    if (!error.status && error.status !== 0) console.error(error);
    fillPage(bareHeader(), errorState(error, show));
  }
}

/** Where the address names a part of the page: the browser looked for it before it was there. */
function goToAnchor() {
  const name = window.location.hash.slice(1);
  if (name) document.getElementById(name)?.scrollIntoView();
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
