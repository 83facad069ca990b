"""Documents of earlier schemas are read as what they would be today; those of later ones are refused."""

import json
from dataclasses import dataclass
from typing import ClassVar

import pytest

from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.model import document as document_module
from airflow_provider_ernest.model import migrations
from airflow_provider_ernest.model.document import Document
from airflow_provider_ernest.model.documents import InputFingerprint, RunConditions
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.set_aside import list_set_aside
from airflow_provider_ernest.model.storage.stored_documents import MODELS
from airflow_provider_ernest.model.store import ModelStore

from .sample_records import a_model
from .store_samples import age

SCHEMA_1 = (
    '{"schema":1,"model_id":"20260101T000000.000000Z-0a1b2c3d","job":"pca","instance_type":"m5.large",'
    '"created_at":"2026-01-01T00:00:00+00:00","terms":[{"name":"scale/machines","meaning":"parallel work",'
    '"coefficient":600.0,"probability":1.0}],"validation":{"folds":[{"index":0,"machines":2,"scale":0.07,'
    '"seconds":21.0,"predicted_seconds":21.5}],"residual_sum_of_squares":0.25,"median_error_percent":2.4,'
    '"max_error_percent":2.4},"observations":[{"index":0,"machines":2,"scale":0.07,"seconds":21.0,'
    '"startup_seconds":0.0,"waited_seconds":0.0,"instance_type":"m5.large","iterations":null,'
    '"application_id":null,"event_log":null,"hosts":["10.0.0.1"],"metrics":null,"origin":null}],'
    '"method":"relative","prior":null,"driver_share":0.0,"noise":0.0,"startup_seconds":0.0,'
    '"artifact":"s3a://jars/pca.jar","artifact_sha256":"abababab","input_path":"s3a://data/points",'
    '"trained_iterations":null,"warnings":[],"origin":null,"design":{"experiments":[{"index":0,"machines":2,'
    '"scale":0.07,"partitions":7,"weight":0.0,"cost":0.0,"iterations":null},{"index":1,"machines":4,'
    '"scale":0.03,"partitions":3,"weight":0.0,"cost":0.0,"iterations":null}],"terms":["scale/machines"],'
    '"criterion":"A","efficiency":0.9,"cost":1.0,"budget":2.0,"cost_unit":"cheapest runs","candidates":2,'
    '"weighting":"absolute","candidate_ranges":[]},"cluster":{"kind":"ec2","name":"sampling",'
    '"instance_type":"m5.large","cores_per_machine":2,"price_per_hour":null,"machines":[]}}'
)
"""A model as the version before wrote it."""


def schema_1(**changes):
    return {**json.loads(SCHEMA_1), **changes}


def test_a_model_of_schema_1_says_what_it_was_trained_under():
    model = Model.from_dict(schema_1())

    assert model.conditions == RunConditions(cores_per_machine=2, input=InputFingerprint(partitions=100))
    assert model.observations[0].hosts == ("10.0.0.1",)
    assert model.base_model_id is None
    assert model.to_dict()["schema"] == 2
    assert Model.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"design": None, "cluster": None}, None),
        ({"design": None}, RunConditions(cores_per_machine=2)),
        ({"cluster": None}, RunConditions(input=InputFingerprint(partitions=100))),
        # What a later version knew before the schema was raised stands.
        ({"conditions": {"spark": "4.0.1"}}, RunConditions(spark="4.0.1")),
        ({"conditions": None, "design": None, "cluster": None}, None),
    ],
)
def test_it_says_no_more_than_it_knows(changes, expected):
    assert Model.from_dict(schema_1(**changes)).conditions == expected


@pytest.mark.parametrize(
    "experiments",
    [
        [],
        [{"partitions": 7, "scale": 0.07}, {"partitions": 3, "scale": 0.05}],
        [{"partitions": 7, "scale": 0.0}],
        [{"partitions": 7, "scale": 1e-320}],
        [{"partitions": "nan", "scale": 1.0}],
        [{"partitions": 7}],
        [7],
        7,
        None,
    ],
)
def test_experiments_that_agree_on_no_number_of_partitions_tell_none(experiments):
    data = {"schema": 1, "design": {"experiments": experiments}}

    changed = migrations.migrated("Model", data, schema=2)

    assert changed == {**data, "schema": 2, "conditions": None}
    assert data["schema"] == 1, "the caller's data is not changed"


def test_partitions_of_a_very_large_input_are_told_exactly():
    whole = 1_234_567
    experiments = [{"partitions": part, "scale": part / whole} for part in (3, 1_001, 12_345)]

    changed = migrations.migrated("Model", {"design": {"experiments": experiments}}, schema=2)

    assert changed["conditions"] == {"input": {"partitions": whole}}


def test_numbers_that_jinja_made_strings_of_are_migrated_too():
    data = json.loads(SCHEMA_1, parse_int=str, parse_float=str)

    model = Model.from_dict({**data, "schema": 1})

    assert model.conditions == RunConditions(cores_per_machine=2, input=InputFingerprint(partitions=100))


