"""What the configuration amounts to: does it load, what is done here, which lines cannot work."""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem

SHOWN_MAX = 20


class RuleFacts(Struct, frozen=True, kw_only=True):
    """The configuration that evictd runs with here; `source` "" where it is all defaults.

    `errors`: why it does not load. `warnings`: what is legal and probably not meant, on this
    machine. `mode` and `lines` are those in force here.
    """

    source: str = ""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    mode: str = "observe"
    lines: int = 0
    failures: dict[str, str] = {}


def findings(facts: RuleFacts) -> Iterator[Finding]:
    """Errors first; then the mode, warnings, sources that do not answer."""
    name = facts.source or "defaults and environment"
    for text in facts.errors[:SHOWN_MAX]:
        yield problem(
            "configuration",
            text,
            means="evictd does not start with it; all below is told by the defaults",
            remedy="correct it; `evictd config check` names everything at once",
        )
    if not facts.errors:
        yield ok("configuration", f"{name}: in order, {facts.lines} lines in force")
    for text in facts.warnings[:SHOWN_MAX]:
        yield note("configuration", text)
    if facts.mode != "act" and not facts.errors:
        yield note(
            "mode",
            f"is {facts.mode}: nothing is stopped",
            remedy="`mode: act` when the decisions please you (`evictd rank` shows them)",
        )
    elif not facts.errors:
        yield ok("mode", "is act")
    if not facts.errors and not facts.lines:
        yield problem(
            "lines",
            "no line is in force",
            means="nothing is ever short",
            remedy="take `evictionHard: {}` out of the configuration",
        )
    for source, reason in sorted(facts.failures.items()):
        yield problem(
            "sources",
            f"{source} cannot be read: {reason}",
            means="its signals are missing and their lines never met, or its workloads not seen",
            remedy="see what is named under sources: in the configuration",
        )
