"""What the JSON API answers, for its description. Tests hold the answers to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Interval = tuple[float, float]


class Answer(BaseModel):
    """Base of the answers."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Refusal(Answer):
    """Why there is no answer."""

    detail: str = Field(description="What is wrong, and what to do.")


REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Refusal, "description": "Nobody is logged in."},
    403: {"model": Refusal, "description": "The user may not read this, if it exists at all."},
}


def answers(model: type[Answer]) -> dict[str, Any]:
    """How a route describes its answer, for its decorator."""
    # As a description only: the answers are built by this package, and checking a thousand observations on
    # each request would tell their readers nothing.
    return {
        "responses": {
            200: {"model": model, "description": "The answer."},
            404: {"model": Refusal, "description": "There is no such thing."},
            422: {"model": Refusal, "description": "A parameter cannot be; says which and why."},
            503: {"model": Refusal, "description": "The model store cannot be read."},
        }
    }


class Origin(Answer):
    """The task instance that made something."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = Field(description="-1 where the task is not mapped.")
    try_number: int


class TypeMachines(Answer):
    """Machines of a type among several."""

    machines: int
    instance_type: str


class ModelRow(Answer):
    """The newest model of a job on a type of machine."""

    job: str
    instance_type: str
    model_id: str
    created_at: str
    age_seconds: float | None
    method: str
    terms: list[str]
    median_error_percent: float | None = Field(description="Leave-one-out, absolute.")
    max_error_percent: float | None
    observations: int
    artifact: str | None
    artifact_sha256: str | None
    dag_id: str | None = Field(description="Null where the command line made it.")
    state: str = Field(description='"fresh", "stale" or "drifting" (its predictions have missed too often).')
    state_reason: str = Field(description="Why, and what to do; empty when fresh.")
    state_cause: str = Field(
        description="code, data, settings, cluster, unexplained or age; empty when fresh."
    )
    production_runs: int
    versions: int


class StateCounts(Answer):
    """How many models are in each state."""

    fresh: int
    stale: int
    drifting: int


class Models(Answer):
    """A page of the list of models."""

    total: int = Field(description="Models that match search and state.")
    offset: int
    limit: int
    counts: StateCounts = Field(description="Of the models that match the search.")
    rows: list[ModelRow]


class SampleRun(Answer):
    """An observation."""

    index: int
    machines: int
    scale: float
    seconds: float = Field(description="Without start-up.")
    startup_seconds: float
    waited_seconds: float
    cost: float | None
    iterations: int | None
    application_id: str | None
    event_log: str | None
    hosts: list[str]
    history_url: str | None
    origin: Origin | None
