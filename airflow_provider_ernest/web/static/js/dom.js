/** Building the page's nodes. Text becomes text nodes and nothing else: no markup is ever parsed. */

const SAFE_PROTOCOLS = new Set(["http:", "https:", "blob:"]);
const URL_ATTRIBUTES = new Set(["href", "src", "action"]);

/** Whether a link may lead there: a page of the web or of this site, never a script. */
export function isSafeUrl(value) {
  try {
    return SAFE_PROTOCOLS.has(new URL(value, document.baseURI).protocol);
  } catch {
    return false;
  }
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on") && typeof value === "function") {
    node.addEventListener(name.slice(2).toLowerCase(), value);
  } else if (name === "style" && typeof value === "object") {
    for (const [property, setting] of Object.entries(value)) {
      node.style.setProperty(property, String(setting));
    }
  } else if (!URL_ATTRIBUTES.has(name) || isSafeUrl(String(value))) {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * A new element. Of the attributes null, undefined, false and unsafe links are left out, true is an empty attribute,
 * functions named on<event> become listeners, and `style` may be an object. Strings become text nodes.
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) setAttribute(node, name, value);
  append(node, children);
  return node;
}

/** Puts other children into a node. */
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

const FOCUSABLE = "a, button, summary, input, select, [tabindex]";

/** The elements alike: the same tag with the same name. */
function alike(container, { tagName, id, textContent }) {
  const isAlike = (node) => node.tagName === tagName && node.id === id && node.textContent === textContent;
  return [...container.querySelectorAll(FOCUSABLE)].filter(isAlike);
}

function focusAgain(container, { node, place }) {
  const again = alike(container, node)[place] ?? container.closest("[tabindex]");
  // Of itself nothing scrolls: the reader has not asked for it.
  again?.focus({ preventScroll: true });
}

/**
 * Puts new content into a node without taking the reader's focus or place in a table away.
 *
 * The element like the one focused gets the focus, the third of three if that was the third; where it is
 * gone, what surrounds it and can have the focus.
 */
export function renew(container, ...children) {
  const node = document.activeElement;
  const isWithin = node !== container && container.contains(node);
  const focused = isWithin ? { node, place: alike(container, node).indexOf(node) } : null;
  const scrolled = [...container.querySelectorAll(".table-scroll")].map((region) => region.scrollLeft);
  replace(container, ...children);
  container.querySelectorAll(".table-scroll").forEach((region, place) => {
    region.scrollLeft = scrolled[place] ?? 0;
  });
  if (focused) focusAgain(container, focused);
  return container;
}

/** Puts a text into a node if it is another: screen readers would read it again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Words for screen readers only. */
export function hidden(text) {
  return element("span", { class: "visually-hidden" }, text);
}

let lastId = 0;

/** An id that no other element of the page has. */
export function uniqueId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}
