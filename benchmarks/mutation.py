"""Mutation of the core: which small changes of its code does no test notice?

    nice -n 10 python benchmarks/mutation.py [--minutes 25] [--room core/signals] [--output FILE]

Everything is collected and run once, to learn which test reaches which line. Then each mutant is a
fork of this process in which one function has other code, and in which the tests that reach the
changed line are run, the quickest first, until one fails. Only code inside functions is changed;
constants of modules and defaults of fields are not. Mutants come in a seeded random order, so that
a run that ends by time is a fair sample. `--again FILE` tries only changes that an earlier report
names, at whatever line they are by now.
"""

import argparse
import ast
import copy
import functools
import gc
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import hypothesis
import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "services" / "evictd"
ROOMS = ("core/signals", "core/evaluation", "core/decision", "core/protocol")
TIERS = ("tests/core", "tests/conformance", "tests/simulation", "tests/services")
"""Without processes, sockets and waiting."""
SEED = 20
TEST_SECONDS_MAX = 10.0
"""Time of the tests that one mutant is shown, by what they took unchanged; the quickest first."""
PATIENCE_FACTOR, PATIENCE_SECONDS = 5.0, 3.0
"""A mutant that takes so much longer than the unchanged code loops: that is noticed as well."""
POLL_SECONDS = 0.002
CACHE = type(functools.cache(len))
"""What holds the results of unchanged code."""

Comparisons = dict[type[ast.cmpop], type[ast.cmpop]]
COMPARISONS: Comparisons = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change: where, what, and the code that the function has instead."""

    file: Path
    lines: range
    change: str
    key: tuple[str, str, int]
    code: CodeType


@dataclass(frozen=True, kw_only=True)
class Site:
    """A node in its parent's field, and the lines of the statement that it is part of."""

    parent: ast.AST
    name: str
    index: int | None
    node: ast.AST
    lines: range


@dataclass
class Tally:
    """What became of a room's mutants."""

    killed: int = 0
    looped: int = 0
    unreached: list[Mutant] = field(default_factory=list)
    survived: list[Mutant] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.killed + self.looped + len(self.unreached) + len(self.survived)


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Every other node that may stand in the place of one."""
    if isinstance(node, ast.stmt):
        yield from _other_statements(node)
    elif isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.BinOp):
        yield from _other_operators(node)
    else:
        yield from _other_values(node)


def _other_operators(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[operator]):
            other = copy.copy(node)
            other.ops = [COMPARISONS[type(operator)]()]
            yield other
        case ast.BoolOp(op=ast.And()):
            yield ast.BoolOp(op=ast.Or(), values=node.values)
        case ast.BoolOp(op=ast.Or()):
            yield ast.BoolOp(op=ast.And(), values=node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(op=operator) if type(operator) in ARITHMETIC:
            yield ast.BinOp(left=node.left, op=ARITHMETIC[type(operator)](), right=node.right)


def _other_values(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.IfExp():
            yield ast.IfExp(test=node.test, body=node.orelse, orelse=node.body)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value=value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield ast.Call(
                func=ast.Name(id=CALLS[name], ctx=ast.Load()),
                args=node.args,
                keywords=node.keywords,
            )
        case ast.comprehension(ifs=[_, *_]):
            yield ast.comprehension(
                target=node.target, iter=node.iter, ifs=[], is_async=node.is_async
            )


def _other_statements(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.Return(value=value) if not isinstance(value, ast.Constant | None):
            yield ast.Return(value=ast.Constant(value=None))
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield ast.Pass()
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=body, orelse=orelse)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Outermost functions and methods with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def mutants_of(file: Path, text: str) -> Iterator[Mutant]:
    """Every mutant of one file, one after the other in the same tree."""
    tree = ast.parse(text)
    for name, function in functions(tree):
        for site in [site for statement in function.body for site in sites(function, statement)]:
            for other in changes(site.node):
                code = _code_with(tree, file, name, site, other)
                if code is not None:
                    yield Mutant(
                        file=file,
                        lines=site.lines,
                        change=f"{_short(site.node)}  ->  {_short(other)}",
                        key=(str(file), name, code.co_firstlineno),
                        code=code,
                    )


def sites(parent: ast.AST, statement: ast.stmt) -> Iterator[Site]:
    """Every place below a statement, itself included, with the lines that reach it."""
    name, index = next(
        (name, index) for name, index, node in _children(parent) if node is statement
    )
    yield Site(parent=parent, name=name, index=index, node=statement, lines=_lines(statement))
    yield from _sites_below(statement, _lines(statement))


def _sites_below(parent: ast.AST, lines: range) -> Iterator[Site]:
    for name, index, node in _children(parent):
        own = _lines(node) if isinstance(node, ast.stmt) else lines
        yield Site(parent=parent, name=name, index=index, node=node, lines=own)
        yield from _sites_below(node, own)


def _lines(statement: ast.stmt) -> range:
    """Of a statement without the block that it holds."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
    return range(statement.lineno, max(first, statement.lineno + 1))


