"""Where the vectors are, and one test for each of their cases."""

from pathlib import Path

import pytest
from tests.conformance.cases import Case, cases

ROOT = Path(__file__).parents[2]

SUPERSEDED = {"14-eviction-status::accept/first-write-may-prefill-inactive-entries"}
"""A hole that file 16 closes: the two disagree on purpose, and the strict rule of 16 holds."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--vectors",
        default=None,
        help="folder of vector files, directly or in kubelet/ and evictionrequest/",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    folder = metafunc.config.getoption("vectors", default=None) or ROOT / "tests" / "vectors"
    found: list[Case] = [case for case in cases(Path(folder)) if case.id not in SUPERSEDED]
    metafunc.parametrize("case", found, ids=[case.id for case in found])
