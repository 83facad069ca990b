/** Labelled controls: native inputs, each with its unit and what is wrong with a value in words. */

import { element, setText, uniqueId } from "./dom.js";
import { asTyped, noDuration, noNumber, typedDuration, typedNumber } from "./typed.js";

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

function problemOf(value, { minimum, maximum, isWhole }, shown) {
  if (isWhole && !Number.isInteger(value)) {
    return `${shown(value)} is not whole: type ${shown(Math.floor(value))} or ${shown(Math.ceil(value))}.`;
  }
  if (minimum !== undefined && value < minimum) {
    const least = minimum === SMALLEST ? "more than 0" : `${shown(minimum)} or more`;
    return `${shown(value)} is too little: type ${least}.`;
  }
  return maximum !== undefined && value > maximum ? `${shown(value)} is too much: type ${shown(maximum)} or less.` : "";
}

/**
 * A field whose text means a number. It is no input of type number: those keep "12,5" to themselves, and what was
 * typed before seems to hold.
 *
 * @param {Object} options of `numberField`
 * @param {Object} kind
 * @param {(text: string) => number|null} kind.read
 * @param {(text: string) => string} kind.problem with a text that cannot be read
 * @param {(number: number) => string} kind.write
 * @param {(number: number) => string} kind.shown in what is said of it
 * @param {string} kind.missing what is said of an empty field that must not be
 * @param {(text: string, number: number) => string} [kind.understood] said beside the field
 */
function typedField(options, kind) {
  const { label, unit, hint, value = null, placeholder, isRequired, onChange, onInvalid } = options;
  const id = options.id ?? uniqueId("field");
  const remarks = [unit && `${id}-unit`, hint && `${id}-hint`, kind.understood && `${id}-understood`, `${id}-problem`];
  const problem = element("span", { class: "field-problem", id: `${id}-problem`, role: "status" });
  const understood = element("span", { class: "unit", id: `${id}-understood` });
  const input = element("input", {
    id, type: "text", class: "typed", inputmode: kind.inputMode, autocomplete: "off", placeholder,
    required: isRequired, value: value === null ? "" : kind.write(value),
    "aria-describedby": remarks.filter(Boolean).join(" "),
  });
  const changed = debounce((words) => (words ? onInvalid?.(`${label}: ${words}`) : onChange?.(field.value)));

  function check() {
    const text = input.value.trim();
    const number = field.value;
    const isRead = text !== "" && number !== null;
    let words = isRead ? problemOf(number, options, kind.shown) : kind.problem(text);
    if (text === "") words = isRequired ? kind.missing : "";
    setText(problem, words);
    setText(understood, isRead && !words ? (kind.understood?.(text, number) ?? "") : "");
    input.setAttribute("aria-invalid", words ? "true" : "false");
    return words;
  }

  input.addEventListener("input", () => changed(check()));
  const field = element(
    "div",
    { class: "field" },
    element("label", { for: id }, label),
    element("span", { class: "field-row" }, input,
      unit ? element("span", { class: "unit", id: `${id}-unit` }, unit) : null, kind.understood ? understood : null),
    hint ? element("span", { class: "field-hint", id: `${id}-hint` }, hint) : null,
    problem,
  );
  field.set = (number) => {
    input.value = number === null || number === undefined ? "" : kind.write(number);
    check();
  };
  Object.defineProperty(field, "value", { get: () => kind.read(input.value) });
  return field;
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
 * @param {string} [options.placeholder]
 * @param {boolean} [options.isRequired]
 * @param {boolean} [options.isWhole]
 * @param {function} options.onChange called, debounced, with the number, or null for an empty field; not
 *   called while the value is wrong.
 * @param {function} [options.onInvalid] called, debounced, with the label and what is wrong with the value.
 * @returns {HTMLElement} with `value` (number or null) and `set(value)` (no call of onChange).
 */
export function numberField(options) {
  return typedField(options, {
    inputMode: "decimal",
    read: typedNumber,
    problem: noNumber,
    write: String,
    shown: (number) => number.toLocaleString("en-US", { maximumFractionDigits: 20 }),
    missing: "Type a number.",
  });
}

/**
 * A field for how long something may take, typed as 7m, 1h30, 90 s, 1:30:00 or as seconds: the same options, with
 * seconds as the value. Beside it stands how it was understood.
 */
export function durationField(options) {
  return typedField(options, {
    inputMode: "text",
    read: typedDuration,
    problem: noDuration,
    write: asTyped,
    shown: asTyped,
    missing: "Type a time, such as 7m.",
    understood: (text, number) => (text === asTyped(number) ? "" : `= ${asTyped(number)}`),
  });
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

/** A list to choose one from: {label, options: [{value, label}], value, onChange(value), id?}. */
export function selectField({ label, options, value, onChange, id = uniqueId("select") }) {
  const isChosen = (option) => String(option.value) === String(value);
  const select = element("select", { id, onChange: () => onChange?.(select.value) }, options.map((option) =>
    element("option", { value: option.value, selected: isChosen(option) }, option.label)));
  return element("div", { class: "field" }, element("label", { for: id }, label), select);
}
