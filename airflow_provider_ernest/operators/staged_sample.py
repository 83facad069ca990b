"""What a sample run needs before it is submitted: its machines, and its sample in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.owned_folders import make_owned
from airflow_provider_ernest.spark.run_watch import require_workers
from airflow_provider_ernest.spark.sampling import take_sample

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.model.documents import Experiment
    from airflow_provider_ernest.spark.sampling import Sample


def sample_cluster(document: Any, *, machines: int) -> ClusterHandle | None:
    """The cluster to run on, seen to have the machines; None where there is only a connection.

    Args:
        document: `ClusterHandle` document; nothing where there is none.
        machines: that the run needs.

    Raises:
        InvalidParameterError: the cluster has fewer.
        ClusterLostError: it has lost some, or does not answer.
    """
    if not document:
        return None
    handle = ClusterHandle.from_dict(document)
    if machines > len(handle.machines):
        raise InvalidParameterError(
            "machines",
            machines,
            f"is more than cluster {handle.name} has ({len(handle.machines)})",
            remedy="Lower max_machines of the design, or start a larger cluster.",
        )
    if handle.web_url is not None:
        # Before a sample is staged, while there is nothing to wait for.
        require_workers(handle.web_url, machines)
    return handle


@contextmanager
def staged_sample(
    experiment: Experiment,
    input_path: str,
    *,
    folder: Path,
    method: str,
    header: bool,
    minimum_files: int,
    seed: int,
) -> Iterator[Sample]:
    """The sample of an experiment, for as long as it is run.

    Only this user may read it; links to files of the input are for all, as far as these files themselves are,
    since machines may run as another user.

    Args:
        experiment: how much to take.
        input_path: the production input.
        folder: of this task, for a folder of this attempt. What an attempt that was killed has left in it is
            deleted before, and this attempt's after.
        method: see `spark.sampling`.
        header: the input's files begin with a header line.
        minimum_files: so many files at least, that all machines have some.
        seed: the same one takes the same samples.
    """
    shutil.rmtree(folder, ignore_errors=True)
    staged = make_owned(folder)
    if method == "files":
        staged.chmod(0o755)
    try:
        yield take_sample(
            experiment,
            input_path,
            method=method,
            header=header,
            minimum_files=minimum_files,
            seed=f"{seed}/{experiment.index}",
            staging=staged,
        )
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        # Not what a retry has put there meanwhile, where this attempt was only taken for dead.
        with suppress(OSError):
            folder.rmdir()
