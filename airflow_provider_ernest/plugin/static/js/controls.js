/** Labelled controls: native inputs, each with its unit and what is wrong with a value in words. */

import { element, replace, uniqueId } from "./dom.js";

const DEBOUNCE_MILLISECONDS = 200;
const SLIDER_STEPS = 400;

/** Calls the function once the calls have paused. `cancel()` drops a call that is due. */
export function debounce(action, milliseconds = DEBOUNCE_MILLISECONDS) {
  let timer = null;
  const later = (...args) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => action(...args), milliseconds);
  };
  later.cancel = () => window.clearTimeout(timer);
  return later;
}

function problemOf(text, { minimum, maximum, isRequired, isWhole }) {
  if (text === "") return isRequired ? "Enter a number." : "";
  const value = Number(text);
  if (!Number.isFinite(value)) return "Enter a number.";
  if (isWhole && !Number.isInteger(value)) return "Enter a whole number.";
  if (minimum !== undefined && value < minimum) return `Enter ${minimum} or more.`;
  if (maximum !== undefined && value > maximum) return `Enter ${maximum} or less.`;
  return "";
}

/**
 * A field for one number.
 *
 * @param {Object} options
 * @param {string} options.label
 * @param {string} [options.id]
 * @param {string} [options.unit] shown behind the field and spoken with it.
 * @param {string} [options.hint]
 * @param {number|null} [options.value]
 * @param {number} [options.minimum]
 * @param {number} [options.maximum]
 * @param {number|"any"} [options.step]
 * @param {string} [options.placeholder]
 * @param {boolean} [options.isRequired]
 * @param {boolean} [options.isWhole]
 * @param {function} options.onChange called, debounced, with the number, or null for an empty field; not
 *   called while the value is wrong.
 * @returns {HTMLElement} with `value` (number or null), `set(value)` (no call of onChange) and `input`.
 */
export function numberField(options) {
  const { label, unit, hint, value = null, minimum, maximum, step = "any", placeholder, onChange } = options;
  const id = options.id ?? uniqueId("field");
  const remarks = [unit && `${id}-unit`, hint && `${id}-hint`, `${id}-problem`];
  const problem = element("span", { class: "field-problem", id: `${id}-problem`, role: "status" });
  const input = element("input", {
    id, type: "number", inputmode: "decimal", step, min: minimum, max: maximum, placeholder,
    required: options.isRequired, value: value ?? "",
    "aria-describedby": remarks.filter(Boolean).join(" "),
  });
  const changed = debounce(() => onChange?.(field.value));

  function check() {
    const text = input.validity.badInput ? "not a number" : input.value.trim();
    const words = problemOf(text, options);
    problem.textContent = words;
    input.setAttribute("aria-invalid", words ? "true" : "false");
    return !words;
  }

  input.addEventListener("input", () => (check() ? changed() : changed.cancel()));
  const field = element(
    "div",
    { class: "field" },
    element("label", { for: id }, label),
    element("span", { class: "field-row" }, input,
      unit ? element("span", { class: "unit", id: `${id}-unit` }, unit) : null),
    hint ? element("span", { class: "field-hint", id: `${id}-hint` }, hint) : null,
    problem,
  );
  field.input = input;
  field.set = (number) => {
    input.value = number ?? "";
    check();
  };
  Object.defineProperty(field, "value", {
    get: () => (input.value.trim() === "" ? null : Number(input.value)),
  });
  return field;
}

function logarithmicPlaces(minimum, maximum) {
  const span = Math.log(maximum / minimum) || 1;
  return {
    place: (value) => Math.round((SLIDER_STEPS * Math.log(value / minimum)) / span),
    value: (place) => Number((minimum * Math.exp((span * place) / SLIDER_STEPS)).toPrecision(3)),
  };
}

function linearPlaces(minimum, maximum) {
  const span = maximum - minimum || 1;
  return {
    place: (value) => Math.round((SLIDER_STEPS * (value - minimum)) / span),
    value: (place) => Number((minimum + (span * place) / SLIDER_STEPS).toPrecision(4)),
  };
}

