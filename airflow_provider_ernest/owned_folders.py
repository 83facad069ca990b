"""Folders that one process needs while it runs, such as for a secret or a sample of data.

Only their user may enter them. A process that is killed by SIGKILL cannot remove its own: then whoever comes
next does. Whose a folder is stands in its name (host, process id and start time), so that there is no moment
at which nobody knows it, and none of a process that still runs is taken for left over.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.processes import ProcessIdentity

FOREIGN_SECONDS = 7 * 86_400.0
"""After so long a folder of another host is taken for left over: nothing tells whether its process runs."""


def runtime_folder() -> Path:
    """Where secrets lie while their processes run: below XDG_RUNTIME_DIR, else below the temporary folder.

    Raises:
        MissingResourceError: it cannot be made, or another user has made it before.
    """
    given = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nowhere")
    # It may be that of the user who has started this user's processes.
    is_ours = given.is_dir() and given.stat().st_uid == os.geteuid()
    folder = given / "ernest" if is_ours else Path(tempfile.gettempdir(), f"ernest-{os.geteuid()}")
    remedy = "Set XDG_RUNTIME_DIR to a folder of the user that Airflow's tasks run as."
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if found.st_uid != os.geteuid() or not folder.is_dir() or folder.is_symlink():
            raise MissingResourceError(f"{folder} is no folder of this user.", remedy=remedy)
        folder.chmod(0o700)
    except OSError as error:
        raise MissingResourceError(f"{folder} cannot be used: {error.strerror}.", remedy=remedy) from error
    return folder


def make_owned(parent: Path) -> Path:
    """A new folder in `parent` that belongs to this process; what is left over there is removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    sweep(parent)
    me = ProcessIdentity.of(os.getpid())
    # mkdtemp makes it with mode 0700.
    return Path(tempfile.mkdtemp(prefix=f"{_host()}.{me.pid}.{round(me.created_at * 1000)}.", dir=parent))


def sweep(root: Path, *, pattern: str = "*", dry_run: bool = False) -> list[Path]:
    """Remove the folders below `root` whose processes have ended. Anything else is left alone.

    Returns:
        Those that were, or would be, removed.
    """
    # Unlike Path.glob, this passes over folders that others remove meanwhile.
    found = [root / name for name in glob.glob(pattern, root_dir=root)]  # noqa: PTH207
    left_over = [path for path in found if path.is_dir() and _is_left_over(path)]
    for path in [] if dry_run else left_over:
        shutil.rmtree(path, ignore_errors=True)
    return left_over


def _is_left_over(path: Path) -> bool:
    host, *numbers = path.name.rsplit(".", 3)
    if len(numbers) != 3 or not (numbers[0] + numbers[1]).isdecimal():
        return False
    if host != _host():
        with contextlib.suppress(FileNotFoundError):
            return time.time() - path.lstat().st_mtime > FOREIGN_SECONDS
        return False
    owner = ProcessIdentity(pid=int(numbers[0]), created_at=int(numbers[1]) / 1000)
    return not owner.is_alive()


def _host() -> str:
    return socket.gethostname()
