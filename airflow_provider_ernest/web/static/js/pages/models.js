/** The page of all models: search, filter by state, sort and page at the server. */

import { ApiError, fetchJson, pageParams, rememberParams } from "../api.js";
import { debounce, selectField } from "../controls.js";
import { element, renew, replace, setText } from "../dom.js";
import { count, counted, dateTime, dollars } from "../format.js";
import { fillPage, pageHeader } from "../header.js";
import { emptyState, errorState, loadingState } from "../states.js";
import { modelsDownload, modelsTable, startsDescending, SORTS } from "./models_table.js";
import { pager, PAGE_SIZES } from "./pager.js";

const STATES = ["fresh", "stale", "drifting"];
const FILTERS = ["", "attention", ...STATES];
const STATE_TITLES = { "": "All", attention: "Needs attention", fresh: "Up to date", stale: "Out of date", drifting: "Drifting" };
const DEFAULTS = { search: "", state: "", sort: "need", descending: true, offset: 0, limit: 25 };

function wantedFromAddress() {
  const given = pageParams();
  const limit = Number(given.limit);
  const offset = Number(given.offset);
  const sort = SORTS.some((each) => each.key === given.sort) ? given.sort : DEFAULTS.sort;
  return {
    search: given.search ?? "",
    state: FILTERS.includes(given.state) ? given.state : "",
    sort,
    descending: given.descending === undefined ? startsDescending(sort) : given.descending === "true",
    limit: PAGE_SIZES.includes(limit) ? limit : DEFAULTS.limit,
    offset: Number.isInteger(offset) && offset > 0 ? offset : 0,
  };
}

/** Only what differs from the defaults, so that the plain page keeps a plain address. */
function remember(wanted) {
  const changed = Object.entries(wanted).filter(([name, value]) => value !== DEFAULTS[name]);
  if (wanted.sort !== DEFAULTS.sort || wanted.descending !== DEFAULTS.descending) {
    changed.push(["sort", wanted.sort], ["descending", wanted.descending]);
  }
  rememberParams(Object.fromEntries(changed));
}

const SUBTITLE = "What each Spark job runs on, takes, costs and saves, and whether it keeps its deadlines.";

class ModelsPage {
  constructor() {
    this.wanted = wantedFromAddress();
    this.request = null;
    this.results = element("div", { class: "results" });
    this.totals = element("p", { class: "headline totals", hidden: true });
    this.survey = element("p", { class: "survey-link", hidden: true });
    this.summary = element("p", { class: "results-summary", role: "status", "aria-live": "polite" });
    this.search = element("input", {
      id: "search", type: "search", value: this.wanted.search, autocomplete: "off", spellcheck: "false",
      placeholder: "Job, instance type or DAG",
    });
    this.chips = element("div", { class: "chips", role: "group", "aria-label": "State" });
    this.sortField = selectField({
      label: "Sort by", id: "sort", value: this.sortChoice(), onChange: (value) => this.sortChosen(value),
      options: SORTS.flatMap(({ key, title, orders: [ascending, descending] }) => [
        { value: `${key} ascending`, label: `${title}, ${ascending}` },
        { value: `${key} descending`, label: `${title}, ${descending}` },
      ]),
    });
    this.sortField.classList.add("phones-only");
    this.pager = pager((changed) => this.turn(changed));
    this.isTurning = false;
    const searched = debounce(() => this.change({ search: this.search.value.trim(), offset: 0 }), 250);
    this.search.addEventListener("input", searched);
  }

  show() {
    const form = element(
      "form",
      { class: "toolbar", role: "search", onSubmit: (event) => event.preventDefault() },
      element(
        "div",
        { class: "field search-field" },
        element("label", { for: "search" }, "Search models"),
        this.search,
      ),
      this.chips,
      this.sortField,
    );
    fillPage(
      pageHeader({
        title: "Ernest models",
        subtitle: [SUBTITLE],
      }),
      this.totals,
      this.survey,
      (this.toolbar = form),
      this.summary,
      this.results,
      this.pager,
      (this.download = modelsDownload(() => this.all())),
    );
    this.download.hidden = true;
    this.toolbar.hidden = this.results.hidden = true;
    this.toolbar.before(this.waiting = loadingState("Loading the models …"));
    this.load();
  }

  sortChoice() {
    return `${this.wanted.sort} ${this.wanted.descending ? "descending" : "ascending"}`;
  }

  sortChosen(value) {
    const [sort, direction] = value.split(" ");
    this.change({ sort, descending: direction === "descending", offset: 0 });
  }

  sortBy(key) {
    const isSame = key === this.wanted.sort;
    const descending = isSame ? !this.wanted.descending : startsDescending(key);
    this.change({ sort: key, descending, offset: 0 });
  }

  change(changed) {
    Object.assign(this.wanted, changed);
    remember(this.wanted);
    this.load();
  }

  /** To another page: its rows are to be read from the first on. */
  turn(changed) {
    this.isTurning = true;
    this.change(changed);
  }

  async load() {
    this.request?.abort();
    const { signal } = (this.request = new AbortController());
    this.results.setAttribute("aria-busy", "true");
    try {
      const found = await fetchJson("api/models", this.wanted, { signal });
      if (signal.aborted) return;
      if (found.total > 0 && !found.rows.length) {
        this.change({ offset: Math.floor((found.total - 1) / this.wanted.limit) * this.wanted.limit });
        return;
      }
      this.showFound(found);
    } catch (error) {
      if (!signal.aborted) this.showError(error);
    }
  }