def _code_with(
    tree: ast.Module, file: Path, function: str, site: Site, other: ast.AST
) -> CodeType | None:
    """The code of a function while another node stands at a site."""
    place = site.node if hasattr(site.node, "lineno") else getattr(site.node, "iter", site.parent)
    _put(site, ast.copy_location(other, place))
    ast.fix_missing_locations(tree)
    try:
        return _code_of(compile(tree, str(file), "exec"), function)
    finally:
        _put(site, site.node)


def _children(parent: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    for name, value in ast.iter_fields(parent):
        if isinstance(value, list):
            yield from (
                (name, i, item) for i, item in enumerate(value) if isinstance(item, ast.AST)
            )
        elif isinstance(value, ast.AST) and name not in ("annotation", "returns"):
            yield name, None, value


def _put(site: Site, node: ast.AST) -> None:
    if site.index is None:
        setattr(site.parent, site.name, node)
    else:
        getattr(site.parent, site.name)[site.index] = node


def _code_of(code: CodeType, qualified: str) -> CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == qualified:
                return constant
            if (found := _code_of(constant, qualified)) is not None:
                return found
    return None


def _short(node: ast.AST) -> str:
    line = " ".join(ast.unparse(node).split())
    return line if len(line) <= 90 else line[:87] + "..."


class Mutation:
    """A plugin that takes the place of pytest's own loop over the tests."""

    def __init__(self, rooms: Sequence[str], minutes: float, again: str) -> None:
        self._again = {without_line(line) for line in again.splitlines()}
        self._texts = {
            file: file.read_text() for room in rooms for file in (PACKAGE / room).rglob("*.py")
        }
        """As they are imported a moment later: somebody may write them meanwhile."""
        self.tallies = {room: Tally() for room in rooms}
        self.total = dict.fromkeys(rooms, 0)
        self._minutes = minutes
        self._caches: list[Any] = []
        self._seconds: dict[str, float] = {}
        self._items: dict[str, pytest.Item] = {}
        self._reached: dict[str, dict[int, list[str]]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._learn(session.items)
        live = {
            (code.co_filename, code.co_qualname, code.co_firstlineno): thing
            for thing in gc.get_objects()
            if isinstance(thing, FunctionType) and (code := thing.__code__)
        }
        self._caches = [thing for thing in gc.get_objects() if isinstance(thing, CACHE)]
        queue = [
            (room, mutant)
            for room in self.tallies
            for file, text in sorted(self._texts.items())
            if file.is_relative_to(PACKAGE / room)
            for mutant in mutants_of(file, text)
            if not self._again or without_line(told(mutant)) in self._again
        ]
        for room, _ in queue:
            self.total[room] += 1
        random.Random(SEED).shuffle(queue)  # noqa: S311 - a sample, no secret
        gc.freeze()
        deadline = time.monotonic() + self._minutes * 60
        say(f"{len(queue)} mutants")
        for room, mutant in queue:
            if time.monotonic() > deadline:
                break
            self._try(self.tallies[room], mutant, live.get(mutant.key))
        return True

    def _learn(self, items: Sequence[pytest.Item]) -> None:
        """Every test once: how long it takes and which lines it reaches."""
        tracer = coverage.Coverage(data_file=None, source=[str(PACKAGE / "core")])
        tracer.start()
        for item in items:
            tracer.switch_context(item.nodeid)
            begun = time.monotonic()
            if passes(item):
                self._seconds[item.nodeid] = time.monotonic() - begun
                self._items[item.nodeid] = item
        tracer.stop()
        data = tracer.get_data()
        for name in data.measured_files():
            self._reached[name] = data.contexts_by_lineno(name)
        say(f"learnt in {sum(self._seconds.values()):.0f} s")
        left = len(items) - len(self._items)
        say(f"\n{len(items)} tests, {left} left out: they fail unchanged")

    def _try(self, tally: Tally, mutant: Mutant, function: FunctionType | None) -> None:
        lines = self._reached.get(str(mutant.file), {})
        reaching = {name for line in mutant.lines for name in lines.get(line, ())}
        chosen: list[pytest.Item] = []
        seconds = 0.0
        for name in sorted(reaching & set(self._items), key=self._seconds.__getitem__):
            seconds += self._seconds[name]
            if chosen and seconds > TEST_SECONDS_MAX:
                break
            chosen.append(self._items[name])
        if not chosen or function is None:
            tally.unreached.append(mutant)
            return
        life = partial(self._be, mutant, function, chosen)
        match fate(life, PATIENCE_FACTOR * seconds + PATIENCE_SECONDS):
            case None:
                tally.looped += 1
            case 0:
                tally.survived.append(mutant)
                say(told(mutant))
            case _:
                tally.killed += 1

    def _be(self, mutant: Mutant, function: FunctionType, items: Sequence[pytest.Item]) -> bool:
        """Whether all tests pass with the mutant, in a process that has nothing else to do."""
        function.__code__ = mutant.code
        for cache in self._caches:
            cache.cache_clear()
        return all(passes(item) for item in items)


def passes(item: pytest.Item) -> bool:
    """Run one test with its fixtures, alone."""
    return all(report.passed for report in runtestprotocol(item, log=False, nextitem=None))


def fate(life: Callable[[], bool], seconds: float) -> int | None:
    """Exit code of a fork that lives so: 0 where all tests passed; None where it took too long."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if life() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(POLL_SECONDS)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def say(text: str) -> None:
    """Line by line, for whoever watches."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def told(mutant: Mutant) -> str:
    return f"{mutant.file.relative_to(ROOT)}:{mutant.lines[0]}: {mutant.change}"


def without_line(line: str) -> str:
    """What `told` says, wherever it is."""
    return re.sub(r":[0-9]+:", ":", line, count=1)


def report(run: Mutation) -> Iterator[str]:
    """One row a room, then what survived."""
    yield "| room | mutants | tried | noticed | looped | survived | reached by no test | noticed |"
    yield "|---|---|---|---|---|---|---|---|"
    for room, tally in run.tallies.items():
        noticed = tally.killed + tally.looped
        share = 100 * noticed / max(1, tally.count)
        yield (
            f"| `{room}` | {run.total[room]} | {tally.count} | {tally.killed} | {tally.looped} "
            f"| {len(tally.survived)} | {len(tally.unreached)} | {share:.1f} % |"
        )
    for word in ("survived", "unreached"):
        yield f"\n{word}:"
        found = [mutant for tally in run.tallies.values() for mutant in getattr(tally, word)]
        yield from sorted(told(mutant) for mutant in found)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=25)
    options.add_argument("--room", action="append", choices=ROOMS)
    options.add_argument("--output", type=Path, help="Where the report goes besides the terminal.")
    options.add_argument("--again", type=Path, help="An earlier report.")
    given = options.parse_args()
    os.chdir(ROOT)
    hypothesis.settings.register_profile(
        "mutation",
        derandomize=True,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )
    run = Mutation(
        given.room or ROOMS, given.minutes, given.again.read_text() if given.again else ""
    )
    code = pytest.main(
        [
            "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=0",
            "--hypothesis-profile=mutation",
            "-W", "ignore::pytest.PytestAssertRewriteWarning", *TIERS,
        ],
        plugins=[run],
    )  # fmt: skip
    text = "\n".join(report(run))
    say(text)
    if given.output is not None:
        given.output.write_text(text + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
