/** Columns of the numbers behind the charts. */

/** A column of numbers: the table shows them by `format`, files hold the numbers themselves. */
export function numeric(key, title, format, more = {}) {
  const value = more.value ?? ((row) => row[key]);
  return { key, title, align: "right", value, render: (row) => format(value(row)), ...more };
}
