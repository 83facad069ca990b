from pathlib import Path

import pytest

from airflow_provider_ernest.documents import Experiment
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.spark.sampling import list_input, stage_files, stage_first_rows, take_sample


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Forty files of unequal size in two partition folders, with what Hadoop writes beside them."""
    for number in range(40):
        folder = tmp_path / "input" / f"day={number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{number},{row}\n" for row in range(10 + number))
        (folder / f"part-{number:05d}.csv").write_text(f"file,row\n{rows}")
    (tmp_path / "input" / "_SUCCESS").write_text("")
    (tmp_path / "input" / "day=0" / ".part.crc").write_text("checksum")
    return tmp_path / "input"


def experiment(scale: float, *, machines: int = 2, partitions: int = 4) -> Experiment:
    return Experiment(index=0, machines=machines, scale=scale, partitions=partitions)


def test_lists_what_hadoop_would_read(parts: Path):
    listing = list_input(str(parts))

    assert len(listing.files) == 40
    assert listing.total_bytes == sum(path.stat().st_size for path in parts.rglob("part-*.csv"))


def test_subset_of_files_holds_the_share_of_bytes_that_it_says(parts: Path, tmp_path: Path):
    staged = stage_files(str(parts), scale=0.25, minimum_files=2, seed="7/0", staging=tmp_path / "sample")

    read = list(Path(staged.path).rglob("*.csv"))
    assert len(read) == staged.partitions
    assert sum(path.stat().st_size for path in read) / list_input(str(parts)).total_bytes == staged.scale
    assert staged.scale == pytest.approx(0.25, abs=0.02)
    assert {path.parent.name for path in read} == {"day=0", "day=1"}, "partition folders are kept"


def test_same_seed_same_files_other_seed_others(parts: Path, tmp_path: Path):
    def names(seed: str, folder: str) -> set[str]:
        staged = stage_files(str(parts), scale=0.2, minimum_files=1, seed=seed, staging=tmp_path / folder)
        return {path.name for path in Path(staged.path).rglob("*.csv")}

    assert names("1/0", "a") == names("1/0", "b")
    assert names("1/0", "c") != names("1/1", "d")


def test_every_core_gets_a_file_even_if_the_share_is_smaller(parts: Path, tmp_path: Path):
    staged = stage_files(str(parts), scale=0.01, minimum_files=6, seed="1", staging=tmp_path / "sample")

    assert staged.partitions == 6
    assert staged.scale > 0.05, "the share really read is told, not the share asked for"


def test_fewer_files_than_cores_is_refused_with_the_remedy(parts: Path, tmp_path: Path):
    with pytest.raises(InvalidParameterError, match="has 40 files, and a run of this design needs 41"):
        stage_files(str(parts), scale=0.5, minimum_files=41, seed="1", staging=tmp_path / "sample")


def test_remote_inputs_become_a_hadoop_pattern():
    import fsspec

    bucket = fsspec.filesystem("memory")
    for name in ("a.csv", "b{1}.csv", "c.csv"):
        bucket.pipe(f"/bucket/table/{name}", b"x\n1\n")
    staged = stage_files(
        "memory://bucket/table/", scale=1.0, minimum_files=3, seed="1", staging=Path("unused")
    )

    assert staged.path.startswith("memory://bucket/table/{")
    assert set(staged.path.removeprefix("memory://bucket/table/{").removesuffix("}").split(",")) == {
        "a.csv",
        "b\\{1\\}.csv",
        "c.csv",
    }
    assert staged.scale == 1.0


def test_first_rows_come_in_order_with_headers_in_so_many_pieces(parts: Path, tmp_path: Path):
    staged = stage_first_rows(str(parts), scale=0.1, pieces=4, header=True, staging=tmp_path / "sample")

    pieces = sorted(Path(staged.path).iterdir())
    assert len(pieces) == 4
    lines = [piece.read_text().splitlines() for piece in pieces]
    assert all(piece[0] == "file,row" for piece in lines)
    rows = [row for piece in lines for row in piece[1:]]
    source = [row for path in sorted(parts.rglob("part-*.csv")) for row in path.read_text().splitlines()[1:]]
    assert rows == source[: len(rows)]
    assert staged.scale == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_the_share_of_first_rows_is_that_of_the_rows(scale: float, tmp_path: Path):
    """Headers are a large part of small files, and no part of the work."""
    (tmp_path / "input").mkdir()
    for number in range(10):
        (tmp_path / "input" / f"part-{number}.csv").write_text("column" * 20 + "\n" + "1234\n" * 10)
    staged = stage_first_rows(
        str(tmp_path / "input"), scale=scale, pieces=2, header=True, staging=tmp_path / "sample"
    )

    copied = [row for piece in Path(staged.path).iterdir() for row in piece.read_text().splitlines()[1:]]
    assert staged.scale == pytest.approx(len(copied) / 100, abs=0.005)
    assert len(copied) == pytest.approx(100 * scale, abs=1)


def test_files_of_nothing_but_headers_have_no_first_rows(tmp_path: Path):
    (tmp_path / "data.csv").write_text("one line\n")

    with pytest.raises(InvalidParameterError, match=r"header=True leaves no rows of .*data\.csv"):
        stage_first_rows(str(tmp_path / "data.csv"), scale=1, pieces=1, header=True, staging=tmp_path / "s")


def test_first_rows_of_columnar_files_are_refused(tmp_path: Path):
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "part-0.parquet").write_bytes(b"PAR1")

    with pytest.raises(InvalidParameterError, match=r"cannot cut part-0\.parquet.*Use 'files'"):
        stage_first_rows(str(tmp_path / "input"), scale=0.1, pieces=1, header=False, staging=tmp_path / "s")


def test_argument_stages_nothing(parts: Path, tmp_path: Path):
    sample = take_sample(
        experiment(0.05),
        str(parts),
        method="argument",
        header=False,
        minimum_files=2,
        seed="1",
        staging=tmp_path / "sample",
    )

    assert (sample.input, sample.scale, sample.partitions) == (str(parts), 0.05, 4)
    assert not (tmp_path / "sample").exists()


@pytest.mark.parametrize("method", ["files", "first_rows", "argument"])
def test_missing_input_is_named(method: str, tmp_path: Path):
    with pytest.raises(MissingResourceError, match=r"no-such-folder.*does not exist"):
        take_sample(
            experiment(0.05),
            str(tmp_path / "no-such-folder"),
            method=method,
            header=False,
            minimum_files=1,
            seed="1",
            staging=tmp_path / "sample",
        )


def test_empty_input_is_refused(tmp_path: Path):
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "_SUCCESS").write_text("")

    with pytest.raises(MissingResourceError, match="holds no file with content"):
        list_input(str(tmp_path / "input"))


def test_unknown_method_names_the_known_ones(parts: Path, tmp_path: Path):
    with pytest.raises(InvalidParameterError, match="files, first_rows, argument"):
        take_sample(
            experiment(0.05),
            str(parts),
            method="rows",
            header=False,
            minimum_files=1,
            seed="1",
            staging=tmp_path / "sample",
        )
