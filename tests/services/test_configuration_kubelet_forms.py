"""A kubelet's settings as people keep them: unit files, shell variables, lists of arguments."""

import msgspec
import pytest

from evictd.shell.configuration import ConfigurationError, load_text

FORMS = {
    "one a line": "--eviction-hard=memory.available<5%\n--eviction-max-pod-grace-period=30\n",
    "without dashes": "eviction-hard: memory.available<5%\neviction-max-pod-grace-period: 30\n",
    "a shell's variable": (
        "# for the service\n"
        "KUBELET_EXTRA_ARGS=--v=2 --eviction-hard=memory.available<5% "
        "--eviction-max-pod-grace-period=30 --node-ip=10.0.0.1\n"
    ),
    "quoted for a shell": (
        "--eviction-hard='memory.available<5%' --eviction-max-pod-grace-period \"30\"\n"
    ),
    "two uses of one flag": (
        "--eviction-hard=memory.available<4% --eviction-hard=memory.available<5% \\\n"
        "--eviction-max-pod-grace-period=30\n"
    ),
    "K3s": (
        "kubelet-arg:\n- eviction-hard=memory.available<5%\n- 'max-pods=10'\n"
        "- '--eviction-max-pod-grace-period=30'\n"
    ),
    "arguments of OpenShift": (
        "kubeletArguments:\n  eviction-hard: [memory.available<5%]\n"
        "  eviction-max-pod-grace-period: ['30']\n"
    ),
    "a document": (
        "kind: KubeletConfiguration\nevictionHard: {memory.available: 5%}\n"
        "evictionMaxPodGracePeriod: 30\nclusterDomain: cluster.local\n"
    ),
}
UNIT = (
    "[Service]\nEnvironment=A=b\nExecStart=/usr/bin/kubelet --config /etc/k.yaml \\\n"
    "  --eviction-hard memory.available<5% --eviction-max-pod-grace-period=30\nRestart=always\n"
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_means_the_same(form: str) -> None:
    assert settings(FORMS[form]) == {
        "profile": "kubelet",
        "evictionHard": {"memory.available": "5%"},
        "evictionMaxPodGracePeriod": 30,
    }


def test_the_lines_of_a_unit_between_the_flags_are_passed_over_where_it_is_said_to_be_one() -> None:
    assert settings(UNIT, kubelet=True)["evictionHard"] == {"memory.available": "5%"}
    with pytest.raises(ConfigurationError, match="not YAML"):
        load_text(UNIT, "f")


def test_a_flag_among_many_keeps_its_place() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_text("ARGS=--v=2 --eviction-hard=memory.available<five,nodefs.availabl<5%", "f")
    assert str(caught.value).splitlines() == [
        (
            "f:1:45: evictionHard.memory.available: 'five' is no quantity; "
            "one is written like 500Mi or 2G"
        ),
        "f:1:50: evictionHard.nodefs.availabl: is no key here; did you mean nodefs.available?",
    ]


def settings(text: str, *, kubelet: bool = False) -> dict[str, object]:
    """What is given, by key."""
    found: dict[str, object] = msgspec.to_builtins(
        load_text(text, "f", kubelet=kubelet).configuration
    )
    return found
