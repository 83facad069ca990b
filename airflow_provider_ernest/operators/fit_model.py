"""From observations to a stored model with its cross-validation errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.exceptions import (
    FitError,
    InadequateModelError,
    InvalidParameterError,
    TooFewObservationsError,
)
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import (
    OfJob,
    artifact_hash,
    end_unless_begun,
    failure_pushed,
    no_vain_retries,
    origin_of,
    pushed_conditions,
)
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings import ModelSettings, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.settings.goal import FAIL_TRAINING, WARN
from airflow_provider_ernest.settings.values import (
    as_template,
    documents,
    optional_document,
    optional_text,
    settings_of,
)
from airflow_provider_ernest.words import as_percent

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.base import Origin
    from airflow_provider_ernest.documents.models import AveragingPrior, Model, TrainingCluster
    from airflow_provider_ernest.documents.runs import Design, Observation
    from airflow_provider_ernest.store.store import ModelStore


class FitModelOperator(OfJob, EmitsLineage, BaseOperator):
    """Fit the model to the observations, cross-validate it, store it (Ernest, sections 3.1 and 3.3).

    Give it ``trigger_rule="all_done_min_one_success"``: it goes on without failed runs if the rest determine
    the model. If past runs or a first round may make sample runs needless, that rule would skip it with them:
    use ``trigger_rule="all_done"`` and `training_begins_with`.

    Returns the `Model` document and pushes its place in the store as ``stored_at``; if it fails, the reason
    as ``failure``. Settings may be objects or mappings of their fields; any value in them may be a template.

    Args:
        observations: the `Observation` documents of the mapped sample runs; also as JSON text. None where
            past runs are all there is to learn from: then too few of them are no failure, and without any
            there is no model.
        job: the application. The SHA-256 of its file, py_files and jars, if the worker can read them, tells
            later whether the code has changed.
        input: the production input of sample runs.
        model: how the model is made; None for the most accurate way known.
        goal: the error above which a model is inadequate (`SizingGoal.max_error_percent`), and whether that
            fails or warns; None to fail above 25 %.
        artifact_sha256: the code's hash before the sample runs, ``find.output["artifact_sha256"]`` of the
            `FindModelOperator`; None to take it now.
        conditions: ``find.output["conditions"]``, also as JSON text; None if unknown.
        design: the `Design` document, also as JSON text, kept in the model and used to name missing runs.
        cluster: `ClusterHandle` document of the sample runs' cluster, to keep its machines and price in the
            model. Pass JSON text if this task's trigger rule is not ``all_success``: an XComArg would put it
            directly after a setup task, which Airflow refuses.
        history: past runs of one type that count beside the sample runs, from a `ReadHistoryOperator`, also
            as JSON text; None for none. Without sample runs the model is of them alone, if the design says
            that they are enough. If they contradict the sample runs, only these count.
        machine: a machine of the type if no cluster was started: a mapping of ``kind``, ``instance_type``,
            ``executor_cores``, ``executor_memory_megabytes``, ``price_per_hour``,
            ``master_price_per_hour`` and ``market``, also as templates; None if unknown.
        training_begins_with: ids of the tasks that design the runs: if none of them started, this task ends
            as they did.

    Raises:
        FitError, TooFewObservationsError: the observations do not determine the model.
        InadequateModelError: its error is above the goal's threshold; the model is stored all the same.
    """

    template_fields: Sequence[str] = (
        "observations",
        "job",
        "input",
        "model",
        "goal",
        "artifact_sha256",
        "conditions",
        "design",
        "cluster",
        "history",
        "machine",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#d5e4f7"

    def __init__(
        self,
        *,
        job: SparkJob | Mapping[str, Any],
        goal: SizingGoal | Mapping[str, Any] | str,
        observations: Any = (),
        input: SampledInput | Mapping[str, Any] | str | None = None,  # noqa: A002 - the word that fits
        model: ModelSettings | Mapping[str, Any] | str | None = None,
        artifact_sha256: str | None = None,
        conditions: Any = None,
        design: Any = None,
        cluster: Any = None,
        history: Any = None,
        machine: Mapping[str, Any] | None = None,
        training_begins_with: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.observations = observations
        self._keep_job(job, *([] if input is None else [input]))
        self.model: Any = as_template(ModelSettings, model or ModelSettings(), "model")
        self.goal: Any = as_template(SizingGoal, goal, "goal")
        self.artifact_sha256 = artifact_sha256
        self.conditions = conditions
        self.design = design
        self.cluster = cluster
        self.history = history
        self.machine = machine
        self.training_begins_with = training_begins_with

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Fit, validate, store, judge; nothing where no run is known."""
        from airflow_provider_ernest.documents.runs import Design, Observation
        from airflow_provider_ernest.views.tables import model_table

        if self.training_begins_with:
            end_unless_begun(context, self.training_begins_with)
        with no_vain_retries(), failure_pushed(context):
            store = model_store()
            # All settings are read before the fit, so that a mistake in them fails first.
            settings = settings_of(ModelSettings, self.model, "model")
            goal = settings_of(SizingGoal, self.goal, "goal")
            observations = [
                Observation.from_dict(each) for each in documents("observations", self.observations) if each
            ]
            planned = optional_document("design", self.design)
            design = Design.from_dict(planned) if planned else None
            past = past_observations(self.history, design, observations)
            # Else past runs may be all there is, and too few of them are no failure.
            is_history_alone = self.history is not None and not (observations or design)
            if is_history_alone and not past:
                # A state, and no failure: production keeps its size, and its run is the first that is known.
                context["ti"].xcom_push(key="failure", value=NOTHING_KNOWN)
                self.log.warning("There is no model yet: %s", NOTHING_KNOWN)
                return None
            if not observations and (not past or (design and design.experiments)):
                raise TooFewObservationsError(
                    "No sample run succeeded.", remedy="See their logs, and that of the cluster's task."
                )
            observed = {observation.index for observation in observations}
            missing = [run.index for run in design.experiments if run.index not in observed] if design else []
            if missing:
                self.log.warning("Sample runs %s failed or were skipped: fitting without them.", missing)
            train = partial(self._train, store, settings, design=design, origin=origin_of(context))
            model = self._trained(train, observations, past, goal)
            stored_at = store.save(model)
            self.add_lineage(model)
            self.log.info("Model %s is stored at %s", model.id, stored_at)
            context["ti"].xcom_push(key="stored_at", value=str(stored_at))
            for line in model_table(model):
                self.log.info("%s", line)
            self._judge(model, goal, is_history_alone=is_history_alone)
        return model.to_dict()

    @property
    def _told(self) -> Mapping[str, Any]:
        """What the task that reads the history has pushed of the type."""
        return optional_document("history", self.history) or {}

    def _trained(
        self,
        train: Callable[..., Model],
        samples: list[Observation],
        past: list[Observation],
        goal: SizingGoal,
    ) -> Model:
        """The model of sample and past runs; of the sample runs alone if the two contradict each other.

        What past runs read, and which code they ran, is less certain than for sample runs.
        """
        from airflow_provider_ernest.prediction.training import check_adequacy

        told = self._told
        # Of past runs alone nothing else is known that they could be compared with.
        notes = () if told.get("basis") else tuple(told.get("notes") or ()) if past else ()
        try:
            model = train([*samples, *past], notes=notes)
            if past and samples:
                check_adequacy(model, max_error_percent=goal.max_error_percent)
        except (FitError, InadequateModelError) as error:
            if not (past and samples):
                raise
            self.log.warning("Past runs and sample runs do not go together: %s", error.message)
            own = train(samples)
            return replace(own, warnings=(*own.warnings, NOT_TOGETHER))
        return model

    def _train(
        self,
        store: ModelStore,
        settings: ModelSettings,
        observations: list[Observation],
        *,
        design: Design | None,
        origin: Origin,
        notes: tuple[str, ...] = (),
    ) -> Model:
        from airflow_provider_ernest.documents.models import HistoryBasis
        from airflow_provider_ernest.history.sizes import with_replays_that_meet
        from airflow_provider_ernest.prediction.training import train

        job, sampled = self._rendered_job(), self._rendered_input() if self.input else None
        terms = self._terms(observations, settings, design)
        types = sorted({observation.instance_type for observation in observations})
        instance_type = ", ".join(types) or "local"
        # The hash is that before the sample runs, if it was taken then.
        before = optional_text(self.artifact_sha256)
        after = artifact_hash(job.application, job.submit_options, log=self.log)
        if before and after and before != after:
            notes = (REPLACED, *notes)
        prior = prior_of(
            store,
            settings,
            observations,
            job=job.name,
            instance_type=instance_type,
            terms=terms,
            log=self.log,
        )
        told = self._told.get("basis")
        model = train(
            observations,
            job=job.name,
            instance_type=instance_type,
            method=settings.method,
            terms=terms,
            prior=prior,
            artifact=without_credentials(job.application) if job.application else None,
            artifact_sha256=before or after,
            input_path=without_credentials(sampled.path) if sampled else None,
            origin=origin,
            design=design,
            basis=HistoryBasis.from_dict(told) if told else None,
            cluster=self._cluster(),
            conditions=pushed_conditions(self.conditions, instance_type),
            warnings=notes,
        )
        return with_replays_that_meet(model)

    def _cluster(self) -> TrainingCluster | None:
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.operators.deciding import planned_cluster, training_cluster

        document = optional_document("cluster", self.cluster)
        if document:
            return training_cluster(ClusterHandle.from_dict(document))
        machine = self.machine or self._told.get("machine")
        return planned_cluster(machine) if machine else None

    def _terms(
        self, observations: list[Observation], settings: ModelSettings, design: Design | None
    ) -> tuple[str, ...]:
        from airflow_provider_ernest.design.problem import is_bayesian
        from airflow_provider_ernest.prediction.predict import default_terms
        from airflow_provider_ernest.prediction.terms import check_terms
        from airflow_provider_ernest.prediction.training import extend_terms

        terms = check_terms(settings.terms or default_terms(settings.method))
        extensions = check_terms(settings.extension_terms) if settings.extension_terms else ()
        if (
            not settings.terms
            and settings.method != AVERAGING
            and design
            and not is_bayesian(design.criterion)
        ):
            terms = tuple(name for name in design.terms if name not in extensions)
        if not extensions:
            return terms
        extended = extend_terms(
            observations,
            terms=terms,
            extensions=extensions,
            above_percent=settings.extend_above_percent,
            method=settings.method,
        )
        self.log.info("Terms added to the model: %s", ", ".join(extended[len(terms) :]) or "none")
        return extended

    def _judge(self, model: Model, goal: SizingGoal, *, is_history_alone: bool) -> None:
        from airflow_provider_ernest.prediction.training import check_adequacy

        for warning in model.warnings:
            self.log.warning("%s", warning)
        try:
            check_adequacy(model, max_error_percent=goal.max_error_percent)
        except InadequateModelError as error:
            # Where nobody asked for that, production is not kept from running by its own past: intervals are
            # as wide as its runs scatter.
            reaction = goal.on_inadequate or (WARN if is_history_alone else FAIL_TRAINING)
            if reaction == FAIL_TRAINING:
                raise
            self.log.warning("%s", error)


