/** Links from the pages back into the Airflow around them. */

import { element, isSafeUrl } from "./dom.js";

/** Whether this page is a report: a file with its data in it, and no Airflow around it. */
export const isReport = "report" in document.documentElement.dataset;

/** The pages lie at <root of Airflow>/ernest/<page>. */
function airflowRoot() {
  return new URL("../", window.location.href);
}

function path(...parts) {
  return parts.map((part) => encodeURIComponent(String(part))).join("/");
}

/** The address of a DAG run in Airflow, relative to Airflow's root. */
export function runUrl(dagId, runId) {
  return path("dags", dagId, "runs", runId);
}

/**
 * The address of a task instance in Airflow, relative to Airflow's root.
 *
 * @param {{dag_id: string, run_id: string, task_id: string, map_index?: number}} origin
 */
export function taskUrl(origin) {
  const task = path("dags", origin.dag_id, "runs", origin.run_id, "tasks", origin.task_id);
  const mapIndex = origin.map_index ?? -1;
  return mapIndex >= 0 ? `${task}/mapped/${encodeURIComponent(String(mapIndex))}` : task;
}

/** The name of a task instance: its task, with the index of a mapped one. */
export function taskName(origin) {
  return (origin.map_index ?? -1) >= 0 ? `${origin.task_id} [${origin.map_index}]` : origin.task_id;
}

/** Airflow's window around this page, where its address follows the page shown (Airflow 3.3); else null. */
function followingWindow() {
  try {
    const { parent } = window;
    const isFollowing = parent !== window && parent.location.pathname.endsWith(window.location.pathname);
    return isFollowing ? parent : null;
  } catch {
    return null;
  }
}

/** Gives this page another query, and Airflow's address around it: it follows by itself only what is loaded. */
export function replaceQuery(query) {
  const text = query ? `?${query}` : "";
  window.history.replaceState(null, "", `${window.location.pathname}${text}`);
  const around = followingWindow();
  around?.history.replaceState(around.history.state, "", `${around.location.pathname}${text}`);
}

/** The address that shows this page as it is now: within Airflow where that keeps up with it, else by itself. */
export function sharedAddress() {
  return (followingWindow() ?? window).location.href;
}

/** The document of the Airflow page around this one; null when the page stands alone. */
function surroundingDocument() {
  try {
    return window.parent === window ? null : window.parent.document;
  } catch {
    return null;
  }
}

/** Whether Airflow shows this page in a frame, below its own header. */
export function isFramed() {
  return surroundingDocument() !== null;
}

/**
 * Follows a link in the page around this one: Airflow's frame lets nothing in it open windows or leave
 * the frame, so a link of the surrounding document is clicked in its stead.
 */
function follow(event, address, target) {
  const surrounding = surroundingDocument();
  if (!surrounding) return;
  event.preventDefault();
  const link = surrounding.createElement("a");
  link.href = address;
  if (target) link.target = target;
  link.rel = "noopener noreferrer";
  const { ctrlKey, metaKey, shiftKey } = event;
  surrounding.body.append(link);
  const keys = { ctrlKey, metaKey, shiftKey };
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...keys }));
  link.remove();
}

/** A link to a page of Airflow, given relative to Airflow's root (or whole). */
export function airflowLink(address, text, attributes = {}) {
  if (isReport) return element("span", attributes, text);
  const whole = new URL(address, airflowRoot()).href;
  if (!isSafeUrl(whole)) return element("span", attributes, text);
  return element("a", { ...attributes, href: whole, onClick: (event) => follow(event, whole) }, text);
}

/** A link to another site, such as a Spark history server; plain text when it is not http(s). */
export function externalLink(address, text, attributes = {}) {
  if (!/^https?:\/\//i.test(address ?? "")) return element("span", attributes, text);
  const onClick = (event) => follow(event, address, "_blank");
  return element("a", { ...attributes, href: address, rel: "noopener noreferrer", onClick }, text);
}
