"""The seconds of a run by OptEx's phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.document import Document


@dataclass(frozen=True, kw_only=True)
class PhaseSeconds(Document):
    """The seconds that a run spends in each phase (OptEx, section 3).

    Attributes:
        initialisation_seconds: starting the application.
        preparation_seconds: preparing the job, before its tasks start.
        variable_sharing_seconds: sending broadcast variables to the machines.
        computation_seconds: running tasks; the paper's execution phase.
        communication_seconds: fetching and writing what tasks exchange.
    """

    initialisation_seconds: float
    preparation_seconds: float
    variable_sharing_seconds: float
    computation_seconds: float
    communication_seconds: float

    def __post_init__(self) -> None:
        """Refuse NaN and negative times."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise InvalidParameterError(name, value, "is not a finite number of at least 0")

    @property
    def total_seconds(self) -> float:
        """The run's time: phases do not overlap."""
        return float(sum(getattr(self, name) for name in self.__dataclass_fields__))
