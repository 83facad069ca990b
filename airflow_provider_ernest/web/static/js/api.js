/** The pages' own addresses and the data behind them. All addresses are relative, so any prefix works. */

import { isReport, replaceQuery } from "./airflow.js";

const LOGGED_OUT = "You are logged out: log in to Airflow, then reload this page.";
const NO_ANSWER = "The server does not answer: see whether Airflow's API server runs, then try again.";
const NOT_BROUGHT = "This report does not hold it: see the page in Airflow.";
const NOT_JSON = "The server's answer is not the data expected: see the API server's log, then try again.";

/** What went wrong with a request: `status` of HTTP (0: no answer) and a message for people. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

function isGiven(value) {
  return value !== null && value !== undefined && value !== "" && !Number.isNaN(value);
}

/** A query string of the parameters that are given. Spaces become %20: `pageParams` reads them back. */
function query(params) {
  return Object.entries(params ?? {})
    .filter(([, value]) => isGiven(value))
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/** The address of one of the plugin's pages, relative to the page shown. */
export function pageUrl(page, params = {}) {
  const text = query(params);
  return text ? `${page}?${text}` : page;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The parameters of this page's address.
 *
 * A plus sign stays one: Airflow before 3.2 puts run ids such as manual__2026-01-01T00:00:00+00:00 into the
 * address as they are, and URLSearchParams would make a space of it.
 */
export function pageParams(search = window.location.search) {
  if (isReport) return answersBrought()[0].params;
  const params = {};
  for (const part of search.replace(/^\?/, "").split("&")) {
    const at = part.indexOf("=");
    if (at > 0) params[decoded(part.slice(0, at))] = decoded(part.slice(at + 1));
  }
  return params;
}

/** Puts parameters into this page's address without a new entry in the browser's history. */
export function rememberParams(params) {
  replaceQuery(query(params));
}

function detailOf(answer, status) {
  const detail = answer?.detail;
  if (typeof detail === "string" && detail) return detail;
  if (Array.isArray(detail)) {
    return detail.map((each) => `${(each.loc ?? []).at(-1) ?? ""}: ${each.msg ?? ""}`).join("; ");
  }
  return `The server answered with ${status}: see the API server's log, then try again.`;
}

async function readJson(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return undefined;
  }
}

let brought = null;

/** The answers that a report has with it. */
function answersBrought() {
  brought ??= JSON.parse(document.getElementById("answers").textContent);
  return brought;
}

/**
 * The data at an address such as "api/models".
 *
 * @param {string} path relative to the plugin's pages; "../api/v2/..." is Airflow's own API.
 * @param {Object} params of the query; what is null, undefined or "" is left out.
 * @param {{signal?: AbortSignal, body?: Object}} options to give up a request (it then throws the browser's AbortError);
 *   a body is posted. The session's cookie is the reader's right: a page of another origin can send neither it nor JSON.
 * @throws {ApiError}
 */
export async function fetchJson(path, params = {}, { signal, body } = {}) {
  if (isReport) {
    const known = answersBrought().find((each) => each.path === path);
    if (!known) throw new ApiError(404, NOT_BROUGHT);
    return known.answer;
  }
  let response;
  try {
    response = await fetch(pageUrl(path, params), {
      headers: { Accept: "application/json", ...(body ? { "Content-Type": "application/json" } : {}) },
      credentials: "same-origin",
      signal,
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, NO_ANSWER);
  }
  if (response.status === 401) throw new ApiError(401, LOGGED_OUT);
  const answer = await readJson(response);
  if (!response.ok) throw new ApiError(response.status, detailOf(answer, response.status));
  if (answer === undefined) throw new ApiError(response.status, NOT_JSON);
  return answer;
}
