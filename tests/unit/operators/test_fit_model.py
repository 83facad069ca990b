import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.models import AveragingPrior, Model, training_dollars
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.history.observations import observations_of
from airflow_provider_ernest.history.survey import Prices, SurveyGoal, surveyed_job
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
from airflow_provider_ernest.prediction.terms import ERNEST
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.words import as_percent
from tests import examples
from tests.unit.history.past_jobs import daily
from tests.unit.operators.stated import rendered, sampled, spark_job
from tests.unit.operators.submissions import handle

GOAL = SizingGoal(objective="cheapest", max_executors=8)
Fit = Callable[..., dict[str, Any]]


def fit_operator(observations, application, *, model=None, goal=None, submit_options=None, **fields):
    """The settings of the model and the goal are rendered."""
    operator = FitModelOperator(
        task_id="fit",
        observations=[one.to_dict() for one in observations],
        job=spark_job(application, submit_options=submit_options or {}),
        input=sampled("/data/flights"),
        goal=GOAL,
        **fields,
    )
    return rendered(operator, model=model, goal=goal)


@pytest.fixture
def fit(context, observations, tmp_path) -> Fit:
    """Fit the job's runs, or those that are given."""
    job = tmp_path / "job.py"
    job.write_text("abc")

    def fitted(runs=observations, application=str(job), **fields) -> dict[str, Any]:
        return fit_operator(runs, application, **fields).execute(context)

    return fitted


def stored() -> Model | None:
    return next(ModelStore(store_root()).newest_first(Model, "enrich", "local"), None)


def test_model_is_stored_with_all_that_it_came_from(fit, ti, observations):
    model = Model.from_dict(fit())

    assert stored() == model
    assert Path(ti.pushed["stored_at"]).exists()
    assert "failure" not in ti.pushed
    assert model.observations == tuple(observations)
    assert model.input_path == "/data/flights"
    # The example of FIPS 180-2, appendix B.1: the hash of the three letters abc.
    assert model.artifact_sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("unreadable", ["local:///opt/job.py", "unheard-of://code/job.py"])
def test_runs_that_are_paid_for_are_fitted_though_only_the_machines_can_read_the_code(
    fit, unreadable, capsys
):
    fit(application=unreadable)

    assert (stored().artifact, stored().artifact_sha256) == (unreadable, None)
    assert f"Changes of '{unreadable}' will not be noticed" in capsys.readouterr().out


def test_a_local_application_that_is_gone_is_named(fit, tmp_path):
    with pytest.raises(AirflowFailException, match=r"MissingResourceError: Cannot read .*gone\.py"):
        fit(application=str(tmp_path / "gone.py"))


def design_of(observations, *, terms=ERNEST, criterion="A") -> dict[str, Any]:
    runs = (examples.experiment(one.index, executors=one.executors, scale=one.scale) for one in observations)
    return examples.design(*runs, terms=terms, criterion=criterion).to_dict()


def names(model: dict[str, Any]) -> tuple[str, ...]:
    return tuple(term["name"] for term in model["terms"])


@pytest.mark.parametrize("as_text", [False, True])
def test_what_the_runs_came_from_is_kept_in_the_model(fit, ti, observations, as_text):
    cluster = handle(executors=3, instance_type="m5.large")
    design = design_of(observations)

    fit(design=design, cluster=json.dumps(cluster) if as_text else cluster)

    assert stored().design == Design.from_dict(design)
    assert stored().cluster.name == "ernest-1"
    assert [machine.host for machine in stored().cluster.machines] == ["10.0.0.0", "10.0.0.1", "10.0.0.2"]
    assert stored().origin == Origin(dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id)


def test_runs_of_several_rounds_come_as_text_with_nothing_of_those_that_were_skipped(
    context, observations, tmp_path
):
    (tmp_path / "job.py").touch()
    operator = fit_operator(observations, str(tmp_path / "job.py"))
    operator.observations = json.dumps([*(run.to_dict() for run in observations), None])

    assert len(operator.execute(context)["observations"]) == len(observations)


@pytest.mark.parametrize("nothing", ["None", "null"])
def test_a_cluster_that_is_not_known_is_no_obstacle(fit, nothing):
    assert fit(cluster=nothing)["cluster"] is None


def test_missing_runs_are_named_and_the_rest_is_fitted(fit, observations, capsys):
    fitted = fit(observations[:-1], design=design_of(observations))

    assert len(fitted["observations"]) == len(observations) - 1
    assert "Sample runs [6] failed or were skipped" in capsys.readouterr().out


def test_too_few_observations_fail_without_retry(fit, observations):
    with pytest.raises(AirflowFailException, match=r"TooFewObservationsError: .*2"):
        fit(observations[:2])
    with pytest.raises(AirflowFailException, match=r"TooFewObservationsError: .*3"):
        fit(observations[:3], model={"method": "classic"})


