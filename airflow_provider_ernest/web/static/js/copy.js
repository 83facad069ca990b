/** Text that people paste elsewhere, such as the path of an event log. */

import { element } from "./dom.js";
import { announce } from "./states.js";

const REMARK_MILLISECONDS = 2000;

/** For pages without https, where the browser has no clipboard for scripts. */
function copyByCommand(text) {
  const area = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

/** A button that copies a text, or what a function gives; `name` says what that is: "the event log's path". */
export function copyButton(text, name, label = null) {
  const spoken = label ? null : `Copy ${name}`;
  const attributes = { type: "button", class: "button small", "aria-label": spoken, title: typeof text === "function" ? null : text };
  const button = element("button", attributes, label ?? "Copy");
  button.addEventListener("click", async () => {
    const isCopied = await copy(typeof text === "function" ? text() : text);
    button.focus();
    button.textContent = isCopied ? "Copied" : "Not copied";
    announce(isCopied ? `Copied ${name}` : `The browser did not let ${name} be copied: select and copy it`);
    window.setTimeout(() => {
      button.textContent = label ?? "Copy";
    }, REMARK_MILLISECONDS);
  });
  return button;
}

/** The text as code, with a button that copies it. `name` says what it is. */
export function copyable(text, name) {
  return element("span", { class: "copyable" }, element("code", {}, text), copyButton(text, name));
}
