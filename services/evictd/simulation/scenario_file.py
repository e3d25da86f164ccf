"""Reading a scenario file: everything that is wrong at once, each with its place.

The file is read as a configuration is, and its `configuration` is one, or the name of one.
"""

import re
from collections.abc import Callable
from collections.abc import Mapping as ByName
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, inspect

from evictd.core.errors import EvictdError, InputError
from evictd.core.signals.names import STALL_SIGNALS
from evictd.core.signals.quantities import QuantityError
from evictd.core.signals.quantities import parse as parse_quantity
from evictd.runtimes.workloads import settings_of
from evictd.shell.configuration import (
    ConfigurationError,
    KeyPath,
    Loaded,
    Place,
    Problem,
    load,
    load_tree,
    rules_of,
)
from evictd.shell.configuration.document import Mapping, Node, Scalar, content, parse
from evictd.shell.configuration.lines import seconds_of
from evictd.shell.configuration.problems import in_order, nearest
from evictd.simulation import snapshots
from evictd.simulation.scenario import (
    NODE,
    STEPS_MAX,
    Figure,
    ObservationForm,
    PodEntry,
    Scenario,
    ScenarioForm,
    SignalForm,
    Step,
    StepForm,
    SummaryForm,
)
from evictd.simulation.scenario_tree import ScenarioReading, expanded
from evictd.simulation.summaries import figures_of_readings, figures_of_summary
from evictd_schemas import Number, SignalReading
from evictd_schemas.topics import segment_problem

STALL_CAPACITY = 100
CONFIGURATION = "configuration"
SOURCES = ("proc", "procFolder", "summary", "summaryFile", "observation", "observationFile")
"""Of one step at most one; each replaces all figures."""

S = TypeVar("S", bound=Struct)


def load_scenario(file: Path) -> Scenario:
    """Read a scenario.

    Raises `ConfigurationError` with every problem, `InputError` for a file that cannot be read.
    """
    return scenario_of_text(content(file), str(file), file.parent)


def scenario_of_text(text: str, source: str, folder: Path) -> Scenario:
    """The same for a text at hand; names of files are looked for in `folder`."""
    return _Scenario(source, folder).whole(parse(text, source))


