"""What hatchling does not do by itself: the long description, and the example DAGs in the wheel.

The long description is README.md without what leads nowhere outside of the repository. Addresses in the
repository become absolute below ``Source`` of ``[project.urls]``; while there is none, links become their
text and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

EXAMPLES = {"dags": "airflow_provider_ernest/example_dags"}
"""Where the example DAGs lie in the repository, and in the wheel: there as in Airflow's own providers."""

_RELATIVE = r"\]\((?!https?://|#)([^)\s]+)\)"


def long_description(readme: str, source: str | None) -> str:
    """The text of a README with absolute links to the files that it names.

    Args:
        readme: in Markdown.
        source: address of the repository; None where there is none.
    """
    if source is not None:
        pictures = re.sub(rf"(!\[[^\]]*){_RELATIVE}", rf"\1]({source}/raw/HEAD/\2)", readme)
        return re.sub(_RELATIVE, rf"]({source}/blob/HEAD/\1)", pictures)
    without_pictures = re.sub(rf"!\[[^\]]*{_RELATIVE}", "", readme)
    return re.sub(rf"\[([^\]]*){_RELATIVE}", r"\1", without_pictures)


class LongDescription(MetadataHookInterface):
    """Hatchling finds it by `tool.hatch.metadata.hooks.custom`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the project's readme."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = long_description(readme, metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class ExampleDags(BuildHookInterface[Any]):
    """Hatchling finds it by `tool.hatch.build.targets.wheel.hooks.custom`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the examples to a wheel; an editable installation would get copies that grow old."""
        if version == "standard":
            build_data["force_include"].update(EXAMPLES)
