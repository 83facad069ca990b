/** Steps: the kinds that pages treat in a way of their own, and how a step is called. */

/** The step that reports why the job takes as long as it does: nothing else depends on it. */
export const BOTTLENECKS = "bottleneck_report";

/** The task's name without its group, and which of the mapped instances it is. */
export function stepName(step) {
  const task = step.task_id.split(".").pop();
  if (step.map_index < 0) return step.name || task;
  const instance = step.name || String(step.map_index);
  return instance.includes(task) ? instance : `${task} [${instance}]`;
}
