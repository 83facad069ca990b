"""Which machines a run had, and when: what its executors came and went for."""

from __future__ import annotations

from tests.unit.eventlog.logs import START, event_log, executor, task


def test_executors_that_share_a_machine_all_count():
    """As on YARN, and on workers of which each executor takes a part."""
    shared = [
        executor(0, cores=4, host="10.0.0.1"),
        executor(1, cores=4, host="10.0.0.1"),
        executor(2, cores=4, host="10.0.0.2"),
    ]
    log = event_log([task()], executors=shared)

    assert len(log.machines) == 2
    assert log.slots == 12
    assert log.slots_by_worker == {"10.0.0.1:8081": 8, "10.0.0.2:8081": 4}


def test_an_executor_that_replaces_another_does_not_count_beside_it():
    replaced = [
        executor(0, cores=2, host="10.0.0.1", removed=5.0),
        executor(1, cores=2, host="10.0.0.1", added=5.0),
        executor(2, cores=2, host="10.0.0.2", added=6.0),
    ]
    log = event_log([task()], executors=replaced)

    assert log.slots == 4
    assert log.slots_by_worker == {"10.0.0.1:8081": 2, "10.0.0.2:8081": 2}


def test_a_machine_that_joins_later_does_not_hide_what_was_done_without_it():
    """Under dynamic allocation the last may come at the very end."""
    log = event_log(
        [task(0, 3.0, 20.0)],
        executors=[executor(0), executor(1, added=2.5), executor(2, added=22.0)],
    )

    assert log.ready_at == START + 2.5
    assert len(log.machines) == 3


def test_tasks_that_no_known_machine_can_have_run_do_not_count():
    """The beginning of such a log is missing."""
    log = event_log([task(0, 0.0)], executors=[executor(0, added=4.0), executor(1, added=9.0)], ended=12.0)

    assert log.ready_at == START + 4.0


def test_without_machines_it_begins_with_the_application():
    log = event_log([task()], executors=[])

    assert (log.ready_at, log.slots) == (log.started_at, 0)
