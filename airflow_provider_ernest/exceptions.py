"""Every error that this package raises on purpose.

The tree (indentation is inheritance)::

    ErnestError                     anything of ours; says what is wrong and what to change
      InvalidParameterError         a parameter's value cannot work (also a ValueError)
      InvalidDocumentError          a document from XCom or the store cannot be read (also a ValueError)
      MissingResourceError          something the user named does not exist: input, application, connection
      DesignError                   no experiment design satisfies the bounds and the budget
      FitError                      the observations do not determine a model
        TooFewObservationsError     fewer observations than the terms need
      InadequateModelError          the model's cross-validation error exceeds the threshold
      InfeasibleGoalError           no configuration reaches the deadline or the budget
      ClusterError                  a cluster could not be started, reached or stopped
        ClusterStartError           it did not become ready
        ClusterLostError            it ended while it was needed
      SampleRunError                a sample run failed or did not run as designed
      EventLogError                 an event log of Spark cannot be read, or tells too little
      StoreError                    the model store cannot be read or written

Errors for which another attempt with the same input cannot help have ``retryable = False``: the
operators then fail the task at once instead of paying for its retries.
"""

from __future__ import annotations

import copyreg
from typing import Any, ClassVar

from airflow_provider_ernest.privacy import without_credentials


class ErnestError(Exception):
    """Base of all errors of this package, with what the user can change as the remedy.

    Credentials in addresses are left out of its text, which logs, XComs and pages show.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "") -> None:
        self.message = without_credentials(message)
        super().__init__(f"{self.message} {remedy}".rstrip())
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """What copies it: not by its parameters, of which it keeps no more than the text that they make."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InvalidParameterError(ErnestError, ValueError):
    """A parameter has a value that cannot work.

    The problem continues a sentence that begins with the value, the remedy says what to write instead.
    """

    def __init__(self, parameter: str, value: object, problem: str, *, remedy: str = "") -> None:
        super().__init__(f"{parameter}={value!r} {problem}.", remedy=remedy)
        self.parameter = parameter
        self.value = value
        self.problem = problem

    def called(self, name: str) -> InvalidParameterError:
        """The same error of the parameter by another name: ``--max-scale`` for ``max_scale``."""
        return InvalidParameterError(name, self.value, self.problem, remedy=self.remedy)


class InvalidDocumentError(ErnestError, ValueError):
    """A document does not have the form that its type demands."""


class MissingResourceError(ErnestError):
    """An input path, an application or a connection that the user named does not exist."""


class DesignError(ErnestError):
    """No experiment design satisfies the bounds and the budget."""


class FitError(ErnestError):
    """The observations do not determine a model."""


class TooFewObservationsError(FitError):
    """There are fewer observations than the terms of the model need."""


class InadequateModelError(ErnestError):
    """The model's cross-validation error is above the user's threshold."""


class InfeasibleGoalError(ErnestError):
    """No allowed configuration meets the deadline or the budget.

    It carries the `Alternative` most probable to keep to the goal, and the `Reachable` deadline and budget,
    each within the other where that is stated; None if there is none.
    """

    def __init__(
        self, message: str, *, remedy: str, most_probable: Any, earliest_deadline: Any, least_budget: Any
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.most_probable = most_probable
        self.earliest_deadline = earliest_deadline
        self.least_budget = least_budget


class ClusterError(ErnestError):
    """A cluster could not be started, reached or stopped."""

    retryable = True


class ClusterStartError(ClusterError):
    """A cluster did not become ready."""


class ClusterLostError(ClusterError):
    """A cluster ended while it was needed."""


class SampleRunError(ErnestError):
    """A sample run failed, or did not run on the machines or the input that it was designed for."""

    retryable = True


class EventLogError(ErnestError):
    """An event log of Spark cannot be read, or tells too little."""


class StoreError(ErnestError):
    """The model store cannot be read or written."""

    retryable = True
