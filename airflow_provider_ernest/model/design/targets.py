"""The configurations that predictions will be asked for: the purpose of the sample runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Configurations of the production run among which one will be chosen.

    Attributes:
        machines: t numbers of machines.
        scale: t shares of the target input, or one for all; 1.0 is the production input of today.

    Example:
        >>> Targets(machines=range(8, 65, 8)).columns()[0].tolist()
        [8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 64.0]
    """

    machines: Sequence[int]
    scale: Sequence[float] | float = 1.0

    def __post_init__(self) -> None:
        """Refuse configurations that cannot be."""
        self.columns()

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Machines and scale as arrays of one length, shape (t,) each.

        Raises:
            InvalidParameterError: a value does not fit, or the lengths differ.
        """
        return machines_and_scale(machines=list(self.machines), scale=self.scale)
