"""The example application's modules are run by spark-submit, so they lie outside any package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "dags" / "jobs"))
