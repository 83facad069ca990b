"""The long description: README.md without what leads nowhere outside of the repository.

Addresses in the repository become absolute below ``Source`` of ``[project.urls]``; while there is none, links
become their text and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

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
