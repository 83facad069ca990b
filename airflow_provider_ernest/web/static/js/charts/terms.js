/** Which terms the model has, how sure that is, and what they are worth. */
import { element } from "../dom.js";
import { asPercent, number } from "../format.js";
import { axis, frame } from "./axes.js";
import { numeric } from "./columns.js";
import { chart } from "./echart.js";
import { label } from "./plot.js";
import { tooltip } from "./tooltip.js";

const ROW_PIXELS = 34;
const FRAME_PIXELS = 60;

/** Whether the terms were averaged over, so that each has a probability of its own. */
export function hasProbabilities(terms) {
  return terms.some((term) => term.probability < 1);
}

/** The columns of a table of the terms. */
export const TERM_COLUMNS = [
  { key: "name", title: "Term", render: (row) => element("code", {}, row.name) },
  { key: "meaning", title: "What the time is spent on", class: "words" },
  numeric("coefficient", "Coefficient", number, { unit: "s per unit" }),
  numeric("probability", "Probability", (share) => asPercent(share)),
];

/** The figure, from the terms of api/model. */
export function termsFigure({ terms }) {
  const ordered = [...terms].sort((one, other) => other.probability - one.probability);
  return {
    description: `Probability that the job has a term at all: ${ordered.map(inWords).join(", ")}.`,
    caption:
      "Which terms the job has is not certain, so the prediction averages over all sets of them: the coefficient " +
      "is the mean, the probability that of the job having the term at all.",
    columns: TERM_COLUMNS,
    rows: ordered,
    height: FRAME_PIXELS + ROW_PIXELS * ordered.length,
    draw: (container, colors, { isNarrow } = {}) => chart(container, option(ordered, isNarrow, colors)),
  };
}

function inWords(term) {
  return `${term.meaning} (${term.name}) ${asPercent(term.probability)}`;
}

function option(terms, isNarrow, colors) {
  const left = isNarrow ? 130 : 260;
  const nameOf = (term) => (isNarrow ? term.name : term.meaning);
  return {
    grid: { left, right: 24, top: 8, bottom: 48 },
    tooltip: tooltip(colors, ({ data }) => data?.term && [
      data.term.name,
      data.term.meaning,
      `probability ${asPercent(data.term.probability)}`,
      `${number(data.term.coefficient)} s per unit`,
    ]),
    xAxis: axis({ name: "probability", values: [1.1], fromZero: true, mostTicks: isNarrow ? 3 : 6,
      format: (value) => `${Math.round(100 * value)} %`, along: "x", colors }),
    yAxis: {
      ...frame("y", "", colors),
      type: "category",
      inverse: true,
      data: terms.map((_, at) => at),
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: {
        color: colors.text, fontSize: 12, interval: 0, width: left - 12, overflow: "truncate",
        formatter: (_, at) => nameOf(terms[at]),
      },
    },
    series: [{
      type: "bar",
      barWidth: "55%",
      emphasis: { disabled: true },
      itemStyle: { color: colors.fit },
      data: terms.map((term) => ({
        value: term.probability,
        term,
        label: label(colors, () => asPercent(term.probability), { position: "right" }),
      })),
    }],
  };
}