class _Scenario:
    """One file while it is read."""

    def __init__(self, source: str, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._reading = ScenarioReading()
        self._capacities: dict[str, Number] = {}

    def whole(self, root: Node) -> Scenario:
        """Everything, or every problem."""
        loaded = self._configuration(root)
        values = self._read(_without(root, CONFIGURATION), ScenarioForm)
        if values is UNSET:
            raise self._refusal()
        self._capacities = {
            name: self._amount(text, ("capacities", name), 0)
            for name, text in values.get("capacities", {}).items()
        }
        form = self._converted(values, ScenarioForm, ())
        if form is None:
            raise self._refusal()
        steps = [
            self._step(step, values["steps"][index], index) for index, step in enumerate(form.steps)
        ]
        if form.node is not None and (problem := segment_problem(form.node)) is not None:
            self._complain(("node",), f"{form.node!r} cannot be a level of a topic: {problem}")
        if sum(step.form.times for step in steps) > STEPS_MAX:
            self._complain(("steps",), f"more than {STEPS_MAX} steps")
        if self._reading.problems or loaded is None:
            raise self._refusal()
        node = form.node or loaded.configuration.node or NODE
        return Scenario(
            title=form.title,
            rules=rules_of(loaded.configuration, node),
            settings_for=settings_of(loaded.configuration),
            layout=form.layout,
            interval_seconds=form.interval_seconds,
            pods=_entries(values, "pods"),
            admission_pods=_entries(values, "admissionPods"),
            steps=tuple(steps),
            warnings=loaded.warnings,
        )

    def _configuration(self, root: Node) -> Loaded | None:
        """Inline or in a file of its own; the defaults where there is none."""
        found = root.get(CONFIGURATION) if isinstance(root, Mapping) else None
        try:
            if found is None:
                return load_tree(Mapping(place=root.place, entries=()))
            if isinstance(found, Scalar) and not found.is_null:
                return load(self._folder / found.text)
            return load_tree(found)
        except ConfigurationError as error:
            self._reading.problems += error.problems
        except InputError as error:
            place = root.place if found is None else found.place
            self._reading.problems.append(
                Problem(place=place, path=(CONFIGURATION,), text=str(error))
            )
        return None

    def _read(self, node: Node, kind: type[Any], path: KeyPath = ()) -> Any:
        return self._reading.read(expanded(node), inspect.type_info(kind), path)

    def _converted(self, values: Any, kind: type[S], path: KeyPath) -> S | None:
        """As Structs. What the reading has found wrong is missing and was told already."""
        try:
            return msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            text, _, where = str(error).partition(" - at `$")
            steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", where.rstrip("`"))
            inner = tuple(name or int(index) for name, index in steps)
            self._complain((*path, *inner), text)
            return None

    def _step(self, form: StepForm, values: ByName[str, Any], index: int) -> Step:
        path = ("steps", index)
        given = [name for name in SOURCES if name in values]
        if len(given) > 1:
            self._complain((*path, given[1]), f"{given[0]} is given already; one source a step")
        step = Step(
            form=form,
            place=self._place(path),
            after_seconds=self._seconds(form.after, (*path, "after")),
            at_seconds=None if form.at is None else self._seconds(form.at, (*path, "at")),
            wall_seconds=self._seconds(form.wall_clock, (*path, "wallClock")),
            figures=self._figures(form.signals, (*path, "signals")),
            reclaimed={}
            if form.reclaim is None
            else self._figures(form.reclaim.signals, (*path, "reclaim", "signals")),
            layout=form.layout,
            pods=_entries(values, "pods"),
            pods_complete=form.pods_complete,
        )
        return self._sourced(step, (*path, given[0])) if given else step

    def _sourced(self, step: Step, path: KeyPath) -> Step:
        """With the figures of its other source; `signals` beside it are laid over them."""
        form = step.form
        match path[-1]:
            case "proc":
                readings = self._guarded(lambda: snapshots.signals_of_texts(form.proc), path)
                return _with_readings(step, readings or {})
            case "procFolder":
                folder = self._folder / (form.proc_folder or "")
                return _with_readings(
                    step, self._guarded(lambda: snapshots.signals_of(folder), path) or {}
                )
            case "summary" | "summaryFile":
                summary = form.summary or self._document(form.summary_file, SummaryForm, path)
                return step if summary is None else _with_summary(step, summary)
            case _:
                entry = form.observation or self._document(
                    form.observation_file, ObservationForm, path
                )
                return step if entry is None else _with_observation(step, entry)

    def _document(self, name: str | None, kind: type[S], path: KeyPath) -> S | None:
        file = self._folder / (name or "")
        text = self._guarded(lambda: content(file), path)
        if text is None:
            return None
        before = len(self._reading.problems)
        try:
            values = self._read(parse(text, str(file)), kind, (*path, 0))
        except ConfigurationError as error:
            self._reading.problems += error.problems
            return None
        if len(self._reading.problems) > before:
            return None
        return self._converted(values, kind, (*path, 0))

    def _guarded(self, read: Callable[[], Any], path: KeyPath) -> Any:
        try:
            return read()
        except EvictdError as error:
            return self._complain(path, str(error))

    def _figures(self, forms: ByName[str, SignalForm], path: KeyPath) -> dict[str, Figure]:
        figures = {}
        for name, form in forms.items():
            figures[name] = self._figure(name, form, (*path, name))
        return figures

    def _figure(self, name: str, form: SignalForm, path: KeyPath) -> Figure:
        available, _, total = form.available.partition(" of ")
        capacity = self._capacity(name, form.capacity or total.strip(), path)
        return Figure(
            available=self._amount(available.strip(), path, capacity),
            capacity=capacity,
            views={
                view: self._amount(text, (*path, "views", view), capacity)
                for view, text in form.views.items()
            },
            age_seconds=form.age,
            time=form.time,
        )

    def _capacity(self, name: str, text: str, path: KeyPath) -> Number:
        if text:
            return self._amount(text, path, 0)
        if name in STALL_SIGNALS:
            return self._capacities.get(name, STALL_CAPACITY)
        if name not in self._capacities:
            self._complain(path, "has no capacity; write `1Gi of 4Gi`, or give `capacities`")
        return self._capacities.get(name, 0)

    def _amount(self, text: str, path: KeyPath, capacity: Number) -> Number:
        """A quantity, or a share of the capacity."""
        share = text.endswith("%") and capacity
        try:
            exact = parse_quantity(text[:-1] if share else text).exact
        except QuantityError:
            self._complain(path, f"{text!r} is no amount such as 512Mi")
            return 0
        if share:
            return _plain(exact * Fraction(capacity) / 100, whole=isinstance(capacity, int))
        return _plain(exact)

    def _seconds(self, value: Number | str, path: KeyPath) -> float:
        text = f"{value}s" if re.fullmatch(r"[-+]?[0-9.]+", str(value)) else str(value)
        seconds = seconds_of(text)
        if seconds is None:
            self._complain(path, f"{value!r} is no duration such as 10 or 1m30s")
        return seconds or 0.0

    def _complain(self, path: KeyPath, text: str) -> None:
        self._reading.complain(self._place(path), path, text)

    def _place(self, path: KeyPath) -> Place:
        """The nearest that was written."""
        return nearest(self._reading.places, path) or Place(source=self._source)

    def _refusal(self) -> ConfigurationError:
        return ConfigurationError(in_order(self._reading.problems))


def _without(root: Node, name: str) -> Node:
    if not isinstance(root, Mapping):
        return root
    kept = tuple(entry for entry in root.entries if entry[0].text != name)
    return Mapping(place=root.place, entries=kept)


def _entries(values: ByName[str, Any], name: str) -> tuple[PodEntry, ...]:
    return tuple(values.get(name, ()))


def _with_readings(step: Step, readings: ByName[str, SignalReading]) -> Step:
    figures = {**figures_of_readings(readings), **step.figures}
    return msgspec.structs.replace(step, figures=figures, whole=True)


def _with_summary(step: Step, summary: SummaryForm) -> Step:
    figures = {**figures_of_summary(summary), **step.figures}
    return msgspec.structs.replace(step, figures=figures, whole=True, summary=summary)


def _with_observation(step: Step, entry: ObservationForm) -> Step:
    """Its pods are all that there are, where it has a complete list of them."""
    readings = {
        name: msgspec.structs.replace(reading, time=reading.time or entry.time)
        for name, reading in entry.signals.items()
    }
    pods = tuple(msgspec.to_builtins(pod) for pod in entry.pods or ())
    return msgspec.structs.replace(
        _with_readings(step, readings),
        layout=step.layout or entry.layout,
        pods=(*pods, *step.pods),
        pods_whole=entry.pods is not None and entry.pods_complete,
        pods_complete=step.pods_complete and entry.pods_complete,
    )


def _plain(exact: int | Fraction, *, whole: bool = False) -> Number:
    """An integer where it is one."""
    number = Fraction(exact)
    return int(number) if whole or number.denominator == 1 else float(number)
