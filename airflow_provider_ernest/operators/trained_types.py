"""The types of machines that were to be trained: for each what came of it, its model or why there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.operators.rendered import NOTHING, optional_document, optional_text

UNKNOWN = "unknown"
"""The name of a type that neither a model, a cluster nor the user tells."""

UNTOLD = "its training failed or was skipped (see the tasks sample_run and fit_model)"

NO_CLUSTER = "Its cluster did not start (see the tasks find_model, design, check_cluster and create_cluster)"


@dataclass(frozen=True, kw_only=True)
class TrainedType:
    """A type of machine that was to be trained.

    Attributes:
        instance_type: its name.
        model: None where there is none.
        handle: of the cluster of that type; None where there is none.
        failure: why there is no model; empty where nothing tells.
        lacks_cluster: it was to have one, and has none.
        reuse: why its model is an earlier run's; empty where it was trained now.
        input_growth: how many times the input that the model was trained for today's is.
    """

    instance_type: str
    model: Model | None
    handle: ClusterHandle | None
    failure: str = ""
    lacks_cluster: bool = False
    reuse: str = ""
    input_growth: float = 1.0

    @property
    def why_missing(self) -> str:
        """Why there is no model, to end a sentence."""
        if self.lacks_cluster:
            # Of which the task that fits the model knows only that there were no runs.
            return f"{self.failure} {NO_CLUSTER}" if self.failure else NO_CLUSTER[0].lower() + NO_CLUSTER[1:]
        return self.failure or UNTOLD


def trained_types(*, models: Any, clusters: Any, failures: Any) -> list[TrainedType]:
    """What came of each training; at least one entry, which may have nothing.

    Args:
        models: one `Model` document or one for each type, None where there is none.
        clusters: likewise the `ClusterHandle` documents, also as JSON texts.
        failures: likewise the texts that the trainings failed with; a mapping names the types, too.

    Raises:
        InvalidParameterError, InvalidDocumentError: one is no document, or a cluster is none.
    """
    names: list[str] = []
    if isinstance(failures, Mapping):
        names, failures = [str(name) for name in failures], list(failures.values())
    texts = [optional_text(text) or "" for text in _listed(failures)]
    read = [_model(document) for document in _listed(models)]
    fitted = [model for model, _ in read]
    handles = [_handle(document) for document in _listed(clusters)]
    count = max(1, len(names), len(fitted), len(texts), len(handles) if len(fitted) < 2 else 0)
    if len(handles) not in (0, count):
        handles = _by_type(fitted, handles)
    return [
        _trained(
            model=_at(fitted, index, None),
            handle=_at(handles, index, None),
            failure=_at(texts, index, "") or _at(read, index, (None, ""))[1],
            name=_at(names, index, UNKNOWN),
            lacks_cluster=index < len(handles) and handles[index] is None,
        )
        for index in range(count)
    ]


def _trained(
    *, model: Model | None, handle: ClusterHandle | None, failure: str, name: str, lacks_cluster: bool
) -> TrainedType:
    told_by = model or handle
    return TrainedType(
        instance_type=told_by.instance_type if told_by else name,
        model=model,
        handle=handle,
        failure=failure,
        lacks_cluster=lacks_cluster,
    )


def _by_type(models: Sequence[Model | None], handles: Sequence[ClusterHandle | None]) -> list[Any]:
    """For each model the handle of a cluster of its type, where they are not given one for each."""
    known = {handle.instance_type: handle for handle in handles if handle}
    return [known.get(model.instance_type) if model else None for model in models]


def _model(document: Any) -> tuple[Model | None, str]:
    """A model, or why it cannot be read: it counts as none then, for there may be others, or a fallback."""
    given = optional_document("model", document)
    try:
        return (Model.from_dict(given) if given else None), ""
    except InvalidDocumentError as error:
        return None, str(error)


def _handle(document: Any) -> ClusterHandle | None:
    given = optional_document("cluster", document)
    return ClusterHandle.from_dict(given) if given else None


def _listed(value: Any) -> list[Any]:
    """One for each; a single one may be given as such."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return [] if value in NOTHING else [value]


def _at(values: Sequence[Any], index: int, otherwise: Any) -> Any:
    return values[index] if index < len(values) else otherwise
