"""Typed views of models, runs and profiles: the source of page, report and command line."""
