/** What was taken where no configuration kept to the goal, or no model was there. */

const KINDS = { stated: "the stated configuration", most_probable: "the most probable configuration" };

/** Which fallback a decision was; empty where it was none. */
export function fallbackWords({ fallback }) {
  return KINDS[fallback] ?? "";
}
