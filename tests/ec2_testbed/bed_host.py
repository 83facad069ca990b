"""One host: an instance that boots, runs, and ends."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.ec2_testbed.bed_limits import CpuLimit
from tests.ec2_testbed.bed_metadata import MetadataService, Pages
from tests.ec2_testbed.bed_network import Switch, enter_new_namespace, metadata_socket
from tests.ec2_testbed.testbed import Performance

_GUEST = Path(__file__).parent / "guest"
_SHUTDOWN_SECONDS = 3.0


@dataclass(frozen=True)
class HostSettings:
    """What is the same for all hosts of a bed."""

    name_prefix: str
    folder: Path
    switch: Switch
    shared: tuple[str, ...]
    writable: tuple[str, ...]
    seconds_per_minute: float
    disk_megabytes: int


@dataclass
class Host:
    """An instance's host. It lives in a thread of its own, whose end would end it."""

    instance_id: str
    address: str
    user_data: bytes
    performance: Performance
    settings: HostSettings
    read_metadata: Callable[[], Pages]
    on_running: Callable[[Host], None]
    on_end: Callable[[Host, bool, Exception | None], None]
    process: subprocess.Popen[bytes] | None = None
    has_booted: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    _ending: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _limit: CpuLimit | None = None
    _namespace: int | None = None

    @property
    def folder(self) -> Path:
        return self.settings.folder / self.instance_id

    @property
    def is_ending(self) -> bool:
        return self._ending.is_set()

    @property
    def console(self) -> str:
        try:
            return (self.folder / "console.log").read_text(errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def first_process(self) -> int | None:
        """Id, on the machine, of its process 1; None until it has booted."""
        if self.process is None or not self.has_booted or self.process.poll() is not None:
            return None
        try:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except FileNotFoundError:
            return None
        return int(children[0]) if children else None

    def start(self) -> None:
        threading.Thread(target=self._live, name=self.instance_id, daemon=True).start()

    def set_performance(self, performance: Performance) -> None:
        """Make it faster or slower; while it runs, too."""
        with self._lock:
            self.performance = performance
            if self._limit and self._namespace is not None:
                self._limit.set(performance.cpu)
                path = f"/proc/{os.getpid()}/fd/{self._namespace}"
                self.settings.switch.shape(path, self.address, performance.megabits_per_second)

    def shut_down(self) -> None:
        """Ask its process 1 to end, and kill it if it does not; returns at once."""
        self._ending.set()
        threading.Thread(target=self._shut_down, daemon=True).start()

    def power_off(self) -> None:
        """Cut it from the network, then kill it: others get no word of it."""
        self._ending.set()
        self.settings.switch.cut(self.address)
        self._kill()

    def _live(self) -> None:
        problem: Exception | None = None
        services: list[MetadataService] = []
        try:
            if not self._ending.is_set():
                self._run(services)
        except (OSError, RuntimeError) as error:
            problem = error
        of_itself = not self._ending.is_set()
        try:
            self._clear_away(services)
        finally:
            self.ended.set()
            self.on_end(self, of_itself, problem)

    def _run(self, services: list[MetadataService]) -> None:
        self._write_files()
        with self._lock:
            self._namespace = enter_new_namespace()
            self.settings.switch.attach_this_thread(self.address)
            self._limit = CpuLimit(f"{self.settings.name_prefix}{self.instance_id}")
        services.append(MetadataService(metadata_socket(), self.read_metadata))
        self.set_performance(self.performance)
        (self.folder / "groups").write_text(f"{self._limit.process_file}\n")
        arguments = [
            str(self.folder / "guest" / "boot"),
            str(self.folder),
            f"ip-{self.address.replace('.', '-')}",
            str(self.settings.seconds_per_minute),
            str(self.settings.disk_megabytes),
        ]
        with (self.folder / "boot.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "bash", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        if self._ending.is_set():
            self._kill()  # who ended it found no process yet
        assert self.process.stdout
        if self.process.stdout.readline():
            self.has_booted = True
            self.on_running(self)
        if self.process.wait() and not self._ending.is_set():
            raise RuntimeError(f"the host ended: {(self.folder / 'boot.log').read_text()[-2000:]}")

    def _write_files(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)  # of its life before it was stopped
        self.folder.mkdir(parents=True)
        (self.folder / "root").mkdir()
        shutil.copytree(_GUEST, self.folder / "guest")
        (self.folder / "user-data").write_bytes(self.user_data)
        (self.folder / "console.log").touch()
        (self.folder / "hosts").write_text(_hosts(self.settings.switch))
        # Another name is not found, and that at once: nothing listens there.
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        for name, paths in (("shared", self.settings.shared), ("writable", self.settings.writable)):
            (self.folder / name).write_text("".join(f"{path}\n" for path in paths))

    def _clear_away(self, services: list[MetadataService]) -> None:
        self._kill()
        for service in services:
            service.close()
        self.settings.switch.detach(self.address)
        with self._lock:
            if self._namespace is not None:
                os.close(self._namespace)
                self._namespace = None
            if self._limit:
                self._limit.remove()
                self._limit = None

    def _shut_down(self) -> None:
        first = self.first_process
        if first is not None and self.process is not None:
            os.kill(first, signal.SIGTERM)
            self.ended.wait(_SHUTDOWN_SECONDS)
        self._kill()

    def _kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()


def _hosts(switch: Switch) -> str:
    """Names of all addresses: a look-up by DNS from a host would wait 10 s."""
    lines = ["127.0.0.1 localhost"]
    for address in switch.network.hosts():
        name = f"ip-{str(address).replace('.', '-')}"
        lines.append(f"{address} {name}.ec2.internal {name}")
    return "\n".join(lines) + "\n"


def decode_user_data(text: object | None) -> bytes:
    return base64.b64decode(str(text)) if text is not None else b""
