import sys
from pathlib import Path

import fsspec
import pytest

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark import sampling
from airflow_provider_ernest.spark.sampling import list_input, stage_files


@pytest.fixture
def file_in_the_root_directory(monkeypatch):
    """A stand-in for the local disk, for nothing may be written into its root directory."""
    disk = fsspec.filesystem("memory")
    disk.pipe("/data.csv", b"x\n1\n")
    monkeypatch.setattr(sampling, "filesystem_of", lambda path: (disk, path.removeprefix("file://")))
    yield "/data.csv"
    disk.rm("/data.csv")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_file_in_the_root_directory_is_linked_to_where_it_is(file_in_the_root_directory, scheme, tmp_path):
    listing = list_input(scheme + file_in_the_root_directory)
    staged = stage_files(
        scheme + file_in_the_root_directory, scale=1.0, minimum_files=1, seed="1", staging=tmp_path / "sample"
    )

    assert listing.folder == f"{scheme}/"
    assert (Path(staged.path) / "data.csv").readlink() == Path("/data.csv")


def test_a_path_with_one_slash_after_its_scheme_is_local(tmp_path):
    """As Hadoop writes it."""
    (tmp_path / "data.csv").write_text("x\n1\n")

    staged = stage_files(
        f"file:{tmp_path}/data.csv", scale=1.0, minimum_files=1, seed="1", staging=tmp_path / "sample"
    )

    assert (Path(staged.path) / "data.csv").read_text() == "x\n1\n"
    assert list_input(f"file:{tmp_path}/data.csv").folder == f"file://{tmp_path}"


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_the_root_directory_itself_is_a_folder(file_in_the_root_directory, scheme):
    assert list_input(f"{scheme}/").folder == f"{scheme}/"


def test_a_file_in_the_working_directory_is_linked_to_where_it_is(tmp_path, monkeypatch):
    (tmp_path / "data.csv").write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)

    staged = stage_files("data.csv", scale=1.0, minimum_files=1, seed="1", staging=tmp_path / "sample")

    assert (Path(staged.path) / "data.csv").read_text() == "x\n1\n"


@pytest.mark.parametrize(
    ("name", "folder"),
    [("input", "{}/input"), ("input/", "{}/input"), ("input/part-0", "{}/input")],
)
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_folders_are_named_in_the_users_scheme(tmp_path, scheme, name, folder):
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "part-0").write_text("x\n")

    assert list_input(f"{scheme}{tmp_path}/{name}").folder == folder.format(f"{scheme}{tmp_path}")


def test_a_remote_file_is_in_its_bucket():
    bucket = fsspec.filesystem("memory")
    bucket.pipe("/bucket/data.csv", b"x\n1\n")

    staged = stage_files("memory://bucket/data.csv", scale=1.0, minimum_files=1, seed="1", staging=Path("-"))

    assert list_input("memory://bucket/data.csv").folder == "memory://bucket"
    assert staged.path == "memory://bucket/data.csv"


@pytest.mark.usefixtures("without_s3fs")
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_an_input_on_s3_without_s3fs_names_the_extra_that_brings_it(scheme):
    with pytest.raises(
        MissingResourceError, match=rf"'{scheme}://b/flights'.*pip install \"airflow-provider-ernest\[s3\]\""
    ):
        list_input(f"{scheme}://b/flights")


def test_an_input_of_another_scheme_names_what_fsspec_asks_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingResourceError, match=r"'gs://b/flights'.*install gcsfs"):
        list_input("gs://b/flights")
