"""What is told of a log besides its events: how it lies there, and what of it could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_provider_ernest.spark.log_reading.bounds import Bounds

_MOST_PROBLEMS = 100


@dataclass(kw_only=True)
class Notes:
    """Collects what a reader meets on its way.

    Attributes:
        bounds: of what may be kept, and how long may be read.
        too_long_lines: passed over for their length.
        unreadable_lines: that were no event.
        problems: what else of the log could not be read, in sentences.
    """

    bounds: Bounds = field(default_factory=Bounds)
    too_long_lines: int = 0
    unreadable_lines: int = 0
    problems: list[str] = field(default_factory=list)

    def tell(self, problem: str) -> None:
        """Add a problem, once."""
        if len(self.problems) < _MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)
