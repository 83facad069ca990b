"""Work on threads: all of it, in order, and nothing that a process would wait for."""

import subprocess
import sys
from threading import Barrier

import pytest

from airflow_provider_ernest.store.files import in_threads


def test_parts_are_done_at_the_same_time():
    all_there = Barrier(3, timeout=60)

    assert sorted(in_threads(lambda part: all_there.wait(), range(3), most=3)) == [0, 1, 2]


def test_what_fails_is_raised():
    def work(part):
        raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part 0"):
        in_threads(work, range(3), most=1)


def test_a_process_ends_though_a_storage_never_answers():
    program = (
        "from threading import Event, Thread\n"
        "from airflow_provider_ernest.store.files import in_threads\n"
        "begun = Event()\n"
        "def work(part):\n"
        "    begun.set()\n"
        "    Event().wait()\n"
        "Thread(target=in_threads, args=(work, [1]), kwargs={'most': 1}, daemon=True).start()\n"
        "begun.wait()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)

    assert ended.returncode == 0