  /** All rows that match, page by page. */
  async all() {
    const [limit, rows] = [PAGE_SIZES.at(-1), []];
    let total = Infinity;
    for (let offset = 0; offset < total; offset += limit) {
      const found = await fetchJson("api/models", { ...this.wanted, offset, limit });
      total = found.total;
      rows.push(...found.rows);
    }
    return rows;
  }

  showError(error) {
    if (!(error instanceof ApiError)) console.error(error);
    this.hasAnswer();
    this.results.removeAttribute("aria-busy");
    setText(this.summary, "");
    this.totals.hidden = true;
    this.pager.hidden = true;
    renew(this.results, errorState(error, () => this.load()));
  }

  hasAnswer() {
    this.waiting.remove();
    this.results.hidden = false;
  }

  showFound(found) {
    this.hasAnswer();
    const models = STATES.reduce((sum, state) => sum + (found.counts[state] ?? 0), 0);
    const isEmptyStore = models === 0 && !this.wanted.search && !this.wanted.state;
    this.toolbar.hidden = isEmptyStore;
    this.results.removeAttribute("aria-busy");
    this.showChips(found.counts, models);
    this.sortField.querySelector("select").value = this.sortChoice();
    this.pager.update({ ...this.wanted, total: found.total });
    setText(this.summary, isEmptyStore ? "" : this.summaryOf(found));
    this.survey.hidden = !found.survey;
    replace(this.survey, found.survey ? surveyLink(found.survey) : null);
    this.totals.hidden = this.download.hidden = !found.rows.length;
    replace(this.totals, totals(found));
    if (isEmptyStore) renew(this.results, nothingYet());
    else if (!found.rows.length) renew(this.results, this.nothingMatches());
    else this.showRows(found.rows);
    if (this.isTurning) this.summary.scrollIntoView({ block: "start" });
    this.isTurning = false;
  }

  summaryOf({ total, rows, offset }) {
    const place = rows.length < total ? `, ${count(offset + 1)} to ${count(offset + rows.length)} shown` : "";
    return `${counted(total, "model")}${place}`;
  }

  showRows(rows) {
    const focused = document.activeElement?.dataset?.sort;
    const { sort: key, descending } = this.wanted;
    renew(this.results, modelsTable(rows, { key, descending, onSort: (chosen) => this.sortBy(chosen) }));
    if (focused) this.results.querySelector(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
  }

  showChips(counts, models) {
    const focused = document.activeElement?.dataset?.state;
    const chip = (state) => element(
      "button",
      {
        type: "button",
        class: "chip",
        "data-state": state,
        "aria-pressed": String(state === this.wanted.state),
        onClick: () => this.change({ state, offset: 0 }),
      },
      STATE_TITLES[state],
      " ",
      element("span", { class: "chip-count" }, count(state ? (counts[state] ?? 0) : models)),
    );
    replace(this.chips, FILTERS.map(chip));
    if (focused !== undefined) this.chips.querySelector(`[data-state="${CSS.escape(focused)}"]`)?.focus();
  }

  nothingMatches() {
    const clear = () => {
      this.search.value = "";
      this.change({ search: "", state: "", offset: 0 });
      this.search.focus();
    };
    const of = this.wanted.state ? ` that is ${STATE_TITLES[this.wanted.state].toLowerCase()}` : "";
    const words = this.wanted.search ? ` matches “${this.wanted.search}”` : " was found";
    return emptyState({
      title: `No model${of}${words}`,
      text: "All words of a search must occur in the job's name, its instance type or DAG.",
      actions: [
        element("button", { type: "button", class: "button primary", onClick: clear }, "Clear the search"),
      ],
    });
  }
}

/** What all jobs that match cost and save, as far as it is known. */
function totals({ per_month: month, saved_per_month: saved }) {
  const all = counted(month.jobs + month.unknown_jobs, "job");
  if (!month.jobs) return `Of ${all} no cost is known.`;
  const costs = month.unknown_jobs ? `${count(month.jobs)} of ${all} cost` : `${all} ${month.jobs === 1 ? "costs" : "cost"}`;
  return `${costs} ${dollars(month.dollars)} a month${saved.jobs ? `, ${dollars(saved.dollars)} less than before Ernest` : ""}.`;
}

function surveyLink({ at }) {
  const made = at ? ` of ${dateTime(at).slice(0, 10)}` : "";
  return [element("a", { href: "survey" }, `Survey of event logs${made}`),
    ": what all jobs in them take, and what other sizes would save."];
}

function nothingYet() {
  const code = (text) => element("code", {}, text);
  return emptyState({
    title: "There are no models yet",
    steps: [
      ["Put an ", code("ErnestTaskGroup"), " ahead of a Spark job in its DAG: ",
        code("ernest >> production >> ernest.teardown"), "."],
      "Run the DAG once. It tries the job on small samples, chooses its size, and runs production on that.",
      "Come back: the job stands here with its size, time and dollars.",
    ],
    text: [
      code("docs/start/quickstart.md"), " goes through it; ", code("make demo"), " shows it without a job of yours. ",
      "Models of DAGs that you may not read are not shown.",
    ],
    isWholePage: true,
  });
}

new ModelsPage().show();
