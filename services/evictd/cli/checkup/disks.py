"""Disks: where evictd keeps its state, and whether the engine's own file system is watched."""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem
from evictd.shell.journal_store import KEPT

FREE_BYTES_FEW = 64 << 20
"""Journals have some megabytes; below this the next burst of Evictions fills the rest."""
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"})
VOLATILE = frozenset({"tmpfs", "ramfs"})
MIB = 1 << 20
ELSEWHERE = "give another place as stateFolder (EVICTD_STATEFOLDER)"


class StateFacts(Struct, frozen=True, kw_only=True):
    """The state folder. `writable` None: it is not there yet. `kind`: the file system's.

    `may_be_made`: by this user. `journals`: why those in it cannot be read that cannot.
    """

    folder: str
    writable: bool | None = None
    may_be_made: bool = True
    journals: tuple[str, ...] = ()
    free_bytes: int | None = None
    kind: str = ""
    error: str = ""


class ImageFacts(Struct, frozen=True, kw_only=True):
    """Devices as the table of mounts has them; None where a folder cannot be seen from here.

    `imagefs`: what the configuration says.
    """

    data_root: str | None = None
    data_device: str | None = None
    nodefs: str = "/"
    nodefs_device: str | None = None
    imagefs: str | None = None


def state_findings(facts: StateFacts) -> Iterator[Finding]:
    """Without the journal a crash loses what was being done."""
    yield from (_unreadable(why) for why in facts.journals)
    if facts.error:
        yield note("state folder", f"{facts.folder} cannot be looked at: {facts.error}")
    elif facts.writable is None:
        yield _missing(facts)
    elif not facts.writable:
        yield note(
            "state folder",
            f"{facts.folder} is not for this user to write",
            means="evictd started by this user would use another one",
        )
    else:
        yield _file_system(facts)


def _missing(facts: StateFacts) -> Finding:
    if facts.may_be_made:
        return ok("state folder", f"{facts.folder} is not there yet; evictd makes it")
    return note(
        "state folder",
        f"{facts.folder} is not there, and this user may not make it",
        means="evictd started by this user ends at once",
        remedy=f"start it as root, or {ELSEWHERE}",
    )


def _file_system(facts: StateFacts) -> Finding:
    """Whether it is one for a journal, and has room for it."""
    text, means = "", ""
    if facts.kind in NETWORK:
        text = f"is on {facts.kind}"
        means = "the journal's locks and its speed cannot be relied on there"
    elif facts.kind in VOLATILE:
        text = f"is on {facts.kind}, which a restart empties"
        means = "after a restart nobody knows what evictd had stopped"
    elif facts.free_bytes is not None and facts.free_bytes < FREE_BYTES_FEW:
        text = f"has {facts.free_bytes // MIB} MiB left"
        means = "the journal falls behind: evictd goes on, but a crash loses what it was doing"
    if text:
        return problem("state folder", f"{facts.folder} {text}", means=means, remedy=ELSEWHERE)
    room = "" if facts.free_bytes is None else f", {facts.free_bytes // MIB} MiB free"
    return ok("state folder", f"{facts.folder} ({facts.kind or 'unknown'}{room})")


def _unreadable(why: str) -> Finding:
    return problem(
        "journal",
        why,
        means="evictd does not start with it: this machine is not protected",
        remedy=KEPT,
    )


def image_findings(facts: ImageFacts) -> Iterator[Finding]:
    """The file system that fills first is often not `/`. [field case F4]"""
    if facts.data_root is None:
        return
    if facts.imagefs is not None:
        yield ok("image file system", f"imagefs is {facts.imagefs}")
        return
    if facts.data_device is None or facts.nodefs_device is None:
        yield note(
            "image file system",
            f"{facts.data_root} cannot be seen from here",
            means="if it has a file system of its own, nobody sees that run full",
            remedy="mount a folder of it and name that as sources.fileSystems.imagefs",
        )
        return
    if facts.data_device != facts.nodefs_device:
        yield problem(
            "image file system",
            f"{facts.data_root} is on another file system than {facts.nodefs}",
            means="images and layers may fill it, and nothing happens",
            remedy=f"sources: {{fileSystems: {{imagefs: {facts.data_root}}}}}",
        )
        return
    yield ok("image file system", f"{facts.data_root} is on that of {facts.nodefs}")
