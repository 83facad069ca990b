"""From observations to a stored model with its cross-validation errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.lineage import TellsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import failure_told, no_vain_retries, origin_of
from airflow_provider_ernest.settings import FAIL_TRAINING, METHODS, ON_INADEQUATE
from airflow_provider_ernest.spark.artifact import dependency_options
from airflow_provider_ernest.stated import number, one_of, optional_document, optional_text, positive
from airflow_provider_ernest.store_location import store_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle, Machine
    from airflow_provider_ernest.documents import (
        AveragingPrior,
        Design,
        Model,
        Observation,
        Origin,
        TrainedMachine,
        TrainingCluster,
    )
    from airflow_provider_ernest.settings import Number
    from airflow_provider_ernest.store.store import ModelStore


class FitModelOperator(TellsLineage, BaseOperator):
    """Fit the model to the observations, cross-validate it, store it (Ernest, sections 3.1 and 3.3).

    Give it ``trigger_rule="all_done_min_one_success"``: it goes on without the runs that failed where
    those that are left determine the model, and says which are missing.

    Returns the `Model` document, and pushes its place in the store under the key ``stored_at``. Where it
    fails, it pushes why under ``failure``, for the decision to tell.

    Args:
        observations: the `Observation` documents, output of the mapped sample runs.
        job: the job's name in the store.
        application: path of the JAR or .py file; its SHA-256 tells later whether the code has changed, where
            the Airflow worker can read it.
        input_path: the production input.
        submit_options: what it is submitted with; py_files and jars belong to its hash.
        artifact_sha256: its hash before the sample runs, ``find.output["artifact_sha256"]`` of the
            `FindModelOperator`; None to take it now.
        conditions: what, beside the code, the runs depended on, by type of machine:
            ``find.output["conditions"]``, also as JSON text; None where nobody looked.
        design: the `Design` document, to tell which runs are missing, and kept in the model; may be None.
        cluster: `ClusterHandle` document of the cluster that the runs were made on, to keep in the model its
            machines, those that were culled, and the price; may be None. As JSON text, too: a task with
            another trigger rule than ``all_success`` must not come directly after a setup task, and an
            XComArg would put it there.
        instance_type: the machines' type; None to take the observations'.
        method: "averaging" (over all sets of terms, weighted by the runs), "relative" (all given terms;
            errors count by their share of the run time) or "classic" (the original: errors count in seconds).
        terms: names or formulas of the terms. None for those that averaging usually goes over; for the other
            methods the design's, if it determines all of them (a Bayesian one need not), else Ernest's four.
        extension_terms: terms to add, one by one, while the median leave-one-out error is above
            `extend_above_percent` and they lower it; not for "averaging", which weighs all its terms.
        extend_above_percent: see there.
        learn_from_other_jobs: for "averaging": let the latest models of other jobs on the same instance type
            tell which terms jobs have there, and whether the driver takes a machine.
        max_error_percent: the median leave-one-out error above which the model is inadequate.
        on_inadequate: "fail" or "warn".
        store: root of the model store, a path or any URL of Airflow's object storage; None for
            ``[ernest] store``.

    Raises:
        FitError, TooFewObservationsError: the observations do not determine the model.
        InadequateModelError: its error is above the threshold, and `on_inadequate` is "fail". The
            model is stored all the same, so that one can see why.
    """

    template_fields: Sequence[str] = (
        "observations",
        "job",
        "application",
        "input_path",
        "dependencies",
        "artifact_sha256",
        "conditions",
        "design",
        "cluster",
        "instance_type",
        "method",
        "extend_above_percent",
        "max_error_percent",
        "on_inadequate",
        "store",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#d5e4f7"

    def __init__(
        self,
        *,
        observations: Any,
        job: str,
        application: str,
        input_path: str,
        submit_options: Mapping[str, Any] | None = None,
        artifact_sha256: str | None = None,
        conditions: Any = None,
        design: Any = None,
        cluster: Any = None,
        instance_type: str | None = None,
        method: str = "averaging",
        terms: Sequence[str] | None = None,
        extension_terms: Sequence[str] = (),
        extend_above_percent: Number = 10.0,
        learn_from_other_jobs: bool = True,
        max_error_percent: Number = 25.0,
        on_inadequate: str = "fail",
        store: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.observations = observations
        self.job = job
        self.application = application
        self.input_path = input_path
        self.submit_options = submit_options
        # Other options may be templates of the sample runs' own.
        self.dependencies = dependency_options(submit_options or {})
        self.artifact_sha256 = artifact_sha256
        self.conditions = conditions
        self.design = design
        self.cluster = cluster
        self.instance_type = instance_type
        self.method = method
        self.terms = terms
        self.extension_terms = extension_terms
        self.extend_above_percent = extend_above_percent
        self.learn_from_other_jobs = learn_from_other_jobs
        self.max_error_percent = max_error_percent
        self.on_inadequate = on_inadequate
        self.store = store

    def execute(self, context: Context) -> dict[str, Any]:
        """Fit, validate, store, judge."""
        from airflow_provider_ernest.documents import Design
        from airflow_provider_ernest.exceptions import TooFewObservationsError
        from airflow_provider_ernest.store.store import ModelStore
        from airflow_provider_ernest.views.tables import model_table

        with no_vain_retries(), failure_told(context):
            store = ModelStore(store_root(self.store))
            self._check_settings()
            observations = self._observations()
            if not observations:
                raise TooFewObservationsError(
                    "No sample run succeeded.", remedy="See their logs, and that of the cluster's task."
                )
            design = Design.from_dict(self.design) if self.design else None
            if design is not None:
                self._name_missing(design, observations)
            model = self._train(
                observations, store, design=design, cluster=self._cluster(), origin=origin_of(context)
            )
            model = store.newest_of_its_job(model)
            stored_at = store.save(model)
            self.tells_lineage(model)
            self.log.info("Model %s is stored at %s", model.id, stored_at)
            context["ti"].xcom_push(key="stored_at", value=str(stored_at))
            for line in model_table(model):
                self.log.info("%s", line)
            self._judge(model)
        return model.to_dict()

    def _check_settings(self) -> None:
        """Before the fit, not where they are used: of an inadequate model, or after it."""
        one_of(ON_INADEQUATE)("on_inadequate", self.on_inadequate)
        one_of(METHODS)("method", self.method)
        for name in ("max_error_percent", "extend_above_percent"):
            positive(name, getattr(self, name))

    def _observations(self) -> list[Observation]:
        from airflow_provider_ernest.documents import Observation

        return [Observation.from_dict(document) for document in self.observations or () if document]

    def _cluster(self) -> TrainingCluster | None:
        from airflow_provider_ernest.clusters.base import ClusterHandle

        document = optional_document("cluster", self.cluster)
        return training_cluster(ClusterHandle.from_dict(document)) if document else None

    def _name_missing(self, design: Design, observations: Iterable[Observation]) -> None:
        observed = {observation.index for observation in observations}
        for run in design.experiments:
            if run.index not in observed:
                self.log.warning(
                    "Run %d (%d machines, %.2f %% of the input) is missing: it failed or was skipped. "
                    "Fitting without it.",
                    run.index,
                    run.machines,
                    100 * run.scale,
                )

    def _train(
        self,
        observations: list[Observation],
        store: ModelStore,
        *,
        design: Design | None,
        cluster: TrainingCluster | None,
        origin: Origin,
    ) -> Model:
        from airflow_provider_ernest.operators.find_model import hash_of_training, told_conditions
        from airflow_provider_ernest.prediction.predictors import check_method
        from airflow_provider_ernest.prediction.training import train
        from airflow_provider_ernest.privacy import without_credentials
        from airflow_provider_ernest.settings import AVERAGING

        method = check_method(self.method)
        terms = self._terms(observations, design)
        types = sorted({observation.instance_type for observation in observations})
        instance_type = self.instance_type or ", ".join(types) or "local"
        artifact_sha256, warnings = hash_of_training(
            optional_text(self.artifact_sha256), self.application, self.dependencies, log=self.log
        )
        prior = None
        if self.learn_from_other_jobs and method == AVERAGING:
            prior = learned_prior(store, job=self.job, instance_type=instance_type, terms=terms, log=self.log)
        return train(
            observations,
            job=self.job,
            instance_type=instance_type,
            method=method,
            terms=terms,
            prior=prior,
            artifact=without_credentials(self.application),
            artifact_sha256=artifact_sha256,
            input_path=without_credentials(self.input_path),
            origin=origin,
            design=design,
            cluster=cluster,
            conditions=told_conditions(self.conditions, instance_type),
            warnings=warnings,
        )

    def _terms(self, observations: list[Observation], design: Design | None) -> tuple[str, ...]:
        from airflow_provider_ernest.design.criteria import is_bayesian
        from airflow_provider_ernest.prediction.predictors import default_terms
        from airflow_provider_ernest.prediction.terms import check_terms
        from airflow_provider_ernest.prediction.training import extend_terms
        from airflow_provider_ernest.settings import AVERAGING

        terms = check_terms(self.terms or default_terms(self.method))
        extensions = check_terms(self.extension_terms) if self.extension_terms else ()
        if not self.terms and self.method != AVERAGING and design and not is_bayesian(design.criterion):
            terms = tuple(name for name in design.terms if name not in extensions)
        if not extensions:
            return terms
        extended = extend_terms(
            observations,
            terms=terms,
            extensions=extensions,
            above_percent=number("extend_above_percent", self.extend_above_percent),
            method=self.method,
        )
        self.log.info("Terms added to the model: %s", ", ".join(extended[len(terms) :]) or "none")
        return extended

    def _judge(self, model: Model) -> None:
        from airflow_provider_ernest.exceptions import InadequateModelError
        from airflow_provider_ernest.prediction.training import check_adequacy

        for warning in model.warnings:
            self.log.warning("%s", warning)
        try:
            check_adequacy(model, max_error_percent=number("max_error_percent", self.max_error_percent))
        except InadequateModelError as error:
            if self.on_inadequate == FAIL_TRAINING:
                raise
            self.log.warning("%s", error)


# ---------------------------------------------------------------------------
# What the models of other jobs in the store teach about a job of which little is known yet.


POOLED_JOBS = 50
"""More say little more about the next one, and each takes some hundredths of a second."""


def learned_prior(
    store: ModelStore, *, job: str, instance_type: str, terms: tuple[str, ...], log: Any
) -> AveragingPrior | None:
    """What the other jobs on such machines teach; None where there are none.

    Args:
        store: the model store.
        job: which learns nothing from its own models.
        instance_type: the machines' type.
        terms: that the model may have.
        log: the logger that says what was learned.

    Raises:
        StoreError: the store cannot be read.
    """
    from airflow_provider_ernest.exceptions import InvalidParameterError
    from airflow_provider_ernest.prediction.pooling import pooled_prior

    models = store.latest_of_jobs(instance_type, limit=POOLED_JOBS, other_than=job)
    if not models:
        return None
    try:
        prior = pooled_prior([model.observations for model in models], terms=terms)
    except InvalidParameterError as error:
        # A formula that suits this job's runs need not suit theirs.
        log.warning("Nothing is learned from other jobs: %s", error)
        return None
    log.info(
        "Learned from the models of other jobs on %s (%d): the driver takes a machine with a probability "
        "of %.0f %%; terms are there with %s",
        instance_type,
        len(models),
        100 * prior.driver_share,
        ", ".join(f"{name} {prior.belief_in(name).probability:.0%}" for name in terms),
    )
    return prior


# ---------------------------------------------------------------------------
# What a model keeps of the cluster that its runs were made on: that ends, and with it what told of it.


def training_cluster(handle: ClusterHandle) -> TrainingCluster:
    """The machines that a cluster kept, those that it culled and its master, with what is known of each."""
    from airflow_provider_ernest.documents import TrainingCluster

    kept = [_trained(machine) for machine in handle.machines]
    memories = [machine.memory_megabytes for machine in handle.machines]
    culled = [_trained(one.machine, culled_because=one.reason or "not needed") for one in handle.culled]
    master = [_trained(handle.master, is_master=True)] if handle.master else []
    return TrainingCluster(
        kind=handle.kind,
        name=handle.name,
        instance_type=handle.instance_type,
        cores_per_machine=handle.cores_per_machine,
        price_per_hour=handle.price_per_hour,
        machines=(*kept, *culled, *master),
        memory_megabytes_per_machine=min(memories, default=None),
    )


def remembered_handle(cluster: TrainingCluster) -> ClusterHandle | None:
    """What can still be said of a cluster that has ended: its machines' number, shape and price.

    Returns:
        None where too little is known, as of models of earlier versions of this package.
    """
    from airflow_provider_ernest.clusters.base import ClusterHandle, Machine

    kept = cluster.kept_machines
    memory = cluster.memory_megabytes_per_machine
    if memory is None or not kept:
        return None

    def machine(of: TrainedMachine) -> Machine:
        return Machine(
            worker_id="",
            host="",
            cores=cluster.cores_per_machine,
            memory_megabytes=memory,
            price_per_hour=of.price_per_hour,
        )

    return ClusterHandle(
        kind=cluster.kind,
        name=cluster.name,
        master_url="",
        machines=tuple(machine(each) for each in kept),
        instance_type=cluster.instance_type,
        cores_per_machine=cluster.cores_per_machine,
        master=next((machine(each) for each in cluster.machines if each.is_master), None),
    )


def _trained(machine: Machine, *, culled_because: str = "", is_master: bool = False) -> TrainedMachine:
    from airflow_provider_ernest.documents import TrainedMachine

    bandwidth = machine.bandwidth
    return TrainedMachine(
        host=machine.host,
        instance_id=machine.instance_id,
        memory_gigabytes_per_second=bandwidth.memory_gigabytes_per_second if bandwidth else None,
        network_gigabytes_per_second=bandwidth.network_gigabytes_per_second if bandwidth else None,
        score=bandwidth.score if bandwidth else None,
        culled_because=culled_because,
        price_per_hour=machine.price_per_hour,
        is_master=is_master,
    )
