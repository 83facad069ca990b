"""The seconds of a profile's stages with as many digits as they can be known to.

A profile may have a hundred stages of fifty numbers each, and Spark tells milliseconds.
"""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.model.run_profile import StageProfile

DECIMALS = 3


def rounded(stage: StageProfile) -> StageProfile:
    """The stage with all of its seconds rounded to a millisecond; rounding again changes nothing."""
    return StageProfile.from_dict(_rounded(stage.to_dict()))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return value