# The terms.


@pytest.mark.parametrize("method", ["relative", "classic"])
def test_other_methods_fit_the_terms_that_the_design_determines(fit, observations, method):
    """They are exact here, for the job's time is a sum of these terms."""
    terms = ("1", "scale/executors", "executors")
    fitted = fit(model={"method": method}, design=design_of(observations, terms=terms, criterion="I"))

    assert names(fitted) == terms
    assert [term["coefficient"] for term in fitted["terms"]] == pytest.approx([2.0, 120.0, 1.5])


@pytest.mark.parametrize("method", ["averaging", "relative"])
def test_terms_of_the_users_win(fit, observations, method):
    terms = ("1", "scale/executors", "max(executors - 1, 0)")
    assert names(fit(model={"method": method, "terms": terms}, design=design_of(observations))) == terms


def test_terms_are_added_only_above_the_threshold(fit, capsys):
    few = {"method": "relative", "terms": ("1", "scale/executors"), "extension_terms": ["scale", "executors"]}
    warn = {"on_inadequate": "warn"}
    extended = fit(model={**few, "extend_above_percent": "1"}, goal=warn)
    said = capsys.readouterr().out
    left = fit(model={**few, "extend_above_percent": 200}, goal=warn)

    assert names(extended) == ("1", "scale/executors", "executors"), "what the job really does"
    assert "Terms added to the model: executors" in said
    assert names(left) == few["terms"]


# What other jobs teach.


def store_jobs_that_do_not_spread(*, count: int = 8, hosts=()) -> None:
    """Models of jobs most of whose work does not spread, seen so well that there is no doubt of it."""
    grid = [(executors, scale) for executors in (1, 2, 4, 8) for scale in (0.1, 0.3, 1.0)]
    executors, scales = zip(*grid, strict=True)
    for work in range(100, 100 * count + 1, 100):
        seconds = [1.0 + work * scale * (2 + 1 / executors) for executors, scale in grid]
        runs = examples.observe(executors=executors, scale=scales, seconds=seconds, hosts=hosts)
        ModelStore(store_root()).save(train(runs, job=f"job of {work} s"))


def prior_of(model: dict[str, Any]) -> AveragingPrior:
    return AveragingPrior.from_dict(model["prior"])


def test_other_jobs_on_such_machines_tell_which_terms_to_expect(fit, capsys):
    store_jobs_that_do_not_spread()

    assert prior_of(fit(model={"learn_from_other_jobs": False})) == AveragingPrior()
    capsys.readouterr()
    taught = prior_of(fit())
    (said,) = (line for line in capsys.readouterr().out.splitlines() if "Learned from" in line)

    scale = taught.belief_in("scale").probability
    assert scale > 0.5 > AveragingPrior().belief_in("scale").probability
    assert "Learned from 8 models of other jobs on local" in said
    assert f"scale {as_percent(scale)}" in said


def test_a_jobs_own_models_teach_it_nothing(fit):
    fit()
    assert prior_of(fit()) == AveragingPrior()


