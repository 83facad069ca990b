/** The command that tells of an event log why its run took as long as it did, for a terminal where the log lies. */

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Paths may have any characters: none of them may command a shell. */
function quoted(path) {
  return PLAIN.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * @param {{event_log: string, scale: number, iterations: number|null}} run
 * @returns {string} which writes a page with charts
 */
export function analyzeCommand({ event_log: log, scale, iterations }) {
  const share = Number.isFinite(scale) && scale !== 1 ? ` --scale ${scale}` : "";
  return `ernest analyze ${quoted(log)}${share}${iterations ? ` --iterations ${iterations}` : ""} --html why.html`;
}
