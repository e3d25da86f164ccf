"""The configuration's `budgets:`: what they must say, and what the responder keeps to."""

import re
from collections.abc import Iterator

from evictd.core.rules import Budget, Portion
from evictd.shell.configuration.problems import Note, named_once
from evictd_schemas.configuration import Budget as Written
from evictd_schemas.configuration import Configuration
from evictd_schemas.topics import segment_problem

BUDGETS_MAX = 100
"""Each is looked at before a workload is stopped."""
COUNT_MAX = 10_000
"""More workloads than one machine runs."""
AMOUNT = re.compile(r"([0-9]{1,6})(%?)")
ALL = Portion(amount=100, is_percent=True)
NOBODY = "lets none of them go, whoever but node pressure asks"


def compiled(configuration: Configuration) -> tuple[Budget, ...]:
    """As rules. The configuration must have passed `problems`."""
    return tuple(
        Budget(
            name=written.name,
            namespace=written.namespace,
            match_labels=written.selector.match_labels,
            minimum_available=_portion(written.min_available),
            maximum_unavailable=_portion(written.max_unavailable),
        )
        for written in configuration.budgets
    )


def problems(configuration: Configuration) -> Iterator[Note]:
    """What no budget can mean."""
    entries = configuration.budgets
    yield from named_once("budgets", [written.name for written in entries], BUDGETS_MAX)
    for index, written in enumerate(entries):
        for key, text in _entry(written):
            yield ("budgets", index, *key), text


def cautions(configuration: Configuration) -> Iterator[Note]:
    """A budget that never lets anybody go."""
    for index, written in enumerate(configuration.budgets):
        least, most = _portion(written.min_available), _portion(written.max_unavailable)
        if least is not None and least == ALL:
            yield ("budgets", index, "minAvailable"), f"{least} {NOBODY}"
        if most is not None and most.amount == 0:
            yield ("budgets", index, "maxUnavailable"), f"{most} {NOBODY}"


def _entry(written: Written) -> Iterator[Note]:
    if (problem := segment_problem(written.name)) is not None:
        yield ("name",), f"{written.name!r} is no name: {problem}"
    namespace = written.namespace
    if namespace is not None and (problem := segment_problem(namespace)) is not None:
        yield ("namespace",), f"{namespace!r} is no namespace: {problem}"
    given = {"minAvailable": written.min_available, "maxUnavailable": written.max_unavailable}
    amounts = {key: value for key, value in given.items() if value is not None}
    if len(amounts) != 1:
        yield (), "needs either minAvailable or maxUnavailable, and not both"
    for key, value in amounts.items():
        if _portion(value) is None:
            yield (key,), f"{str(value)!r} is neither a number up to {COUNT_MAX} nor a percentage"


def _portion(value: int | str | None) -> Portion | None:
    """None where it is absent or means nothing."""
    found = None if value is None else AMOUNT.fullmatch(str(value))
    if found is None:
        return None
    portion = Portion(amount=int(found[1]), is_percent=bool(found[2]))
    return portion if portion.amount <= (100 if portion.is_percent else COUNT_MAX) else None
