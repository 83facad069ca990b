/** A grip on the line of the deadline, to drag it by pointer or to move it by keys. */
import { debounce } from "../controls.js";
import { element } from "../dom.js";
import { duration } from "../format.js";
import { announce } from "../states.js";

/** While it is dragged, the answer is asked for at most so often. */
const ASK_MILLISECONDS = 250;

/** Keys pressed within so long are one change. */
const KEYS_MILLISECONDS = 350;

/** What a deadline is moved by, in seconds, from short ones to long ones. */
const STEPS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600];

/** Of the deadline: a step of the pointer at most, and of a key. */
const [FINE, COARSE] = [1 / 60, 1 / 15];

const KEYS = new Map([
  ["ArrowUp", 1], ["ArrowRight", 1], ["ArrowDown", -1], ["ArrowLeft", -1], ["PageUp", 5], ["PageDown", -5],
]);

/** An axis from 0 on leads down to that part of its length: nobody asks for no time at all. */
const DEEPEST = 200;

/** The keys lead so many times beyond the axis: it follows. */
const BEYOND = 10;

/** By the place of the chart: a grip outlives each drawing, or finger and focus would lose it. */
const grips = new WeakMap();

/** The greatest step that is no more than that share of the deadline. */
function stepOf(value, share) {
  return STEPS.findLast((step) => step <= value * share) ?? STEPS[0];
}

function rounded(value, step) {
  return Number((Math.round(value / step) * step).toFixed(1));
}

/**
 * Where a line lies that has been moved, beside an answer to what was asked before: {value}, and while it is being
 * moved {unit, bounds} of the axis that it is moved along; null where none has been.
 */
export function movedLine(container, answer) {
  const grip = grips.get(container);
  if (!grip) return null;
  return grip.held ?? (grip.asked !== null && grip.line.answer === answer ? { value: grip.asked } : null);
}

/**
 * Puts a grip on the line.
 *
 * @param {HTMLElement} container of the chart
 * @param {object} line
 * @param {object} line.answer what is drawn; the next one ends the wait for what was asked last
 * @param {number} line.value where the line is in it, in seconds
 * @param {number} line.boot seconds from launch to submission, which are in what is asked and not in the line
 * @param {object} line.axis of ECharts, up
 * @param {{seconds: number}} line.unit of the axis
 * @param {(value: number) => void} line.move the line while it is dragged
 * @param {(deadline: number) => void} line.onDeadline called with what is asked: boot included
 * @param {object} instance of ECharts
 * @returns {{place: function, end: function}}
 */
export function deadlineHandle(container, line, instance) {
  const grip = grips.get(container) ?? new Grip(container);
  grips.set(container, grip);
  grip.take(line, instance);
  return { place: () => grip.place(), end: () => grip.leave(instance) };
}

class Grip {
  constructor(container) {
    this.container = container;
    this.held = null; // while it is moved
    this.asked = null; // since then, until there is an answer
    this.timer = null;
    this.node = element("div", {
      class: "deadline-handle", role: "slider", tabindex: "0", "aria-label": "Deadline", "aria-orientation": "vertical",
      title: "Drag, or press the arrow keys, to ask for another deadline",
    }, element("span", { "aria-hidden": "true" }, "↕"));
    this.node.addEventListener("pointerdown", (event) => this.grasp(event));
    this.node.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.node.addEventListener(name, () => this.drop());
    this.node.addEventListener("keydown", (event) => this.press(event));
    this.askSoon = debounce(() => this.release(), KEYS_MILLISECONDS);
    // Beside the chart, not in it: to screen readers a picture has no parts.
    container.parentElement.append(this.node);
  }

  take(line, instance) {
    if (line.answer !== this.line?.answer) this.asked = null;
    Object.assign(this, { line, instance });
    this.container.parentElement.append(...(this.node.isConnected ? [] : [this.node]));
    this.place();
  }

