/** Light or dark, as the Airflow around the page is. Sets the theme when it is imported. */

const LIGHT = "light";
const DARK = "dark";
const STORAGE_KEY = "theme"; // Airflow keeps the reader's choice there: light, dark or system

const callbacks = new Set();
let isOnPaper = false; // which is white
const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");

/** The root of the Airflow page that this page is framed by; null when it stands alone. */
function surroundingRoot() {
  try {
    return window.parent === window ? null : window.parent.document.documentElement;
  } catch {
    return null; // framed by another site
  }
}

function themeOfRoot(root) {
  if (!root) return null;
  for (const theme of [DARK, LIGHT]) {
    if (root.classList.contains(theme) || root.dataset.theme === theme) return theme;
  }
  return null;
}

function storedTheme() {
  try {
    const stored = window.localStorage.getItem(STORAGE_KEY);
    return stored === LIGHT || stored === DARK ? stored : null;
  } catch {
    return null; // storage is forbidden
  }
}

function wantedTheme() {
  if (isOnPaper) return LIGHT;
  return themeOfRoot(surroundingRoot()) ?? storedTheme() ?? (systemIsDark.matches ? DARK : LIGHT);
}

function apply() {
  const theme = wantedTheme();
  const root = document.documentElement;
  if (root.dataset.theme === theme) return;
  root.dataset.theme = theme;
  for (const callback of callbacks) callback(theme);
}

function follow() {
  const root = surroundingRoot();
  const watched = { attributes: true, attributeFilter: ["class", "data-theme"] };
  if (root) new MutationObserver(apply).observe(root, watched);
  window.addEventListener("storage", apply);
  systemIsDark.addEventListener("change", apply);
  for (const event of ["beforeprint", "afterprint"]) {
    window.addEventListener(event, () => {
      isOnPaper = event === "beforeprint";
      apply();
    });
  }
}

/** Calls back with "light" or "dark" whenever the theme changes. Returns a function that ends it. */
export function watchTheme(callback) {
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/**
 * The colours of charts in the theme of now, all as text for CSS.
 *
 * `series` are eight colours of Okabe and Ito, which colour-blind readers can tell apart.
 */
export function themeColors() {
  const style = window.getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: color("text"),
    muted: color("text-muted"),
    surface: color("surface"),
    border: color("border"),
    grid: color("grid"),
    fit: color("chart-fit"),
    likely: color("chart-likely"),
    nearlyCertain: color("chart-nearly-certain"),
    observation: color("chart-observation"),
    production: color("chart-production"),
    chosen: color("chart-chosen"),
    goal: color("chart-goal"),
    culled: color("chart-culled"),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((place) => color(`series-${place}`)),
  };
}

apply();
follow();
