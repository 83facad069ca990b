"""Sphinx configuration: `make documentation` builds the pages of this folder."""

from airflow_provider_ernest.version import __version__

project = "airflow-provider-ernest"
author = "The airflow-provider-ernest authors"
version = release = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
html_theme = "furo"
