"""Sphinx configuration: `make documentation` builds the pages of this folder, with a search."""

import os
import re
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

from airflow_provider_ernest import __version__

# Airflow, which autodoc imports, writes its configuration there.
os.environ.setdefault("AIRFLOW_HOME", str(Path(__file__).parents[1] / "build" / "airflow"))

project = "airflow-provider-ernest"
author = "The airflow-provider-ernest authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
html_theme = "furo"
autodoc_typehints = "none"
napoleon_use_ivar = True

INDEX = "index"
OF_DOCSTRINGS = re.compile(r"<!-- autodoc\n(.*?)\n-->", re.DOTALL)
OF_A_FILE = re.compile(r"<!-- include (\S+) -->")
ROW = re.compile(r"^\| \[[^]]+\]\(([\w/]+)\.md\)", re.MULTILINE)


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Make what the rows of an index link its chapters, so that it needs no directive that GitHub shows."""
    if PurePosixPath(page).name == INDEX:
        chapters = dict.fromkeys(ROW.findall(source[0]))
        source[0] += "\n".join(["", "", "```{toctree}", ":hidden:", "", *chapters, "```", ""])


def add_directives(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Make directives of the comments that hold them, where GitHub does not show them."""
    source[0] = OF_DOCSTRINGS.sub(r"```{eval-rst}\n\1\n```", source[0])
    source[0] = OF_A_FILE.sub(r"```{literalinclude} \1\n```", source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_directives)
    app.connect("source-read", add_contents)
