"""One sample run: the user's unmodified job on so many machines and such a share of its input."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.locations import event_logs, staging
from airflow_provider_ernest.operators.rendered import number, optional_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.model.documents import Experiment, Observation
    from airflow_provider_ernest.spark.sampling import Sample
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook
    from airflow_provider_ernest.specification import Number


class SampleRunOperator(BaseOperator):
    """Run the application as one experiment of the design says, and observe it.

    Map it over the design: ``SampleRunOperator.partial(...).expand(experiment=design.output)``. The
    application is submitted through the spark provider's hook to exactly the experiment's number of
    machines; that so many distinct machines worked is verified in Spark's event log, from which the
    clean run time comes too. Runs may share a cluster: Spark's master serves them first come, first
    served, and the time that a run waits for machines is not counted.

    Returns the `Observation` document.

    Args:
        experiment: the `Experiment` document.
        application: path of the JAR or .py file.
        application_args: its arguments; beside Airflow's templates they may use ``{{ sample.input }}``,
            ``{{ sample.scale }}``, ``{{ sample.machines }}``, ``{{ sample.partitions }}`` and
            ``{{ sample.iterations }}``.
        input_path: the production input, of which a sample is taken.
        sampling: "files", "first_rows" or "argument"; see `spark.sampling`.
        header: the input's files begin with a header line ("first_rows" only).
        seed: the same seed takes the same samples.
        cluster: `ClusterHandle` document of the cluster to run on; or else
        spark_conn_id: the Airflow connection of a master that is there already.
        cores_per_machine: cores of a machine, where there is no `cluster` to tell.
        conf: Spark properties.
        submit_options: further arguments of `SparkSubmitHook`: java_class, jars, py_files, ...
        wait_timeout_seconds: how long the run may wait for its machines.
        run_timeout_seconds: how long it may take once it has them; None for no limit.

    Raises:
        InvalidParameterError, MissingResourceError: what was asked for cannot be run (no retry).
        SampleRunError, ClusterLostError: the run failed, or not as designed (retried as Airflow retries).
    """

    # application_args are not among them: they are rendered when the sample is known.
    template_fields: Sequence[str] = (
        "experiment",
        "application",
        "input_path",
        "sampling",
        "seed",
        "cluster",
        "spark_conn_id",
        "cores_per_machine",
        "conf",
        "submit_options",
        "wait_timeout_seconds",
        "run_timeout_seconds",
    )
    ui_color = "#f6e3c5"

    def __init__(
        self,
        *,
        experiment: Any,
        application: str,
        input_path: str,
        application_args: Sequence[str] = (),
        sampling: str = "files",
        header: bool = False,
        seed: Number = 0,
        cluster: Any = None,
        spark_conn_id: str | None = None,
        cores_per_machine: Number = 1,
        conf: Mapping[str, str] | None = None,
        submit_options: Mapping[str, Any] | None = None,
        wait_timeout_seconds: Number = 1800,
        run_timeout_seconds: Number | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.experiment = experiment
        self.application = application
        self.input_path = input_path
        self.application_args = application_args
        self.sampling = sampling
        self.header = header
        self.seed = seed
        self.cluster = cluster
        self.spark_conn_id = spark_conn_id
        self.cores_per_machine = cores_per_machine
        self.conf = conf
        self.submit_options = submit_options
        self.wait_timeout_seconds = wait_timeout_seconds
        self.run_timeout_seconds = run_timeout_seconds
        self._hook: ErnestSubmitHook | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Stage the sample, run, observe."""
        from airflow_provider_ernest.model.documents import Experiment
        from airflow_provider_ernest.spark.artifact import require_application

        with no_vain_retries():
            experiment = Experiment.from_dict(self.experiment)
            handle = self._cluster_for(experiment)
            require_application(self.application)
            cores = self._cores(handle)
            with self._staged(experiment, cores, staging(context)) as sample:
                self.log.info(
                    "Run %d: %d machines, %.2f %% of the input in %d partitions",
                    experiment.index,
                    experiment.machines,
                    100 * sample.scale,
                    sample.partitions,
                )
                names = cast("Context", {**context, "sample": sample})
                arguments = self.render_template(list(self.application_args), names)
                observation = self._observe(experiment, sample, handle, cores, arguments, event_logs(context))
        self.log.info(
            "Run %d took %.1f s on %s (start-up %.1f s, waited %.1f s for machines)",
            observation.index,
            observation.seconds,
            ", ".join(observation.hosts),
            observation.startup_seconds,
            observation.waited_seconds,
        )
        return observation.to_dict()

    def on_kill(self) -> None:
        """End the driver, and with it the Spark application."""
        if self._hook is not None:
            self._hook.end()

    def _cluster_for(self, experiment: Experiment) -> ClusterHandle | None:
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.exceptions import InvalidParameterError

        if not self.cluster:
            return None
        handle = ClusterHandle.from_dict(self.cluster)
        if experiment.machines > len(handle.machines):
            raise InvalidParameterError(
                "machines",
                experiment.machines,
                f"is more than cluster {handle.name} has ({len(handle.machines)})",
                remedy="Lower max_machines of the design, or start a larger cluster.",
            )
        return handle

    @contextmanager
    def _staged(self, experiment: Experiment, cores: int, folder: Path) -> Iterator[Sample]:
        from airflow_provider_ernest.spark.sampling import take_sample

        shutil.rmtree(folder, ignore_errors=True)
        try:
            yield take_sample(
                experiment,
                self.input_path,
                method=self.sampling,
                header=self.header,
                minimum_files=experiment.machines * cores,
                seed=f"{whole_number('seed', self.seed)}/{experiment.index}",
                staging=folder,
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _cores(self, handle: ClusterHandle | None) -> int:
        if handle is not None:
            return handle.cores_per_machine
        return whole_number("cores_per_machine", self.cores_per_machine)

    def _observe(
        self,
        experiment: Experiment,
        sample: Sample,
        handle: ClusterHandle | None,
        cores: int,
        arguments: list[str],
        directory: Path,
    ) -> Observation:
        from airflow_provider_ernest.exceptions import SampleRunError
        from airflow_provider_ernest.spark.observing import observe
        from airflow_provider_ernest.spark.run_watch import RunLimits, RunWatch
        from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf
        from airflow_provider_ernest.spark.submit import ErnestSubmitHook

        wait_seconds = number("wait_timeout_seconds", self.wait_timeout_seconds)
        self._hook = ErnestSubmitHook(
            master_url=handle.master_url if handle else None,
            spark_conn_id=None if handle else self.spark_conn_id,
            conf={
                **(handle.spark_conf() if handle else {}),
                **(self.conf or {}),
                **sizing_conf(
                    machines=experiment.machines,
                    cores_per_machine=cores,
                    machines_wait_seconds=wait_seconds,
                ),
                **event_log_conf(str(directory)),
            },
            application_args=arguments,
            name=f"ernest-sample-{experiment.index}",
            options=self.submit_options,
        )
        limits = RunLimits(
            wait_seconds=wait_seconds,
            run_seconds=optional_number("run_timeout_seconds", self.run_timeout_seconds),
        )
        submitted_at = time.time()
        with RunWatch(
            directory=directory,
            machines=experiment.machines,
            cores=experiment.machines * cores,
            web_url=handle.web_url if handle else None,
            limits=limits,
            end=self._hook.end,
            log=self.log,
        ) as watch:
            try:
                self._hook.run(self.application)
            except SampleRunError as error:
                if watch.ended_because:
                    raise SampleRunError(f"The run was ended: {watch.ended_because}.") from error
                raise
        return observe(
            experiment,
            sample,
            directory,
            instance_type=handle.instance_type if handle else self.spark_conn_id or "",
            submitted_at=submitted_at,
            waited_seconds=watch.waited_seconds,
        )
