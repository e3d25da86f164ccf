"""Where evictd is: on the machine, in a container of an engine, in a system container, in WSL.

What counts is whose memory the figures are.
"""

from collections.abc import Iterator

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem


class SurroundingFacts(Struct, frozen=True, kw_only=True):
    """`container`: what kind, as `docker`, `podman`, `lxc`; "" outside of any.

    `private_memory`: another file is mounted over meminfo. `root`: asked by root. `group`: the
    configured group that stands for the node.
    """

    container: str = ""
    kernel_release: str = ""
    private_memory: bool = False
    group: str | None = None
    root: bool = True


SYSTEM_CONTAINERS = ("lxc", "lxc-libvirt", "systemd-nspawn")


def findings(facts: SurroundingFacts) -> Iterator[Finding]:
    """One line about the place, one about who asks."""
    yield _place(facts)
    if not facts.root:
        yield note(
            "user",
            "this is not root's view",
            means="what only root may read is told as not known",
            remedy="" if facts.container else "`sudo evictd doctor` tells the rest",
        )


def _place(facts: SurroundingFacts) -> Finding:
    if "microsoft" in facts.kernel_release.lower():
        return note(
            "surroundings",
            "WSL: the memory is that of its virtual machine",
            means="Windows takes memory back without a sign, and stalls of Windows are not seen",
            remedy="set memory= and swap= in .wslconfig, so that the total stays the same",
        )
    if facts.private_memory and facts.group is None:
        return note(
            "surroundings",
            "a system container (LXC): the memory figures are this container's own",
            means="what is short on the machine outside is not seen, and stalls are not used",
            remedy="better run evictd on the machine outside too",
        )
    if facts.container in SYSTEM_CONTAINERS:
        return problem(
            "surroundings",
            f"a system container ({facts.container}) that sees the whole machine's memory",
            means="evictd would stop workloads here for a shortage that others make, and not see "
            "this container's own limit",
            remedy="name this container's group as sources.memory.cgroup, or let lxcfs show its "
            "memory",
        )
    if facts.container:
        return ok("surroundings", f"a container ({facts.container}); memory is the machine's")
    return ok("surroundings", "the machine itself")
