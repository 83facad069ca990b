from benchmarks.compatibility import Cell, pinned, row


def test_what_this_machine_has_no_interpreter_for_is_said():
    told = row(Cell(python="3.99"), quick=True)

    assert told.startswith("Python 3.99     Airflow newest   Spark newest")
    assert told.endswith("skipped: this machine has no Python 3.99")


def test_versions_are_those_of_the_constraints(tmp_path):
    file = tmp_path / "demo.txt"
    file.write_text("a-b==1.2 \\\n    --hash=sha256:00\nc==3.0 \\\n    --hash=sha256:11\n")

    assert pinned(file) == ["a-b==1.2", "c==3.0"]
