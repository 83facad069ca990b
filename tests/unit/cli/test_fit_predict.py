import json

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.cli.conftest import csv_of_runs


@pytest.fixture
def fit(ernest, runs_csv, tmp_path):
    """The model that `fit` writes with these options."""

    def fitted(*options):
        ernest("fit", runs_csv, *options, "--output", tmp_path / "fitted.json")
        return Model.from_dict(json.loads((tmp_path / "fitted.json").read_text()))

    return fitted


@pytest.fixture
def predict(ernest):
    """The predictions of these options."""
    return lambda *argv: json.loads(ernest("predict", *argv, "--format", "json").out)["predictions"]


def test_the_options_reach_the_model(fit):
    terms = ["1", "scale/executors", "max(executors - 4, 0)"]
    model = fit("--terms", *terms, "--job", "grep", "--instance-type", "m5")
    assert (model.job, model.instance_type, model.method) == ("grep", "m5", "averaging")
    assert [term.name for term in model.terms] == terms


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--terms", "sqrt(nodes)"], "nodes"),
        (["--terms", "1", "1"], "names a term twice"),
    ],
)
def test_options_that_cannot_be(runs_csv, ernest, options, problem):
    assert problem in ernest("fit", runs_csv, *options, code=1).err


def test_too_few_runs_are_an_error_with_a_remedy(tmp_path, ernest):
    path = tmp_path / "runs.csv"
    path.write_text("4,0.1,20\n8,0.1,15\n")
    said = ernest("fit", path, code=1).err
    assert "2 distinct configurations" in said
    assert "Observe at least" in said
    path.write_text("#machines,fraction,seconds\n")
    ernest("predict", path, "--executors", "4", code=1)


def test_an_inadequate_model_is_written_and_refused(tmp_path, runs_csv, ernest):
    output = tmp_path / "model.json"
    said = ernest("fit", runs_csv, "--output", output, "--max-error-percent", "0.0001", code=1).err
    assert "above the threshold of 0.0001 %" in said
    assert output.exists()


def test_an_output_that_is_there_is_refused_before_any_work(runs_csv, tmp_path, ernest):
    assert "exists already" in ernest("fit", tmp_path / "absent.csv", "--output", runs_csv, code=1).err
    assert runs_csv.read_text() == csv_of_runs()


def test_iterations_need_a_model_trained_with_some(tmp_path, runs_csv, predict, ernest):
    refused = ernest("predict", runs_csv, "--executors", "4", "--iterations", "50", code=1).err
    assert "--iterations=50 is asked of a model" in refused
    path = tmp_path / "iterative.csv"
    lines = [f"{line},5" for line in csv_of_runs(heading="").splitlines()]
    path.write_text("\n".join(["machines,fraction,seconds,iterations", *lines]))
    (few,), (many,) = (predict(path, "--executors", "4", "--iterations", count) for count in ("5", "50"))
    assert many["seconds"] > 5 * few["seconds"], "spreading work dominates at scale 1"


def test_a_file_of_the_model_store_is_read_also_with_the_digest_of_an_earlier_version(
    model_json, tmp_path, ernest
):
    stored = ModelStore(tmp_path / "store").save(Model.from_dict(json.loads(model_json.read_text())))
    told = ernest("predict", stored, "--executors", "2")
    stored.write_text(json.dumps({**json.loads(stored.read_text()), "digest": "ab" * 32}))
    assert ernest("predict", stored, "--executors", "2") == told


def test_a_model_of_corrected_runs_comes_into_the_store_by_a_fit(fit, tmp_path, ernest):
    store, file = ModelStore(tmp_path / "store"), tmp_path / "edited.json"
    wrong = fit("--job", "grep")
    document = json.loads(store.save(wrong).read_text())
    document["observations"].pop()
    file.write_text(json.dumps(document))

    said = ernest("fit", file, "--job", "grep", "--store", store.root)

    newest = store.newest(Model, "grep", "local", limit=1)[0]
    assert newest.id > wrong.id
    assert [run.seconds for run in newest.observations] == [run.seconds for run in wrong.observations[:-1]]
    assert f"written: {store.root}/grep/local/models/{newest.id}.json" in said.out


def test_a_model_without_observations_is_refused(model_json, ernest):
    model_json.write_text(json.dumps({**json.loads(model_json.read_text()), "observations": []}))
    said = ernest("predict", model_json, "--executors", "4", code=1).err
    assert "a model without observations" in said


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("method", "place", "value", "problem"),
    [
        ("averaging", ("observations", 0, "seconds"), 5e-324, "cannot predict"),
        ("averaging", ("prior", "noise", 0), 1e-300, "cannot predict"),
        ("relative", ("observations", 0, "seconds"), 5e-324, "cannot predict"),
        ("classic", ("observations", 0, "seconds"), 1e308, "is predicted to take inf s"),
        ("classic", ("startup_seconds",), "inf", "startup_seconds=inf is not a finite number"),
        ("classic", ("observations", 0, "executors"), 10**400, "This is no Model document"),
    ],
)
def test_a_model_of_numbers_that_cannot_be_is_named(tmp_path, fit, ernest, method, place, value, problem):
    document = fit("--method", method).to_dict()
    *way, last = place
    inner = document
    for step in way:
        inner = inner[step]
    inner[last] = value
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))

    said = ernest("predict", path, "--executors", "8", code=1)
    assert problem in said.err
    assert said.out == ""
