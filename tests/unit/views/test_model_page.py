import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import Design, Experiment, FittedTerm, Model, Record, TrainedMachine
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.links.spark_history import application_link
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.model import MOST_DECISIONS, MOST_PRODUCTION_RUNS, model_page
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.web.answers import json_ready

from .stored import decided, everything, model, produced

BILLED = {
    "increment_seconds": 1.0,
    "minimum_seconds": 60.0,
    "boot_seconds": 0.0,
    "master_price_per_hour": 0.0,
    "volume_gigabytes": 0.0,
    "volume_price_per_gigabyte_month": 0.08,
    "training_dollars": None,
    "expected_runs": None,
}
"""What the page asks at first where no decision says what is billed."""


@pytest.fixture(scope="module")
def trained() -> Model:
    return model()


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path)


def page(store: ModelStore, shown: Model, **asked: Any) -> dict[str, Any]:
    asked = {"readable": everything, **asked}
    return json_ready(model_page(store, shown, store.catalogue.entries(), **asked))


def not_secret(dag_id: str | None) -> bool:
    return dag_id != "secret"


def design(*experiments: Experiment) -> Design:
    return Design(
        experiments=experiments,
        terms=("1", "scale/machines"),
        criterion="bayesian D",
        efficiency=0.93,
        cost=12.0,
        budget=15.0,
        cost_unit="dollars",
        candidates=54,
    )


def test_the_model_with_each_run_as_the_others_predict_it(store: ModelStore, trained: Model):
    store.save(trained)
    shown = page(store, trained)

    assert shown["model"]["model_id"] == trained.id
    assert shown["model"]["origin"]["dag_id"] == "sizing"
    assert [term["name"] for term in shown["model"]["terms"]] == [term.name for term in trained.terms]
    assert shown["model"]["median_error_percent"] == trained.validation.median_error_percent
    assert shown["state"] == {"name": "fresh", "reason": "", "cause": ""}
    assert shown["is_newest"] is True
    for told, run, fold in zip(
        shown["observations"], trained.observations, trained.validation.folds, strict=True
    ):
        assert (told["machines"], told["scale"], told["seconds"]) == (run.machines, run.scale, run.seconds)
        assert told["predicted_seconds"] == fold.predicted_seconds
        assert told["error_percent"] == pytest.approx(fold.error_percent)
        assert told["cost"] == pytest.approx(0.4 * run.machines * (run.seconds + 5.0) / 3600)


def test_runs_of_two_designs_may_share_an_index(store: ModelStore, trained: Model):
    first, second, *_ = trained.observations
    folds = trained.validation.folds
    shared = replace(
        trained,
        observations=(first, replace(second, index=first.index)),
        validation=replace(trained.validation, folds=(folds[0], replace(folds[1], index=first.index))),
    )
    told = page(store, shared)["observations"]
    assert [each["predicted_seconds"] for each in told] == [
        folds[0].predicted_seconds,
        folds[1].predicted_seconds,
    ]


def test_a_model_with_nothing_besides(store: ModelStore):
    bare = replace(model(dag_id=None, price=None), cluster=None)
    store.save(bare)
    shown = page(store, bare)
    assert (shown["design"], shown["cluster"], shown["model"]["origin"]) == (None, None, None)
    assert {each["cost"] for each in shown["observations"]} == {None}
    assert (shown["production_runs"], shown["decisions"], shown["other_types"]) == ([], [], [])
    assert shown["defaults"] == {
        **BILLED,
        "scale": 1.0,
        "iterations": None,
        "deadline_seconds": None,
        "budget_dollars": None,
        "objective": None,
        "confidence": 0.8,
        "price_per_hour": None,
        "min_machines": 1,
        "max_machines": 24,
    }


def test_the_design_with_what_came_of_it(store: ModelStore, trained: Model):
    run = trained.observations[3]
    planned = design(
        Experiment(index=3, machines=run.machines, scale=run.scale, partitions=64, weight=0.8, cost=7.0),
        Experiment(index=99, machines=3, scale=0.01, partitions=6, cost=1.0),
    )
    shown = page(store, replace(trained, design=planned))["design"]
    assert (shown["criterion"], shown["candidates"], shown["candidate_ranges"]) == ("bayesian D", 54, [])
    made, left = shown["experiments"]
    assert (made["observed"], made["seconds"], made["weight"]) == (True, run.seconds, 0.8)
    assert made["paid"] == pytest.approx(0.4 * run.machines * (run.seconds + 5.0) / 3600)
    assert (left["observed"], left["seconds"], left["paid"]) == (False, None, None)


def test_an_experiment_claims_the_run_most_like_it(store: ModelStore, trained: Model):
    run = trained.observations[0]
    earlier = replace(run, scale=0.9, seconds=700.0)
    less = replace(run, machines=run.machines + 1, seconds=33.0)
    planned = design(Experiment(index=0, machines=run.machines + 2, scale=run.scale, partitions=1))
    shown = page(store, replace(trained, observations=(earlier, less), design=planned))["design"]
    assert shown["experiments"][0]["seconds"] == 33.0