/**
 * A slider with a field beside it for the exact number; logarithmic unless told otherwise.
 *
 * @param {Object} options
 * @param {string} options.label
 * @param {string} [options.id] of the field; the slider's is `<id>-slider`.
 * @param {number} options.minimum above 0 when logarithmic.
 * @param {number} options.maximum of the slider; the field takes more unless `isStrict`.
 * @param {number} options.value
 * @param {string} [options.unit]
 * @param {string} [options.hint]
 * @param {boolean} [options.isLogarithmic]
 * @param {boolean} [options.isStrict]
 * @param {function} [options.format] value => text that screen readers hear of the slider.
 * @param {function} options.onChange called, debounced, with the number.
 * @returns {HTMLElement} with `value`, `set(value)`, `range` and `input`.
 */
export function slider(options) {
  const { label, minimum, maximum, value, unit, onChange, isLogarithmic = true, isStrict = false } = options;
  const id = options.id ?? uniqueId("slider");
  const format = options.format ?? ((number) => `${number} ${unit ?? ""}`.trim());
  const scaled = isLogarithmic ? logarithmicPlaces(minimum, maximum) : linearPlaces(minimum, maximum);
  const range = element("input", {
    id: `${id}-slider`, type: "range", min: 0, max: SLIDER_STEPS, step: 1, "aria-label": `${label}, slider`,
  });
  const changed = debounce((number) => onChange?.(number));
  const field = numberField({
    ...options, id, isRequired: true, maximum: isStrict ? maximum : undefined,
    onChange: (number) => {
      follow(number);
      onChange?.(number);
    },
  });

  function follow(number) {
    const within = Math.min(maximum, Math.max(minimum, number));
    range.value = scaled.place(within);
    range.setAttribute("aria-valuetext", format(number));
  }

  range.addEventListener("input", () => {
    const number = scaled.value(Number(range.value));
    field.set(number);
    range.setAttribute("aria-valuetext", format(number));
    changed(number);
  });
  follow(value);
  const node = element("div", { class: "slider" }, field, range);
  node.range = range;
  node.input = field.input;
  node.set = (number) => {
    field.set(number);
    follow(number);
  };
  Object.defineProperty(node, "value", { get: () => field.value });
  return node;
}

/**
 * One of a few choices, as radio buttons that look like a switch.
 *
 * @param {Object} options
 * @param {string} options.legend
 * @param {Array<{value: string, label: string}>} options.options
 * @param {string} options.value
 * @param {string} [options.name] of the group; choices get the ids `<name>-<value>`.
 * @param {function} options.onChange called with the value.
 * @returns {HTMLFieldSetElement} with `choice` and `set(value)`.
 */
export function radioSwitch({ legend, options, value, name = uniqueId("choice"), onChange }) {
  const node = element("fieldset", { class: "switch" }, element("legend", {}, legend));
  const choices = element("div", { class: "switch-choices" });
  replace(
    choices,
    options.map((option) => {
      const id = `${name}-${option.value}`;
      return element(
        "span",
        { class: "switch-choice" },
        element("input", {
          type: "radio", id, name, value: option.value, checked: option.value === value,
          onChange: () => onChange?.(option.value),
        }),
        element("label", { for: id }, option.label),
      );
    }),
  );
  node.append(choices);
  node.set = (chosen) => {
    for (const input of choices.querySelectorAll("input")) input.checked = input.value === chosen;
  };
  Object.defineProperty(node, "choice", { get: () => choices.querySelector("input:checked")?.value ?? null });
  return node;
}

/** A list to choose one from: {label, options: [{value, label}], value, onChange(value), id?}. */
export function selectField({ label, options, value, onChange, id = uniqueId("select") }) {
  const isChosen = (option) => String(option.value) === String(value);
  const select = element("select", { id, onChange: () => onChange?.(select.value) }, options.map((option) =>
    element("option", { value: option.value, selected: isChosen(option) }, option.label)));
  const node = element("div", { class: "field" }, element("label", { for: id }, label), select);
  Object.defineProperty(node, "value", { get: () => select.value });
  return node;
}
