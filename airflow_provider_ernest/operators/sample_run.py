"""One sample run: the user's unmodified job on so many machines and such a share of its input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseOperator

from airflow_provider_ernest.choices import SAMPLINGS
from airflow_provider_ernest.links.model_fit import ModelFitLink
from airflow_provider_ernest.links.spark_history import SparkHistoryLink
from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.lineage import TellsLineage, with_lineage
from airflow_provider_ernest.operators.locations import event_logs, staging
from airflow_provider_ernest.operators.origins import origin_of
from airflow_provider_ernest.operators.rendered import (
    number,
    optional_number,
    optional_text,
    optional_whole_number,
    whole_number,
)
from airflow_provider_ernest.stated import listed_texts, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.model.documents import Experiment, Observation, Origin
    from airflow_provider_ernest.operators.submission import RunRequest, Submission
    from airflow_provider_ernest.spark.sampling import Sample
    from airflow_provider_ernest.specification import Number


class SampleRunOperator(TellsLineage, BaseOperator):
    """Run the application as one experiment of the design says, and observe it.

    Map it over the design: ``SampleRunOperator.partial(...).expand(experiment=design.output)``. The
    application is submitted to exactly the experiment's number of machines, through the spark provider's
    hook or as a step of EMR; that so many distinct machines worked, and were there to the end, is verified
    in Spark's event log, from which the clean run time comes too. Runs may share a cluster: Spark's master
    (or EMR) serves them first come, first served, and the time that a run waits is not counted.

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
        cores_per_machine: cores of a machine; needed where there is no `cluster` to tell.
        conf: Spark properties.
        submit_options: further arguments of `SparkSubmitHook`: java_class, jars, py_files, ...
        staging_uri: s3:// folder that a local application is uploaded to, for EMR; None to refuse one there.
        job: the job's name in the model store, where the observation is kept; None to keep it nowhere.
        store: root of the model store; None for ``[ernest] store``.
        artifact_sha256: hash of the application.
        conditions: what, beside it, the run depends on, by type of machine; see `FitModelOperator`.
        wait_timeout_seconds: how long the run may wait for its machines.
        run_timeout_seconds: how long it may take once it has them; None for no limit.
        profile: keep, beside the observation, where the run's time went; see `BottleneckReportOperator`.

    Raises:
        InvalidParameterError, MissingResourceError: what was asked for cannot be run (no retry).
        ClusterLostError: the cluster has ended, or lost machines that the run needs. The next attempt fails
            as fast unless the cluster is started anew.
        SampleRunError: the run failed, or not as designed (retried as Airflow retries).
    """

    # application_args are not among them: they are rendered when the sample is known. Nor is conf, of which
    # Airflow would keep and show what is rendered.
    template_fields: Sequence[str] = (
        "experiment",
        "application",
        "input_path",
        "sampling",
        "seed",
        "cluster",
        "spark_conn_id",
        "cores_per_machine",
        "submit_options",
        "staging_uri",
        "job",
        "store",
        "artifact_sha256",
        "conditions",
        "wait_timeout_seconds",
        "run_timeout_seconds",
    )
    operator_extra_links = (ModelFitLink(), SparkHistoryLink())
    ui_color = "#f6e3c5"
    application_id: str | None = None
    """Spark's id of the run, also of one that failed, once there is an event log; for `SparkHistoryLink`."""

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
        cores_per_machine: Number | None = None,
        conf: Mapping[str, str] | None = None,
        submit_options: Mapping[str, Any] | None = None,
        staging_uri: str | None = None,
        job: str | None = None,
        store: str | None = None,
        artifact_sha256: str | None = None,
        conditions: Any = None,
        wait_timeout_seconds: Number = 1800,
        run_timeout_seconds: Number | None = None,
        profile: bool = True,
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
        self.staging_uri = staging_uri
        self.job = job
        self.store = store
        self.artifact_sha256 = artifact_sha256
        self.conditions = conditions
        self.wait_timeout_seconds = wait_timeout_seconds
        self.run_timeout_seconds = run_timeout_seconds
        self.profile = profile
        self._submission: Submission | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Stage the sample, run, observe."""
        from airflow_provider_ernest.model.documents import Experiment
        from airflow_provider_ernest.operators.staged_sample import sample_cluster, staged_sample
        from airflow_provider_ernest.operators.submission import require_readable_input
        from airflow_provider_ernest.setting_checks import require_sample_named
        from airflow_provider_ernest.spark.artifact import require_application

        with no_vain_retries():
            experiment = Experiment.from_dict(self.experiment)
            one_of(SAMPLINGS)("sampling", self.sampling)
            listed_texts("application_args", self.application_args)
            require_sample_named(self.application_args, self.sampling, reads_all=experiment.scale >= 1)
            handle = sample_cluster(self.cluster, machines=experiment.machines)
            require_application(self.application)
            cores = self._cores(handle)
            require_readable_input(handle, self.input_path, self.sampling)
            with staged_sample(
                experiment,
                self.input_path,
                folder=staging(context),
                method=self.sampling,
                header=self.header,
                minimum_files=experiment.machines * cores,
                seed=whole_number("seed", self.seed),
            ) as sample:
                self.log.info(
                    "Run %d: %d machines, %.2f %% of the input in %d partitions",
                    experiment.index,
                    experiment.machines,
                    100 * sample.scale,
                    sample.partitions,
                )
                names = cast("Context", {**context, "sample": sample})
                arguments = self.render_template(list(self.application_args), names)
                request = self._request(experiment, cores, arguments, context)
                observation = self._observe(experiment, sample, handle, request, origin_of(context))
        self.log.info(
            "Run %d took %.1f s on %s (start-up %.1f s, waited %.1f s for machines)",
            observation.index,
            observation.seconds,
            ", ".join(observation.hosts),
            observation.startup_seconds,
            observation.waited_seconds,
        )
        self._keep(observation, handle)
        self.tells_lineage(observation, inputs=[self.input_path])
        return observation.to_dict()

    def on_kill(self) -> None:
        """End the Spark application: its driver, or the step that it is."""
        if self._submission is not None:
            self._submission.end()

    def _keep(self, observation: Observation, handle: ClusterHandle | None) -> None:
        from airflow_provider_ernest.model.bottlenecks import SAMPLE
        from airflow_provider_ernest.operators.observation_record import keep_observation
        from airflow_provider_ernest.operators.profile_record import capacity_of, keep_profile

        job, store = optional_text(self.job), optional_text(self.store)
        artifact_sha256 = optional_text(self.artifact_sha256)
        keep_observation(
            observation,
            job=job,
            store=store,
            artifact_sha256=artifact_sha256,
            conditions=self.conditions,
            log=self.log,
        )
        # Here, since the event log lies on this host.
        keep_profile(
            observation.event_log,
            job=job if self.profile else None,
            instance_type=observation.instance_type,
            purpose=SAMPLE,
            scale=observation.scale,
            iterations=observation.iterations,
            capacity=capacity_of(handle),
            artifact_sha256=artifact_sha256,
            store=store,
            origin=observation.origin,
            log=self.log,
        )

    def _cores(self, handle: ClusterHandle | None) -> int:
        if handle is not None:
            return handle.cores_per_machine
        from airflow_provider_ernest.exceptions import InvalidParameterError

        cores: int | None = optional_whole_number("cores_per_machine", self.cores_per_machine)
        if cores is None:
            raise InvalidParameterError(
                "cores_per_machine",
                None,
                f"leaves open what a machine behind spark_conn_id={self.spark_conn_id!r} offers",
                remedy="State its cores, or pass the cluster's handle.",
            )
        return cores

    def _request(
        self, experiment: Experiment, cores: int, arguments: list[str], context: Context
    ) -> RunRequest:
        from airflow_provider_ernest.operators.submission import RunRequest

        return RunRequest(
            name=f"ernest-sample-{experiment.index}",
            application_args=arguments,
            machines=experiment.machines,
            cores_per_machine=cores,
            conf=with_lineage(
                self.render_template(dict(self.conf or {}), context), context=context, log=self.log
            ),
            options=self.submit_options or {},
            directory=event_logs(context),
            wait_seconds=number("wait_timeout_seconds", self.wait_timeout_seconds),
            run_seconds=optional_number("run_timeout_seconds", self.run_timeout_seconds),
            staging_uri=optional_text(self.staging_uri),
        )

    def _observe(
        self,
        experiment: Experiment,
        sample: Sample,
        handle: ClusterHandle | None,
        request: RunRequest,
        origin: Origin,
    ) -> Observation:
        from airflow_provider_ernest.operators.submission import submission
        from airflow_provider_ernest.spark.observing import logged_application, observe

        submitted = self._submission = submission(
            handle, spark_conn_id=self.spark_conn_id, request=request, log=self.log
        )
        submitted_at = time.time()
        try:
            submitted.run(self.application)
        finally:
            self.application_id = logged_application(request.directory)
        return observe(
            experiment,
            sample,
            request.directory,
            instance_type=handle.instance_type if handle else self.spark_conn_id or "",
            submitted_at=submitted_at,
            waited_seconds=submitted.waited_seconds,
            origin=origin,
        )
