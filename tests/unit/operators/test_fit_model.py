import json
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.documents import AveragingPrior, Design, Experiment, Model, Observation, Origin
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store_location import store_root
from tests.unit.operators.submissions import handle


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


@pytest.mark.parametrize("unreadable", ["local:///opt/job.py", "unheard-of://code/job.py"])
def test_runs_that_are_paid_for_are_fitted_though_only_the_machines_can_read_the_code(
    context, observations, unreadable, capsys
):
    fit_operator(observations, unreadable).execute(context)

    stored = ModelStore(store_root()).latest("enrich", "local")
    assert (stored.artifact, stored.artifact_sha256) == (unreadable, None)
    assert f"A change of '{unreadable}' will not be noticed" in capsys.readouterr().out


def test_a_local_application_that_is_gone_is_named(context, observations, tmp_path):
    with pytest.raises(AirflowFailException, match=r"Cannot read the application .*gone\.py"):
        fit_operator(observations, str(tmp_path / "gone.py")).execute(context)


def design_of(observations, *, terms=ERNEST, criterion="A") -> dict[str, Any]:
    return Design(
        experiments=tuple(
            Experiment(index=one.index, machines=one.machines, scale=one.scale, partitions=10)
            for one in observations
        ),
        terms=terms,
        criterion=criterion,
        efficiency=1.0,
        cost=1.0,
        budget=1.0,
        cost_unit="runs",
        candidates=7,
    ).to_dict()


def names(model: dict[str, Any]) -> tuple[str, ...]:
    return tuple(term["name"] for term in model["terms"])


@pytest.mark.parametrize("as_text", [False, True])
def test_what_the_runs_came_from_is_kept_in_the_model(context, ti, observations, application, as_text):
    cluster = handle(machines=3, instance_type="m5.large")
    design = design_of(observations)

    fit_operator(
        observations, application, design=design, cluster=json.dumps(cluster) if as_text else cluster
    ).execute(context)

    stored = ModelStore(store_root()).latest("enrich", "local")
    assert stored.design == Design.from_dict(design)
    assert stored.cluster.name == "ernest-1"
    assert [machine.host for machine in stored.cluster.machines] == ["10.0.0.0", "10.0.0.1", "10.0.0.2"]
    assert stored.origin == Origin(dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id)


@pytest.mark.parametrize("nothing", [None, "None", "null", ""])
def test_a_cluster_that_is_not_known_is_no_obstacle(context, observations, application, nothing):
    fitted = fit_operator(observations, application, cluster=nothing).execute(context)
    assert fitted["cluster"] is None


def test_a_cluster_that_is_none_is_named(context, observations, application):
    with pytest.raises(AirflowFailException, match=r"cluster='my-cluster' is no JSON"):
        fit_operator(observations, application, cluster="my-cluster").execute(context)


def test_missing_runs_are_named_and_the_rest_is_fitted(context, observations, application, capsys):
    design = design_of(observations)

    fitted = fit_operator(observations[:-1], application, design=design).execute(context)

    assert len(fitted["observations"]) == len(observations) - 1
    assert "Run 6 (4 machines, 10.00 % of the input) is missing" in capsys.readouterr().out


def test_too_few_observations_fail_without_retry(context, observations, application):
    with pytest.raises(AirflowFailException, match=r"TooFewObservationsError: .*2"):
        fit_operator(observations[:2], application).execute(context)
    with pytest.raises(AirflowFailException, match=r"TooFewObservationsError: .*3"):
        fit_operator(observations[:3], application, method="classic").execute(context)


def test_without_terms_averaging_goes_over_all_that_spark_jobs_have(context, observations, application):
    fitted = fit_operator(observations, application, design=design_of(observations)).execute(context)

    assert fitted["method"] == "averaging"
    assert names(fitted) == DICTIONARY


