/** Kinds of steps that pages treat in a way of their own. */

/** The step that reports why the job takes as long as it does: nothing else depends on it. */
export const BOTTLENECKS = "bottleneck_report";
