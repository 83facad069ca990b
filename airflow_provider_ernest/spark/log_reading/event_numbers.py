"""The whole numbers of events. What Spark never writes is malformed: no column or date could hold it."""

from __future__ import annotations

from typing import Annotated

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
"""An id, a duration, a size: as JSON can tell it exactly."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
"""Of tasks, as Spark's own integers."""

Moment = Annotated[int, msgspec.Meta(ge=-1, le=253_402_300_799_999)]
"""Milliseconds since the epoch, to the year 9999; -1 where Spark knows none."""

Cores = Annotated[int, msgspec.Meta(ge=0, le=65_536)]
"""Of an executor."""
