"""A report taken apart: the data, and the file around them, which is the same whatever they are."""

from __future__ import annotations

import json
import re
from typing import Any

_DATA = re.compile(r'(<script type="application/json" id="answers">)([^<>&]*)(</script>)')


def answers(html: str) -> dict[str, Any]:
    """The answers of the web API that it holds, by their paths."""
    ((_, data, _),) = _DATA.findall(html)
    return {each["path"]: each["answer"] for each in json.loads(data)}


def around_data(html: str) -> str:
    """All but the data: where two reports of a page differ in it, something broke out of them."""
    without, found = _DATA.subn(r"\1\3", html)
    assert found == 1
    return without
