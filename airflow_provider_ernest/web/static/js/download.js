/** Tables as files: CSV and JSON, made in the browser from the rows that the page shows. */

import { element, hidden } from "./dom.js";

// Full-width signs, too: spreadsheets take them for the plain ones.
const STARTS_A_FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** The value of a cell for files and sorting: `value(row)` of the column, else the row's by the key. */
export function cellValue(column, row) {
  return column.value ? column.value(row) : row[column.key];
}

function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = Array.isArray(value) ? value.join(" ") : String(value);
  // Spreadsheets would run text that looks like a formula
  const inert = STARTS_A_FORMULA.test(text) ? `'${text}` : text;
  return `"${inert.replaceAll('"', '""')}"`;
}

/** The rows as CSV (RFC 4180), headed by the columns' keys. */
function toCsv(columns, rows) {
  const lines = [columns.map((column) => csvCell(column.key))];
  for (const row of rows) lines.push(columns.map((column) => csvCell(cellValue(column, row))));
  return `${lines.map((cells) => cells.join(",")).join("\r\n")}\r\n`;
}

/** The rows as a JSON array of objects by the columns' keys. */
function toJson(columns, rows) {
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map((column) => [column.key, cellValue(column, row) ?? null])),
  );
  return `${JSON.stringify(objects, null, 2)}\n`;
}

function fileName(name, ending) {
  const safe = String(name).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+|-+$/g, "");
  return `${safe.slice(0, 100) || "ernest"}.${ending}`;
}

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * Buttons that save the rows.
 *
 * @param {Object} options
 * @param {string} options.name of the file, without its ending; spoken with the buttons.
 * @param {Array} options.columns as of `dataTable`: `key` and perhaps `value(row)`.
 * @param {Array|function(): Array} options.rows
 */
export function downloadButtons({ name, columns, rows }) {
  const current = () => (typeof rows === "function" ? rows() : rows);
  const button = (label, ending, type, write) =>
    element(
      "button",
      {
        type: "button",
        class: "button small",
        onClick: () => save(fileName(name, ending), type, write(columns, current())),
      },
      hidden("Download "),
      label,
      hidden(` of ${name}`),
    );
  return element(
    "div",
    { class: "downloads" },
    element("span", { class: "downloads-label", "aria-hidden": "true" }, "Download"),
    button("CSV", "csv", "text/csv;charset=utf-8", toCsv),
    button("JSON", "json", "application/json", toJson),
  );
}
