"""Shared by all tests: an Airflow home of their own, before anything imports Airflow."""

import os
import tempfile

# Airflow reads its home on import; tests must not see the own one of a developer, nor that of another process
# that shares their work. Removed at the end.
_home = tempfile.TemporaryDirectory(prefix="ernest-airflow-home-")
os.environ["AIRFLOW_HOME"] = _home.name
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__USAGE_DATA_COLLECTION__ENABLED", "False")
# What is in use lies in the temporary folder, which tests can replace.
os.environ.pop("XDG_RUNTIME_DIR", None)
