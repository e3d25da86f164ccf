"""A plugin of the pytest that runs inside the guest: each story's news as one line of JSON.

Told at once and not at the end: whatever happens to the guest, what it did until then is known.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

PLACE = Path(os.environ["GUEST_TELLS"])


def _tell(**news: object) -> None:
    with PLACE.open("a") as line:
        line.write(json.dumps(news) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """A story begins."""
    _tell(story=nodeid, phase="begun")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Its fixtures, itself, and its fixtures' end."""
    _tell(
        story=report.nodeid,
        phase=report.when,
        outcome=report.outcome,
        seconds=round(report.duration, 2),
        said=report.longreprtext,
    )
