/** Words of "Why it takes this long". */
import { isolated } from "../format.js";

const RESOURCES = new Map([["cpu", "CPU"], ["something that Spark does not measure", "unmeasured"]]);

const CATEGORIES = new Map([
  ["sql", "SQL"], ["streaming", "streaming"], ["mllib", "MLlib"], ["graphx", "GraphX"], ["core", "RDDs"],
]);

const SOURCES = new Map([
  ["measured", "measured by the cluster's probe"],
  ["stated", "as stated"],
  ["achieved", "the most that its own tasks got, so at least that"],
]);

/** What tasks wait for that Spark does not measure; see the document of a run's profile. */
export const UNMEASURED = "unmeasured";

/** A resource, or what else tasks wait for. */
export function resourceName(resource) {
  return RESOURCES.get(resource) ?? isolated(resource);
}

/** What kind of job it is. */
export function categoryName(category) {
  return CATEGORIES.get(category) ?? isolated(category);
}

/** How what the machines can do is known. */
export function sourceWords(source) {
  return SOURCES.get(source) ?? isolated(source);
}

/** The id of a part: what sample run and production run tell may stand on the same page. */
export function idOf(id, { purpose }) {
  return purpose === "production" ? `${id}-${purpose}` : id;
}

/** The title of a part, likewise. */
export function titleOf(title, { purpose }) {
  return purpose === "production" ? `${title}: ${purpose} run` : title;
}
