/** The one place that speaks to ECharts (static/vendor, the global `echarts`), which is loaded for the first chart. */

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const FONT_SIZE_PIXELS = 12; // the least that is read well on a phone

/** Where it lies, which the page tells its script; a report has it already. */
const ADDRESS = document.currentScript?.dataset.charts;

let loading = null;

/** Fetches it behind the next paint: it takes longer to run than all that is read before the charts. */
function loaded() {
  loading ??= new Promise((resolve, reject) => {
    window.requestAnimationFrame(() => window.setTimeout(() => {
      const script = document.createElement("script");
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      script.src = ADDRESS;
      document.head.append(script);
    }));
  });
  return loading;
}

function withDefaults(option) {
  return {
    animation: false, // nothing moves by itself; the data move when the reader moves a control
    ...option,
    textStyle: { fontFamily: FONT, fontSize: FONT_SIZE_PIXELS, ...option.textStyle },
  };
}

/**
 * Draws a chart that keeps to the size of its container, which gets the event "error" if that fails.
 *
 * @returns {function} that removes the chart.
 */
export function chart(container, option) {
  if (window.echarts) return drawn(container, option);
  let end = null;
  const drawUnlessEnded = () => {
    end ??= drawn(container, option);
  };
  const fail = (error) => {
    console.error(error);
    container.dispatchEvent(new Event("error"));
  };
  loaded().then(drawUnlessEnded).catch(fail);
  return () => {
    end?.();
    end = () => {};
  };
}

function drawn(container, option) {
  const instance = window.echarts.init(container, null, { renderer: "svg" });
  instance.setOption(withDefaults(option));
  makeScalable(container);
  const paper = window.matchMedia("print");
  const observer = new ResizeObserver(() => {
    if (paper.matches) return; // there the drawing is scaled
    const { clientWidth, clientHeight } = container;
    const isOther = clientWidth !== instance.getWidth() || clientHeight !== instance.getHeight();
    // The observer reports the size that the chart was drawn at, too: drawing twice takes twice as long.
    if (clientWidth > 0 && isOther) {
      instance.resize();
      makeScalable(container);
    }
  });
  observer.observe(container);

  return () => {
    observer.disconnect();
    instance.dispose();
  };
}

/** A drawing has the size of the screen: on paper the style sheet scales it to the room that there is. */
function makeScalable(container) {
  const svg = container.querySelector("svg");
  svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
}