def test_stored_models_of_schema_1_stay_readable_and_unchanged(root, caplog):
    path = MODELS.path(root, "pca", "m5.large", "20260101T000000.000000Z-0a1b2c3d")
    path.parent.mkdir(parents=True)
    path.write_text(SCHEMA_1)
    store, model = ModelStore(root), Model.from_dict(schema_1())

    assert store.latest("pca", "m5.large") == model
    assert store.load("pca", "m5.large", model.model_id) == model
    assert list(store.all_documents()) == [model]
    assert [entry.id for entry in store.catalogue.entries()] == [model.model_id]
    # As an import of the same model does.
    assert store.save(model) == path
    assert path.read_text() == SCHEMA_1
    assert caplog.records == []


def test_a_downgrade_is_refused_with_the_remedy_and_the_file_left_alone(tmp_path, caplog):
    store = ModelStore(tmp_path)
    path = store.save(a_model())
    newer = json.dumps({**a_model().to_dict(), "schema": 3})
    path.write_text(newer)
    age(path)

    with pytest.raises(InvalidDocumentError, match=r"Model document has schema 3.*reads schema 2\. Upgrade"):
        Model.from_dict(json.loads(newer))
    with pytest.raises(StoreError, match="schema 3"):
        store.load("pca", "m5.large", a_model().model_id)
    assert store.latest("pca", "m5.large") is None
    assert "Upgrade" in caplog.text
    assert path.read_text() == newer
    assert list_set_aside(tmp_path) == []


@pytest.mark.parametrize("schema", [0, -1, True, 1.5, "1", None, [], 99])
def test_what_is_no_earlier_schema_is_refused(schema):
    with pytest.raises(InvalidDocumentError, match="schema"):
        Model.from_dict(schema_1(schema=schema))


@dataclass(frozen=True, kw_only=True)
class Wheel(Document):
    """A document whose form has changed twice: inches became millimetres, then a radius a diameter."""

    schema: ClassVar[int] = 3
    diameter_millimetres: float


@dataclass(frozen=True, kw_only=True)
class Axle(Document):
    """Its own form never changed."""

    wheels: tuple[Wheel, ...]
    spare: Wheel | None = None


@dataclass(frozen=True, kw_only=True)
class Cart(Document):
    """Holds what holds wheels."""

    name: str
    axles: tuple[Axle, ...] = ()


@pytest.fixture
def _wheels(monkeypatch):
    steps = {
        1: lambda data: {"radius_millimetres": 25.4 * data["radius_inches"]},
        2: lambda data: {"diameter_millimetres": 2 * data["radius_millimetres"]},
    }
    monkeypatch.setitem(migrations.MIGRATIONS, "Wheel", steps)


@pytest.mark.usefixtures("_wheels")
def test_steps_follow_one_another():
    assert Wheel.from_dict({"radius_inches": 10}) == Wheel(diameter_millimetres=508.0)
    assert Wheel.from_dict({"schema": 2, "radius_millimetres": 1}) == Wheel(diameter_millimetres=2.0)
    with pytest.raises(InvalidDocumentError, match="schema 4"):
        Wheel.from_dict({"schema": 4, "diameter_millimetres": 1})


@pytest.mark.usefixtures("_wheels")
def test_documents_inside_others_are_migrated_by_their_own_schemas():
    """Before its form changed, a wheel inside a cart did not say its schema."""
    old = {
        "schema": 1,
        "name": "cart",
        "axles": [
            {"wheels": [{"radius_inches": 10}, {"schema": 2, "radius_millimetres": 1}], "spare": None},
            {"wheels": [], "spare": {"schema": 3, "diameter_millimetres": 7}},
        ],
    }

    cart = Cart.from_dict(old)

    assert cart.axles[0].wheels == (Wheel(diameter_millimetres=508.0), Wheel(diameter_millimetres=2.0))
    assert cart.axles[1].spare == Wheel(diameter_millimetres=7.0)
    written = json.loads(json.dumps(cart.to_dict()))
    assert written["axles"][0]["wheels"][0]["schema"] == 3
    assert Cart.from_dict(written) == cart
    assert "schema" not in old["axles"][0]["wheels"][0], "the caller's data is not changed"


@pytest.mark.usefixtures("_wheels")
def test_a_newer_document_inside_another_is_refused():
    with pytest.raises(InvalidDocumentError, match=r"Wheel document has schema 4.*Upgrade"):
        Cart.from_dict({"name": "cart", "axles": [{"wheels": [{"schema": 4}]}]})


def test_a_schema_without_a_step_from_it_is_refused():
    with pytest.raises(InvalidDocumentError, match="schema 1"):
        Wheel.from_dict({"radius_inches": 10})


def test_documents_whose_form_never_changed_are_read_without_looking_into_them():
    assert document_module._versioned_fields(Model) == ()
    assert document_module._versioned_fields(Cart) == (("axles", Axle),)


def test_there_is_a_step_from_each_earlier_schema():
    forms, waiting = {}, [Document]
    while waiting:
        form = waiting.pop()
        waiting += form.__subclasses__()
        if form.__module__.startswith("airflow_provider_ernest."):
            forms[form.__name__] = form
    assert forms["Model"] is Model

    for name, form in forms.items():
        assert sorted(migrations.MIGRATIONS.get(name, {})) == list(range(1, form.schema)), name
    assert set(migrations.MIGRATIONS) <= set(forms)
