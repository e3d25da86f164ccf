"""What the kernel, the disks, the clock and the place of a machine amount to."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from evictd.cli.checkup import clock, disks, kernel, stalls, surroundings
from evictd.cli.checkup.clock import ClockFacts
from evictd.cli.checkup.disks import ImageFacts, StateFacts
from evictd.cli.checkup.findings import Finding, State
from evictd.cli.checkup.kernel import CgroupFacts, Sysctls
from evictd.cli.checkup.stalls import StallFacts
from evictd.cli.checkup.surroundings import SurroundingFacts

WHOLE = CgroupFacts(version="v2", memory=True, pids=True, swap=True)
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
PLACE = "/proc/pressure/memory"


def worst(every: list[Finding]) -> Finding:
    """The first problem, else the first note, else the first."""
    order = [State.PROBLEM, State.NOTE, State.OK]
    return min(every, key=lambda one: order.index(one.state))


def test_a_journal_that_cannot_be_read_keeps_evictd_from_starting() -> None:
    facts = StateFacts(folder=FOLDER, writable=True, journals=("the journal x is damaged",))
    told, folder = disks.state_findings(facts)
    assert (told.state, told.text) == (State.PROBLEM, "the journal x is damaged")
    assert "does not start" in told.means
    assert folder.state is State.OK


def test_a_machine_that_accounts_for_everything_is_in_order() -> None:
    assert {one.state for one in kernel.cgroup_findings(WHOLE)} == {State.OK}


@pytest.mark.parametrize(
    ("facts", "check", "state", "words"),
    [
        (CgroupFacts(), "cgroups", State.PROBLEM, "sources.cgroupPath"),
        (
            CgroupFacts(version="v2", memory=True, pids=True, machine_root=False),
            "cgroup scope",
            State.PROBLEM,
            "/sys/fs/cgroup:/host/cgroup:ro",
        ),
        (
            CgroupFacts(version="v1", pids=True, boot_file="/boot/firmware/cmdline.txt"),
            "memory cgroup",
            State.PROBLEM,
            "cgroup_memory=1` at the end of the one line of /boot/firmware/cmdline.txt",
        ),
        (
            CgroupFacts(version="v1", pids=True, model="Raspberry Pi 4 Model B Rev 1.4"),
            "memory cgroup",
            State.PROBLEM,
            "/boot/firmware/cmdline.txt",
        ),
        (
            CgroupFacts(version="v1", pids=True, boot_words=("cgroup_disable=memory",)),
            "memory cgroup",
            State.PROBLEM,
            "GRUB_CMDLINE_LINUX",
        ),
        (
            CgroupFacts(version="v1", memory=True),
            "pids cgroup",
            State.PROBLEM,
            "cgroup_enable=pids",
        ),
        (
            CgroupFacts(version="v1", memory=True, pids=True, swap=False, swap_total=1 << 30),
            "swap accounting",
            State.NOTE,
            "swapaccount=1",
        ),
    ],
)
def test_what_is_not_accounted_names_the_boot_words_and_their_file(
    facts: CgroupFacts, check: str, state: State, words: str
) -> None:
    found = worst([*kernel.cgroup_findings(facts)])
    assert (found.check, found.state) == (check, state)
    assert words in found.remedy


def test_who_does_not_look_at_the_machine_is_sent_to_who_does() -> None:
    facts = CgroupFacts(version="v2", memory=True, pids=True, machine_root=False, watches=False)
    found = worst([*kernel.cgroup_findings(facts)])
    assert (found.check, found.state) == ("cgroup scope", State.NOTE)
    assert "docker compose exec collector evictd doctor" in found.remedy


def test_the_boot_word_that_switches_memory_off_is_named() -> None:
    facts = CgroupFacts(version="v1", pids=True, boot_words=("quiet", "cgroup_disable=memory"))
    assert "cgroup_disable=memory" in worst([*kernel.cgroup_findings(facts)]).text


@pytest.mark.parametrize(("watched", "state"), [(False, State.NOTE), (True, State.OK)])
def test_a_budget_of_threads_that_nobody_watches_is_worth_a_note(
    *, watched: bool, state: State
) -> None:
    """The budget of all pods is used up first, and the machine has room."""
    budget = kernel.ThreadBudget(group="/kubepods", threads=1000, watched=watched)
    facts = structs.replace(WHOLE, thread_budgets=(budget,))
    (told,) = (one for one in kernel.cgroup_findings(facts) if one.check == "pids budget")
    assert told.state is state
    assert watched or told.remedy == "sources: {pids: {cgroup: /kubepods}}"


def test_swap_that_is_not_there_needs_no_account() -> None:
    facts = CgroupFacts(version="v1", memory=True, pids=True, swap=False)
    assert {one.state for one in kernel.cgroup_findings(facts)} == {State.OK}


@pytest.mark.parametrize(
    ("facts", "check", "state"),
    [
        (Sysctls(panic_on_oom=0, pid_max=4194304), "sysctls", State.OK),
        (Sysctls(), "sysctls", State.NOTE),
        (Sysctls(panic_on_oom=1), "vm.panic_on_oom", State.PROBLEM),
        (Sysctls(panic_on_oom=2), "vm.panic_on_oom", State.PROBLEM),
        (Sysctls(panic_on_oom=0, overcommit_memory=2), "vm.overcommit_memory", State.NOTE),
        (
            Sysctls(panic_on_oom=0, oom_kill_allocating_task=1),
            "vm.oom_kill_allocating_task",
            State.NOTE,
        ),
        (Sysctls(pid_max=4096), "kernel.pid_max", State.NOTE),
    ],
)
def test_settings_of_the_kernel_that_decide_before_evictd_are_told(
    facts: Sysctls, check: str, state: State
) -> None:
    (only,) = kernel.sysctl_findings(facts)
    assert (only.check, only.state) == (check, state)


def test_who_has_the_boot_word_already_is_not_told_to_add_it() -> None:
    (without,) = stalls.findings(StallFacts(place=PLACE))
    (with_it,) = stalls.findings(StallFacts(place=PLACE, boot_word="psi=1"))
    assert "add `psi=1`" in without.remedy
    assert "add" not in with_it.remedy


@pytest.mark.parametrize(
    ("facts", "states", "words"),
    [
        (StallFacts(place=PLACE, exists=True, trigger_seconds=1), ["ok", "ok"], "within 1 s"),
        (StallFacts(place=PLACE, exists=True, trigger_seconds=2), ["ok", "note"], "2 s only"),
        (StallFacts(place=PLACE, exists=True), ["ok", "note"], "does not wake"),
        (StallFacts(place=PLACE), ["problem"], "is not there"),
        (
            StallFacts(
                place=PLACE, exists=True, error="Operation not supported", boot_word="psi=0"
            ),
            ["problem"],
            "Operation not supported (psi=0",
        ),
        (StallFacts(place=PLACE, exists=True, private_memory=True), ["note"], "this container's"),
        (
            StallFacts(
                place=PLACE, exists=True, private_memory=True, group="/pods", trigger_seconds=1
            ),
            ["ok", "ok"],
            "within 1 s",
        ),
    ],
)
def test_stalls_are_told_with_their_scope_and_how_soon_they_come(
    facts: StallFacts, states: list[str], words: str
) -> None:
    every = [*stalls.findings(facts)]
    assert [one.state for one in every] == states
    assert words in every[-1].text


@pytest.mark.parametrize(
    ("facts", "state", "words"),
    [
        (SurroundingFacts(), State.OK, "the machine itself"),
        (SurroundingFacts(container="docker"), State.OK, "memory is the machine's"),
        (SurroundingFacts(kernel_release="5.15.90-Microsoft-standard-WSL2"), State.NOTE, "WSL"),
        (SurroundingFacts(container="lxc", private_memory=True), State.NOTE, "LXC"),
        (SurroundingFacts(container="lxc"), State.PROBLEM, "whole machine's memory"),
    ],
)
def test_whose_memory_the_figures_are_is_told(
    facts: SurroundingFacts, state: State, words: str
) -> None:
    (only,) = surroundings.findings(facts)
    assert only.state is state
    assert words in only.text


def test_a_plain_user_is_told_that_root_sees_more() -> None:
    assert [one.check for one in surroundings.findings(SurroundingFacts(root=False))] == [
        "surroundings",
        "user",
    ]


@pytest.mark.parametrize(
    ("facts", "state", "words"),
    [
        (ClockFacts(now=NOW, synchronised=True), State.OK, "is synchronised"),
        (ClockFacts(now=NOW), State.OK, "is plausible"),
        (ClockFacts(now=NOW, synchronised=False), State.NOTE, "is not synchronised"),
        (ClockFacts(now=NOW.replace(year=1970)), State.PROBLEM, "says 1970-11-30"),
        (
            ClockFacts(now=NOW, synchronised=True, newest_file=NOW + timedelta(days=1)),
            State.PROBLEM,
            "evictd has written at 2026-12-01",
        ),
        (ClockFacts(now=NOW, synchronised=True, newest_file=NOW), State.OK, "is synchronised"),
    ],
)
def test_the_clock_is_judged_by_who_keeps_it_and_by_what_was_written(
    facts: ClockFacts, state: State, words: str
) -> None:
    (only,) = clock.findings(facts)
    assert only.state is state
    assert words in only.text


FOLDER = "/var/lib/evictd"
ROOMY = 10 << 30


@pytest.mark.parametrize(
    ("facts", "state", "words"),
    [
        (StateFacts(folder=FOLDER), State.OK, "not there yet"),
        (StateFacts(folder=FOLDER, may_be_made=False), State.NOTE, "may not make it"),
        (StateFacts(folder=FOLDER, error="Permission denied"), State.NOTE, "Permission denied"),
        (StateFacts(folder=FOLDER, writable=False), State.NOTE, "not for this user"),
        (
            StateFacts(folder=FOLDER, writable=True, free_bytes=ROOMY, kind="ext4"),
            State.OK,
            "10240 MiB free",
        ),
        (StateFacts(folder=FOLDER, writable=True, kind="nfs4"), State.PROBLEM, "is on nfs4"),
        (StateFacts(folder=FOLDER, writable=True, kind="tmpfs"), State.PROBLEM, "restart empties"),
        (
            StateFacts(folder=FOLDER, writable=True, free_bytes=10 << 20, kind="ext4"),
            State.PROBLEM,
            "has 10 MiB left",
        ),
    ],
)
def test_the_state_folder_must_last_and_have_room(
    facts: StateFacts, state: State, words: str
) -> None:
    (only,) = disks.state_findings(facts)
    assert only.state is state
    assert words in only.text


ROOT = "/var/lib/docker"


@pytest.mark.parametrize(
    ("facts", "states"),
    [
        (ImageFacts(), []),
        (ImageFacts(data_root=ROOT, imagefs=ROOT), [State.OK]),
        (ImageFacts(data_root=ROOT, nodefs_device="8:1"), [State.NOTE]),
        (ImageFacts(data_root=ROOT, data_device="8:1", nodefs_device="8:1"), [State.OK]),
        (ImageFacts(data_root=ROOT, data_device="8:2", nodefs_device="8:1"), [State.PROBLEM]),
    ],
)
def test_images_on_a_file_system_of_their_own_must_be_watched(
    facts: ImageFacts, states: list[State]
) -> None:
    every = [*disks.image_findings(facts)]
    assert [one.state for one in every] == states
    if states == [State.PROBLEM]:
        assert f"imagefs: {ROOT}" in every[0].remedy