@pytest.mark.parametrize("method", ["relative", "classic"])
def test_other_methods_fit_the_terms_that_the_design_determines(context, observations, application, method):
    """They are exact here, for the job's time is a sum of these terms."""
    terms = ("1", "scale/machines", "machines")
    design = design_of(observations, terms=terms, criterion="I")

    fitted = fit_operator(observations, application, method=method, design=design).execute(context)

    assert names(fitted) == terms
    assert [term["coefficient"] for term in fitted["terms"]] == pytest.approx([2.0, 120.0, 1.5])


def test_a_bayesian_design_says_only_which_terms_there_may_be(context, observations, application):
    design = design_of(observations, terms=DICTIONARY, criterion="bayesian I")

    fitted = fit_operator(observations, application, method="relative", design=design).execute(context)

    assert names(fitted) == ERNEST


@pytest.mark.parametrize("method", ["averaging", "relative"])
def test_terms_of_the_users_win(context, observations, application, method):
    terms = ("1", "scale/machines", "max(machines - 1, 0)")
    fitted = fit_operator(
        observations, application, method=method, terms=terms, design=design_of(observations)
    ).execute(context)

    assert names(fitted) == terms


def test_terms_are_added_only_above_the_threshold(context, observations, application, capsys):
    few = {
        "method": "relative",
        "terms": ("1", "scale/machines"),
        "extension_terms": ["scale", "machines"],
        "on_inadequate": "warn",
    }
    extended = fit_operator(observations, application, extend_above_percent="1", **few).execute(context)
    said = capsys.readouterr().out
    left = fit_operator(observations, application, extend_above_percent=200, **few).execute(context)

    assert names(extended) == ("1", "scale/machines", "machines"), "what the job really does"
    assert "Terms added to the model: machines" in said
    assert names(left) == few["terms"]


def test_averaging_is_not_extended(context, observations, application):
    with pytest.raises(AirflowFailException, match=r"method='averaging' weighs all its terms by itself"):
        fit_operator(observations, application, extension_terms=["scale"]).execute(context)


def jobs_that_do_not_spread(*, hosts=()) -> list[list[Observation]]:
    """Eight jobs most of whose work does not spread, seen so well that there is no doubt of it."""
    return [
        [
            Observation(
                index=index,
                machines=machines,
                scale=scale,
                seconds=1.0 + work * scale * (2 + 1 / machines),
                hosts=hosts,
            )
            for index, (machines, scale) in enumerate((m, s) for m in (1, 2, 4, 8) for s in (0.1, 0.3, 1.0))
        ]
        for work in range(100, 900, 100)
    ]


def store_models(jobs: list[list[Observation]]) -> None:
    for number, runs in enumerate(jobs):
        ModelStore(store_root()).save(train(runs, job=f"job {number}"))


def prior_of(model: dict[str, Any]) -> AveragingPrior:
    return AveragingPrior.from_dict(model["prior"])


def test_other_jobs_on_such_machines_tell_which_terms_to_expect(context, observations, application, capsys):
    store_models(jobs_that_do_not_spread())

    alone = fit_operator(observations, application, learn_from_other_jobs=False).execute(context)
    assert prior_of(alone) == AveragingPrior()
    capsys.readouterr()
    taught = fit_operator(observations, application).execute(context)
    (said,) = (line for line in capsys.readouterr().out.splitlines() if "Learned from" in line)

    scale = prior_of(taught).belief_in("scale").probability
    assert scale > 0.5 > AveragingPrior().belief_in("scale").probability
    assert "models of other jobs on local (8)" in said
    assert f"scale {scale:.0%}" in said
    assert "driver takes a machine with a probability of" in said


def test_a_jobs_own_models_teach_it_nothing(context, observations, application):
    fit_operator(observations, application).execute(context)

    again = fit_operator(observations, application).execute(context)

    assert prior_of(again) == AveragingPrior()


def test_executors_teach_nothing_about_machines_that_were_paid_for(context, observations, application):
    """Executors that registered are never the driver's; machines of a price list may be."""
    store_models(jobs_that_do_not_spread(hosts=("10.0.0.1",)))

    taught = prior_of(fit_operator(observations, application).execute(context))

    assert taught.belief_in("scale").probability > 0.5
    assert taught.driver_share == pytest.approx(AveragingPrior().driver_share)


