/** Waiting for the browser to show what is there before more is drawn. */

const LONGEST_WAIT_MILLISECONDS = 200;

/** Once the page has been painted; soon where it is hidden and not painted at all. */
export function painted() {
  return new Promise((resolve) => {
    window.requestAnimationFrame(() => window.setTimeout(resolve));
    window.setTimeout(resolve, LONGEST_WAIT_MILLISECONDS);
  });
}
