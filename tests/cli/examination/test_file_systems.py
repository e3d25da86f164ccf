"""File systems that are watched: where they are, and what is free, beside what `df` says."""

import os
from datetime import UTC, datetime

from evictd.cli.checkup.file_systems import findings
from evictd.cli.checkup.findings import State
from evictd.cli.examination.file_systems import watched
from evictd.cli.figures import figures
from evictd.shell.configuration.reality import Line
from evictd_schemas import Observation, SignalReading
from evictd_schemas.configuration import Configuration
from evictd_schemas.sources import FileSystemSources, Sources

GIB = 1 << 30
START = datetime(2026, 1, 1, tzinfo=UTC)
SPLIT = Sources(file_systems=FileSystemSources(imagefs="/proc"))


def line(text: str, state: str) -> Line:
    return Line(text=text, kind="hard", amount="", capacity="", left="", state=state)


def observed(**available: int) -> Observation:
    """So many GiB of 95 on each."""
    signals = {
        f"{name}.available": SignalReading(available=left * GIB, capacity=95 * GIB)
        for name, left in available.items()
    }
    inodes = SignalReading(available=31, capacity=100)
    signals["nodefs.inodesFree"] = inodes
    return Observation(node="edge", time=START, sequence=1, signals=signals)


def test_each_folder_is_told_with_its_device_and_what_is_free() -> None:
    """Who sees a full disk told and a half empty one finds the folder that is meant."""
    lines = (line("nodefs.available<10%", "clear"), line("imagefs.available<15%", "met"))
    found = [*findings(watched(SPLIT, observed(nodefs=77, imagefs=9, containerfs=9), lines))]
    assert [one.check for one in found] == [
        "file system nodefs",
        "file system imagefs containerfs",
    ]
    assert [one.state for one in found] == [State.OK, State.NOTE]
    assert found[0].text.startswith("/ (device ")
    assert found[0].text.endswith("77Gi of 95Gi free, 81 %, 31 % of the inodes; above its lines")
    assert found[1].text.endswith("9Gi of 95Gi free, 9 %; below imagefs.available<15%")


def test_a_line_of_another_file_system_says_nothing_of_this_one() -> None:
    lines = (line("memory.available<1Gi", "met"), line("nodefs.inodesFree<5%", "not observed"))
    (only,) = findings(watched(Sources(), observed(nodefs=77), lines))
    assert only.state is State.OK


def test_what_was_not_read_has_no_line() -> None:
    assert [*findings(watched(Sources(), observed(), ()))] == []


def test_the_figures_are_those_of_this_machines_own_file_system() -> None:
    """As `df` has them, by the same call."""
    configuration = Configuration()
    here = figures(configuration, "edge", with_workloads=False).observation
    facts = next(watched(configuration.sources, here, ()))
    whole = os.statvfs("/")
    assert facts.space is not None
    assert facts.space.capacity == whole.f_blocks * whole.f_frsize
    assert (facts.names, facts.place) == (("nodefs", "imagefs", "containerfs"), "/")