def test_the_machines_with_those_culled(store: ModelStore, trained: Model):
    assert trained.cluster is not None
    slow = TrainedMachine(host="10.0.0.9", memory_gigabytes_per_second=5.5, culled_because="slowest")
    shown = page(store, replace(trained, cluster=replace(trained.cluster, machines=(slow,))))["cluster"]
    assert shown["price_per_hour"] == 0.4
    assert shown["machines"][0]["culled_because"] == "slowest"
    assert shown["machines"][0]["instance_id"] is None


def test_versions_newest_first(store: ModelStore, trained: Model):
    older = model(days=5, artifact_sha256="aa")
    newer = replace(trained, artifact_sha256="bb")
    store.save(older)
    store.save(newer)

    shown = page(store, older)

    assert [each["model_id"] for each in shown["versions"]] == [newer.id, older.id]
    assert shown["is_newest"] is False
    assert shown["state"]["name"] == "stale"
    assert page(store, newer)["is_newest"] is True


def test_production_and_decisions_newest_first(store: ModelStore, trained: Model):
    store.save(trained)
    for days, seconds in ((3, 290.0), (2, 500.0)):
        store.save(decided(trained, days=days + 0.1))
        store.save(produced(trained, days=days, seconds=seconds))

    shown = page(store, trained)

    last, first = shown["production_runs"]
    assert (last["seconds"], last["is_unusual"]) == (500.0, True)
    assert last["error_percent"] == pytest.approx(-44.0)
    assert (first["seconds"], first["is_unusual"]) == (290.0, False)
    assert first["nearly_certain_seconds"] == [200.0, 380.0]
    assert [each["machines"] for each in shown["decisions"]] == [4, 4]
    assert shown["decisions"][0]["decided_at"] > shown["decisions"][1]["decided_at"]
    assert shown["defaults"] == {
        **BILLED,
        "scale": 1.5,
        "iterations": None,
        "deadline_seconds": 300.0,
        "budget_dollars": None,
        "objective": None,
        "confidence": 0.8,
        "price_per_hour": 0.5,
        "min_machines": 2,
        "max_machines": 20,
    }


def test_what_was_paid_is_not_what_production_pays(store: ModelStore, trained: Model):
    store.save(decided(trained, days=1, price=9.0))
    run = trained.observations[0]
    shown = page(store, trained)
    assert shown["observations"][0]["cost"] == pytest.approx(0.4 * run.machines * (run.seconds + 5.0) / 3600)


def test_only_so_many_runs_and_decisions_and_no_hidden_one_takes_a_place(store: ModelStore, trained: Model):
    for number in range(MOST_PRODUCTION_RUNS + 3):
        store.save(produced(trained, days=2 + number / 1000))
    for number in range(MOST_DECISIONS + 3):
        store.save(decided(trained, days=2 + number / 1000))
    for number in range(5):
        store.save(produced(trained, days=1 + number / 1000, dag_id="secret"))
        store.save(decided(trained, days=1 + number / 1000, dag_id="secret", scale=77.0))

    shown = page(store, trained, readable=not_secret)

    assert len(shown["production_runs"]) == MOST_PRODUCTION_RUNS
    assert len(shown["decisions"]) == MOST_DECISIONS
    assert "secret" not in str(shown)
    assert shown["defaults"]["scale"] == 1.5


def test_what_may_not_be_read_is_as_if_it_were_not_there(store: ModelStore, trained: Model):
    shown_model = replace(trained, artifact_sha256="aa")
    store.save(shown_model)
    store.save(model(days=0.5, dag_id="secret", artifact_sha256="bb"))
    store.save(model(days=0.5, dag_id="secret", instance_type="r5.large"))
    store.save(produced(trained, days=0.2, dag_id="secret", artifact_sha256="bb"))

    shown = page(store, shown_model, readable=not_secret)

    assert len(shown["versions"]) == 1
    assert (shown["is_newest"], shown["state"]["name"]) == (True, "fresh")
    assert (shown["other_types"], shown["production_runs"]) == ([], [])
    assert "secret" not in str(shown)


def test_other_types_with_their_newest_model_and_price(store: ModelStore, trained: Model):
    store.save(trained)
    store.save(model(days=9, instance_type="r5.large", price=0.1))
    newest = model(days=8, instance_type="r5.large", price=0.7)
    store.save(newest)
    unpriced = model(days=8, instance_type="c5.large", price=None)
    store.save(unpriced)
    store.save(model(days=1, instance_type="m4.large", job="another job"))

    shown = page(store, trained)["other_types"]

    assert [(each["instance_type"], each["model_id"], each["price_per_hour"]) for each in shown] == [
        ("c5.large", unpriced.id, None),
        ("r5.large", newest.id, 0.7),
    ]
    store.save(decided(unpriced, days=1, price=0.3))
    assert page(store, trained)["other_types"][0]["price_per_hour"] == 0.3


