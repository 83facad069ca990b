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

const UNITS = new Map([["s", "seconds"], ["$", "dollars"], ["%", "percent"], ["GB/s", "gigabytes_per_second"],
  ["s per unit", "seconds_per_unit"]]);

/** The key with the unit, where the key does not tell it: cost_dollars, predicted_seconds. */
function headingOf({ key, unit, fileUnit }) {
  const told = fileUnit ?? UNITS.get(unit) ?? unit?.replace(/\W+/g, "_");
  return !told || key.includes(told) ? key : `${key}_${told}`;
}

/** What a file holds: numbers as they are, and the ends of a range, such as likely_seconds, as two columns. */
function fileColumns(columns, rows) {
  return columns.flatMap((column) => {
    const heading = headingOf(column);
    const value = (row) => cellValue(column, row) ?? null;
    const isRange = rows.some((row) => Array.isArray(value(row)) && value(row).every((end) => typeof end === "number"));
    if (!isRange) return [{ heading, value }];
    const named = (end) => heading.replace(/_seconds$|$/, (unit) => `_${end}${unit}`);
    return ["low", "high"].map((end, place) => ({ heading: named(end), value: (row) => value(row)?.[place] ?? null }));
  });
}

/** The rows as CSV (RFC 4180), headed by the columns' keys with their units. */
function toCsv(columns, rows) {
  const held = fileColumns(columns, rows);
  const lines = [held.map(({ heading }) => csvCell(heading))];
  for (const row of rows) lines.push(held.map(({ value }) => csvCell(value(row))));
  return `${lines.map((cells) => cells.join(",")).join("\r\n")}\r\n`;
}

/** The rows as a JSON array of objects by the same names. */
function toJson(columns, rows) {
  const held = fileColumns(columns, rows);
  const objects = rows.map((row) => Object.fromEntries(held.map(({ heading, value }) => [heading, value(row)])));
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
 * Buttons that save the rows, an array or a function that gives or promises it, under a name without an ending. Columns
 * are as for `dataTable`, and may have a `fileUnit` if cells show the unit themselves.
 */
export function downloadButtons({ name, columns, rows }) {
  const current = async () => (typeof rows === "function" ? rows() : rows);
  const button = (label, ending, type, write) => {
    const onClick = async () => save(fileName(name, ending), type, write(columns, await current()));
    return element("button", { type: "button", class: "button small", onClick },
      hidden("Download "), label, hidden(` of ${name}`));
  };
  return element(
    "div",
    { class: "downloads" },
    element("span", { class: "downloads-label", "aria-hidden": "true" }, "Download"),
    button("CSV", "csv", "text/csv;charset=utf-8", toCsv),
    button("JSON", "json", "application/json", toJson),
  );
}
