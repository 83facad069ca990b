/** Each observed run against what the others predict of it. */
import {
  count, counted, duration, inputShare, executors, kindOfRun, number, percentage, signedPercentage,
} from "../format.js";
import { axis, extent, tick, timeUnit } from "./axes.js";
import { numeric, sizes } from "./columns.js";
import { chart } from "./echart.js";
import { legend } from "./legend.js";
import { area, grid, hollow, label } from "./plot.js";
import { tooltip } from "./tooltip.js";

/** Predictions within 10 % lie in the band. */
const WITHIN_PERCENT = 10;

/** Errors are named beside so many of the worst points. */
const NAMED = 3;

/** The figure, from the observations with their folds. */
export function foldsFigure({ observations }) {
  const folds = observations.filter((run) => Number.isFinite(run.predicted_seconds));
  const worst = [...folds].sort((one, other) => Math.abs(other.error_percent) - Math.abs(one.error_percent));
  return {
    description: describe(folds, worst),
    caption:
      "Each run is predicted by a model of all the others, without start-up. Above the line it was predicted too " +
      "slow, below too fast.",
    columns: COLUMNS,
    rows: folds,
    legend: legend([
      { mark: "circle", color: "chart-observation", isHollow: true, text: `a ${kindOfRun(observations)}` },
      { mark: "line", color: "text-muted", text: "predicted = measured" },
      { mark: "band", color: "chart-nearly-certain", text: `within ${WITHIN_PERCENT} %` },
    ]),
    draw: (container, colors) => chart(container, option(folds, worst, colors)),
  };
}

const COLUMNS = [
  numeric("index", "Run", count),
  sizes(),
  numeric("scale", "Scale", inputShare),
  numeric("seconds", "Measured", number, { unit: "s" }),
  numeric("predicted_seconds", "Predicted from the others", number, { unit: "s" }),
  numeric("error_percent", "Error", signedPercentage),
];

function describe(folds, worst) {
  if (!folds.length) return "No leave-one-out predictions.";
  const within = folds.filter((run) => Math.abs(run.error_percent) <= WITHIN_PERCENT).length;
  const middle = worst[Math.floor(worst.length / 2)];
  return (
    `Leave-one-out predictions against measured times of ${counted(folds.length, "run")}: ` +
    `${within} within ${WITHIN_PERCENT} %, the median error about ${percentage(Math.abs(middle.error_percent))}, ` +
    `the largest ${signedPercentage(worst[0].error_percent)}, of run ${worst[0].index}.`
  );
}

function points(folds, worst, unit, colors) {
  const named = new Set(worst.slice(0, NAMED));
  const [low, high] = extent(folds.map((run) => run.seconds));
  const isRight = (run) => run.seconds > Math.sqrt(low * high);
  return {
    type: "scatter",
    symbol: "circle",
    symbolSize: folds.length > 100 ? 6 : 9,
    z: 3,
    emphasis: { disabled: true },
    itemStyle: hollow(colors.observation, colors),
    labelLayout: { hideOverlap: true },
    data: folds.map((run) => ({
      value: [run.seconds / unit.seconds, run.predicted_seconds / unit.seconds],
      run,
      label: named.has(run)
        ? label(colors, () => `run ${run.index}: ${signedPercentage(run.error_percent)}`, {
            position: isRight(run) ? "left" : "right",
          })
        : undefined,
    })),
  };
}

function lines({ data }) {
  const run = data?.run;
  if (!run) return null;
  return [
    `Run ${run.index}: ${signedPercentage(run.error_percent)}`,
    `${executors(run.executors)}, ${inputShare(run.scale)} of the input`,
    `measured ${duration(run.seconds)}, predicted ${duration(run.predicted_seconds)}`,
  ];
}

function straight(ends, colors) {
  return { type: "line", silent: true, symbol: "none", clip: true, z: 2, data: ends,
    lineStyle: { color: colors.muted, width: 1.6 } };
}

function option(folds, worst, colors) {
  const times = folds.flatMap((run) => [run.seconds, run.predicted_seconds]);
  const unit = timeUnit(extent(times)[1]);
  const values = times.map((time) => time / unit.seconds);
  const options = { values, isLogarithmic: true, format: tick, colors };
  const across = axis({ ...options, name: `measured ${unit.name}`, along: "x" });
  const up = axis({ ...options, name: `predicted ${unit.name}`, along: "y" });
  const [low, high] = [across.min, across.max];
  const [over, under] = [1 + WITHIN_PERCENT / 100, 1 - WITHIN_PERCENT / 100];
  const edge = [[low, low * over], [high, high * over], [high, high * under], [low, low * under]];
  return {
    grid: grid(),
    tooltip: tooltip(colors, lines),
    xAxis: across,
    yAxis: up,
    series: [
      area(edge, colors.nearlyCertain),
      straight([[low, low], [high, high]], colors),
      points(folds, worst, unit, colors),
    ],
  };
}