def test_a_formula_that_other_jobs_runs_do_not_suit_is_no_obstacle(
    context, observations, application, capsys
):
    store_models(jobs_that_do_not_spread()[:1])
    negative_on_eight_machines = ("1", "scale/machines", "5 - machines")

    fitted = fit_operator(observations, application, terms=negative_on_eight_machines).execute(context)

    assert prior_of(fitted) == AveragingPrior()
    assert "Nothing is learned from other jobs" in capsys.readouterr().out


def test_methods_of_given_terms_learn_nothing_from_other_jobs(context, observations, application):
    store_models(jobs_that_do_not_spread()[:1])

    assert fit_operator(observations, application, method="relative").execute(context)["prior"] is None


def test_an_unknown_method_is_refused(context, observations, application):
    with pytest.raises(AirflowFailException, match=r"method=\'best\'.*averaging"):
        fit_operator(observations, application, method="best").execute(context)


def test_no_observation_at_all_is_no_crash(context, application):
    with pytest.raises(AirflowFailException, match="TooFewObservationsError"):
        fit_operator([], application).execute(context)


def test_an_inadequate_model_is_stored_and_fails_or_warns(context, observations, application, capsys):
    strict = {"max_error_percent": 1e-9, "method": "relative", "terms": ("scale/machines",)}

    with pytest.raises(AirflowFailException, match="InadequateModelError"):
        fit_operator(observations, application, **strict).execute(context)
    assert ModelStore(store_root()).latest("enrich", "local") is not None

    fit_operator(observations, application, on_inadequate="warn", **strict).execute(context)
    assert "leave-one-out" in capsys.readouterr().out


def test_a_missing_application_is_named(context, observations, tmp_path):
    with pytest.raises(AirflowFailException, match=r"MissingResourceError: .*no-such-job.jar"):
        fit_operator(observations, str(tmp_path / "no-such-job.jar")).execute(context)


def test_an_unknown_reaction_is_refused(context, observations, application):
    with pytest.raises(AirflowFailException, match=r"on_inadequate=.*Use one of fail, warn"):
        fit_operator(observations, application, on_inadequate="ignore").execute(context)


def test_why_there_is_no_model_is_told_to_the_tasks_behind(context, ti, observations, application):
    with pytest.raises(AirflowFailException):
        fit_operator([], application).execute(context)
    assert ti.pushed["failure"] == "No sample run succeeded."

    strict = {"max_error_percent": 1e-9, "method": "relative", "terms": ("scale/machines",)}
    with pytest.raises(AirflowFailException):
        fit_operator(observations, application, **strict).execute(context)
    assert "The leave-one-out error of the model of 'enrich' on local is" in ti.pushed["failure"]
    assert "% (median), above the threshold of 1e-09 %" in ti.pushed["failure"]


def test_an_error_that_nobody_foresaw_is_told_too(context, ti, observations, application, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("of nothing")

    monkeypatch.setattr(ModelStore, "save", broken)
    with pytest.raises(ZeroDivisionError):
        fit_operator(observations, application).execute(context)
    assert "ZeroDivisionError" in ti.pushed["failure"]
    assert "log of the task" in ti.pushed["failure"]
    assert "of nothing" not in ti.pushed["failure"], "for what a library says may hold a password"


def test_a_model_is_no_failure(context, ti, observations, application):
    fit_operator(observations, application).execute(context)
    assert "failure" not in ti.pushed


def test_dependencies_may_be_templates_and_other_options_of_the_sample_runs_stay_theirs(
    observations, application, context, tmp_path
):
    (tmp_path / "helper.py").write_text("x = 1")
    options = {
        "py_files": "{{ params.helper }}",
        "env_vars": {"MACHINES": "{{ task.experiment['machines'] }}"},
    }
    task = fit_operator(observations, application, submit_options=options)
    task.render_template_fields({**context, "params": {"helper": str(tmp_path / "helper.py")}})
    fitted = task.execute(context)

    plain = fit_operator(observations, application).execute(context)
    assert fitted["artifact_sha256"] not in (None, plain["artifact_sha256"])
