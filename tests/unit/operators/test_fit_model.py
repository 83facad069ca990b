from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.model.documents import Design, Experiment, Model
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.locations import store_root


@pytest.fixture
def application(tmp_path: Path) -> str:
    job = tmp_path / "job.py"
    job.write_text("abc")
    return str(job)


def fit_operator(observations, application: str, **changes) -> FitModelOperator:
    fields = {"job": "enrich", "application": application, "input_path": "/data/flights", **changes}
    return FitModelOperator(task_id="fit", observations=[one.to_dict() for one in observations], **fields)


def test_model_is_stored_with_all_that_it_came_from(context, ti, observations, application):
    model = Model.from_dict(fit_operator(observations, application).execute(context))

    stored = ModelStore(store_root()).latest("enrich", "local")
    assert stored == model
    assert Path(ti.pushed["stored_at"]).exists()
    assert stored.observations == tuple(observations)
    assert stored.input_path == "/data/flights"
    # The example of FIPS 180-2, appendix B.1: the hash of the three letters abc.
    assert stored.artifact_sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_missing_runs_are_named_and_the_rest_is_fitted(context, observations, application, capsys):
    design = Design(
        experiments=tuple(
            Experiment(index=one.index, machines=one.machines, scale=one.scale, partitions=10)
            for one in observations
        ),
        terms=("1", "scale/machines", "log(machines)", "machines"),
        criterion="A",
        efficiency=1.0,
        cost=1.0,
        budget=1.0,
        cost_unit="runs",
        candidates=7,
    ).to_dict()

    fitted = fit_operator(observations[:-1], application, design=design).execute(context)

    assert len(fitted["observations"]) == len(observations) - 1
    assert "Run 6 (4 machines, 10.00 % of the input) is missing" in capsys.readouterr().out


def test_too_few_observations_fail_without_retry(context, observations, application):
    with pytest.raises(AirflowFailException, match=r"TooFewObservationsError: .*3"):
        fit_operator(observations[:3], application).execute(context)


def test_no_observation_at_all_is_no_crash(context, application):
    with pytest.raises(AirflowFailException, match="TooFewObservationsError"):
        fit_operator([], application).execute(context)


def test_an_inadequate_model_is_stored_and_fails_or_warns(context, observations, application, capsys):
    strict = {"max_error_percent": 1e-9, "terms": ("scale/machines",)}

    with pytest.raises(AirflowFailException, match="InadequateModelError"):
        fit_operator(observations, application, **strict).execute(context)
    assert ModelStore(store_root()).latest("enrich", "local") is not None

    fit_operator(observations, application, on_inadequate="warn", **strict).execute(context)
    assert "leave-one-out" in capsys.readouterr().out


def test_a_missing_application_is_named(context, observations, tmp_path):
    with pytest.raises(AirflowFailException, match=r"MissingResourceError: .*no-such-job.jar"):
        fit_operator(observations, str(tmp_path / "no-such-job.jar")).execute(context)


def test_an_unknown_reaction_is_refused(context, observations, application):
    with pytest.raises(AirflowFailException, match=r'on_inadequate=.*Use "fail" or "warn"'):
        fit_operator(observations, application, on_inadequate="ignore").execute(context)
