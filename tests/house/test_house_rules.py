"""The rules of the house, as a test: shapes of files and functions, names, words, and who may
import what."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("services/**/*.py"), *ROOT.glob("schemas/**/*.py")])
TESTS = sorted(ROOT.glob("tests/**/*.py"))
FUNCTION_LINES_MAX = 60
FUNCTION_LINES_MEDIAN_MAX = 10
FILE_LINES_MAX = 400
CORE_FORBIDDEN = {
    "aiodocker",
    "aiohttp",
    "aiomqtt",
    "anyio",
    "asyncio",
    "logging",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "sqlite3",
    "structlog",
    "subprocess",
    "threading",
    "time",
}
ONLY_IN = {
    "aiomqtt": ("services/evictd/shell/bus/",),
    "aiodocker": ("services/evictd/runtimes/",),
    "aiohttp": (
        "services/evictd/runtimes/",
        "services/evictd/responder/",
        "services/evictd/gateway/",
    ),
    "click": ("services/evictd/cli/",),
    "sqlite3": ("services/evictd/shell/",),
    "yaml": ("services/evictd/shell/configuration/",),
    "pytest": (),
}


def short(path: Path) -> str:
    """A path as people read it."""
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text())


def functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from its `def` to its end."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def imported(module: ast.Module) -> set[str]:
    """Top-level names of every import, lazy ones included."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree(path)), f"{short(path)} has no docstring"


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=short)
def test_a_file_stays_readable(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= FILE_LINES_MAX, f"{short(path)} has {lines} lines; a room wants a wall"


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_a_function_stays_short(path: Path) -> None:
    long = {item.name: length(item) for item in functions(tree(path))}
    assert not {name: lines for name, lines in long.items() if lines > FUNCTION_LINES_MAX}


def test_half_of_the_functions_are_very_short() -> None:
    lengths = [length(item) for path in SOURCES for item in functions(tree(path))]
    assert median(lengths) < FUNCTION_LINES_MEDIAN_MAX


@pytest.mark.parametrize("path", sorted(ROOT.glob("services/evictd/core/**/*.py")), ids=short)
def test_core_decides_and_does_nothing_else(path: Path) -> None:
    assert not imported(tree(path)) & CORE_FORBIDDEN
    assert not [item for item in functions(tree(path)) if isinstance(item, ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_a_third_party_package_stays_in_its_room(path: Path) -> None:
    for package in imported(tree(path)) & set(ONLY_IN):
        assert short(path).startswith(ONLY_IN[package] or ("nowhere",)), (
            f"{short(path)} imports {package}"
        )


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_a_topic_is_built_in_one_place_only(path: Path) -> None:
    if short(path) != "schemas/evictd_schemas/topics.py":
        texts = [
            node.value
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        built = [text for text in texts if text.startswith("evictd/v1") and "\n" not in text]
        assert not built, f"{short(path)} builds a topic: use evictd_schemas.topics"


def name_comparisons(module: ast.Module) -> list[str]:
    """Comparisons of something called profile with a name of one."""
    return [
        ast.unparse(node)
        for node in ast.walk(module)
        if isinstance(node, ast.Compare)
        and "profile" in ast.unparse(node.left)
        and any(isinstance(side, ast.Constant) and side.value for side in node.comparators)
    ]


@pytest.mark.parametrize("path", SOURCES, ids=short)
def test_a_profile_is_a_value_and_nothing_compares_its_name(path: Path) -> None:
    assert not name_comparisons(tree(path))


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=short)
def test_no_failure_is_swallowed(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            silent = all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)
            broad = caught in {"everything", "Exception", "BaseException"}
            assert not (broad and silent), f"{short(path)}:{node.lineno} swallows {caught}"


@pytest.mark.parametrize("path", TESTS, ids=short)
def test_no_test_is_skipped_or_expected_to_fail(path: Path) -> None:
    text = path.read_text()
    banned = ["pytest." + word for word in ("skip(", "mark.skip", "mark.xfail", "xfail(")]
    assert not [word for word in banned if word in text]


def test_nothing_is_called_utils() -> None:
    assert not [short(path) for path in SOURCES if "util" in path.stem or "helper" in path.stem]


def test_the_import_law_holds() -> None:
    script = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("package", ["evictd_schemas", "evictd.core.effects", "evictd.responder"])
def test_a_public_package_is_light(package: str) -> None:
    """Importing the wire, the core or the responder's library loads no runtime and no worker."""
    probe = (
        f"import sys, {package}; "
        "heavy = {'aiodocker', 'aiomqtt', 'sqlite3', 'yaml', 'evictd.collector', 'evictd.cli'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
