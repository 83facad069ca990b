/** Tables: with a caption, units in the headers, sortable by keyboard, as wide as the page; as cards on phones. */

import { element, hidden, replace } from "./dom.js";
import { cellValue } from "./download.js";
import { UNKNOWN } from "./format.js";

const ROWS_AT_FIRST = 100;

/** Tables of more columns are laid out as cards on phones, where they would not fit. */
const FIT_ON_PHONES = 3;

function titleOf(column) {
  if (!column.unit) return column.title;
  return [column.title, " ", element("span", { class: "unit" }, `(${column.unit})`)];
}

function cellContent(column, row) {
  const content = column.render ? column.render(row) : cellValue(column, row);
  return content === null || content === undefined || content === "" ? UNKNOWN : content;
}

function classOf(column) {
  return [column.align === "right" ? "number" : null, column.class].filter(Boolean).join(" ") || null;
}

function headerCell(column, sort) {
  if (!sort || column.sortable === false) {
    return element("th", { scope: "col", class: classOf(column) }, titleOf(column));
  }
  const key = column.sortKey ?? column.key;
  const isSorted = sort.key === key;
  const direction = sort.descending ? "descending" : "ascending";
  const arrow = isSorted ? (sort.descending ? "↓" : "↑") : "↕";
  return element(
    "th",
    { scope: "col", class: classOf(column), "aria-sort": isSorted ? direction : "none" },
    element(
      "button",
      { type: "button", class: "sort", "data-sort": key, onClick: () => sort.onSort(key) },
      element("span", {}, titleOf(column)),
      element("span", { class: "sort-arrow", "aria-hidden": "true" }, arrow),
    ),
  );
}

function bodyRow(columns, row, highlight) {
  const mark = highlight?.(row);
  const cells = columns.map((column, place) => {
    const title = column.unit ? `${column.title} (${column.unit})` : column.title;
    const attributes = { class: classOf(column), "data-title": title };
    const isHeader = column.isRowHeader ?? place === 0;
    return element(isHeader ? "th" : "td", isHeader ? { ...attributes, scope: "row" } : attributes,
      cellContent(column, row));
  });
  return element("tr", { class: mark ? (typeof mark === "string" ? mark : "highlight") : null }, cells);
}

function compared(left, right) {
  const leftMissing = left === null || left === undefined;
  const rightMissing = right === null || right === undefined;
  if (leftMissing || rightMissing) return { missing: Number(leftMissing) - Number(rightMissing) };
  if (typeof left === "number" && typeof right === "number") return { order: left - right };
  return { order: String(left).localeCompare(String(right), "en", { numeric: true }) };
}

/** The rows by one column, what is not known last either way. */
function sortedRows(rows, column, descending) {
  return [...rows].sort((left, right) => {
    const { missing, order } = compared(cellValue(column, left), cellValue(column, right));
    return missing ?? (descending ? -order : order);
  });
}

function body(columns, rows, { emptyText, highlight, limit, showAll }) {
  if (!rows.length) {
    return element("tbody", {}, element("tr", { class: "empty" },
      element("td", { colspan: columns.length }, emptyText ?? "Nothing to show.")));
  }
  const shown = rows.slice(0, limit).map((row) => bodyRow(columns, row, highlight));
  if (rows.length > limit) {
    shown.push(element("tr", { class: "more" }, element("td", { colspan: columns.length },
      element("button", { type: "button", class: "button small", onClick: showAll },
        `Show all ${rows.length.toLocaleString("en-US")} rows`))));
  }
  return element("tbody", {}, shown);
}

/** A value with remarks below it, of which the last stands out: something is wrong. */
export function cell(value, remark, wrong) {
  return element("span", {}, value,
    remark ? element("span", { class: "below" }, remark) : null,
    wrong ? element("span", { class: "below wrong" }, wrong) : null);
}

/**
 * A table in a region that scrolls sideways by itself and can be focused.
 *
 * @param {Object} options {caption, columns, rows, emptyText?, captionHidden?, limit?, class?}: the caption also names
 *   the region, and captionHidden leaves it to screen readers; a button shows rows beyond the limit.
 * @param {Array} options.columns each {key, title, unit?, align?: "right", render?(row), value?(row), class?,
 *   sortable?: false, sortKey?, isRowHeader?}; the first one holds the rows' headers unless it says otherwise.
 * @param {function} [options.highlight] row => true or a class for rows that stand out.
 * @param {true|{key, descending, onSort(key)}} [options.sort] true: sorted here; an object: by the server.
 * @param {{key?, descending?, isWhole?}} [options.view] how the reader has sorted it (with sort true) and whether all
 *   rows are shown, for a table that replaces this one.
 */
export function dataTable({
  caption, columns, rows, emptyText, highlight, sort, view = {}, captionHidden = false, limit = ROWS_AT_FIRST,
  class: name,
}) {
  const layout = columns.length > FIT_ON_PHONES ? "cards-on-phones" : null;
  const table = element("table", { class: [layout, name].filter(Boolean).join(" ") || null });

  function sortHere(key) {
    view.descending = view.key === key ? !view.descending : false;
    view.key = key;
    draw();
    table.querySelector(`[data-sort="${CSS.escape(key)}"]`)?.focus();
  }

  function draw() {
    const sorting = sort === true ? { ...view, onSort: sortHere } : sort;
    const column = sort === true && columns.find((each) => (each.sortKey ?? each.key) === view.key);
    const ordered = column ? sortedRows(rows, column, view.descending) : rows;
    const showAll = () => {
      view.isWhole = true;
      draw();
      table.closest(".table-scroll")?.focus();
    };
    replace(
      table,
      element("caption", {}, captionHidden ? hidden(caption) : caption),
      element("thead", {}, element("tr", {}, columns.map((each) => headerCell(each, sorting)))),
      body(columns, ordered, { emptyText, highlight, limit: view.isWhole ? Infinity : limit, showAll }),
    );
  }

  draw();
  const region = { class: "table-scroll", tabindex: "0", role: "region", "aria-label": caption };
  return element("div", region, table);
}