  /** The drawing is gone; so is the grip, unless another one comes at once. */
  leave(instance) {
    queueMicrotask(() => {
      if (this.instance !== instance) return;
      this.askSoon.cancel();
      window.clearTimeout(this.timer);
      this.node.remove();
      grips.delete(this.container);
    });
  }

  get value() {
    return this.held?.value ?? this.asked ?? this.line.value;
  }

  place() {
    const { container, node, instance, line: { axis, unit, boot } } = this;
    const value = this.value / unit.seconds;
    const shown = Math.min(axis.max, Math.max(axis.min, value));
    const right = instance.getModel().getComponent("grid").coordinateSystem.getRect();
    node.style.left = `${container.offsetLeft + right.x + right.width}px`;
    node.style.top = `${container.offsetTop + instance.convertToPixel({ yAxisIndex: 0 }, shown)}px`;
    const [low, high] = this.range();
    node.setAttribute("aria-valuemin", String(rounded(low + boot, STEPS[0])));
    node.setAttribute("aria-valuemax", String(rounded(high + boot, STEPS[0])));
    node.setAttribute("aria-valuenow", String(rounded(this.value + boot, STEPS[0])));
    node.setAttribute("aria-valuetext", duration(this.value + boot));
  }

  /** What keys lead to, in seconds. */
  range() {
    const { axis, unit } = this.line;
    const low = Math.max(axis.min, axis.max / 1000) / BEYOND;
    return [Math.max(STEPS[0], Math.min(this.value, low * unit.seconds)), axis.max * BEYOND * unit.seconds];
  }

  /** The axis stays as it is as long as the line is moved, or it would be pulled away from under the pointer. */
  hold() {
    const { value, line: { axis, unit } } = this;
    this.held ??= { value, unit, bounds: [axis.min, axis.max], from: value };
  }

  set(wanted) {
    this.held.value = wanted;
    this.line.move(wanted);
    this.place();
  }

  grasp(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.node.focus({ preventScroll: true });
    this.node.setPointerCapture(event.pointerId);
    this.askSoon.cancel();
    this.hold();
    this.offset = event.clientY - this.node.getBoundingClientRect().top - this.node.offsetHeight / 2;
    this.isDragged = true;
  }

  drag(event) {
    if (!this.isDragged) return;
    const { unit, bounds: [low, high] } = this.held;
    const y = event.clientY - this.offset - this.container.getBoundingClientRect().top;
    const place = this.instance.convertFromPixel({ yAxisIndex: 0 }, y);
    const exact = Math.min(high, Math.max(low, high / DEEPEST, place)) * unit.seconds + this.line.boot;
    const asked = Math.max(STEPS[0], rounded(exact, stepOf(exact, FINE)));
    const value = Math.max(STEPS[0], asked - this.line.boot);
    if (value === this.held.value) return;
    this.set(value);
    this.timer ??= window.setTimeout(() => this.ask(), ASK_MILLISECONDS);
  }

  drop() {
    if (!this.isDragged) return;
    this.isDragged = false;
    if (this.held.value !== this.held.from) announce(`Deadline: ${duration(this.value + this.line.boot)}`);
    this.release();
  }

  press(event) {
    if (event.key === "Escape" && this.held) {
      this.askSoon.cancel();
      this.set(this.held.from);
      this.isDragged = false;
      this.release();
      return;
    }
    const steps = KEYS.get(event.key);
    if (!steps || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.hold();
    const { boot } = this.line;
    const step = stepOf(this.value + boot, COARSE);
    const [low, high] = this.range();
    const asked = rounded(this.value + boot + steps * step, step);
    this.set(Math.min(high, Math.max(low, asked - boot)));
    this.askSoon();
  }

  ask() {
    window.clearTimeout(this.timer);
    this.timer = null;
    this.line.onDeadline(rounded(this.held.value + this.line.boot, STEPS[0]));
  }

  /** The next drawing may have another axis. */
  release() {
    this.ask();
    this.asked = this.held.value;
    this.held = null;
  }
}
