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
 * A new element.
 *
 * @param {string} tag
 * @param {Object} attributes null, undefined and false are left out, true is an empty attribute, functions
 *   named on<event> become listeners, `style` may be an object of properties; links to anything but http(s)
 *   are left out.
 * @param {...(string|number|Node|Array|null)} children strings become text nodes.
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
