/** Labelled controls: native inputs, each with its unit and what is wrong with a value in words. */

import { element, setText, uniqueId } from "./dom.js";

const DEBOUNCE_MILLISECONDS = 200;
const SLIDER_STEPS = 400;
const SMALLEST = 1e-9; // of numbers that are to be above zero

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
  if (minimum !== undefined && value < minimum) {
    return minimum === SMALLEST ? "Enter a number above 0." : `Enter ${minimum} or more.`;
  }
  if (maximum !== undefined && value > maximum) return `Enter ${maximum.toLocaleString("en-US")} or less.`;
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
 * @returns {HTMLElement} with `value` (number or null) and `set(value)` (no call of onChange).
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
    setText(problem, words);
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
  field.set = (number) => {
    input.value = number ?? "";
    check();
  };
  Object.defineProperty(field, "value", {
    get: () => (input.value.trim() === "" ? null : Number(input.value)),
  });
  return field;
}

/** The slider's places by numbers and back, evenly by ratio. */
function placesOf(minimum, maximum) {
  const span = Math.log(maximum / minimum) || 1;
  return {
    place: (value) => Math.round((SLIDER_STEPS * Math.log(value / minimum)) / span),
    value: (place) => {
      const exact = minimum * Math.exp((span * place) / SLIDER_STEPS);
      // Rounding may lead beyond the ends.
      return Math.min(maximum, Math.max(minimum, Number(exact.toPrecision(3))));
    },
  };
}

/**
 * A slider by ratios with a field beside it for the exact number.
 *
 * @param {Object} options
 * @param {string} options.label
 * @param {string} [options.id] of the field; the slider's is `<id>-slider`.
 * @param {number} options.minimum of the slider, above 0.
 * @param {number} options.maximum of the slider; the field takes more.
 * @param {number} [options.numberMinimum] of the field; otherwise any number above 0.
 * @param {number} options.value
 * @param {string} [options.unit]
 * @param {string} [options.hint]
 * @param {function} options.format value => text that screen readers hear of the slider.
 * @param {function} options.onChange called, debounced, with the number.
 * @returns {HTMLElement}
 */
export function slider(options) {
  const { label, minimum, maximum, numberMinimum = SMALLEST, value, format, onChange } = options;
  const id = options.id ?? uniqueId("slider");
  const { place, value: valueAt } = placesOf(minimum, maximum);
  const range = element("input", {
    id: `${id}-slider`, type: "range", min: 0, max: SLIDER_STEPS, step: 1, "aria-label": `${label}, slider`,
  });
  const changed = debounce(onChange);
  const field = numberField({
    ...options, id, isRequired: true, minimum: numberMinimum, maximum: undefined,
    onChange: (number) => {
      follow(number);
      onChange(number);
    },
  });

  function follow(number) {
    range.value = place(Math.min(maximum, Math.max(minimum, number)));
    range.setAttribute("aria-valuetext", format(number));
  }

  range.addEventListener("input", () => {
    const number = valueAt(Number(range.value));
    field.set(number);
    range.setAttribute("aria-valuetext", format(number));
    changed(number);
  });
  follow(value);
  return element("div", { class: "slider" }, field, range);
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
 * @returns {HTMLFieldSetElement}
 */
export function radioSwitch({ legend, options, value, name = uniqueId("choice"), onChange }) {
  const choices = options.map((option) => {
    const id = `${name}-${option.value}`;
    const input = element("input", {
      type: "radio", id, name, value: option.value, checked: option.value === value,
      onChange: () => onChange(option.value),
    });
    return element("span", { class: "switch-choice" }, input, element("label", { for: id }, option.label));
  });
  return element("fieldset", { class: "switch" },
    element("legend", {}, legend), element("div", { class: "switch-choices" }, choices));
}

/**
 * A list to choose one from: {label, options: [{value, label}], value, onChange(value), id?}.
 *
 * @returns {HTMLElement} with `set(value)` (no call of onChange) and `rename(label)`.
 */
export function selectField({ label, options, value, onChange, id = uniqueId("select") }) {
  const isChosen = (option) => String(option.value) === String(value);
  const select = element("select", { id, onChange: () => onChange?.(select.value) }, options.map((option) =>
    element("option", { value: option.value, selected: isChosen(option) }, option.label)));
  const name = element("label", { for: id }, label);
  const field = element("div", { class: "field" }, name, select);
  field.set = (chosen) => {
    select.value = String(chosen);
  };
  field.rename = (words) => setText(name, words);
  return field;
}
