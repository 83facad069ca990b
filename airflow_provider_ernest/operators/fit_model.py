"""From observations to a stored model with its cross-validation errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.rendered import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.model.documents import Design, Model, Observation
    from airflow_provider_ernest.specification import Number


class FitModelOperator(BaseOperator):
    """Fit the model to the observations, cross-validate it, store it (Ernest, sections 3.1 and 3.3).

    Give it ``trigger_rule="all_done_min_one_success"``: it goes on without the runs that failed where
    those that are left determine the model, and says which are missing.

    Returns the `Model` document, and pushes its place in the store under the key ``stored_at``.

    Args:
        observations: the `Observation` documents, output of the mapped sample runs.
        job: the job's name in the store.
        application: path of the JAR or .py file; its SHA-256 tells later whether the code has changed.
        input_path: the production input.
        design: the `Design` document, to tell which runs are missing; may be None.
        instance_type: the machines' type; None to take the observations'.
        terms: names of the model's terms; None for the design's, or Ernest's four.
        weighting: "relative" (errors count by their share of the run time) or "absolute" (the original).
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
        "design",
        "instance_type",
        "weighting",
        "max_error_percent",
        "on_inadequate",
        "store",
    )
    ui_color = "#d5e4f7"

    def __init__(
        self,
        *,
        observations: Any,
        job: str,
        application: str,
        input_path: str,
        design: Any = None,
        instance_type: str | None = None,
        terms: Sequence[str] | None = None,
        weighting: str = "relative",
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
        self.design = design
        self.instance_type = instance_type
        self.terms = terms
        self.weighting = weighting
        self.max_error_percent = max_error_percent
        self.on_inadequate = on_inadequate
        self.store = store

    def execute(self, context: Context) -> dict[str, Any]:
        """Fit, validate, store, judge."""
        from airflow_provider_ernest.model.documents import Design
        from airflow_provider_ernest.model.store import ModelStore
        from airflow_provider_ernest.model.tables import model_table

        with no_vain_retries():
            self._check_on_inadequate()
            observations = self._observations()
            design = Design.from_dict(self.design) if self.design else None
            if design is not None:
                self._name_missing(design, observations)
            model = self._train(observations, designed_for=design.terms if design else None)
            stored_at = ModelStore(store_root(self.store)).save(model)
            self.log.info("Model %s is stored at %s", model.model_id, stored_at)
            context["ti"].xcom_push(key="stored_at", value=str(stored_at))
            for line in model_table(model):
                self.log.info("%s", line)
            self._judge(model)
        return model.to_dict()

    def _check_on_inadequate(self) -> None:
        from airflow_provider_ernest.exceptions import InvalidParameterError

        if self.on_inadequate not in ("fail", "warn"):
            raise InvalidParameterError(
                "on_inadequate", self.on_inadequate, "is unknown", remedy='Use "fail" or "warn".'
            )

    def _observations(self) -> list[Observation]:
        from airflow_provider_ernest.model.documents import Observation

        return [Observation.from_dict(document) for document in self.observations or () if document]

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

    def _train(self, observations: list[Observation], *, designed_for: tuple[str, ...] | None) -> Model:
        from airflow_provider_ernest.model.terms import ERNEST
        from airflow_provider_ernest.model.training import train
        from airflow_provider_ernest.spark.artifact import sha256_of

        types = sorted({observation.instance_type for observation in observations})
        return train(
            observations,
            job=self.job,
            instance_type=self.instance_type or ", ".join(types) or "local",
            terms=tuple(self.terms or designed_for or ERNEST),
            weighting=self.weighting,
            artifact=self.application,
            artifact_sha256=sha256_of(self.application),
            input_path=self.input_path,
        )

    def _judge(self, model: Model) -> None:
        from airflow_provider_ernest.exceptions import InadequateModelError
        from airflow_provider_ernest.model.training import check_adequacy

        for warning in model.warnings:
            self.log.warning("%s", warning)
        try:
            check_adequacy(model, max_error_percent=number("max_error_percent", self.max_error_percent))
        except InadequateModelError as error:
            if self.on_inadequate == "fail":
                raise
            self.log.warning("%s", error)
