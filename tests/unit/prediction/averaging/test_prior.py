"""The prior: what it says of a term, what it refuses, and the way through JSON."""

import json
import math
from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import AveragingPrior, TermBelief
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.terms import DICTIONARY

from .jobs import PLAIN, runs_of

NAN, INF = math.nan, math.inf


def test_every_term_of_the_dictionary_has_a_belief_of_its_own():
    assert {belief.name for belief in AveragingPrior().beliefs} == set(DICTIONARY)


def test_a_term_that_is_not_named_gets_the_common_probability():
    belief = AveragingPrior(other_probability=0.4).belief_in("scale^2/machines")

    assert belief == TermBelief(name="scale^2/machines", probability=0.4)


@pytest.mark.parametrize(
    "change",
    [
        {"driver_share": -0.1},
        {"driver_share": 1.1},
        {"driver_share": NAN},
        {"disturbed_run": 1.0},
        {"disturbed_run": NAN},
        {"memory_cut": (0.1, 1.0)},
        {"memory_cut": (-0.1,)},
        {"other_probability": 0.0},
        {"other_probability": 1.0},
        {"largest_share": 0.0},
        {"largest_share": INF},
        {"machines_octaves": 0.0},
        {"scale_octaves": -1.0},
        {"disturbed_spread": NAN},
        {"noise": ()},
        {"noise": (0.0, 0.1), "noise_weights": (1.0, 1.0)},
        {"noise": (NAN,), "noise_weights": (1.0,)},
        {"noise": (0.1,)},
        {"noise_weights": (1.0, 1.0, 1.0, 1.0, 0.0)},
        {"noise_weights": (1.0, 1.0, 1.0, 1.0, NAN)},
        {"discrepancy": (-0.1,), "discrepancy_weights": (1.0,)},
        {"discrepancy_weights": (1.0,)},
        {"discrepancy_weights": (INF, 1.0, 1.0, 1.0)},
    ],
    ids=str,
)
def test_a_prior_that_could_spoil_every_fit_is_refused_by_name(change):
    with pytest.raises(InvalidParameterError, match="|".join(change)):
        AveragingPrior(**change)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, NAN])
def test_no_belief_is_certain(probability):
    with pytest.raises(InvalidParameterError, match=r"probability of 'scale'.*not between 0 and 1"):
        TermBelief(name="scale", probability=probability)


@pytest.mark.parametrize("seconds", [0.0, -1.0, NAN])
def test_a_belief_in_impossible_seconds(seconds):
    with pytest.raises(InvalidParameterError, match="largest_seconds"):
        TermBelief(name="machines", probability=0.5, largest_seconds=seconds)


@pytest.mark.parametrize(
    "change", [{"memory_cut": ()}, {"memory_cut": (0.0, 0.0), "disturbed_run": 0.0}], ids=str
)
@pytest.mark.filterwarnings("error")
def test_where_no_run_can_be_disturbed_none_is_suspected(change):
    prior = AveragingPrior(**change)
    runs = runs_of(PLAIN, noise=0.02)
    runs["seconds"][0] *= 1.7

    averaging = TermAveraging(prior=prior).fit(**runs)

    assert averaging.disturbed_.max() == 0.0 or prior.disturbed_run > 0


def test_a_prior_survives_json():
    prior = AveragingPrior(
        beliefs=(TermBelief(name="1", probability=0.1 + 0.2, largest_seconds=7.5),),
        driver_share=0.0,
        memory_cut=(0.2,),
    )

    stored = json.loads(json.dumps(prior.to_dict(), allow_nan=False))

    assert AveragingPrior.from_dict(stored) == prior


def test_a_stored_prior_is_checked_too():
    stored = {**AveragingPrior().to_dict(), "driver_share": 7.0}

    with pytest.raises(InvalidDocumentError, match="driver_share"):
        AveragingPrior.from_dict(stored)


def test_a_stronger_belief_in_a_term_makes_it_more_probable_afterwards():
    runs = runs_of({"1": 8.0, "scale/machines": 200.0, "scale": 3.0}, noise=0.05, seed=4)
    seldom, often = (
        AveragingPrior(beliefs=(*AveragingPrior().beliefs, TermBelief(name="scale", probability=probability)))
        for probability in (0.02, 0.9)
    )

    found = [TermAveraging(prior=prior).fit(**runs).probabilities_[1] for prior in (seldom, often)]

    assert found[0] < found[1]
    assert replace(often, driver_share=0.0).belief_in("scale").probability == 0.9
