/** Loading, and again while something goes on: every few seconds, never while the page is hidden. */

const POLL_MILLISECONDS = 5000;
const SLOWEST_POLL_MILLISECONDS = 60_000;
const GOING_ON = new Set(["running", "queued", "scheduled", "restarting", "deferred", "up_for_retry",
  "up_for_reschedule"]);

/** Whether a run or task in this state of Airflow's may still change by itself. */
export function isGoingOn(state) {
  return GOING_ON.has(state);
}

/**
 * Follows something: `start()` loads now, `next({goesOn, hasFailed})` again after a while if it goes on, ever later
 * while it fails. `load(signal)` fetches and shows, then calls `next`, unless a newer call has aborted the signal.
 */
export function follower(load) {
  let timer = null;
  let failures = 0;
  let goesOnNow = false;
  let request = null;

  function start() {
    window.clearTimeout(timer);
    request?.abort();
    request = new AbortController();
    load(request.signal);
  }

  document.addEventListener("visibilitychange", () => {
    window.clearTimeout(timer);
    if (!document.hidden && goesOnNow) start();
  });

  function next({ goesOn, hasFailed = false }) {
    window.clearTimeout(timer);
    goesOnNow = goesOn;
    failures = hasFailed ? failures + 1 : 0;
    if (!goesOn || document.hidden) return;
    timer = window.setTimeout(start, Math.min(POLL_MILLISECONDS * 2 ** failures, SLOWEST_POLL_MILLISECONDS));
  }
  return { start, next };
}
