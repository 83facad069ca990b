/** Labelled controls: native inputs, each with its unit and what is wrong with a value in words. */

import { element, setText, uniqueId } from "./dom.js";
import { asTyped, noDuration, noNumber, typedDuration, typedNumber } from "./typed.js";

const DEBOUNCE_MILLISECONDS = 200;
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
 * A field whose text means a number. Inputs of type number hide invalid text such as "12,5" from scripts.
 *
 * @param {Object} options of `numberField`
 * @param {Object} kind {read(text), problem(text), write(number), shown(number), missing, understood?(text, number)}:
 *   the number or null, what is wrong with unreadable text, the text of a number in the field and in messages, the
 *   message for an empty required field, and what to say beside the field.
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
  const changed = debounce((words) => (words ? onInvalid?.(`${label}: ${words}`) : onChange?.(kind.read(input.value))));

  function check() {
    const text = input.value.trim();
    const number = kind.read(input.value);
    const isRead = text !== "" && number !== null;
    let words = isRead ? problemOf(number, options, kind.shown) : kind.problem(text);
    if (text === "") words = isRequired ? kind.missing : "";
    setText(problem, words);
    setText(understood, isRead && !words ? (kind.understood?.(text, number) ?? "") : "");
    input.setAttribute("aria-invalid", words ? "true" : "false");
    return words;
  }

  input.addEventListener("input", () => changed(check()));
  return element(
    "div",
    { class: "field" },
    element("label", { for: id }, label),
    element("span", { class: "field-row" }, input,
      unit ? element("span", { class: "unit", id: `${id}-unit` }, unit) : null, kind.understood ? understood : null),
    hint ? element("span", { class: "field-hint", id: `${id}-hint` }, hint) : null,
    problem,
  );
}

/**
 * A field for one number.
 *
 * @param {Object} options {label, id?, unit?, hint?, value?, minimum?, maximum?, placeholder?, isRequired?, isWhole?}
 * @param {function} options.onChange called, debounced, with the number, or null for an empty field; not
 *   called while the value is invalid.
 * @param {function} [options.onInvalid] called, debounced, with the label and what is wrong with the value.
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

/** The same for a time, typed as 7m, 1h30, 90 s, 1:30:00 or seconds; beside it stands how it was understood. */
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

/**
 * Radio buttons that look like a switch: {legend, options: [{value, label}], value, onChange(value), name?}.
 * The choices have the ids `<name>-<value>`.
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
