"""A store as one file, and back."""

import gzip
import io
import json
import tracemalloc
from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import (
    Alternative,
    InputFingerprint,
    Model,
    Observation,
    RunConditions,
    TrainedMachine,
    TrainingCluster,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.run_profile import Advice, Straggler
from airflow_provider_ernest.store import archive as archive_lines
from airflow_provider_ernest.store import archive as store_archive
from airflow_provider_ernest.store.archive import address_free, export_documents, import_archive
from airflow_provider_ernest.store.records import FORMS, sealed
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.examples import (
    bottleneck_report,
    decision_record,
    mark,
    model,
    observation_record,
    production_run,
    profile_record,
)
from tests.unit.store.store_samples import save_all

DOCUMENTS = [
    model(0, days=3),
    decision_record(0, days=2),
    production_run(0, days=1),
    mark(id="k", days=1, cause="data", model_id="m"),
    observation_record(id="o", days=1),
    profile_record(0, days=1),
    bottleneck_report(0, days=1),
]


@pytest.fixture
def store(tmp_path) -> ModelStore:
    return save_all(ModelStore(tmp_path / "store"), *DOCUMENTS)


@pytest.fixture
def other(tmp_path) -> ModelStore:
    return ModelStore(tmp_path / "other")


def exported(documents, *, is_compressed=False, **options) -> bytes:
    target = io.BytesIO()
    export_documents(documents, target, is_compressed=is_compressed, **options)
    return target.getvalue()


def imported(store, archive: bytes):
    return import_archive(store, io.BytesIO(archive))


def ids(store) -> list[str]:
    return sorted(str(document) for document in store.all_documents())


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_store_arrives_as_it_was(store, other, is_compressed):
    archive = exported(store.all_documents(), is_compressed=is_compressed)
    assert archive.startswith(b"\x1f\x8b") is is_compressed
    result = imported(other, archive)
    assert result.is_complete
    assert dict(result.stored) == dict.fromkeys(FORMS, 1)
    assert ids(other) == ids(store)
    assert [entry.key for entry in other.catalogue.entries()] == [
        entry.key for entry in store.catalogue.entries()
    ]


def test_the_first_line_counts_what_follows():
    header, *lines = exported(DOCUMENTS).splitlines()
    told = json.loads(header)
    assert (told["format"], told["version"]) == ("airflow-provider-ernest store", 1)
    kinds = ["model", "decision", "production", "mark", "observation", "profile", "bottlenecks"]
    assert told["documents"] == {**dict.fromkeys(kinds, 1), "survey": 0}
    assert [json.loads(line)["kind"] for line in lines] == kinds


def test_importing_again_changes_nothing(store):
    result = imported(store, exported(DOCUMENTS))
    assert result.is_complete
    assert (sum(result.stored.values()), sum(result.present.values())) == (0, len(DOCUMENTS))


def test_another_document_of_the_same_id_is_left_out_and_named_and_the_rest_goes_on(store):
    unlike = replace(DOCUMENTS[0], noise=0.5)
    result = imported(store, exported([unlike, model(7, days=1)]))
    (conflict,) = result.conflicts
    assert (conflict.line, conflict.name) == (2, f"model {model().id}")
    assert "another one of that id for 'pca' on m5.large" in conflict.problem
    assert store.load(Model, "pca", "m5.large", model().id) == DOCUMENTS[0]
    assert store.load(Model, "pca", "m5.large", model(7).id)
    assert not result.is_complete


def test_names_lead_nowhere_else(tmp_path, other):
    hostile = replace(model(), job="../../x", instance_type="..", id="../../../etc/passwd")
    before = set(tmp_path.rglob("*"))
    assert imported(other, exported([hostile])).is_complete
    assert other.load(Model, "../../x", "..", "../../../etc/passwd") == hostile
    assert all(path.is_relative_to(other.root) for path in set(tmp_path.rglob("*")) - before)


def line_of(data):
    return json.dumps(sealed({"kind": "model", **data})).encode()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"kind":"pickle"}', "'pickle' is no kind"),
        (b'{"kind":"model","schema":1}', "no digest"),
        (line_of({"schema": 1}), "no Model document"),
        (line_of({"schema": 99}), "schema 99"),
        (line_of({**model().to_dict(), "driver_shore": 0.5}), "'driver_shore' is unknown"),
        (
            line_of(model().to_dict()).replace(b"fixed work", b"fixed worm"),
            "does not agree with its digest",
        ),
        (b'{"kind":["model"]}', "no kind"),
        (b"[1]", "no JSON object"),
        (b"{" * 100_000, "no JSON object"),
        (b"\xff\xfe", "no JSON object"),
        (b"", "no JSON object"),
    ],
)
def test_a_line_that_is_no_document_is_named_and_the_rest_goes_on(other, line, problem):
    header, first, *rest = exported(DOCUMENTS).splitlines()
    result = imported(other, b"\n".join([header, line, first, *rest, b""]))
    (refused,) = result.refused
    assert refused.line == 2
    assert problem in refused.problem
    assert sum(result.stored.values()) == len(DOCUMENTS)