def test_another_type_that_cannot_be_read_does_no_harm(store: ModelStore, trained: Model):
    broken = model(days=2, instance_type="r5.large", job="broken elsewhere")
    path = store.save(broken)
    path.write_text("{", encoding="utf-8")
    shown = page(store, replace(trained, job="broken elsewhere"))
    assert shown["other_types"] == []


def test_links_to_the_history_server(store: ModelStore, trained: Model):
    first = replace(trained.observations[0], application_id="../<b>")
    odd = replace(trained, observations=(first, *trained.observations[1:]))
    store.save(produced(trained, days=1))

    shown = page(store, odd, link=application_link("https://spark.example.com/ui/"))

    assert (
        shown["observations"][0]["history_url"] == "https://spark.example.com/ui/history/..%2F%3Cb%3E/jobs/"
    )
    assert shown["production_runs"][0]["history_url"].endswith("/history/app-production/jobs/")
    for wrong in ("javascript:alert(1)", "", None, "https://user:password@spark.example.com"):
        told = page(store, odd, link=application_link(wrong))["observations"]
        assert {each["history_url"] for each in told} == {None}


def test_terms_of_another_version_and_numbers_that_are_none_are_still_shown(
    store: ModelStore, trained: Model
):
    odd = replace(
        trained,
        terms=(FittedTerm(name="entangled(machines)", meaning="", coefficient=math.nan),),
        noise=math.inf,
        observations=(),
    )
    shown = page(store, odd)
    assert shown["model"]["terms"][0]["name"] == "entangled(machines)"
    assert (shown["model"]["terms"][0]["coefficient"], shown["model"]["noise"]) == (None, None)
    assert (shown["observations"], shown["defaults"]["max_machines"]) == ([], 2)


def test_no_mathematics_is_loaded(store: ModelStore, trained: Model):
    store.save(trained)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from airflow_provider_ernest.store.store import ModelStore\n"
        "from airflow_provider_ernest.views.model import model_page\n"
        "store = ModelStore(Path(sys.argv[1]))\n"
        "shown = store.latest('join', 'm5.large')\n"
        "page = model_page(store, shown, store.catalogue.entries(), readable=lambda dag_id: True,\n"
        "                  link=str)\n"
        "assert page.observations\n"
        "assert not {'numpy', 'scipy', 'cvxpy', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(store.root)], check=True)


def test_what_may_not_be_read_is_not_even_opened(
    store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch
):
    for number in range(3):
        store.save(produced(trained, days=1 + number, dag_id="secret"))
        store.save(decided(trained, days=1 + number, dag_id="secret"))
    mine = store.root / "join" / "m5.large"
    store.save(produced(trained, days=9))
    store.save(decided(trained, days=9))
    for path in (*mine.glob("*/*-secret.json"),):
        path.write_text("{")
    asked: list[str] = []
    load = store.load

    def noted(form: type[Record], *names: str) -> Record:
        asked.append(names[-1])
        return load(form, *names)

    monkeypatch.setattr(store, "load", noted)

    shown = page(store, trained, readable=not_secret)

    assert (len(shown["production_runs"]), len(shown["decisions"])) == (1, 1)
    assert len(asked) == 2
    assert not any("secret" in name for name in asked)
    page(store, trained, readable=not_secret)
    assert len(asked) == 2, "what was read once is not read again"


def test_a_decision_that_is_damaged_hides_no_other(
    store: ModelStore, trained: Model, caplog: pytest.LogCaptureFixture
):
    damaged = decided(trained, days=1)
    store.save(decided(trained, days=2))
    store.save(damaged).write_text("{")
    assert len(page(store, trained)["decisions"]) == 1
    assert damaged.id in caplog.text


def test_decisions_of_another_type_that_cannot_be_read_do_no_harm(
    store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    other = model(days=8, instance_type="r5.large", price=None)
    store.save(other)
    store.save(decided(other, days=1))

    def broken(*_: object) -> None:
        raise StoreError("the network is down") from OSError("unreachable")

    monkeypatch.setattr(store, "load", broken)
    (shown,) = page(store, trained)["other_types"]
    assert (shown["instance_type"], shown["price_per_hour"]) == ("r5.large", None)
    assert "r5.large" in caplog.text
    assert "the network is down" in caplog.text


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [((2, 20), 2, 20), ((1, 5000), 1, 1000), ((3_000_000, 4_000_000), 1_000_000, 1_000_000), ((9, 3), 9, 9)],
)
def test_numbers_of_machines_at_first_are_such_as_can_be_asked(
    store: ModelStore, trained: Model, asked: tuple[int, int], least: int, most: int
):
    store.save(decided(trained, days=1, min_machines=asked[0], max_machines=asked[1]))
    defaults = page(store, trained)["defaults"]
    assert (defaults["min_machines"], defaults["max_machines"]) == (least, most)
    PredictionRequest(min_machines=least, max_machines=most).counts()
