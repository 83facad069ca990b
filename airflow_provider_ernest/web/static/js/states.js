/** What a page shows while it has nothing to show: loading, empty, failed. Each says what to do next. */

import { element } from "./dom.js";

/** While something is fetched. Screen readers hear the text. */
export function loadingState(text) {
  return element(
    "div",
    { class: "state loading", role: "status", "aria-live": "polite" },
    element("span", { class: "spinner", "aria-hidden": "true" }),
    element("span", {}, text),
  );
}

/**
 * Where there is nothing: a title, steps to do one after the other, a text, and buttons. Where there is nothing else on
 * the page (isWholePage), screen readers say it at once.
 */
export function emptyState({ title, steps = [], text, actions = [], level = 2, isWholePage = false }) {
  return element(
    "div",
    { class: "state empty", role: isWholePage ? "status" : null },
    element(`h${level}`, {}, title),
    steps.length ? element("ol", {}, steps.map((step) => element("li", {}, step))) : null,
    element("p", {}, text),
    actions.length ? element("div", { class: "actions" }, actions) : null,
  );
}

const TITLES = {
  401: "You are logged out",
  403: "You may not see this",
  404: "Not found",
  422: "The address of this page is not complete",
};

/**
 * Where something failed: what went wrong in the server's words, and a button to try again. It stays until
 * the other answer is there: the button keeps the focus.
 */
export function errorState(error, retry) {
  const again = () => {
    node.setAttribute("aria-busy", "true");
    retry();
  };
  const node = element(
    "div",
    { class: "state error", role: "alert" },
    element("h2", {}, TITLES[error?.status] ?? "This could not be loaded"),
    element("p", {}, error?.message || "Something went wrong: reload the page."),
    retry
      ? element("div", { class: "actions" },
          element("button", { type: "button", class: "button primary", onClick: again }, "Try again"),
          element("span", { class: "spinner", "aria-hidden": "true" }))
      : null,
  );
  return node;
}

/** Screen readers hear the text; nobody sees it. */
export function announce(text) {
  let region = document.getElementById("announcements");
  if (!region) {
    region = element("div", { id: "announcements", class: "visually-hidden", role: "status" });
    document.body.append(region);
  }
  region.textContent = text;
}
