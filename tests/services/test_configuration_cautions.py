"""What is legal and probably not meant: every warning word for word, one a mistake."""

import pytest

from evictd.shell.configuration import load_text

KEEP = "mergeDefaultEvictionSettings: true\n"
"""Without it each of these would be told of the default lines as well."""
ODD = {
    # field case B3: switched off by exactly these texts
    "evictionHard: {imagefs.available: 0%}": [],
    "evictionHard: {imagefs.available: 100%}": [
        (
            "2:35: evictionHard.imagefs.available: 100% switches the signal off; "
            "it does not mean always"
        )
    ],
    "evictionHard: {imagefs.available: 0.0%}": [
        (
            "2:35: evictionHard.imagefs.available: 0.0% is never met; "
            "the text 0% says so and switches the signal off"
        )
    ],
    "evictionHard: {imagefs.available: nan%}": [
        (
            "2:35: evictionHard.imagefs.available: nan% is never met; "
            "the text 0% says so and switches the signal off"
        )
    ],
    "evictionHard: {imagefs.available: 100.0%}": [
        (
            "2:35: evictionHard.imagefs.available: 100.0% is met as soon as anything is in use; "
            "only the text 100% means off"
        )
    ],
    # field case B4: the percent sign is missing
    "evictionHard: {imagefs.inodesFree: 10}": [
        "2:36: evictionHard.imagefs.inodesFree: is 10 inodes; did you mean 10%?"
    ],
    "evictionHard: {pid.available: 200}": ["2:31: evictionHard.pid.available: is 200 process ids"],
    "evictionHard: {pid.available: 1000}": [],
    "evictionHard: {pid.available: 0.05}": [
        "2:31: evictionHard.pid.available: is 0.05 process ids; did you mean 5%?"
    ],
    "evictionHard: {nodefs.available: 10}": [
        "2:34: evictionHard.nodefs.available: is 10 bytes; did you mean 10%?"
    ],
    "evictionHard: {nodefs.available: 0.1}": [
        "2:34: evictionHard.nodefs.available: is 0.1 bytes; did you mean 10%?"
    ],
    "evictionHard: {nodefs.available: 2.5}": [
        "2:34: evictionHard.nodefs.available: is 2.5 bytes; did you mean 2.5%?"
    ],
    "evictionHard: {memory.available: 500}": [
        "2:34: evictionHard.memory.available: is 500 bytes; did you mean 500Mi?"
    ],
    "evictionHard: {memory.available: 1Mi}": [],
    # inodes given in bytes
    "evictionHard: {nodefs.inodesFree: 5Mi}": [
        (
            "2:35: evictionHard.nodefs.inodesFree: 5Mi is 5242880 inodes: "
            "they are counted, not measured"
        )
    ],
    "evictionHard: {nodefs.inodesFree: 10M}": [],
    "evictionHard: {nodefs.inodesFree: 11M}": [
        (
            "2:35: evictionHard.nodefs.inodesFree: 11M is 11000000 inodes, which hardly any "
            "machine "
            "has: the line would be met for ever; did you mean 5%?"
        )
    ],
    "evictionMinimumReclaim: {nodefs.inodesFree: 5Mi}": [
        (
            "2:45: evictionMinimumReclaim.nodefs.inodesFree: 5Mi is 5242880 inodes: "
            "they are counted, not measured"
        )
    ],
    "evictionMinimumReclaim: {nodefs.available: 2}": [
        "2:44: evictionMinimumReclaim.nodefs.available: is 2 bytes; did you mean 2%?"
    ],
    "evictionMinimumReclaim: {nodefs.available: 0}": [],
    # thought in "used"
    "evictionHard: {memory.available: 50%}": [
        (
            "2:34: evictionHard.memory.available: 50% is the share left free: "
            "this acts when only 50% is in use"
        )
    ],
    "evictionHard: {memory.available: 49%}": [],
    "evictionHard: {memory.available: 'max(80%,1Gi)'}": [
        (
            "2:34: evictionHard.memory.available: 80% is the share left free: "
            "this acts when only 20% is in use"
        )
    ],
    "evictionHard: {nodefs.available: 99%}": [
        (
            "2:34: evictionHard.nodefs.available: 99% is the share left free: "
            "this acts when only 1% is in use"
        )
    ],
    "evictionHard: {memory.available: 'max(80%)'}": [
        (
            "2:34: evictionHard.memory.available: max(80%) has one value to choose from; "
            "did you mean 80%?"
        )
    ],
    "evictionHard: {memory.available: 'min(5%,1Gi)'}": [],
    # field cases J4, J7: a stall is what is left of a hundred, and some stalls are normal
    "evictionHard: {psi.memory.full.avg10: 40%}": [
        (
            "2:39: evictionHard.psi.memory.full.avg10: acts when work waits more than 60% of the "
            "time: the signal is what is left of 100; did you mean 60%?"
        )
    ],
    "evictionHard: {psi.memory.full.avg10: 40}": [
        (
            "2:39: evictionHard.psi.memory.full.avg10: acts when work waits more than 60% of the "
            "time: the signal is what is left of 100; did you mean 60%?"
        )
    ],
    "evictionHard: {psi.memory.full.avg10: 95%}": [
        (
            "2:39: evictionHard.psi.memory.full.avg10: acts when work waits more than 5% of the "
            "time, as in many a build"
        )
    ],
    "evictionHard: {psi.memory.full.avg10: 60%}": [],
    "evictionHard: {psi.io.full.avg10: 60%}": [
        "2:35: evictionHard.psi.io.full.avg10: is only shown: no line of this signal acts"
    ],
    # soft beside hard
    "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 0s}": [
        (
            "3:45: evictionSoftGracePeriod.memory.available: "
            "0s makes the soft line a hard one in every respect"
        )
    ],
    "evictionHard: {nodefs.available: 1Gi}\nevictionSoft: {nodefs.available: 1Gi}\n"
    "evictionSoftGracePeriod: {nodefs.available: 30s}": [
        "3:34: evictionSoft.nodefs.available: 1Gi is not above the hard line 1Gi, which acts first"
    ],
    # field case E2: a soft eviction that is as hard as a hard one
    "evictionMaxPodGracePeriod: 0\nevictionSoft: {memory.available: 1Gi}\n"
    "evictionSoftGracePeriod: {memory.available: 30s}": [
        (
            "3:1: evictionSoft: evictionMaxPodGracePeriod is 0, "
            "so that a soft eviction too leaves a workload 1 s"
        )
    ],
    # what does nothing
    "evictionMinimumReclaim: {imagefs.available: 1Gi}": [
        "2:45: evictionMinimumReclaim.imagefs.available: belongs to no line and does nothing"
    ],
    "evictionHard: {containerfs.available: 5%}": [
        (
            "2:39: evictionHard.containerfs.available: "
            "is taken from nodefs or imagefs on nearly every machine, whatever is given"
        )
    ],
    "evictionHard: {nodefs.available: 60%}\nevictionMinimumReclaim: {nodefs.available: 40%}": [
        (
            "2:34: evictionHard.nodefs.available: 60% is the share left free: "
            "this acts when only 40% is in use"
        ),
        (
            "3:44: evictionMinimumReclaim.nodefs.available: 40% beyond the line of 60% is all "
            "there "
            "is: once met it would never count as cleared"
        ),
    ],
    # a kubelet's own file with signals that it does not have
    "profile: kubelet\nevictionHard: {swap.available: 5%}": [
        "3:32: evictionHard.swap.available: is a signal of evictd's own; a kubelet would not start"
    ],
    # field case I5
    "evictionPressureTransitionPeriod: 5s": [
        (
            "2:35: evictionPressureTransitionPeriod: "
            "5s is so short that a condition near its line comes and goes"
        )
    ],
    "evictionPressureTransitionPeriod: 10s": [],
    "sources: {intervalSeconds: 300}": [
        (
            "2:28: sources.intervalSeconds: a leak has 300 s between two looks; "
            "the kubelet looks every 10 s"
        )
    ],
    "stateFolder: state": [
        (
            "2:14: stateFolder: state is below whatever folder a command is started in; "
            "give the whole path"
        )
    ],
    "stateFolder: ~/state": [],
    # the first pattern that matches holds
    "workloads: {'*': {priority: 1}, shop/db: {protect: true}}": [
        "2:33: workloads[\"shop/db\"]: is never reached: '*' above takes all that it matches"
    ],
    "workloads: {'web*': {priority: 1}, 'shop/web-?': {protect: true}}": [
        "2:36: workloads[\"shop/web-?\"]: is never reached: 'web*' above takes all that it matches"
    ],
    "workloads: {'shop/*': {priority: 1}, db: {protect: true}}": [],
    "workloads: {'web?': {priority: 1}, 'web*': {protect: true}}": [],
    "workloads: {'web[12]': {priority: 1}, 'web1': {protect: true}}": [],
    "nodes: [{match: 'demo-*', mode: act}, {match: demo-1, mode: observe}]": [
        "2:47: nodes[1].match: is never reached: 'demo-*' above takes all that it matches"
    ],
}


@pytest.mark.parametrize(("text", "expected"), ODD.items(), ids=list(ODD))
def test_what_was_probably_not_meant_is_told_and_what_is_sound_is_not(
    text: str, expected: list[str]
) -> None:
    warnings = load_text(KEEP + text, "f").warnings
    assert [str(warning).removeprefix("f:") for warning in warnings] == expected


def test_what_an_exception_for_single_nodes_takes_over_is_told_once_and_where_it_stands() -> None:
    text = (
        "evictionPressureTransitionPeriod: 5s\n"
        "nodes: [{match: a, mode: act}, {match: b, evictionPressureTransitionPeriod: 4s}]"
    )
    assert [str(warning).partition(": ")[0] for warning in load_text(text, "f").warnings] == [
        "f:1:35",
        "f:2:77",
    ]
