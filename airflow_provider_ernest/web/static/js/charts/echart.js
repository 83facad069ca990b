/** The one place that speaks to ECharts (static/vendor, the global `echarts`). */

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const FONT_SIZE_PIXELS = 12; // the least that is read well on a phone

function withDefaults(option) {
  return {
    animation: false, // nothing moves by itself; the data move when the reader moves a control
    ...option,
    textStyle: { fontFamily: FONT, fontSize: FONT_SIZE_PIXELS, ...option.textStyle },
  };
}

/**
 * Draws a chart that keeps to the size of its container.
 *
 * @param {HTMLElement} container with a height of its own.
 * @param {Object} option of ECharts.
 * @returns {function} that takes the chart away.
 */
export function chart(container, option) {
  if (!window.echarts) throw new Error("ECharts is not loaded");
  const instance = window.echarts.init(container, null, { renderer: "svg" });
  instance.setOption(withDefaults(option));
  const observer = new ResizeObserver(() => {
    const { clientWidth, clientHeight } = container;
    const isOther = clientWidth !== instance.getWidth() || clientHeight !== instance.getHeight();
    // The observer reports the size that the chart was drawn at, too: drawing twice takes twice as long.
    if (clientWidth > 0 && isOther) instance.resize();
  });
  observer.observe(container);

  return () => {
    observer.disconnect();
    instance.dispose();
  };
}
