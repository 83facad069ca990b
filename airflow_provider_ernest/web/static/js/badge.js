/** Badges: a state in a word and a sign, with its reason. Colour never says anything alone. */

import { element, uniqueId } from "./dom.js";
import { inReadersTime } from "./format.js";

function content(sign, text) {
  return [element("span", { "aria-hidden": "true" }, sign), element("span", {}, text)];
}

/** A badge without a reason: badge({kind: "good"|"warning"|"bad"|"busy"|"", sign, text}). */
export function badge({ kind = "", sign = "", text }) {
  return element("span", { class: `badge ${kind}`.trim() }, content(sign, text));
}

/** Beside the badge, within the window, whatever scrolls around it. */
function place(tip, button) {
  const at = button.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, window.innerWidth - size.width - 8));
  const below = at.bottom + 6;
  const isTooLow = below + size.height > window.innerHeight - 4;
  const top = isTooLow && at.top > size.height + 10 ? at.top - size.height - 6 : below;
  tip.style.left = `${left}px`;
  tip.style.top = `${top}px`;
}

/** A badge whose reason shows while it is pointed at, focused or pressed; screen readers read it always. */
function reasonedBadge({ kind, sign, text }, reason) {
  const id = uniqueId("reason");
  const tip = element("span", { class: "reason", id, role: "tooltip", hidden: true }, inReadersTime(reason));
  const button = element(
    "button",
    { type: "button", class: `badge ${kind}`.trim(), "aria-describedby": id },
    content(sign, text),
  );
  const hide = () => {
    tip.hidden = true;
    window.removeEventListener("scroll", hide, true);
  };
  const show = () => {
    tip.hidden = false;
    place(tip, button);
    window.addEventListener("scroll", hide, true);
  };
  button.addEventListener("focus", show);
  button.addEventListener("click", show);
  button.addEventListener("blur", hide);
  button.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  const node = element("span", { class: "reasoned" }, button, tip);
  node.addEventListener("mouseenter", show);
  node.addEventListener("mouseleave", () => document.activeElement !== button && hide());
  return node;
}

const TONES = { good: "✓", warning: "↻", bad: "⚠" };

/** A word or two on a model ({words, tone, says} as the API gives it); what they mean shows when asked. */
export function toneBadge({ words, tone, says }) {
  return reasonedBadge({ kind: tone, sign: TONES[tone] ?? "", text: words }, says);
}
