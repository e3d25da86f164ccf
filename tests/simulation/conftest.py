"""The option that writes the outcomes of golden scenarios anew."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="Write the outcome of each scenario beside it instead of comparing.",
    )
