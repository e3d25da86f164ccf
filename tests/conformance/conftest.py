"""Where the vectors are, and one test for each of their cases."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.conformance.cases import Case, cases  # noqa: E402 - the line above makes it importable


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
    found: list[Case] = list(cases(Path(folder)))
    metafunc.parametrize("case", found, ids=[case.id for case in found])