# What fails.


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"model": {"method": "best"}}, r"method='best'.*averaging"),
        ({"model": {"extension_terms": ["scale"]}}, r'method="averaging", which weighs all its terms'),
        ({"goal": {"on_inadequate": "ignore"}}, r"on_inadequate=.*Use one of fail, warn"),
        ({"goal": {"max_error_percent": 0}}, r"max_error_percent=0 is not above 0"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_the_fit(fit, settings, named):
    with pytest.raises(AirflowFailException, match=named):
        fit(**settings)
    assert stored() is None


STRICT = {"goal": {"max_error_percent": 1e-9}, "model": {"method": "relative", "terms": ("scale/executors",)}}


def test_an_inadequate_model_is_stored_and_fails_or_warns(fit, ti, capsys):
    with pytest.raises(AirflowFailException, match="above the threshold of 25 %"):
        fit(model=STRICT["model"])
    with pytest.raises(AirflowFailException, match="InadequateModelError"):
        fit(**STRICT)
    assert stored() is not None
    assert "The leave-one-out error of the model of 'enrich' on local is" in ti.pushed["failure"]
    assert "%, above the threshold of 1e-9 %" in ti.pushed["failure"]

    fit(**{**STRICT, "goal": {**STRICT["goal"], "on_inadequate": "warn"}})
    assert "leave-one-out" in capsys.readouterr().out


def test_an_error_that_nobody_foresaw_is_passed_on_too(fit, ti, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("of nothing")

    monkeypatch.setattr(ModelStore, "save", broken)
    with pytest.raises(ZeroDivisionError):
        fit()
    assert "ZeroDivisionError" in ti.pushed["failure"]
    assert "log of the task" in ti.pushed["failure"]
    assert "of nothing" not in ti.pushed["failure"], "for what a library says may hold a password"


def test_dependencies_may_be_templates_and_other_options_of_the_sample_runs_stay_theirs(
    fit, observations, context, tmp_path
):
    (tmp_path / "helper.py").write_text("x = 1")
    options = {
        "py_files": "{{ params.helper }}",
        "env_vars": {"MACHINES": "{{ task.experiment['executors'] }}"},
    }
    task = fit_operator(observations, str(tmp_path / "job.py"), submit_options=options)
    task.render_template_fields({**context, "params": {"helper": str(tmp_path / "helper.py")}})

    assert task.execute(context)["artifact_sha256"] not in (None, fit()["artifact_sha256"])


def read_history(runs, **fields):
    """What a `ReadHistoryOperator` has read, as the template renders it."""
    return json.dumps(
        {"observations": [run.to_dict() for run in runs], "left_out": {}, "notes": [], **fields}
    )


def past_runs(seconds=lambda executors: 2.0 + 120.0 / executors + 1.5 * executors):
    sizes = [2, 4, 4, 6, 8, 10]
    times = [seconds(executors) for executors in sizes]
    return examples.observe(
        executors=sizes, scale=1.0, seconds=times, instance_type="by the logs", from_history=True
    )


def test_past_runs_count_beside_the_sample_runs(fit, observations):
    model = Model.from_dict(fit(history=read_history(past_runs(), notes=["They are of May."])))

    assert [run.from_history for run in model.observations] == [False] * len(observations) + [True] * 6
    assert len({run.index for run in model.observations}) == len(model.observations)
    assert {run.instance_type for run in model.observations} == {"local"}
    assert "They are of May." in model.warnings


def test_past_runs_alone_make_a_model_that_cost_nothing(fit):
    design = examples.design(experiments=(), past_runs=6, reason="6 past runs tell enough.")
    machine = {"kind": "ec2", "instance_type": "m5.large", "executor_cores": "2", "price_per_hour": "0.1"}
    model = Model.from_dict(
        fit([], history=read_history(past_runs()), design=design.to_dict(), machine=machine, goal={})
    )

    assert all(run.from_history for run in model.observations)
    assert training_dollars(model) == 0.0
    assert (model.cluster.executor_cores, model.cluster.price_per_hour) == (2, 0.1)
    assert model.cluster.kind == "ec2"


def test_past_runs_of_one_size_make_a_model_where_no_other_is_asked_for(fit):
    runs = examples.observe(
        executors=[8] * 6,
        scale=[0.8, 0.9, 0.9, 1.0, 1.0, 1.1],
        seconds=[50.0, 55.0, 56.0, 60.0, 61.0, 65.0],
        instance_type="by the logs",
        from_history=True,
    )
    design = examples.design(experiments=(), past_runs=6, reason="6 past runs tell enough.")
    model = Model.from_dict(fit([], history=read_history(runs), design=design.to_dict(), goal={}))

    assert predict_seconds(model, executors=8, scale=1.2)[0] == pytest.approx(70.0, rel=0.1)
    assert any("nothing is known of others" in each for each in model.warnings)


def test_a_model_of_past_runs_says_what_a_survey_of_them_says(fit):
    runs, _ = daily((4, 8, 4, 16, 8, 8, 4, 8, 8, 2, 8, 8))
    surveyed = surveyed_job("daily", runs, (), goal=SurveyGoal(), prices=Prices())
    design = examples.design(experiments=(), past_runs=len(runs), reason="12 past runs tell enough.")
    history = read_history(observations_of(runs).observations)
    model = Model.from_dict(fit([], history=history, design=design.to_dict(), goal={}))

    asked = [size.executors for size in surveyed.sizes]
    low, high = predict_interval(model, executors=asked, level=0.8)
    # A survey tells of times with their start-up, and what slows a run slows that, too.
    clean = predict_seconds(model, executors=asked)
    with_startup = 1 + runs[0].startup_seconds / clean
    assert [size.likely_seconds for size in surveyed.sizes] == [
        pytest.approx(bounds, rel=0.005)
        for bounds in zip(low * with_startup, high * with_startup, strict=True)
    ]


def test_past_runs_do_not_stand_for_sample_runs_that_all_failed(fit, ti):
    with pytest.raises(AirflowFailException, match="TooFewObservationsError"):
        fit([], history=read_history(past_runs()), design=examples.design().to_dict())
    assert ti.pushed["failure"].startswith("No sample run succeeded. See their logs")


def test_past_runs_that_contradict_the_sample_runs_are_left_out(fit, observations):
    other = past_runs(lambda executors: 50.0 * executors**2)
    model = Model.from_dict(fit(history=read_history(other), goal={"max_error_percent": "10"}))

    assert model.observations == tuple(observations)
    assert any(warning.startswith("Past runs of the job do not go together") for warning in model.warnings)
