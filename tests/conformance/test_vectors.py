"""Every vector case against the functions that the workers call.

An operation module `*_operations.py` holds `OPERATIONS`, a dict from (file, operation) to a
function of what is given, and may hold `COMPARISONS`, a dict from file to a function of (expected,
actual) that asserts. Without one the two must be equal: fractions within one millionth, `one_of`
any of its list.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.cases import Case
from tests.conformance.comparison import equal

Operation = Callable[[Any], Any]
Comparison = Callable[[Any, Any], None]


def _registered() -> tuple[dict[tuple[str, str], Operation], dict[str, Comparison]]:
    operations: dict[tuple[str, str], Operation] = {}
    comparisons: dict[str, Comparison] = {}
    for path in sorted(Path(__file__).parent.glob("*_operations.py")):
        module = importlib.import_module(f"tests.conformance.{path.stem}")
        operations |= module.OPERATIONS
        comparisons |= getattr(module, "COMPARISONS", {})
    return operations, comparisons


OPERATIONS, COMPARISONS = _registered()


def test_vector(case: Case) -> None:
    """The case's operation gives what the case expects; an unknown operation fails."""
    operation = OPERATIONS.get((case.file, case.operation))
    if operation is None:
        pytest.fail(f"nothing registered for operation {case.operation!r} of {case.file}")
    actual = operation(case.given)
    COMPARISONS.get(case.file, _same)(case.expect, actual)


def _same(expected: Any, actual: Any) -> None:
    assert equal(expected, actual), f"expected {expected!r}, got {actual!r}"