def test_a_document_without_a_name_is_refused(other):
    result = imported(other, exported([replace(model(), job="")]))
    assert "job='' is empty" in result.refused[0].problem


@pytest.mark.parametrize("is_compressed", [False, True])
def test_cut_off_anywhere_what_is_whole_is_imported_and_the_rest_is_told(tmp_path, is_compressed):
    archive = exported(DOCUMENTS, is_compressed=is_compressed)
    header_ends = len(gzip.compress(archive)) if is_compressed else archive.index(b"\n")
    for number, end in enumerate(range(len(archive) - 1, 0, -max(1, len(archive) // 40))):
        into = ModelStore(tmp_path / f"cut-{number}")
        try:
            result = imported(into, archive[:end])
        except InvalidDocumentError:
            assert end <= header_ends, "only a file without its header is none at all"
            continue
        assert len(list(into.all_documents())) == sum(result.stored.values())
        assert result.missing == len(DOCUMENTS) - sum(result.stored.values())
        if result.missing:
            assert result.damage or archive[end - 1 : end] == b"\n"


def test_a_damaged_byte_in_a_compressed_file_is_told(other):
    archive = bytearray(exported(DOCUMENTS, is_compressed=True))
    archive[len(archive) // 2] ^= 0xFF
    result = imported(other, bytes(archive))
    assert not result.is_complete
    assert result.damage


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (b"", "no archive"),
        (b"{}", "no archive"),
        (b"hello\n", "no archive"),
        (b"\x1f\x8b broken", "no archive"),
        (b'{"format":"airflow-provider-ernest store","version":2}\n', "version 2.*reads 1"),
    ],
)
def test_a_file_that_is_no_archive_is_refused(other, archive, problem):
    with pytest.raises(InvalidDocumentError, match=problem):
        imported(other, archive)


def test_a_single_document_is_imported_as_one(other):
    for document in DOCUMENTS:
        assert imported(other, json.dumps(document.to_dict(), indent=2).encode()).is_complete
    assert len(list(other.all_documents())) == len(DOCUMENTS)


def test_a_line_without_an_end_is_not_read_into_memory(other, monkeypatch):
    monkeypatch.setattr(archive_lines, "MOST_BYTES_OF_A_LINE", 10_000)
    header = exported(DOCUMENTS).splitlines()[0]
    result = imported(other, gzip.compress(header + b"\n" + b" " * 1_000_000))
    assert (result.missing, "longer than 10,000 bytes" in result.damage) == (len(DOCUMENTS), True)


def test_a_store_that_cannot_be_written_ends_the_import(other):
    other.root.write_text("no folder")
    with pytest.raises(StoreError):
        imported(other, exported(DOCUMENTS))


def test_memory_does_not_grow_with_the_documents(tmp_path):
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.jsonl.gz"
        tracemalloc.start()
        with path.open("wb") as target:
            export_documents(
                (observation_record(id=str(n), days=1) for n in range(count)),
                target,
                is_compressed=True,
            )
        with path.open("rb") as source:
            assert sum(line.record is not None for line in archive_lines.ArchiveReader(source)) == count
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(1)  # what is imported for the first one is no document
    few = peak(100)
    # Kept, thirty times as many would take megabytes.
    assert peak(3_000) < 2 * few


@pytest.mark.parametrize(
    ("field", "value"),
    [("seconds", "nan"), ("scale", "-inf"), ("machines", 10**400)],
    ids=["no number", "infinite", "huge"],
)
def test_numbers_that_cannot_be_stop_nothing(other, field, value):
    data = model(1, days=3).to_dict()
    data["observations"][0][field] = value
    header, _, *lines = exported([model(0, days=3), model(2, days=3)]).splitlines()
    result = imported(other, b"\n".join([header, json.dumps(data).encode(), *lines]) + b"\n")
    assert [each.line for each in result.refused] == [2]
    assert [each.id for each in other.all_documents()] == [model(2, days=3).id]


def test_a_file_of_nothing_but_rubbish_fills_neither_the_memory_nor_the_terminal(other, monkeypatch):
    monkeypatch.setattr(store_archive, "MOST_NAMED", 10)
    header = exported([])
    long = json.dumps(["x" * 100_000]).encode()
    strange = json.dumps({"kind": "y" * 100_000}).encode()
    result = imported(other, header + b"\n".join([long, strange, *[b""] * 500]) + b"\n")
    assert (len(result.refused), result.refused_count) == (10, 502)
    assert max(len(each.problem) for each in result.refused) < 1_000


HOST, BUCKET, FOLDER = "10.3.2.1", "s3://planted-bucket/x", "/planted/folder/x"
TOLD = f"{BUCKET} on {HOST} was {FOLDER}."

CONDITIONS = RunConditions(
    spark="4.2.0",
    settings={"spark.hadoop.fs.s3a.bucket.planted.endpoint": "ab"},
    input=InputFingerprint(partitions=8),
)
RUN = Observation(index=0, machines=2, scale=0.1, seconds=5.0, event_log=FOLDER, hosts=(HOST, "planted-2"))
CLUSTER = TrainingCluster(
    kind="ec2",
    name="planted-cluster",
    instance_type="m5.large",
    cores_per_machine=2,
    machines=(TrainedMachine(host=HOST, instance_id="i-planted", culled_because=TOLD, score=1.0),),
)

ALTERNATIVE = Alternative(machines=2, instance_type="m5.large", seconds=1.0, cost=1.0, feasible=True)

ADVICE = Advice(subject="skew", text=TOLD, figure=f"planted-2 is slow. {TOLD}")


def straggler(host):
    return Straggler(
        stage_id=0,
        task_id=1,
        host=host,
        seconds=9.0,
        median_seconds=3.0,
        cause="slow host",
        evidence=f"{host} took 2.9 times as long as the others",
    )


PROFILE = examples.run_profile(
    event_log=BUCKET,
    headline=TOLD,
    stages=(examples.stage_profile(name=f"count at {FOLDER}:12"),),
    stragglers=(straggler("planted"), straggler("planted-2"), straggler("planted")),
    advice=(ADVICE,),
    warnings=(f"planted-2 was lost. {TOLD}",),
)
REPORT = examples.bottleneck_report()

WITH_ADDRESSES = [
    examples.model(
        artifact=BUCKET,
        input_path=FOLDER,
        observations=(RUN,),
        warnings=(TOLD,),
        cluster=CLUSTER,
        conditions=CONDITIONS,
    ),
    examples.decision_record(
        reuse=TOLD,
        decision=replace(
            examples.decision_record().decision,
            warnings=(TOLD,),
            fallback_reason=TOLD,
            alternatives=(
                replace(ALTERNATIVE, extrapolates=TOLD),
                replace(ALTERNATIVE, memory_shortage=TOLD),
            ),
        ),
    ),
    examples.production_run(event_log=BUCKET, conditions=CONDITIONS),
    examples.observation_record(id="o", days=1, observation=RUN, conditions=CONDITIONS),
    examples.mark(id="k", days=1, cause="data", model_id="m", reason=TOLD),
    examples.profile_record(profile=PROFILE),
    replace(
        REPORT,
        headline=TOLD,
        advice=(replace(ADVICE, figure=TOLD),),
        warnings=(TOLD,),
        replay=replace(REPORT.replay, problem=TOLD),
    ),
]


@pytest.mark.parametrize("document", WITH_ADDRESSES, ids=lambda document: type(document).__name__)
def test_no_address_is_left(document):
    assert "planted" in json.dumps(document.to_dict())
    told = json.dumps(address_free(document).to_dict())
    for address in ("planted", HOST):
        assert address not in told


def test_what_a_model_predicts_with_is_left():
    model = address_free(WITH_ADDRESSES[0])
    assert (model.terms, model.artifact_sha256, model.origin) == (
        WITH_ADDRESSES[0].terms,
        WITH_ADDRESSES[0].artifact_sha256,
        WITH_ADDRESSES[0].origin,
    )
    assert (model.observations[0].seconds, len(set(model.observations[0].hosts))) == (5.0, 2)
    assert model.conditions == replace(CONDITIONS, settings=None)
    assert model.cluster.machines[0].score == 1.0


def test_which_stragglers_shared_a_host_can_still_be_seen():
    told = address_free(examples.profile_record(profile=PROFILE)).profile
    assert [each.host for each in told.stragglers] == ["machine-1", "machine-2", "machine-1"]
    assert told.stragglers[1].evidence == "machine-2 took 2.9 times as long as the others"
    assert told.warnings[0].startswith("machine-2 was lost.")
    assert (told.stages[0].name, told.seconds) == ("count at (address left out):12", PROFILE.seconds)


def test_hosts_that_are_named_as_numbered_ones_are_not_taken_for_one_another():
    hosts = ("machine-2", "machine-1", "machine-12")
    told = address_free(
        examples.profile_record(profile=examples.run_profile(stragglers=tuple(map(straggler, hosts))))
    ).profile
    for number, each in enumerate(told.stragglers, start=1):
        assert (each.host, each.evidence.partition(" ")[0]) == (f"machine-{number}", f"machine-{number}")


def test_an_unknown_kind_is_not_let_through():
    with pytest.raises(TypeError, match="RunConditions"):
        address_free(CONDITIONS)
