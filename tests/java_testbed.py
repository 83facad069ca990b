"""What the test beds have in common that are programs in Java: how they are found, started and ended."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Self

from airflow_provider_ernest.spark.installation import find_java

SHORT_LIVES = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's options for processes that live for a minute. The tests' own name classes of another class path."""

_STOP_SECONDS = 60.0


class JavaTestbed:
    """A program in Java that stands for a cluster; a context manager.

    It ends with this process, whatever happens: when its standard input is closed, all is stopped.

    Attributes:
        name: of the folder tests/NAME_testbed, from which `.ci/ensure_testbed NAME` makes build/NAME.
        directory: an empty one, for configurations, logs and what the cluster's processes write.
        event_logs: where applications write theirs.
        spark_conf: a SPARK_CONF_DIR whose defaults suit this machine, so that applications need not name
            them.
    """

    name: ClassVar[str]

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.event_logs = directory / "event_logs"
        self.spark_conf = directory / "spark_conf"
        self._process: subprocess.Popen[str] | None = None

    @classmethod
    def missing(cls) -> str | None:
        """Why it cannot be started here; None where it can."""
        if (cls._build() / "classes" / f"{cls.__name__}.class").is_file():
            return None
        return (
            f"build/{cls.name} is missing: `.ci/ensure_testbed {cls.name}` makes it with Maven, or says why "
            "it cannot"
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and return when it takes applications."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop it and all that it has started; nothing happens where it has ended."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        finally:
            process.kill()
            process.wait()

    def told(self) -> str:
        """The end of what its program has logged."""
        return (self.directory / f"{self.name}.log").read_text()[-3000:]

    def _launch(
        self,
        arguments: Iterable[object],
        *,
        heap_megabytes: int,
        environment: Mapping[str, str],
        configuration: Path | None = None,
    ) -> None:
        """Start the program of the class's name; its `configuration` comes first on its class path."""
        build = self._build()
        class_path = [*([configuration] if configuration else []), build / "classes", build / "lib" / "*"]
        with (self.directory / f"{self.name}.log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    *(str(find_java().resolve()), f"-Xmx{heap_megabytes}m"),
                    *("-cp", ":".join(map(str, class_path)), type(self).__name__),
                    *map(str, arguments),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self.directory,
                # Ctrl-C is for pytest, which then closes the standard input.
                start_new_session=True,
                env=environment,
            )

    @classmethod
    def _build(cls) -> Path:
        return Path(__file__).parents[1] / "build" / cls.name