NOTHING_KNOWN = (
    "no run of the job is known yet. After its first run other sizes are known by its replay, after runs of "
    "several sizes by a model."
)

REPLACED = "The application was replaced during the sample runs: they may be of two versions."

NOT_TOGETHER = (
    "Past runs of the job do not go together with the sample runs and were left out: look whether they ran "
    "the same code on the same data."
)


def past_observations(
    history: Any, design: Design | None, samples: Sequence[Observation]
) -> list[Observation]:
    """The past runs of a `ReadHistoryOperator`, numbered behind the runs of the design."""
    from airflow_provider_ernest.documents.runs import Observation

    document = optional_document("history", history) or {}
    runs = [Observation.from_dict(each) for each in document.get("observations") or ()]
    planned = [run.index for run in design.experiments] if design else []
    first = 1 + max([*planned, *(run.index for run in samples)], default=-1)
    return [
        replace(run, index=index, instance_type=samples[0].instance_type if samples else run.instance_type)
        for index, run in enumerate(runs, start=first)
    ]


POOLED_JOBS = 50
"""More jobs add little, and each takes some hundredths of a second."""


def prior_of(
    store: ModelStore,
    settings: ModelSettings,
    observations: Sequence[Observation],
    *,
    job: str,
    instance_type: str,
    terms: tuple[str, ...],
    log: Any,
) -> AveragingPrior | None:
    """Return the prior learned from other jobs on such machines, adapted to these observations.

    None for the default prior, and for methods without one.
    """
    from airflow_provider_ernest.prediction.prior import pooled_prior, with_past_runs

    if settings.method != AVERAGING or not settings.learn_from_other_jobs:
        return None
    models = store.latest_of_jobs(instance_type, limit=POOLED_JOBS, other_than=job)
    if not models:
        return None
    try:
        prior = pooled_prior([model.observations for model in models], terms=terms)
    except InvalidParameterError as error:
        # A formula that suits this job's runs need not suit theirs.
        log.warning("Nothing is learned from other jobs: %s", error)
        return None
    beliefs = ", ".join(f"{name} {as_percent(prior.belief_in(name).probability)}" for name in terms)
    log.info("Learned from %d models of other jobs on %s: %s", len(models), instance_type, beliefs)
    return with_past_runs(prior, observations)
