"""What a prediction may be asked for in an address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from airflow_provider_ernest.choices import CONFIDENCE, OBJECTIVES
from airflow_provider_ernest.plugin.prediction_request import (
    MOST_MACHINES,
    MOST_RUNS,
    ONLY_MACHINES,
    BilledTerms,
    PredictionRequest,
)

Positive = Query(gt=0, allow_inf_nan=False)
NotNegative = Query(ge=0, allow_inf_nan=False)
Machines = Query(ge=1, le=MOST_MACHINES)


def billed_terms(
    increment_seconds: Annotated[
        float, Query(gt=0, allow_inf_nan=False, description="Machines are billed in whole multiples of it.")
    ] = ONLY_MACHINES.increment_seconds,
    minimum_seconds: Annotated[
        float, Query(ge=0, allow_inf_nan=False, description="The least that is billed for a machine.")
    ] = ONLY_MACHINES.minimum_seconds,
    boot_seconds: Annotated[
        float,
        Query(
            ge=0,
            allow_inf_nan=False,
            description="From launch to submission: billed, and part of what the deadline allows.",
        ),
    ] = ONLY_MACHINES.boot_seconds,
    master_price_per_hour: Annotated[float, NotNegative] = ONLY_MACHINES.master_price_per_hour,
    volume_gigabytes: Annotated[float, NotNegative] = ONLY_MACHINES.volume_gigabytes,
    volume_price_per_gigabyte_month: Annotated[
        float, NotNegative
    ] = ONLY_MACHINES.volume_price_per_gigabyte_month,
    training_dollars: Annotated[
        float, Query(ge=0, allow_inf_nan=False, description="What all sample runs cost.")
    ] = ONLY_MACHINES.training_dollars,
    expected_runs: Annotated[
        int | None,
        Query(
            ge=1,
            le=MOST_RUNS,
            description="Production runs that share training_dollars; without it these are left out.",
        ),
    ] = ONLY_MACHINES.expected_runs,
) -> BilledTerms:
    """What is billed besides the hours of the machines.

    Raises:
        InvalidParameterError: a number is beyond all measure.
    """
    return BilledTerms(
        increment_seconds=increment_seconds,
        minimum_seconds=minimum_seconds,
        boot_seconds=boot_seconds,
        master_price_per_hour=master_price_per_hour,
        volume_gigabytes=volume_gigabytes,
        volume_price_per_gigabyte_month=volume_price_per_gigabyte_month,
        training_dollars=training_dollars,
        expected_runs=expected_runs,
    )


def prediction_request(
    billed: Annotated[BilledTerms, Depends(billed_terms)],
    scale: Annotated[float, Positive] = 1.0,
    iterations: Annotated[int | None, Query(ge=1)] = None,
    deadline_seconds: Annotated[float | None, Positive] = None,
    budget_dollars: Annotated[float | None, Positive] = None,
    confidence: Annotated[
        float, Query(gt=0, lt=1, description="The probability with which deadline and budget are to be kept.")
    ] = CONFIDENCE,
    objective: Annotated[
        str | None,
        Query(
            description="What is best; without it the cheapest within the deadline, or the fastest within "
            "the budget.",
            json_schema_extra={"enum": list(OBJECTIVES)},
        ),
    ] = None,
    price_per_hour: Annotated[float | None, Positive] = None,
    min_machines: Annotated[int, Machines] = 1,
    max_machines: Annotated[int, Machines] = 16,
) -> PredictionRequest:
    """What a model is asked.

    Raises:
        InvalidParameterError: a number is beyond all measure.
    """
    return PredictionRequest(
        scale=scale,
        iterations=iterations,
        deadline_seconds=deadline_seconds,
        budget_dollars=budget_dollars,
        confidence=confidence,
        objective=objective,
        price_per_hour=price_per_hour,
        billed=billed,
        min_machines=min_machines,
        max_machines=max_machines,
    )
